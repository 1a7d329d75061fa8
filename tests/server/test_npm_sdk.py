"""The public npm client, as its authors publish it, against a served exchange: every method, both
WebSockets. Skipped where node or the package is missing.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from npm_driver import Node, Trouble, missing

from tests.kit.bodies import retail_order, usd
from tests.kit.clients import accounts_keys, list_market

MARKET = "aec-test-npm"
WHY_NOT = missing()
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


class OrderService:
    """A served exchange with one market of its own, and two accounts that hold the npm client."""

    def __init__(self, exchange: Any, node: Node) -> None:
        self.exchange, self.node = exchange, node
        list_market(exchange, MARKET, start="2026-09-01", expiration="2026-10-01")
        for name, key in zip(("ann", "bob"), accounts_keys(exchange), strict=True):
            self.client(name, key["key_id"], key["secret_key"])

    def client(self, name: str, key_id: str, secret: str) -> None:
        addresses = {"apiBaseUrl": self.exchange.retail, "gatewayBaseUrl": self.exchange.gateway}
        self.node("client", id=name, options={"keyId": key_id, "secretKey": secret, **addresses})

    def __call__(self, method: str, *args: Any, by: str = "ann") -> Any:
        return self.node("call", client=by, method=method, args=args)

    def order(
        self, intent: str, price: str, quantity: float, *, by: str = "ann", **more: Any
    ) -> Any:
        order = retail_order(MARKET, intent, 0, quantity, price=usd(price), **more)
        return self("orders.create", order, by=by)

    def socket(self, kind: str) -> Any:
        self.node("open", id=kind, kind=kind, client="ann")

        def call(method: str, *args: Any) -> Any:
            return self.node("socket", id=kind, method=method, args=args)

        call("connect")
        return call


@pytest.fixture
def order_service(exchange):
    node = Node()
    yield OrderService(exchange, node)
    node.close()


@pytest.mark.spec(
    "S4.2-10", "S4.2-11", "S4.2-12", "S4.2-4", "S4.2-5", "S4.2-6", "S4.2-7", "S5.2-1", "S2.8-1"
)
def test_orders_portfolio_and_balances(order_service):
    request = retail_order(MARKET, "BUY_LONG", 0, 2.5, price=usd("0.455"))
    assert order_service("orders.preview", {"request": request})["order"]["price"] == usd("0.455")
    placed = order_service("orders.create", request)
    changes = {"marketSlug": MARKET, "quantity": 3}
    assert order_service("orders.modify", placed["id"], changes) is None
    assert order_service("orders.retrieve", placed["id"])["order"]["quantity"] == 3
    (open_order,) = order_service("orders.list", {"slugs": [MARKET]})["orders"]
    assert open_order["id"] == placed["id"]
    assert order_service("orders.cancel", placed["id"], {"marketSlug": MARKET}) is None
    other = order_service.order("BUY_LONG", "0.30", 1)
    assert order_service("orders.cancelAll") == {"canceledOrderIds": [other["id"]]}
    assert order_service("orders.cancelAll", {"slugs": [MARKET]}) == {"canceledOrderIds": []}
    opening = order_service("account.balances")["balances"][0]["currentBalance"]
    order_service.order("SELL_LONG", "0.50", 4.25, by="bob")
    waits = {"synchronousExecution": True, "maxBlockTime": "5"}
    fill = order_service.order("BUY_LONG", "0.50", 4.25, **waits)["executions"][-1]
    assert (fill["type"], fill["lastShares"]) == ("EXECUTION_TYPE_FILL", "4.2500")
    positions = order_service("portfolio.positions", {"market": MARKET})["positions"]
    assert positions[MARKET]["netPosition"] == "4"
    trades = {"limit": 1, "types": ["ACTIVITY_TYPE_TRADE"]}
    (trade,) = order_service("portfolio.activities", trades)["activities"]
    assert (trade["trade"]["marketSlug"], trade["trade"]["price"]) == (MARKET, usd("0.5000"))
    fee = float(fill["commissionNotionalCollected"]["value"])
    balance = order_service("account.balances")["balances"][0]["currentBalance"]
    assert balance == pytest.approx(opening - 2.125 - fee)
    order_service.order("BUY_LONG", "0.50", 10, by="bob")
    closing = {"marketSlug": MARKET, "synchronousExecution": True}
    closed = order_service("orders.closePosition", closing)
    assert closed["executions"][-1]["order"]["state"] == "ORDER_STATE_FILLED"


@pytest.mark.spec("S4.1-9", "S4.1-10", "S4.1-11", "S4.2-8", "S4.2-9", "S5.3-1")
def test_the_gateway_is_read_without_a_key(order_service):
    order_service.order("SELL_LONG", "0.60", 5, by="bob")
    options = {"gatewayBaseUrl": order_service.exchange.gateway}
    order_service.node("client", id="ann", options=options)
    market = order_service("markets.retrieveBySlug", MARKET)["market"]
    assert order_service("markets.retrieve", int(market["id"]))["market"] == market
    query = {"slug": [MARKET], "active": True, "limit": 5}
    assert [item["slug"] for item in order_service("markets.list", query)["markets"]] == [MARKET]
    offers = order_service("markets.book", MARKET)["marketData"]["offers"]
    assert offers == [{"px": usd("0.6000"), "qty": "5.0000"}]
    assert order_service("markets.bbo", MARKET)["marketData"]["bestAsk"] == usd("0.6000")
    order_service.exchange.control("POST", f"/instruments/{MARKET}/settle", {"price": "1"})
    assert order_service("markets.settlement", MARKET) == {"slug": MARKET, "settlement": 1}
    query = {"limit": 3, "active": True, "orderBy": ["volume"], "orderDirection": "desc"}
    event = order_service("events.list", query)["events"][0]
    assert order_service("events.retrieve", event["id"])["event"]["slug"] == event["slug"]
    assert order_service("events.retrieveBySlug", event["slug"])["event"]["id"] == event["id"]
    events = order_service("search.query", {"query": event["slug"], "limit": 5})["events"]
    assert event["slug"] in [item["slug"] for item in events]
    series = order_service("series.list", {"limit": 2})["series"][0]
    assert order_service("series.retrieve", int(series["id"]))["series"]["slug"] == series["slug"]
    assert "nba" in [sport["slug"] for sport in order_service("sports.list")["sports"]]
    query = {"provider": "PROVIDER_SPORTRADAR", "league": "nba"}
    teams = order_service("sports.teams", query)["teams"]
    assert {team["league"] for team in teams.values()} == {"nba"}


@pytest.mark.spec("S4.2-15")
def test_the_markets_socket(order_service):
    order_service.order("BUY_LONG", "0.45", 10, by="bob")
    markets = order_service.socket("markets")
    order_service.node("once", id="markets", method="trade")
    order_service.node("silence", id="markets", method="message")
    assert order_service.node("isConnected", id="markets") is True
    markets("subscribeMarketData", "book", [MARKET])
    markets("subscribeMarketDataLite", "lite", [MARKET])
    markets("subscribeTrades", "tape", [MARKET])
    node = order_service.node
    node.until(lambda: len(node.heard("markets", "marketDataLite")) == 1)
    (book,) = node.heard("markets", "marketData")
    assert book["requestId"] == "book"
    assert book["marketData"]["bids"] == [{"px": usd("0.4500"), "qty": "10.0000"}]
    order_service.order("SELL_LONG", "0.45", 4)
    order_service.node.until(lambda: len(order_service.node.heard("markets", "trade")) == 1)
    (trade,) = order_service.node.heard("markets", "trade")
    displayed = (trade["requestId"], trade["trade"]["price"], trade["trade"]["quantity"]["value"])
    assert displayed == ("tape", usd("0.45"), "4")
    markets("unsubscribe", "book")
    markets("subscribeAll", "wrong", "SUBSCRIPTION_TYPE_TRADE", ["no-such-market"])
    markets("subscribe", "again", "SUBSCRIPTION_TYPE_MARKET_DATA", [MARKET])
    node.until(
        lambda: (
            len(node.heard("markets", "error")) == 1
            and node.heard("markets", "marketData")[-1]["requestId"] == "again"
        )
    )
    (error,) = order_service.node.heard("markets", "error")
    assert (error["name"], error["requestId"]) == ("WebSocketError", "wrong")
    order_service.exchange.clock.advance("1m")
    order_service.node.until(lambda: order_service.node.heard("markets", "heartbeat") != [])
    markets("close")
    order_service.node.until(lambda: order_service.node.heard("markets", "close") != [])
    assert order_service.node.heard("markets", "once trade") == [None]
    assert order_service.node.heard("", "silenced") == []


@pytest.mark.spec("S4.2-14", "S6.2-8")
def test_the_private_socket(order_service):
    """This client has no name for three of today's payload keys and for one subscription type:
    those arrive under its `message` event (docs/how-to/connect-a-client.md).
    """
    order_service.order("BUY_LONG", "0.30", 2)
    private = order_service.socket("private")
    private("subscribeAll", "open", "SUBSCRIPTION_TYPE_ORDER_SNAPSHOT")
    private("subscribeOrders", "orders", [MARKET])
    private("subscribePositions", "positions")
    private("subscribeAccountBalance", "money")
    private("send", {"unsubscribe": {"requestId": "none"}})
    order_service.node.until(lambda: order_service.node.heard("private", "error") != [])
    (snapshot,) = order_service.node.heard("private", "orderSnapshot")
    assert [order["quantity"] for order in snapshot["orderSubscriptionSnapshot"]["orders"]] == [2]
    assert len(order_service.node.heard("private", "accountBalanceSnapshot")) == 1
    order_service.order("SELL_LONG", "0.50", 3, by="bob")
    order_service.order("BUY_LONG", "0.50", 3)
    node = order_service.node
    node.until(
        lambda: any("accountBalancesUpdate" in item for item in node.heard("private", "message"))
    )
    updates = [item["orderSubscriptionUpdate"] for item in node.heard("private", "orderUpdate")]
    kinds = [update["execution"]["type"] for update in updates]
    assert kinds == ["EXECUTION_TYPE_NEW", "EXECUTION_TYPE_FILL"]
    (moved,) = [
        frame["positionSubscription"]
        for frame in order_service.node.heard("private", "message")
        if "positionSubscription" in frame
    ]
    assert moved["afterPosition"]["netPosition"] == "3"


def test_errors_arrive_as_the_clients_own(order_service):
    def trouble(*call: Any, by: str = "ann") -> tuple[str, int | None, str]:
        with pytest.raises(Trouble) as raised:
            order_service(*call, by=by)
        return raised.value.name, raised.value.status, raised.value.message

    assert trouble("orders.create", {"marketSlug": MARKET})[:2] == ("BadRequestError", 400)
    assert trouble("orders.retrieve", "NOSUCHORDER1")[:2] == ("NotFoundError", 404)
    item, other = order_service.exchange.api_keys[:2]
    order_service.client("stranger", item["key_id"], other["secret_key"])
    assert trouble("account.balances", by="stranger")[:2] == ("AuthenticationError", 401)
    order_service.exchange.fault("GetBalances", status=503, nth=1)
    assert trouble("account.balances")[0] == "InternalServerError"
    for _ in range(20):
        try:
            order_service("account.balances")
        except Trouble as error:
            limited = ("RateLimitError", 429, "Too Many Requests")
            assert (error.name, error.status, error.message) == limited
            return
    raise AssertionError("no limit was met")


def test_every_public_method_is_called_in_these_tests(order_service):
    source = Path(__file__).read_text() + Path(__file__).with_name("npm_client.cjs").read_text()
    called = set(re.findall(r'"([a-z]+\.[a-zA-Z]+)"', source))
    methods = order_service.node("inventory")
    assert len(methods) > 35
    plain = {name.removeprefix("socket.") for name in methods if name.startswith("socket.")}
    assert {name for name in methods if not name.startswith("socket.")} <= called
    assert [name for name in plain if f'"{name}"' not in source and f".{name}" not in source] == []
