"""The public Python client, as its authors publish it, against a served exchange: every method,
blocking and asynchronous.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from polymarket_us import AsyncPolymarketUS, NotFoundError, PolymarketUS, RateLimitError
from polymarket_us.errors import AuthenticationError, BadRequestError
from polymarket_us.resource import APIResource, AsyncAPIResource
from polymarket_us.websocket import MarketsWebSocket, PrivateWebSocket
from sdk_types import check

from tests.kit.bodies import retail_order, usd
from tests.kit.clients import accounts_keys, list_market, sdk

MARKET = "aec-test-sdk"


def terms(intent: str, price: str, quantity: float, **more: Any) -> dict[str, Any]:
    """An order, whose price may be between two cents."""
    return retail_order(MARKET, intent, 0, quantity, price=usd(price), **more)


class Client:
    """One of the two clients, called the same way: `client("orders.create", {...})`."""

    def __init__(self, kind: str, exchange: Any, key: dict[str, str]) -> None:
        self._runner = asyncio.Runner() if kind == "async" else None
        client = AsyncPolymarketUS if self._runner else PolymarketUS
        self._client = sdk(exchange, key, client, max_retries=0)

    def __call__(self, method: str, *value: Any) -> Any:
        resource, name = method.split(".")
        function = getattr(getattr(self._client, resource), name)
        answer = self._runner.run(function(*value)) if self._runner else function(*value)
        check(answer, get_type_hints(function)["return"])
        return answer

    def close(self) -> None:
        if self._runner is None:
            self._client.close()
            return
        self._runner.run(self._client.close())
        self._runner.close()


class OrderService:
    """A served exchange with one market of its own, and clients of two accounts."""

    def __init__(self, exchange: Any, kind: str) -> None:
        self.exchange = exchange
        list_market(exchange, MARKET, start="2026-09-01", expiration="2026-10-01")
        self.clients = [Client(kind, exchange, key) for key in accounts_keys(exchange)]
        self.ann, self.bob = self.clients

    def breathe(self) -> None:
        """Let a second pass, in which every rate limit recovers."""
        self.exchange.clock.advance("1s")

    def order(self, client: Client, intent: str, price: str, quantity: float, **more: Any) -> Any:
        waits = {"synchronousExecution": True, "maxBlockTime": "5", **more}
        return client("orders.create", terms(intent, price, quantity, **waits))


@pytest.fixture(params=["blocking", "async", "blocking-observed"])
def order_service(request, exchange):
    kind, _, reading = request.param.partition("-")
    if reading:
        exchange.control("PUT", "/reading", {"name": reading})
    result = OrderService(exchange, kind)
    yield result
    for client in result.clients:
        client.close()


@pytest.mark.spec("S4.2-10", "S4.2-4", "S4.2-11", "S4.2-12", "S5.2-1", "S2.8-1")
def test_an_order_is_previewed_placed_read_modified_and_canceled(order_service):
    ann = order_service.ann
    request = terms("BUY_LONG", "0.455", 2.5)
    preview = ann("orders.preview", {"request": request})["order"]
    assert preview["state"] == "ORDER_STATE_PENDING_NEW"
    placed = ann("orders.create", request)
    assert placed["executions"] == []
    order = ann("orders.retrieve", placed["id"])["order"]
    assert (order["price"], order["quantity"]) == (usd("0.455"), 2.5)
    assert (order["state"], order["marketMetadata"]["slug"]) == ("ORDER_STATE_NEW", MARKET)
    (open_order,) = ann("orders.list", {"slugs": [MARKET]})["orders"]
    assert open_order["id"] == placed["id"]
    changes = {"marketSlug": MARKET, "price": usd("0.46"), "quantity": 3}
    assert ann("orders.modify", placed["id"], changes) is None
    (changed,) = ann("orders.list")["orders"]
    assert (changed["price"], changed["quantity"]) == (usd("0.46"), 3)
    assert ann("orders.cancel", placed["id"], {"marketSlug": MARKET}) is None
    assert ann("orders.list")["orders"] == []


@pytest.mark.spec("S4.2-13")
def test_batches_and_cancel_all(order_service):
    ann = order_service.ann
    orders = {"orders": [terms("BUY_LONG", "0.40", 1)] * 3}
    ids = ann("orders.create_many", orders)["createdOrderIds"]
    first = {"orderId": ids[0], "marketSlug": MARKET}
    modified = ann("orders.modify_many", {"orders": [{**first, "quantity": 2}]})
    assert modified["modifiedOrderIds"] == ids[:1]
    assert ann("orders.cancel_many", {"orders": [first]})["canceledOrderIds"] == ids[:1]
    canceled = ann("orders.cancel_all", {"slugs": [MARKET]})["canceledOrderIds"]
    assert sorted(canceled) == sorted(ids[1:])
    assert ann("orders.cancel_all")["canceledOrderIds"] == []


@pytest.mark.spec("S4.2-5", "S4.2-6", "S4.2-7", "S2.8-3", "S2.8-4")
def test_a_trade_reaches_positions_activities_and_balances_and_is_closed_again(order_service):
    ann, bob = order_service.ann, order_service.bob
    opening = ann("account.balances")["balances"][0]["currentBalance"]
    order_service.order(bob, "SELL_LONG", "0.50", 4.25)
    filled = order_service.order(ann, "BUY_LONG", "0.50", 4.25)
    kinds = [execution["type"] for execution in filled["executions"]]
    assert kinds == ["EXECUTION_TYPE_NEW", "EXECUTION_TYPE_FILL"]
    fee = float(filled["executions"][-1]["commissionNotionalCollected"]["value"])
    position = ann("portfolio.positions", {"market": MARKET})["positions"][MARKET]
    assert (position["netPositionDecimal"], position["baseCost"]) == ("4.2500", usd("2.1250"))
    assert float(position["cost"]["value"]) == pytest.approx(2.125 + fee, abs=0.005)
    trades = {"limit": 1, "types": ["ACTIVITY_TYPE_TRADE"]}
    (trade,) = ann("portfolio.activities", trades)["activities"]
    assert trade["trade"]["qtyDecimal"] == "4.2500"
    money = ann("account.balances")["balances"][0]
    assert money["currentBalance"] == pytest.approx(opening - 2.125 - fee)
    order_service.order(bob, "BUY_LONG", "0.50", 10)
    closed = ann("orders.close_position", {"marketSlug": MARKET, "synchronousExecution": True})
    assert closed["executions"][-1]["order"]["state"] == "ORDER_STATE_FILLED"
    assert MARKET not in ann("portfolio.positions")["positions"]
    assert ann("rfqs.trades", {"limit": 5}) == {"trades": [], "cursor": ""}


@pytest.mark.spec("S4.2-8", "S4.2-9", "S4.1-9", "S4.1-11", "S5.3-1")
def test_markets_books_and_settlements_are_read_without_a_key(order_service):
    order_service.order(order_service.bob, "SELL_LONG", "0.60", 5)
    ann = order_service.ann
    market = ann("markets.retrieve_by_slug", MARKET)["market"]
    assert ann("markets.retrieve", int(market["id"]))["market"] == market
    (listed,) = ann("markets.list", {"slug": [MARKET], "active": True, "limit": 5})["markets"]
    assert listed["slug"] == MARKET
    book = ann("markets.book", MARKET)["marketData"]
    assert (book["bids"], book["offers"]) == ([], [{"px": usd("0.6000"), "qty": "5.0000"}])
    assert "longQuote" not in ann("markets.bbo", MARKET)["marketData"]  # one side alone quotes
    order_service.order(order_service.bob, "BUY_LONG", "0.40", 5)
    assert ann("markets.bbo", MARKET)["marketData"]["longQuote"] == usd("0.6000")
    with pytest.raises(NotFoundError):
        ann("markets.settlement", MARKET)
    order_service.exchange.control("POST", f"/instruments/{MARKET}/settle", {"price": "1"})
    assert ann("markets.settlement", MARKET) == {"slug": MARKET, "settlement": 1}


@pytest.mark.spec("S4.1-10")
def test_events_series_sports_and_search(order_service):
    ann = order_service.ann
    events = ann("events.list", {"limit": 3, "active": True})["events"]
    assert 0 < len(events) <= 3
    event = events[0]
    assert ann("events.retrieve", event["id"])["event"]["slug"] == event["slug"]
    assert ann("events.retrieve_by_slug", event["slug"])["event"]["id"] == event["id"]
    assert event["slug"] in [
        item["slug"] for item in ann("search.query", {"query": event["slug"], "limit": 5})["events"]
    ]
    series = ann("series.list", {"limit": 2})["series"]
    assert ann("series.retrieve", int(series[0]["id"]))["series"]["slug"] == series[0]["slug"]
    assert "nba" in [sport["slug"] for sport in ann("sports.list")["sports"]]
    teams = ann("sports.teams", {"provider": "PROVIDER_SPORTRADAR", "league": "nba"})["teams"]
    assert all(team["league"] == "nba" for team in teams.values())
    assert teams


def test_errors_arrive_as_the_clients_own(order_service):
    ann = order_service.ann
    with pytest.raises(BadRequestError):
        ann("orders.create", {"marketSlug": MARKET})
    with pytest.raises(NotFoundError):
        ann("orders.retrieve", "NOSUCHORDER1")
    with pytest.raises(NotFoundError):
        ann("events.retrieve", 1)
    rejected = order_service.order(ann, "BUY_LONG", "1.50", 1)
    assert rejected["executions"][0]["orderRejectReason"] == "ORD_REJECT_REASON_PRICE_OUT_OF_BOUNDS"
    order_service.breathe()
    with pytest.raises(RateLimitError):
        for _ in range(21):
            ann("account.balances")


def test_a_wrong_secret_is_not_let_in(exchange):
    item, other = exchange.api_keys[:2]
    wrong = item | {"secret_key": other["secret_key"]}
    with sdk(exchange, wrong, max_retries=0) as client, pytest.raises(AuthenticationError):
        client.account.balances()


def test_every_public_method_is_called_in_these_tests():
    client, asynchronous = PolymarketUS(), AsyncPolymarketUS()
    called = set(re.findall(r'"([a-z]+\.[a-z_]+)"', Path(__file__).read_text()))
    for kind, item in ((APIResource, client), (AsyncAPIResource, asynchronous)):
        resources = {name: value for name, value in vars(item).items() if isinstance(value, kind)}
        methods = {
            f"{name}.{method}"
            for name, value in resources.items()
            for method, _ in inspect.getmembers(value, inspect.ismethod)
            if method[0] != "_"
        }
        assert len(methods) > 25
        assert methods <= called
    sockets = Path(__file__).with_name("test_official_sdk_sockets.py").read_text()
    for socket in (PrivateWebSocket, MarketsWebSocket):
        names = {
            name for name, _ in inspect.getmembers(socket, inspect.isfunction) if name[0] != "_"
        } | {"is_connected"}
        assert {name for name in names if f".{name}" not in sockets} == set()
