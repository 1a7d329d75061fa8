import pytest
from polymarket_us import PolymarketUS


@pytest.fixture
def client(exchange):
    key = exchange.api_keys[0]
    with PolymarketUS(
        key_id=key["key_id"],
        secret_key=key["secret_key"],
        api_base_url=exchange.retail,
        gateway_base_url=exchange.gateway,
        timeout=0.3,  # seconds of real time
        max_retries=0,  # the bot retries itself, in virtual time
    ) as client:
        yield client


@pytest.fixture
def open_bids(exchange):
    """Return a function that reads the open orders of our account over the control plane."""

    def orders():
        return [
            order["id"]
            for order in exchange.control("GET", "/state/orders")["orders"]
            if order["account"] == exchange.api_keys[0]["account"] and float(order["leaves"]) > 0
        ]

    return orders
