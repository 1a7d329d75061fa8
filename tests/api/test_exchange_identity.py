"""Who the caller is, for whom it may act, and identity verification as the exchange answers it."""

from __future__ import annotations

import pytest
from small_exchange import (
    ANN,
    ANN_ACCOUNT,
    BOB,
    BOB_ACCOUNT,
    EVE,
    NOW,
    advance,
    caller,
    small_exchange,
)

from sim.api.exchange.accounts import get_who_am_i, health_check, list_accounts, list_users
from sim.api.exchange.kyc import (
    get_kyc_status,
    set_webhook_url,
    start_kyc_verification,
    webhook_registration,
)
from sim.contract.messages import exchange_kyc_v1 as kyc
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest, PermissionDenied
from sim.kernel.instants import minutes
from tests.journeys import order
from tests.kit.streams import twins


def test_the_caller_learns_its_user_firm_and_audience() -> None:
    exchange = small_exchange()
    result = exchange.ann.ask(get_who_am_i)
    assert (result.user, result.user_display_name, result.firm, result.firm_display_name) == (
        ANN,
        "Ann",
        "firms/acme",
        "Acme",
    )
    assert result.firm_type == wire.FirmType.FIRM_TYPE_PARTICIPANT
    assert result.audience == exchange.credentials.environment.audience
    assert exchange.acme.ask(get_who_am_i).user == "firms/acme/users/acme-client"


def test_users_are_those_of_the_firm_that_may_trade() -> None:
    exchange = small_exchange()
    result = exchange.acme.ask(list_users)
    assert (result.users, result.display_names, result.firms) == (
        [ANN, BOB],
        ["Ann", "Bob"],
        ["acme", "acme"],
    )
    user = exchange.firms.user(BOB)
    assert user is not None
    user.tradable = False
    assert exchange.acme.ask(list_users).users == [ANN]


def test_accounts_are_the_participants_or_all_of_the_firm() -> None:
    exchange = small_exchange()
    assert exchange.ann.ask(list_accounts).accounts == [ANN_ACCOUNT]
    assert exchange.acme.ask(list_accounts).accounts == [ANN_ACCOUNT, BOB_ACCOUNT]
    assert exchange.ann.ask(list_accounts, user=BOB).accounts == [BOB_ACCOUNT]
    with pytest.raises(PermissionDenied):
        exchange.ann.ask(list_accounts, user=EVE)


def test_the_exchange_is_well() -> None:
    exchange = small_exchange()
    assert exchange.acme.ask(health_check).status == "ok"


# ---- verification


def start(exchange: Exchange, **changes: object) -> kyc.StartKYCVerificationResponse:
    person = kyc.StartKYCVerificationRequest(
        external_id="p1",
        ssn="123456789",
        first_name="Ada",
        last_name="Ray",
        date_of_birth="1990-01-02",
        email="ada@example.com",
        phone_number="+14155551212",
        address=kyc.KYCAddress(
            address_line_1="1 Main St", city="Springfield", state="IL", postal_code="62701"
        ),
        agreement=kyc.KYCAgreement(
            version="PMX.ISV.SANDBOX.v1.0", signed_at="2026-09-08T17:00:00Z"
        ),
        ip_address="203.0.113.7",
    )
    for name, value in changes.items():
        setattr(person, name, value)
    return exchange.acme.send(start_kyc_verification, person)


def status(exchange: Exchange, external_id: str = "p1") -> kyc.GetKYCStatusResponse:
    return exchange.acme.ask(get_kyc_status, external_id=external_id)


def test_an_approved_person_has_no_participant_until_provisioned_and_may_then_be_acted_for() -> (
    None
):
    exchange = small_exchange()
    result = start(exchange)
    assert result.status is not None
    assert (
        result.decision,
        result.status.decision,
        result.status.status,
        result.participant_id,
        result.docv,
    ) == ("ACCEPT", "ACCEPT", "CLOSED", "", None)
    advance(exchange, NOW + minutes(27))
    later = status(exchange)
    assert later.participant_id in exchange.acme.ask(list_users).users
    assert later.provisioned_account in caller(exchange, None).accounts


def test_a_person_who_owes_a_document_is_shown_where_to_upload_it() -> None:
    exchange = small_exchange()
    result = start(exchange, date_of_birth="1985-09-02", docv_eligible=True)
    assert (
        result.docv is not None
        and result.docv.url
        and result.docv.docv_transaction_token
        and not result.docv.sdk_key
    )
    assert (result.decision, result.sub_status) == ("REVIEW", "docv_required")
    assert status(exchange).docv == result.docv


def test_an_unknown_id_is_not_started_and_no_id_is_an_invalid_request() -> None:
    exchange = small_exchange()
    result = status(exchange, "nobody").status
    assert result is not None and (result.status, result.external_id) == ("NOT_STARTED", "nobody")
    with pytest.raises(InvalidRequest):
        status(exchange, "")
    with pytest.raises(InvalidRequest, match="address"):
        start(exchange, address=None)


@pytest.mark.parametrize(("answer", "validated"), [(204, True), (500, False), (302, False)])
def test_a_webhook_is_registered_once_its_test_delivery_was_acknowledged(
    answer: int, validated: bool
) -> None:
    exchange = small_exchange()
    pending = exchange.acme.ask(set_webhook_url, webhook_url="https://127.0.0.1:9/hook")
    (attempt,) = exchange.webhooks.take_attempts()
    exchange.webhooks.answer(attempt.id, answer)
    (settled,) = exchange.webhooks.take_settled()
    result = webhook_registration(exchange, settled)
    assert (settled.id, result.validated) == (pending.pending_on, validated) and result.message
    assert (exchange.webhooks.registration("firms/acme") is not None) is validated


def test_what_users_share_is_there_once_for_each_of_them_and_for_their_firm() -> None:
    """An account, its orders, its money and its ledger."""
    world = twins()
    partner = world.core.firms.require("firms/twin")
    shared = partner.users[0].account
    instrument = world.instrument("one")
    users = [world.exchange(partner, user.name) for user in partner.users]
    for number, user in enumerate(users):
        sent = user.post("/v1/trading/orders", json=order(instrument, "buy", 40 + number, 1))
        assert sent.status == 200, sent
    searched = {"symbol": "one"}
    for user in users:
        assert user.read("/v1/accounts", "accounts") == [shared]
        assert len(user.read("/v1/trading/orders/open", "orders")) == 2
        assert len(user.send("/v1/report/orders/search", searched, "order")) == 2
        assert len(user.read("/v1/funding/transactions", "transactions")) == 1
        query = {"account": shared}
        assert len(user.read("/v1/funding/balance-ledger", "entries", **query)) == 1
    firm_itself = world.exchange(partner)
    assert firm_itself.read("/v1/accounts", "accounts") == [shared]
    rows = firm_itself.read("/v1/funding/accounts", "accounts")
    assert [row["id"] for row in rows].count(shared) == 1
    moved = firm_itself.read("/v1/funding/transactions", "transactions")
    assert [row["accountId"] for row in moved].count(shared) == 1
    over_grpc = world.rpc(partner).call("AccountsAPI.ListAccounts", wire.ListAccountsRequest())
    assert over_grpc.accounts == [shared]
