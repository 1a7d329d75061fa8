import pytest
from polymarket_us import InternalServerError, PolymarketUS


@pytest.fixture
def client(exchange):
    """Return your client, pointed at the exchange of this test."""
    key = exchange.api_keys[0]
    with PolymarketUS(
        key_id=key["key_id"],
        secret_key=key["secret_key"],
        api_base_url=exchange.retail,
        gateway_base_url=exchange.gateway,
    ) as client:
        yield client


def bid(symbol):
    return {
        "marketSlug": symbol,
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": "0.02", "currency": "USD"},
        "quantity": 1,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }


def test_an_order_rests_in_the_book(exchange, client):
    symbol = exchange.symbols["open"][0]
    order = client.orders.create(bid(symbol))
    assert [open_order["id"] for open_order in client.orders.list()["orders"]] == [order["id"]]


def test_a_halted_market_rejects_the_order(exchange, client):
    symbol = exchange.symbols["open"][0]
    exchange.control("POST", f"/instruments/{symbol}/state", {"state": "HALTED"})
    order = client.orders.create(bid(symbol))  # accepted first, rejected by execution
    assert client.orders.retrieve(order["id"])["order"]["state"] == "ORDER_STATE_REJECTED"


def test_maintenance_cancels_the_order(exchange, client):
    client.orders.create(bid(exchange.symbols["open"][0]))
    exchange.clock.until({"maintenance": False}, within="7d")  # to the end of the weekly window
    assert client.orders.list()["orders"] == []


def test_an_outage_is_seen(exchange, client):
    with exchange.fault("CreateOrder", status=503), pytest.raises(InternalServerError):
        client.orders.create(bid(exchange.symbols["open"][0]))
    assert exchange.requests(operation="CreateOrder")[-1]["status"] == 503
