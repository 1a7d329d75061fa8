"""Both WebSockets of the public Python client, as its authors publish it, against a served
exchange: every method, from either client.
"""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from patience import until
from polymarket_us import AsyncPolymarketUS, PolymarketUS
from polymarket_us.websocket import types
from sdk_types import check
from websockets.exceptions import InvalidStatus

from tests.kit.bodies import retail_order, usd
from tests.kit.clients import list_market, place, sdk

MARKET, OTHER = "aec-test-socket", "aec-test-other"

# The event the client emits for a frame, and the type it declares for it.
EVENTS = {
    "market_data": types.MarketData,
    "market_data_lite": types.MarketDataLite,
    "trade": types.Trade,
    "order_snapshot": types.OrderSnapshot,
    "order_update": types.OrderUpdate,
    "position_update": types.PositionUpdate,
    "account_balance_snapshot": types.AccountBalanceSnapshot,
    "account_balance_update": types.AccountBalanceUpdate,
    "rfq_event": types.RFQEvent,
}


class Heard:
    """What the listeners of a socket were called with, by event, each frame checked against the
    client's own type.
    """

    def __init__(self, socket: Any) -> None:
        self.by_event: dict[str, list[Any]] = {}
        self.order: list[str] = []
        for event in (*EVENTS, "open", "close", "error", "heartbeat", "message"):
            socket.on(event, lambda *value, event=event: self._hear(event, *value))

    def _hear(self, event: str, *value: Any) -> None:
        if event in EVENTS:
            check(value[0], EVENTS[event])
        self.order.append(event)
        self.by_event.setdefault(event, []).append(value[0] if value else None)

    def __getitem__(self, event: str) -> list[Any]:
        return self.by_event.get(event, [])


class Floor:
    """A served exchange with two markets of its own; others act through the control plane."""

    def __init__(self, exchange: Any, client: Any) -> None:
        self.exchange, self.client = exchange, client
        for symbol in (MARKET, OTHER):
            list_market(exchange, symbol)

    async def buy(self, price: str, quantity: float, symbol: str = MARKET) -> None:
        """The client's own order."""
        order = retail_order(symbol, "BUY_LONG", 0, quantity, price=usd(price))
        placed = self.client.orders.create(order)
        if inspect.isawaitable(placed):
            await placed

    def order(
        self, side: str, price: str, qty: str, symbol: str = MARKET, by: str = "maker"
    ) -> Any:
        return place(self.exchange, symbol, side, price, qty, by, tif="GTC")


@pytest.fixture(
    params=[
        (PolymarketUS, "documented"),
        (AsyncPolymarketUS, "documented"),
        (AsyncPolymarketUS, "observed"),
    ],
    ids=lambda item: f"{item[0].__name__}-{item[1]}",
)
async def floor(request, exchange):
    kind, reading = request.param
    exchange.control("PUT", "/reading", {"name": reading})
    client = sdk(exchange, kind=kind)
    yield Floor(exchange, client)
    closed = client.close()
    if closed is not None:
        await closed


@pytest.mark.spec("S4.2-15")
async def test_books_best_prices_and_trades_arrive_under_their_request(floor):
    floor.order("buy", "0.45", "10")
    socket = floor.client.ws.markets()
    heard = Heard(socket)
    once: list[Any] = []
    socket.once("message", once.append)
    assert not socket.is_connected
    await socket.connect()
    assert socket.is_connected
    await socket.subscribe_market_data("book", [MARKET])
    await socket.subscribe_market_data_lite("lite", [MARKET, OTHER])
    await socket.subscribe_trades("tape", [MARKET])
    await until(lambda: len(heard["market_data"]) == 1 and len(heard["market_data_lite"]) == 2)
    first = heard["market_data"][0]
    assert first["requestId"] == "book"
    assert first["subscriptionType"] == "SUBSCRIPTION_TYPE_MARKET_DATA"
    assert first["marketData"]["bids"] == [{"px": usd("0.4500"), "qty": "10.0000"}]
    lite = [item["marketDataLite"]["marketSlug"] for item in heard["market_data_lite"]]
    assert lite == [MARKET, OTHER]
    floor.order("sell", "0.45", "4", by="taker")
    await until(lambda: len(heard["trade"]) == 1 and len(heard["market_data"]) == 2)
    trade = heard["trade"][0]["trade"]
    displayed = (trade["marketSlug"], trade["price"]["value"], trade["quantity"]["value"])
    assert displayed == (MARKET, "0.45", "4")
    # and nobody's name
    assert set(trade) == {"marketSlug", "price", "quantity", "tradeTime", "maker", "taker"}
    await socket.unsubscribe("book")
    await socket.subscribe_all("again", "SUBSCRIPTION_TYPE_MARKET_DATA", [OTHER])
    await until(lambda: heard["market_data"][-1]["requestId"] == "again")
    floor.order("buy", "0.40", "1")
    await until(lambda: len(heard["market_data_lite"]) == 4)
    assert [item["requestId"] for item in heard["market_data"]] == ["book", "book", "again"]
    assert len(once) == 1
    await socket.close()
    assert not socket.is_connected


@pytest.mark.spec("S4.2-14")
async def test_orders_positions_and_balances_of_the_key_arrive_in_order(floor):
    await floor.buy("0.30", 2)
    socket = floor.client.ws.private()
    heard = Heard(socket)
    await socket.connect()
    await socket.subscribe_all("open", "SUBSCRIPTION_TYPE_ORDER_SNAPSHOT")
    await until(lambda: len(heard["order_snapshot"]) == 1)
    snapshot = heard["order_snapshot"][0]["orderSubscriptionSnapshot"]
    assert ([order["quantity"] for order in snapshot["orders"]], snapshot["eof"]) == ([2], True)
    await socket.subscribe_orders("orders", [MARKET])
    await socket.subscribe_positions("positions")
    await socket.subscribe_account_balance("money")
    await socket.subscribe_rfq("quotes")
    await until(lambda: len(heard["account_balance_snapshot"]) == 1)
    (snapshot,) = heard["account_balance_snapshot"]
    opening = snapshot["accountBalancesSnapshot"]["balances"][0]["currentBalance"]
    floor.order("sell", "0.50", "3")
    await floor.buy("0.50", 3)
    await floor.buy("0.20", 1, OTHER)  # not among the slugs asked for
    await until(
        lambda: (
            len(heard["account_balance_update"]) >= 1
            and len(heard["position_update"]) == 1
            and len(heard["order_update"]) >= 2
        )
    )
    kinds = [item["orderSubscriptionUpdate"]["execution"]["type"] for item in heard["order_update"]]
    assert kinds == ["EXECUTION_TYPE_NEW", "EXECUTION_TYPE_FILL"]
    moved = heard["position_update"][0]["positionSubscription"]
    assert moved["beforePosition"] is None
    assert moved["afterPosition"]["netPositionDecimal"] == "3.0000"
    changes = [
        item["accountBalancesUpdate"]["balanceChange"] for item in heard["account_balance_update"]
    ]
    assert changes[0]["beforeBalance"]["currentBalance"] == opening
    assert [item["requestId"] for item in heard["account_balance_update"]] == ["money"] * len(
        changes
    )
    assert heard["rfq_event"] == []
    await socket.close()


@pytest.mark.spec("S4.2-14", "S4.2-15")
async def test_errors_heartbeats_and_refusals_reach_the_listeners(floor):
    socket = floor.client.ws.markets()
    heard = Heard(socket)
    silenced: list[Any] = []
    socket.on("heartbeat", silenced.append).off("heartbeat", silenced.append)
    await socket.connect()
    await socket.subscribe("wrong", "SUBSCRIPTION_TYPE_TRADE", ["no-such-market"])
    nothing = {"requestId": "none", "subscriptionType": "SUBSCRIPTION_TYPE_NOTHING"}
    await socket.send({"subscribe": nothing})
    await until(lambda: len(heard["error"]) == 2)
    assert [error.request_id for error in heard["error"]] == ["wrong", "none"]
    floor.exchange.clock.advance("1m")
    await until(lambda: len(heard["heartbeat"]) >= 1)
    assert silenced == []
    floor.exchange.control("POST", "/reset", {})
    await until(lambda: heard["close"] != [])
    stranger = floor.client.ws.private()
    stranger.key_id = "00000000-0000-4000-8000-000000000000"
    with pytest.raises(InvalidStatus) as refused:
        await stranger.connect()
    assert refused.value.response.status_code == 401
