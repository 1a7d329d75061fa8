import base64

import pytest
from partner import Partner, WebhookHandler

SECRET = "whsec_" + base64.b64encode(b"at least twenty-four bytes").decode()
PERSON = {
    "external_id": "customer-0001",
    "ssn": "900112233",
    "first_name": "Ada",
    "last_name": "Moreno",
    "date_of_birth": "1988-04-12",
    "email": "ada.moreno@example.com",
    "phone_number": "+12125550123",
    "address": {
        "address_line_1": "1 Main Street",
        "city": "Albany",
        "state": "NY",
        "postal_code": "12207",
        "country": "US",
    },
    "agreement": {"version": "PMX.ISV.SANDBOX.v1.0", "signed_at": "2026-09-08T17:59:00Z"},
    "ip_address": "203.0.113.7",
}


@pytest.fixture
def partner(exchange):
    return Partner(exchange.ready, exchange.firms[0])


def onboard(exchange, partner):
    """Verify the customer and return her account."""
    handler = WebhookHandler(SECRET)
    partner.register_webhook(exchange.webhooks.url, SECRET)
    assert partner.start_verification(PERSON) == "ACCEPT"
    assert partner.verification("customer-0001")["participantId"] == ""  # not provisioned yet
    exchange.clock.advance("30m")
    for delivery in exchange.webhooks.received:
        assert handler.handle(delivery.headers, delivery.body) == 204
    partner.participant = handler.participants["customer-0001"]
    partner.refresh_at = 0  # the token expired: it was valid for 3 minutes of virtual time
    return partner.verification("customer-0001")["provisionedAccount"]


def fund(partner, account, dollars):
    partner.unary(
        "exchange.cashmovement.v1.CashMovementService/CreateCashMovement",
        idempotency_key="first-deposit",
        transfer={
            "reason": "TRANSFER_REASON_DEPOSIT",
            "participant_account_id": account,
            "amount": dollars,
            "currency": "USD",
            "external_reference": "tutorial",
        },
    )


def test_from_token_to_fill(exchange, partner):
    account = onboard(exchange, partner)
    fund(partner, account, "500.00")
    symbol = exchange.control(
        "POST", "/instruments", {"symbol": "tutorial", "tick_size": "0.01", "state": "OPEN"}
    )["symbol"]

    with partner.drop_copy() as drop_copy:  # subscribe before you trade: there is no snapshot
        order = partner.buy(account, symbol, contracts=10, dollars=0.60)
        accepted = next(iter(drop_copy))
    assert accepted.order.id == order

    exchange.control(  # the stream is closed while another participant sells to the customer
        "POST",
        "/orders",
        {"as": "taker", "symbol": symbol, "side": "sell", "price": "0.60", "qty": "10"},
    )
    with partner.drop_copy(drop_copy.resume_token) as resumed:
        filled = next(iter(resumed))
    assert filled.order.id == order and filled.order.leaves_qty == 0
    balance = partner.call(
        "POST", "/v1/positions/balance", json={"name": account, "currency": "USD"}
    )
    assert float(balance["balance"]) < 500


def test_a_forged_webhook_is_refused(exchange, partner):
    partner.register_webhook(exchange.webhooks.url, SECRET)
    delivery = exchange.webhooks.received[0]  # the event webhook.test
    assert WebhookHandler(SECRET).handle(delivery.headers, delivery.body) == 204
    assert WebhookHandler(SECRET).handle(delivery.headers, delivery.body + b" ") == 401


def test_the_journey_is_conformant(exchange, partner):
    onboard(exchange, partner)
    report = exchange.conformance()
    assert report.ok, "\n".join(report.lines())
