"""Random sessions on every surface, determined by a number: actions that exercise many functions,
in random order and with random prices, sizes and waits. Clients continue after any answer.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any, TypeAlias

from sim.api.codecs.codecs import protobuf_encoder
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState
from sim.run.client.client import RpcError, Stream
from tests.evidence.clients import ADA, BOOKS, POSITIONS, TALKS, Clients, Part, ask, notices
from tests.journeys import PERSON, firm, in_state, order, retail_order

Act: TypeAlias = Callable[["Fresh"], None]


class Fresh:
    """Clients, and their random choices."""

    def __init__(self, clients: Clients, draw: Random) -> None:
        self.clients, self.draw = clients, draw
        self.streams: list[Stream] = []
        self.counts: dict[str, int] = {}

    def number(self, name: str) -> int:
        """Return how often a name was counted, including this time."""
        self.counts[name] = self.counts.get(name, 0) + 1
        return self.counts[name]

    def wait(self, *spans: str) -> None:
        """Let some time pass."""
        self.clients.world.advance(self.draw.choice(spans))

    def opened(self, open_one: Callable[[], Stream]) -> Stream | None:
        """Open a stream; return None if it is refused."""
        with suppress(RpcError, LookupError):
            self.streams.append(open_one())
            return self.streams[-1]
        return None

    def close(self) -> None:
        """Close every stream that is open."""
        for stream in self.streams:
            if stream.end is None:
                stream.close()
                self.clients.world.advance("1s")


def orders(fresh: Fresh) -> None:
    """Orders on both sides of a price, over REST and gRPC, and reads of what rests."""
    clients, draw = fresh.clients, fresh.draw
    cents, size = draw.randint(30, 60), draw.randint(1, 9)
    clients.order(clients.seller, "sell", cents, size + draw.randint(0, 5))
    fresh.wait("1s", "3s")
    clients.order(clients.buyer, "buy", cents, size, clordId=f"o{fresh.number('o')}")
    clients.order(clients.buyer, "buy", cents - draw.randint(2, 9), draw.randint(1, 4))
    request = wire.InsertOrderRequest(
        symbol=clients.market.symbol,
        side=wire.Side.SIDE_SELL,
        type=wire.OrderType.ORDER_TYPE_LIMIT,
        order_qty=size * clients.market.qty_scale,
        price=(cents + 1) * clients.market.price_scale // 100,
        time_in_force=wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_CANCEL,
    )
    with suppress(RpcError):
        clients.rpc.call("OrderEntryAPI.InsertOrder", request)
    clients.buyer.get("/v1/trading/orders/open")
    clients.partner.get(f"/v1/orderbook/{clients.market.symbol}")
    clients.partner.get(f"/v1/orderbook/{clients.market.symbol}/bbo")


def odd_orders(fresh: Fresh) -> None:
    """Orders with unusual terms, which are refused or accepted."""
    clients, draw, market = fresh.clients, fresh.draw, fresh.clients.market
    buyer = clients.buyer
    clients.order(buyer, "buy", 99, 9_000_000)
    clients.order(buyer, "buy", draw.randint(20, 30), 1, sessionId=f"s{draw.randint(1, 9)}")
    cash = order(market, "buy", draw.randint(30, 45), 1, cashOrderQty="1500")
    buyer.post("/v1/trading/orders", json={**cash, "orderQty": "0"})
    until = {**order(market, "buy", 40, draw.randint(1, 3)), "price": "0"}
    buyer.post("/v1/trading/orders", json={**until, "type": "ORDER_TYPE_MARKET_TO_LIMIT"})
    listed = [order(market, "buy", 20 + cents, 1) for cents in range(draw.randint(2, 3))]
    buyer.post("/v1/trading/orders/list", json={"requests": listed})
    odd = {**order(market, "buy", 30, 1), "orderQty": str(market.qty_scale + draw.randint(1, 9))}
    buyer.post("/v1/trading/orders", json=odd)
    search = {"symbol": market.symbol, "pageSize": draw.randint(2, 6)}
    buyer.post("/v1/report/orders/search", json=search)


def crosses(fresh: Fresh) -> None:
    clients, draw = fresh.clients, fresh.draw
    accounts = [user.account for user in firm(clients.world.simulation).users]
    for _ in range(2):
        number, cents = fresh.number("x"), draw.randint(30, 60)
        sides = [
            order(clients.market, side, cents, 4, account=account, clordId=f"{side}{number}")
            for side, account in zip(("buy", "sell"), accounts, strict=False)
        ]
        body = {"requests": sides, "crossType": "CROSS_TYPE_ALL_OR_NONE", "crossId": f"y{number}"}
        clients.buyer.post("/v1/trading/orders/cross", json=body)
    clients.buyer.post("/v1/report/executions/search", json={"symbol": clients.market.symbol})


def money(fresh: Fresh) -> None:
    """Reads of balances, fees and positions of an account."""
    clients = fresh.clients
    account = firm(clients.world.simulation).users[0].account
    clients.buyer.post("/v1/positions/balance", json={"name": account, "currency": "USD"})
    clients.buyer.get("/v1/funding/balance-ledger", params={"account": account})
    clients.partner.get("/v1/funding/accounts")
    clients.partner.get("/v1/funding/transactions")
    clients.buyer.get("/v1/positions", params={"name": account})
    clients.retail.get("/v1/account/balances")
    clients.retail.get("/v1/portfolio/activities?limit=5")


def retail(fresh: Fresh) -> None:
    clients, draw, market = fresh.clients, fresh.draw, fresh.clients.market
    retail, cents = clients.retail, draw.randint(35, 55)
    more = {"synchronousExecution": True} if draw.random() < 0.5 else {}
    if more and draw.random() < 0.5:
        more["maxBlockTime"] = "2s"
    body = retail_order(market, "BUY_LONG", cents, draw.randint(1, 6), **more)
    placed = notices(retail.post("/v1/orders", json=body), "id")
    retail.get(f"/v1/order/{placed}")
    retail.get("/v1/orders/open")
    preview = retail_order(market, "BUY_LONG", cents, draw.randint(1, 5))
    retail.post("/v1/order/preview", json={"request": {**preview, "type": "ORDER_TYPE_MARKET"}})
    retail.post("/v1/orders", json=retail_order(market, "BUY_LONG", 95, 800_000))
    fresh.wait("1s", "2s", "20s")
    retail.post(f"/v1/order/{placed}/cancel", json={"marketSlug": market.symbol})
    retail.post(f"/v1/order/{placed}/cancel", json={"marketSlug": market.symbol})
    batch = [
        {**retail_order(market, "BUY_LONG", cents - 4, 1), "synchronousExecution": True},
        retail_order(market, "BUY_LONG", cents - 5, 2),
    ]
    retail.post("/v1/orders/batched", json={"orders": batch})
    retail.get("/v1/portfolio/positions")


def people(fresh: Fresh) -> None:
    """Verifications, until the first of them is decided."""
    clients, draw, number = fresh.clients, fresh.draw, fresh.number("p")
    partner = clients.partner
    person = {"external_id": f"f{number}", "ssn": f"90{draw.randint(1_000_000, 8_999_999)}"}
    partner.post("/v1/kyc/start", json=PERSON | person)
    partner.post("/v1/kyc/start", json=PERSON | person | {"external_id": f"again{number}"})
    papers = {"external_id": f"g{number}", "ssn": "555443336", "date_of_birth": "1985-09-02"}
    partner.post("/v1/kyc/start", json=PERSON | papers | {"docv_eligible": True})
    for _ in range(3):
        partner.get(f"/v1/kyc/status?external_id=f{number}")
        partner.get(f"/v1/kyc/status?external_id=g{number}")
        fresh.wait("10s", "40s", "3m")
    for verb in ("GET", "POST"):
        partner.request(verb, "/v1/users", **({"json": ADA} if verb == "POST" else {}))


def codes(fresh: Fresh) -> None:
    """One-time codes: wrong ones, the right one, in time or not."""
    clients, number = fresh.clients, fresh.number("u")
    partner = clients.partner
    phone, born = "14155551212", ("1985-03-30", "1985-03-31")[fresh.draw.randint(0, 1)]
    person = {"user_id": f"w-{number}", "phone_number": phone, "date_of_birth": born}
    partner.post("/v1/kyc/prefill", json=person)
    fresh.wait("1s", "6m", "12m")
    wrong = ["654321"] * fresh.draw.randint(0, 4)
    for code in (*wrong, "123456"):
        partner.post("/v1/kyc/prefill/otp", json={"otp": code, "external_id": f"w-{number}"})


def tokens(fresh: Fresh) -> None:
    partner, ttl = fresh.clients.partner, fresh.draw.choice((60, 7_200, 30_000))
    name = firm(fresh.clients.world.simulation).users[0].name
    partner.post("/v1/participant/tokens", json={"participant_id": name})
    partner.post("/v1/participant/tokens", json={"participant_id": name, "ttl_seconds": ttl})


def statistics(fresh: Fresh) -> None:
    clients, symbol = fresh.clients, fresh.clients.market.symbol
    day = {"startTime": "2026-09-08T00:00:00Z", "endTime": "2026-09-09T00:00:00Z"}
    stats = {"symbol": symbol, **day, "bars": fresh.draw.randint(2, 6)}
    clients.partner.post("/v1/report/trades/stats", json=stats)
    for _ in range(3):
        clients.buyer.post("/v1/report/trades/stats", json=stats)
        fresh.wait("5s", "15s", "25s")
    back = {"startTime": day["endTime"], "endTime": day["startTime"], "symbol": symbol}
    clients.buyer.post("/v1/report/executions/search", json=back)
    for _ in range(fresh.draw.randint(1, 3)):
        clients.buyer.post("/v1/report/trades/search", json={})
        clients.buyer.post("/v1/report/orders/search", json={})


def lists(fresh: Fresh) -> None:
    clients, draw = fresh.clients, fresh.draw
    limit, symbol = draw.randint(1, 3), draw.choice(clients.symbols)
    for path in (
        f"/v1/markets?limit={limit}",
        f"/v1/market/slug/{symbol}",
        f"/v1/events?limit={limit}",
        f"/v1/markets?limit={limit}&orderBy=volumme",
        "/v1/partners/sportradar/events/1",
        f"/v1/markets/{clients.market.symbol}/bbo",
    ):
        clients.world.gateway.get(path)
    clients.partner.get(f"/v1/orderbook/{symbol}?depth={draw.randint(11, 60)}")
    clients.retail.get("/v1/portfolio/positions?marketSlug=none")
    where = {"where_clause": f"outcome_type = 'x{limit}'"}
    clients.partner.post("/v1/refdata/instruments", json=where)


def burst(fresh: Fresh) -> None:
    """Calls until a rate limit, and the recovery from it."""
    for number in range(fresh.draw.randint(3, 8)):
        fresh.clients.buyer.post("/v1/report/trades/stats", json={"symbol": f"none{number}"})
        fresh.wait("1s", "4s")


def quotes(fresh: Fresh) -> None:
    """A request for quotes, which is traded or abandoned."""
    clients, draw = fresh.clients, fresh.draw
    asks, makes = clients.users[:2]
    symbols = draw.sample(clients.symbols, draw.randint(2, 4))
    legs = [
        {"symbol": symbol, "side": draw.choice(("SIDE_BUY", "SIDE_SELL"))} for symbol in symbols
    ]
    combo = notices(asks.post("/v1/combos", json={"legs": legs}), "combo", "id")
    size = {"symbol": combo, "restRemainder": False, "qtyDecimal": str(draw.randint(2, 20))}
    rfq = notices(asks.post("/v1/rfqs", json=size), "rfqId")
    priced = {"rfqId": rfq, "buyPrice": "0.30", "sellPrice": "0.20", "restRemainder": False}
    quotes = [
        notices(
            makes.post("/v1/rfqs/quotes", json={**priced, "buyPrice": f"0.3{cents}"}), "quoteId"
        )
        for cents in range(2)
    ]
    path = f"/v1/rfqs/{rfq}/quotes/{next((quote for quote in reversed(quotes) if quote != 'none'), '')}"
    asks.put(f"{path}/accept", json={"acceptedSide": "SIDE_BUY"})
    fresh.wait("0.5s", "1s", "4s")
    makes.put(f"{path}/confirm", json={})
    for _ in range(4):
        asks.get("/v1/rfqs/quotes", params={"rfq_user_filter": "USER_FILTER_SELF"})
        fresh.wait("0.5s", "1s", "2s")
    asks.get("/v1/portfolio/positions")


def grpc_streams(fresh: Fresh) -> None:
    """Streams of orders, positions and books, left open for a while."""
    clients, draw = fresh.clients, fresh.draw
    symbol, partner = clients.market.symbol, clients.world.rpc(firm(clients.world.simulation))
    first = fresh.opened(
        lambda: clients.rpc.stream(
            "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()
        )
    )
    session = getattr(first.frames[0], "session_id", "") if first and first.frames else ""
    clients.order(clients.buyer, "buy", draw.randint(20, 30), 1, sessionId=session)
    changes = wire.CreatePositionChangeSubscriptionRequest()
    books = wire.CreateMarketDataSubscriptionRequest(symbols=[symbol])
    fresh.opened(lambda: clients.rpc.stream(POSITIONS, changes))
    fresh.opened(lambda: partner.stream(BOOKS, books))
    if (talk := fresh.opened(lambda: partner.stream(TALKS))) is not None:
        command = wire.BiDirectionalStreamMarketDataRequest(
            subscribe=wire.SubscribeCommand(symbols=[symbol])
        )
        talk.send(protobuf_encoder(type(command))(command))
    cents = draw.randint(40, 50)
    clients.order(clients.seller, "sell", cents, 3)
    clients.order(clients.buyer, "buy", cents, 2)
    for _ in range(draw.randint(2, 5)):
        fresh.wait("5s", "20s", "45s")
        clients.partner.get(f"/v1/orderbook/{symbol}/bbo")
    if draw.random() < 0.5:
        again = wire.CreateOrderSubscriptionRequest()
        fresh.opened(lambda: clients.rpc.stream("OrderEntryAPI.CreateOrderSubscription", again))
    if first is not None and first.end is None and draw.random() < 0.7:
        first.close()
        clients.buyer.get("/v1/trading/orders/open")


def sockets(fresh: Fresh) -> None:
    """Both sockets, and the frames that an order causes on them."""
    clients, draw = fresh.clients, fresh.draw
    world, market = clients.world, clients.market
    markets = fresh.opened(lambda: world.web_socket(clients.key, "/v1/ws/markets"))
    private = fresh.opened(lambda: world.web_socket(clients.key, "/v1/ws/private"))
    if markets is None or private is None:
        return
    number, merged = fresh.number("s"), draw.random() < 0.7
    ask(
        markets,
        f"m{number}",
        "MARKET_DATA",
        marketSlugs=[market.symbol],
        **({"responsesDebounced": True} if merged else {}),
    )
    ask(markets, f"t{number}", "TRADE", marketSlugs=[market.symbol])
    for kind in ("ORDER", "POSITION"):
        ask(private, f"{kind}{number}", kind)
    for _ in range(draw.randint(2, 4)):
        clients.order(clients.seller, "sell", draw.randint(38, 52), draw.randint(1, 4))
        fresh.wait("0.1s", "1s")
    clients.retail.get("/v1/orders/open")
    body = retail_order(market, "BUY_LONG", draw.randint(40, 52), draw.randint(1, 6))
    placed = notices(clients.retail.post("/v1/orders", json=body), "id")
    fresh.wait("1s", "3s")
    clients.retail.post(f"/v1/order/{placed}/modify", json={"marketSlug": market.symbol})
    clients.retail.post(f"/v1/order/{placed}/cancel", json={"marketSlug": market.symbol})
    for _ in range(draw.randint(1, 6)):
        fresh.wait("10s", "35s")
        clients.retail.get("/v1/orders/open")


ACTS: tuple[Act, ...] = (
    orders,
    odd_orders,
    crosses,
    money,
    retail,
    people,
    codes,
    tokens,
    statistics,
    lists,
    burst,
    quotes,
    grpc_streams,
    sockets,
)


def in_order(*acts: Act, number: int = 1) -> Part:
    """Return a session of these actions."""

    def act(clients: Clients) -> None:
        fresh = Fresh(clients, Random(number))
        for item in acts:
            item(fresh)
        fresh.close()

    return act


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


def _late(clients: Clients) -> None:
    """Behaviour that is visible only after hours."""
    for wait in ("30m", "2h"):
        clients.world.advance(wait)
        clients.partner.get("/v1/kyc/status?external_id=surface-1")
        clients.partner.get("/v1/kyc/status?external_id=papers")
        clients.buyer.get("/v1/trading/orders/open")
        clients.retail.get("/v1/orders/open")
        clients.world.gateway.get(f"/v1/market/slug/{clients.market.symbol}")


# A session that reveals most assumptions.
PARTS: dict[str, Part] = {
    "read": _read,
    "enter": in_order(orders, odd_orders, crosses, retail),
    "verify": in_order(people, codes, tokens),
    "report": in_order(statistics),
    "quote": in_order(quotes),
    "stream": in_order(grpc_streams, sockets),
    "late": _late,
}


def drawn(number: int, acts: tuple[Act, ...] = ACTS, at_most: int = 99) -> Callable[[Any], None]:
    """Return the session of a number: most actions, in random order."""

    def act(clients: Clients) -> None:
        fresh = Fresh(clients, Random(number))
        chosen = fresh.draw.sample(acts, min(at_most, len(acts) - fresh.draw.randint(0, 3)))
        for item in chosen:
            item(fresh)
            fresh.wait("1s", "2s", "30s")
        fresh.close()

    return act
