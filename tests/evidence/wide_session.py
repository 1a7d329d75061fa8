"""A session that reveals assumptions: its calls and streams are chosen so that their answers depend
on the values of assumptions. Clients continue after any answer, so it can be recorded with any
values.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from sim import Simulation
from sim.api.codecs.codecs import protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Instrument
from sim.run.client.client import Connection, Http, Response, Rpc, RpcError, Stream
from tests.evidence.in_process import record
from tests.journeys import (
    PERSON,
    account,
    firm,
    in_state,
    key,
    order,
    quiet,
    retail_order,
    rpc_trader,
    trader,
)

# A small world, so that a replay is quick.
SMALL = "world: {games: 0, automated_windows: false}\n"
BOOKS = "MarketDataSubscriptionAPI.CreateMarketDataSubscription"
TALKS = "MarketDataSubscriptionAPI.BiDirectionalStreamMarketData"
POSITIONS = "DropCopyAPI.CreatePositionChangeSubscription"
Part: TypeAlias = Callable[["Clients"], None]
ADA = {"user_id": "ada", "email": "ada@example.com", "display_name": "Ada", "first_name": "Ada"}


class Clients:
    """The clients, and the resources that they use."""

    def __init__(self, world: Connection) -> None:
        self.world, sim = world, world.simulation
        self.buyer, self.seller = trader(world), trader(world, 1)
        self.partner = world.exchange(firm(sim))
        self.key = key(sim)
        self.retail = world.retail(self.key)
        self.rpc = rpc_trader(world)
        keys = {one.account: one for one in reversed(sim.exchange.firms.api_keys())}
        self.users = [world.retail(one) for one in reversed(keys.values())]  # one key each
        self.market: Instrument = quiet(sim)
        open_ones = (one for one in sim.exchange.instruments if _is_open(sim, one.symbol))
        self.symbols = [one.symbol for one in open_ones]

    def order(self, client: Http, side: str, cents: int, contracts: int, **more: Any) -> str:
        """Enter an order as a partner's participant; return its id, "none" if it is refused."""
        body = order(self.market, side, cents, contracts, **more)
        return told(client.post("/v1/trading/orders", json=body), "orderId")


def _is_open(sim: Simulation, symbol: str) -> bool:
    return sim.exchange.trading.state(symbol) is InstrumentState.OPEN


def told(answer: Response, *path: str | int) -> str:
    """Return a value in an answer, or "none"."""
    try:
        value: Any = answer.json()
        for part in path:
            value = value[part]
    except (LookupError, TypeError, ValueError):
        return "none"
    return str(value)


def _read(clients: Clients) -> None:
    gateway, sim = clients.world.gateway, clients.world.simulation
    for path in (
        "/v1/markets?limit=2",
        f"/v1/market/slug/{clients.market.symbol}",
        "/v1/events?limit=2",
        "/v1/markets?limit=1&orderBy=volumee",
        "/v1/partners/sportradar/events/x",
    ):
        gateway.get(path)
    closed = in_state(sim, InstrumentState.PENDING)
    clients.partner.get(f"/v1/orderbook/{closed.symbol}")
    clients.partner.get(f"/v1/orderbook/{clients.symbols[0]}?depth=50")
    clients.retail.get("/v1/portfolio/positions")
    clients.retail.get("/v1/portfolio/activities?sortOrder=SORT_ORDER_ASCENDING&limit=2")
    clients.partner.get("/v1/users")
    clients.partner.get("/v1/funding/accounts")


def _enter(clients: Clients) -> None:
    """Orders that are accepted, rejected and traded."""
    world, market = clients.world, clients.market
    buyer, seller, retail = clients.buyer, clients.seller, clients.retail
    clients.order(seller, "sell", 41, 30)
    clients.order(buyer, "buy", 40, 3)
    clients.order(buyer, "buy", 35, 7)
    clients.partner.get(f"/v1/orderbook/{market.symbol}")
    clients.partner.get(f"/v1/orderbook/{market.symbol}/bbo")
    clients.order(buyer, "buy", 41, 10)
    buyer.post("/v1/positions/balance", json={"name": account(world), "currency": "USD"})
    buyer.get("/v1/funding/balance-ledger", params={"account": account(world)})
    clients.order(buyer, "buy", 99, 9_000_000)
    clients.order(buyer, "buy", 40, 1, sessionId="nobody")
    buyer.post(
        "/v1/trading/orders",
        json={**order(market, "buy", 40, 1, cashOrderQty="1000"), "orderQty": "0"},
    )
    buyer.post(
        "/v1/trading/orders",
        json={**order(market, "buy", 40, 2), "type": "ORDER_TYPE_MARKET_TO_LIMIT", "price": "0"},
    )
    listed = [order(market, "buy", 30 + cents, 1) for cents in range(2)]
    buyer.post("/v1/trading/orders/list", json={"requests": listed})
    buyer.post("/v1/report/orders/search", json={"symbol": market.symbol, "pageSize": 3})
    world.advance("2s")
    placed = told(retail.post("/v1/orders", json=retail_order(market, "BUY_LONG", 38, 5)), "id")
    retail.get(f"/v1/order/{placed}")
    retail.get("/v1/orders/open")
    retail.post("/v1/orders", json=retail_order(market, "BUY_LONG", 90, 900_000))
    waits = retail_order(market, "BUY_LONG", 37, 2, synchronousExecution=True)
    retail.post("/v1/orders", json=waits)
    preview = {**retail_order(market, "BUY_LONG", 38, 5), "type": "ORDER_TYPE_MARKET"}
    retail.post("/v1/order/preview", json={"request": preview})
    _cross(clients)


def _cross(clients: Clients) -> None:
    accounts = [one.account for one in firm(clients.world.simulation).users]
    for cents, number in ((41, 0), (38, 1), (40, 2)):
        sides = [
            order(clients.market, "buy", cents, 4, account=accounts[0], clordId=f"cb{number}"),
            order(clients.market, "sell", cents, 4, account=accounts[1], clordId=f"cs{number}"),
        ]
        body = {"requests": sides, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": f"x{number}"}
        clients.buyer.post("/v1/trading/orders/cross", json=body)


def _verify(clients: Clients) -> None:
    """Verifications, tokens, and a wrong one-time code."""
    world, partner = clients.world, clients.partner
    partner.post("/v1/kyc/start", json=PERSON)
    partner.post("/v1/kyc/start", json=PERSON | {"external_id": "another"})
    documents = {"external_id": "papers", "ssn": "555443334", "date_of_birth": "1985-09-02"}
    partner.post("/v1/kyc/start", json=PERSON | documents | {"docv_eligible": True})
    for _ in range(4):
        partner.get("/v1/kyc/status?external_id=surface-1")
        world.advance("20s")
    person = {"user_id": "u-1", "phone_number": "14155551212", "date_of_birth": "1985-03-30"}
    partner.post("/v1/kyc/prefill", json=person)
    for code in ("654321", "654321", "123456"):
        partner.post("/v1/kyc/prefill/otp", json={"otp": code, "external_id": "u-1"})
    partner.post("/v1/users", json=ADA)
    partner.get("/v1/users")
    name = firm(world.simulation).users[0].name
    partner.post("/v1/participant/tokens", json={"participant_id": name})
    partner.post("/v1/participant/tokens", json={"participant_id": name, "ttl_seconds": 7200})


def _report(clients: Clients) -> None:
    """Searches and statistics, with and without filters."""
    world, symbol = clients.world, clients.market.symbol
    day = {"startTime": "2026-09-08T00:00:00Z", "endTime": "2026-09-09T00:00:00Z"}
    stats = {"symbol": symbol, **day, "bars": 2}
    for client in (clients.buyer, clients.partner):
        client.post("/v1/report/trades/stats", json=stats)
    world.advance("20s")
    clients.buyer.post("/v1/report/trades/stats", json=stats)
    world.advance("40s")
    clients.buyer.post("/v1/report/trades/stats", json=stats)
    clients.buyer.post("/v1/report/trades/search", json={"symbol": symbol})
    back = {"startTime": day["endTime"], "endTime": day["startTime"], "symbol": symbol}
    clients.buyer.post("/v1/report/orders/search", json=back)
    for _ in range(2):
        clients.buyer.post("/v1/report/trades/search", json={})
        clients.buyer.post("/v1/report/orders/search", json={})
    where = {"where_clause": "outcome_type = 'x'"}
    clients.partner.post("/v1/refdata/instruments", json=where)
    clients.retail.get("/v1/portfolio/positions?marketSlug=nothing-like-it")


def _quote(clients: Clients) -> None:
    """Combos, and a request for quotes that is traded."""
    world, (asks, makes) = clients.world, clients.users[:2]
    words = ("SIDE_BUY", "SIDE_BUY", "SIDE_SELL")
    legs = [
        {"symbol": symbol, "side": side}
        for symbol, side in zip(clients.symbols, words, strict=False)
    ]
    combo = told(asks.post("/v1/combos", json={"legs": legs}), "combo", "id")
    asks.post("/v1/combos", json={"legs": legs[:2]})
    size = {"symbol": combo, "restRemainder": False, "qtyDecimal": "10"}
    rfq = told(asks.post("/v1/rfqs", json=size), "rfqId")
    priced = {"rfqId": rfq, "buyPrice": "0.30", "sellPrice": "0.20", "restRemainder": False}
    quote = told(makes.post("/v1/rfqs/quotes", json=priced), "quoteId")
    other = told(makes.post("/v1/rfqs/quotes", json={**priced, "buyPrice": "0.31"}), "quoteId")
    path = f"/v1/rfqs/{rfq}/quotes/{other if other != 'none' else quote}"
    asks.request("PUT", f"{path}/accept", json={"acceptedSide": "SIDE_BUY"})
    mine = {"rfq_user_filter": "USER_FILTER_SELF"}
    for wait in ("1s", "4s"):
        asks.get("/v1/rfqs/quotes", params=mine)
        world.advance(wait)
    makes.request("PUT", f"{path}/confirm", json={})
    for wait in ("1s", "2s", "5s"):
        asks.get("/v1/rfqs/quotes", params=mine)
        world.advance(wait)
    asks.get("/v1/portfolio/positions")


def _stream(clients: Clients) -> None:
    """Streams of both kinds, and two that compete for one session."""
    world, symbol = clients.world, clients.market.symbol
    first = _opened(
        clients, "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()
    )
    positions = _opened(
        clients, "PositionAPI.CreatePositionSubscription", wire.CreatePositionSubscriptionRequest()
    )
    try:
        markets = world.web_socket(clients.key, "/v1/ws/markets")
        private = world.web_socket(clients.key, "/v1/ws/private")
    except RpcError:
        return
    asked = {"requestId": "b", "subscriptionType": "SUBSCRIPTION_TYPE_MARKET_DATA"}
    markets.send(json.dumps({"subscribe": asked | {"marketSlugs": [symbol]}}).encode())
    asked = {"requestId": "o", "subscriptionType": "SUBSCRIPTION_TYPE_ORDER"}
    private.send(json.dumps({"subscribe": asked}).encode())
    clients.order(clients.buyer, "buy", 39, 2)
    placed = told(
        clients.retail.post("/v1/orders", json=retail_order(clients.market, "BUY_LONG", 41, 3)),
        "id",
    )
    world.advance("3s")
    clients.retail.post(f"/v1/order/{placed}/cancel", json={"marketSlug": symbol})
    world.advance("90s")
    clients.retail.get("/v2/leagues")
    second = _opened(
        clients, "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()
    )
    clients.order(clients.buyer, "buy", 39, 1)
    world.advance("5s")
    for stream in (first, positions, second):
        if stream is not None and stream.end is None:
            stream.close()
    markets.close()
    private.close()


def _subscribe(clients: Clients) -> None:
    """Streams of books and positions on gRPC, and sockets: busy, quiet and idle."""
    world, market = clients.world, clients.market
    partner, symbol = world.rpc(firm(world.simulation)), market.symbol
    trader_rpc = clients.rpc
    clients.order(clients.seller, "sell", 44, 5)
    clients.order(clients.buyer, "buy", 44, 1)
    streams = [
        _opened(clients, name, request, by)
        for name, request, by in (
            (BOOKS, wire.CreateMarketDataSubscriptionRequest(symbols=[symbol]), partner),
            (TALKS, None, partner),
            (POSITIONS, wire.CreatePositionChangeSubscriptionRequest(), trader_rpc),
            (POSITIONS, wire.CreatePositionChangeSubscriptionRequest(symbols=[symbol]), trader_rpc),
        )
    ]
    if streams[1] is not None:
        command = wire.BiDirectionalStreamMarketDataRequest(
            subscribe=wire.SubscribeCommand(symbols=[symbol])
        )
        streams[1].send(protobuf_encoder(type(command))(command))
    try:
        markets = world.web_socket(clients.key, "/v1/ws/markets")
        private = world.web_socket(clients.key, "/v1/ws/private")
    except RpcError:
        return
    ask(markets, "m", "MARKET_DATA", marketSlugs=[symbol], responsesDebounced=True)
    ask(markets, "t", "TRADE", marketSlugs=[symbol])
    for kind in ("ORDER", "POSITION"):
        ask(private, kind, kind)
    for cents in (41, 42, 43):
        clients.order(clients.seller, "sell", cents, 2)
        world.advance("1s")
        clients.retail.get("/v1/orders/open")
    world.advance("4s")
    placed = told(
        clients.retail.post("/v1/orders", json=retail_order(market, "BUY_LONG", 42, 3)), "id"
    )
    world.advance("2s")
    for body in ({"marketSlug": symbol, "price": {"value": "7.00", "currency": "USD"}}, {}):
        clients.retail.post(f"/v1/order/{placed}/modify", json=body)
        clients.retail.post("/v1/order/0A1B2C3D4E5F/cancel", json={"marketSlug": symbol})
        world.advance("1s")
        clients.retail.get("/v1/portfolio/positions")
    for _ in range(8):
        world.advance("10s")
        clients.retail.get("/v1/orders/open")
        clients.partner.get(f"/v1/orderbook/{symbol}/bbo")
    for stream in (*streams, markets, private):
        if stream is not None and stream.end is None:
            stream.close()


def ask(socket: Stream, request_id: str, kind: str, **more: Any) -> None:
    asked = {"requestId": request_id, "subscriptionType": f"SUBSCRIPTION_TYPE_{kind}", **more}
    socket.send(json.dumps({"subscribe": asked}).encode())


def _opened(clients: Clients, operation: str, request: Any, by: Rpc | None = None) -> Any:
    try:
        return (by or clients.rpc).stream(operation, request)
    except (RpcError, LookupError):
        return None


def _late(clients: Clients) -> None:
    """Behaviour that is visible only after hours."""
    for wait in ("30m", "2h"):
        clients.world.advance(wait)
        clients.partner.get("/v1/kyc/status?external_id=surface-1")
        clients.partner.get("/v1/kyc/status?external_id=papers")
        clients.buyer.get("/v1/trading/orders/open")
        clients.retail.get("/v1/orders/open")
        clients.world.gateway.get(f"/v1/market/slug/{clients.market.symbol}")


PARTS: dict[str, Part] = {
    "read": _read,
    "enter": _enter,
    "verify": _verify,
    "report": _report,
    "quote": _quote,
    "stream": _stream,
    "subscribe": _subscribe,
    "late": _late,
}


def base(folder: Path) -> Path:
    """Return the scenario with which recordings are compared."""
    file = folder / "small.yaml"
    file.write_text(f"extends: quickstart\nname: small\n{SMALL}")
    return file


def planted(
    folder: Path,
    name: str,
    settings: dict[str, dict[str, str]],
    seed: int = 7,
    parts: Sequence[Part] = tuple(PARTS.values()),
) -> Path:
    """Record the session with other values of `assumptions` and odds of `quirks`, by name."""
    file = folder / f"{name}.ndjson"
    clients = Clients(record(file, variant(folder, name, settings), seed))
    for part in parts:
        part(clients)
    return file


def variant(folder: Path, name: str, settings: dict[str, dict[str, str]]) -> str:
    """Return the scenario with other values of `assumptions` and odds of `quirks`, by name."""
    file = folder / f"{name}.yaml"
    lines = "".join(f"{key}: {json.dumps(values)}\n" for key, values in settings.items())
    file.write_text(f"extends: {base(folder)}\nname: {name}\n{lines}")
    return str(file)
