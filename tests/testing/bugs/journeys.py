"""What each reference client does; `sim explore` runs it under faults. No test by itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit.bodies import APPLICATION
from tests.server.stock_oauth import session as oauth_session
from tests.testing.bugs.reference_client import BUGS, SYMBOLS, Client, Receiver

SYMBOL = "bugs"
SECRET = "whsec_" + "c2VjcmV0LW9mLXRoaXMtdGVzdC1hbG9uZQ=="
pytestmark = pytest.mark.scenario("bugs.yaml")


def order() -> dict[str, Any]:
    return {
        "marketSlug": SYMBOL,
        "intent": "ORDER_INTENT_BUY_LONG",
        "type": "ORDER_TYPE_LIMIT",
        "price": {"value": "0.02", "currency": "USD"},
        "quantity": 1,
        "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }


def open_orders(exchange: Any) -> int:
    rows = exchange.control("GET", f"/state/orders?symbol={SYMBOL}")["orders"]
    return len(rows)


@pytest.mark.parametrize("bug", ["", *BUGS["read"]])
def test_read(exchange: Any, bug: str) -> None:
    client = Client(exchange, bug)
    assert client.send("POST", "/v1/orders", order()).status_code == 200
    assert client.count(SYMBOL) == 1


@pytest.mark.parametrize("bug", ["", *BUGS["write"]])
def test_write(exchange: Any, bug: str) -> None:
    Client(exchange, bug).place(order())
    assert open_orders(exchange) == 1


@pytest.mark.parametrize("bug", ["", *BUGS["page"]])
def test_page(exchange: Any, bug: str) -> None:
    expected = sorted(SYMBOLS)
    token = oauth_session(exchange)[1]()
    rows = Client(exchange, bug).pages(token)
    if bug not in ("page is complete", "empty page is the end"):  # a page may be short
        rows = sorted({*rows, *Client(exchange, bug).pages(token)})
    assert rows == expected


@pytest.mark.parametrize("bug", ["", *BUGS["hook"]])
def test_hook(exchange: Any, bug: str) -> None:
    session, fetch = oauth_session(exchange)
    fetch()
    url = f"{exchange.exchange}/v1/kyc"
    receiver = Receiver(SECRET, bug)
    body = {"webhook_url": exchange.webhooks.url, "signing_secret": SECRET}
    assert session.post(f"{url}/webhook", json=body, timeout=5).json()["validated"]
    session.post(f"{url}/start", json=APPLICATION, timeout=5)
    exchange.clock.advance("30m")
    deliveries = exchange.webhooks.received
    newest = max(float(each.headers["webhook-timestamp"]) for each in deliveries)
    for each in deliveries:
        receiver.receive(each.body, dict(each.headers), newest)
    named = {"external_id": APPLICATION["external_id"]}
    if not receiver.enrolled and bug != "event comes":
        fetch()  # the token has expired
        status = session.get(f"{url}/status", params=named, timeout=5).json()
        receiver.enrolled.append(status["participantId"])
    assert len(receiver.enrolled) == 1
    assert str(receiver.enrolled[0]).startswith("firms/")
    if bug == "age is no matter":
        stamps = [float(each.headers["webhook-timestamp"]) for each in deliveries]
        assert max(stamps) - min(stamps) < 300, "an old delivery was taken"
