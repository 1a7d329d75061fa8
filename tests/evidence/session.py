"""A session of clients on every surface, as a recording shows it."""

from __future__ import annotations

import json
from pathlib import Path

from sim.contract.messages import exchange_v1 as wire
from sim.run.client.client import Connection
from tests.evidence.clients import ask
from tests.evidence.in_process import record
from tests.journeys import PERSON, firm, key, order, quiet, retail_order, rpc_trader, trader


def act(world: Connection) -> None:
    """What the clients of the session do. It differs in nothing between two seeds."""
    symbol = quiet(world.simulation).symbol
    instrument = world.simulation.exchange.instruments.get(symbol)
    retail, exchange, rpc = world.retail(key(world.simulation)), trader(world), rpc_trader(world)
    firms = world.exchange(firm(world.simulation))
    for path in ("/v1/markets?limit=3", f"/v1/market/slug/{symbol}", "/v2/leagues", "/v1/nothing"):
        world.gateway.get(path)
    for path in ("/v1/account/balances", "/v1/portfolio/positions", f"/v1/markets/{symbol}/book"):
        retail.get(path)
    orders = rpc.stream(
        "OrderEntryAPI.CreateOrderSubscription", wire.CreateOrderSubscriptionRequest()
    )
    private = world.web_socket(key(world.simulation), "/v1/ws/private")
    markets = world.web_socket(key(world.simulation), "/v1/ws/markets")
    ask(private, "orders", "ORDER")
    ask(markets, "book", "MARKET_DATA", marketSlugs=[symbol])
    world.advance("2s")
    placed = retail.post("/v1/orders", json=retail_order(instrument, "BUY_LONG", 40, 5)).json()
    exchange.post("/v1/trading/orders", json=order(instrument, "buy", 35, 3, clordId="mine-1"))
    world.advance("1s")
    exchange.post("/v1/trading/orders", json=order(instrument, "sell", 40, 2, clordId="mine-2"))
    retail.get(f"/v1/order/{placed['id']}")
    retail.get("/v1/orders/open")
    exchange.get(f"/v1/orderbook/{symbol}")
    exchange.get("/v1/trading/orders/open")
    rpc.call("OrderBookAPI.GetOrderBook", wire.GetOrderBookRequest(symbol=symbol, depth=3))
    for kind in ("orders", "executions", "trades"):
        exchange.post(f"/v1/report/{kind}/csv", json={})
    account = {"account": exchange.get("/v1/accounts").json()["accounts"][0]}
    exchange.get("/v1/positions/ledger/download", params=account)
    exchange.get("/v1/funding/balance-ledger/download", params=account)
    ledger = wire.DownloadBalanceLedgerRequest(**account)
    list(rpc.download("FundingAPI.DownloadBalanceLedger", ledger))
    firms.get("/v1/refdata/symbols")
    world.advance("40s")
    retail.post(f"/v1/order/{placed['id']}/cancel", json={"marketSlug": symbol})
    retail.get("/v1/order/000000000000")
    exchange.post("/v1/trading/orders", json=order(instrument, "buy", 35, 0))
    markets.send(json.dumps({"unsubscribe": {"requestId": "book"}}).encode())
    markets.send(b"no JSON")
    firms.post("/v1/kyc/start", json=PERSON)
    world.advance("1h")
    somebody = firms.get("/v1/kyc/status?external_id=surface-1").json()
    verified = world.exchange(firm(world.simulation), somebody["participantId"])
    verified.get("/v1/positions", params={"name": somebody["provisionedAccount"]})
    verified.get(f"/v1/{somebody['provisionedAccount']}/nothing")
    orders.close()
    private.close()
    markets.close()


def recorded(file: Path, seed: int = 7, scenario: str = "quickstart") -> Path:
    """The session in a file."""
    act(record(file, scenario, seed))
    return file
