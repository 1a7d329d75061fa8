"""Decisions about access, verifications and webhooks, and about what testers ask for: each rule that
can be met, in one situation, and what the journal and `explain` name as its reason.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from sim.api.registry import handlers
from sim.contract.messages import exchange_orderfunding_v1 as funding
from sim.core.model.refusals import Refusal
from sim.run.client.client import Connection, Rpc, RpcError
from tests.api.test_exchange_participants import bearing, grant, token_of
from tests.journeys import APPLICATION, PERSON, firm
from tests.spec.decisions.decided import (
    Decided,
    account_of,
    assume,
    decides,
    enter,
    event,
    firm_client,
    listed,
    operate,
    records,
    refusal,
    refused_action,
    world_of,
)

# ---- access


@decides
def test_e3_an_assertion_is_used_once() -> Decided:
    world = world_of()
    assertion = world.assertion(firm(world.simulation))
    assert world.token(firm(world.simulation), client_assertion=assertion).status == 200
    assert world.token(firm(world.simulation), client_assertion=assertion).status >= 400
    return refusal(world)


@decides
def test_e5_a_participants_token_speaks_for_nobody_else() -> Decided:
    world = world_of()
    other = firm(world.simulation).users[1].name
    client = bearing(world, token_of(grant(world)), other)
    assert client.get("/v1/trading/orders/open").status == 403
    return refusal(world)


@decides
def test_e5_a_participants_token_changes_nothing_of_the_firm() -> Decided:
    world = world_of()
    headers = {"authorization": f"Bearer {token_of(grant(world))}"}
    with pytest.raises(RpcError) as refused:
        Rpc(world, lambda: headers).call(
            "OrderFundingService.CreateVendorOrder", funding.CreateVendorOrderRequest()
        )
    assert refused.value.code == 7
    return refusal(world)


# ---- verifications


def _start(world: Connection, **fields: Any) -> int:
    return firm_client(world).post("/v1/kyc/start", json={**PERSON, **fields}).status


@decides
def test_k1_an_approved_person_cannot_start_again() -> Decided:
    world = world_of()
    assert _start(world) == 200
    world.advance("30m")
    assert _start(world) == 409
    return refusal(world)


@decides
def test_k2_a_start_without_a_date_of_birth_is_refused() -> Decided:
    world = world_of()
    assert _start(world, date_of_birth="") == 400
    return refusal(world)


@decides
def test_k3_an_approved_person_becomes_a_participant_later() -> Decided:
    world = world_of()
    _start(world)
    world.advance("30m")
    return event(world, "KycDecided", ask="kyc/surface-1", external_id="surface-1")


@decides
def test_k4_a_document_decides_the_case() -> Decided:
    world = world_of()
    _start(world, date_of_birth="1985-09-05", docv_eligible=True)
    operate(world, "kyc.document", "surface-1", result="uploaded")
    world.advance("1m")
    return event(world, "KycDecided", ask="kyc/surface-1", approved=False)


@decides
def test_k5_an_address_chooses_the_outcome() -> Decided:
    world = world_of()
    _start(world, email="reject@example.com")
    return event(world, "KycDecided", ask="kyc/surface-1", approved=False)


@decides
def test_k6_a_social_security_number_is_taken() -> Decided:
    world = world_of()
    _start(world)
    body = {**APPLICATION, "ssn": PERSON["ssn"]}
    assert firm_client(world).post("/v1/kyc/start", json=body).status == 400
    return refusal(world)


def _prefill(world: Connection, code: str) -> int:
    body = {"otp": code, "external_id": "u"}
    return firm_client(world).post("/v1/kyc/prefill/otp", json=body).status


def _prefilling() -> Connection:
    world = world_of()
    body = {"user_id": "u", "phone_number": "14155551212", "date_of_birth": "1985-03-30"}
    assert firm_client(world).post("/v1/kyc/prefill", json=body).status == 200
    return world


@decides
def test_k14_a_code_is_good_once() -> Decided:
    world = _prefilling()
    assert [_prefill(world, "123456") for _ in range(2)] == [200, 409]
    return refusal(world)


@decides
def test_k14_a_code_expires() -> Decided:
    world = _prefilling()
    world.advance("10m")
    assert _prefill(world, "123456") == 409
    return refusal(world)


# ---- webhooks


def _registered(*answers: int) -> Connection:
    """A world with a webhook whose receiver gives these answers, then 200."""
    world = world_of()
    waiting = [200, *answers]  # the test delivery of the registration is acknowledged
    world.receive = lambda post: waiting.pop(0) if waiting else 200
    body = {"webhook_url": "http://127.0.0.1:9/hook"}
    assert firm_client(world).post("/v1/kyc/webhook", json=body).status == 200
    return world


def _last_attempt(world: Connection) -> Decided:
    """The last report of an attempt to deliver the event about a person."""
    subject = f"webhook/{world.webhooks[-1].event_id}"
    return event(world, "RuleApplied", ask=subject, subject=subject)


@decides
def test_k8_a_url_that_no_receiver_may_have_is_refused() -> Decided:
    world = world_of()
    assume(world, "webhook.allow_private", "false")
    body = {"webhook_url": "http://127.0.0.1:9/hook"}
    assert firm_client(world).post("/v1/kyc/webhook", json=body).status == 400
    return refusal(world)


@decides
def test_k8_a_url_is_saved_once_the_receiver_has_acknowledged_the_test() -> Decided:
    world = _registered()
    saved = event(world, "RuleApplied", subject=firm(world.simulation).name)
    assert saved.facts == {"webhook": "saved"}
    return saved


@decides
def test_k8_a_url_whose_receiver_does_not_acknowledge_the_test_is_not_saved() -> Decided:
    world = world_of()
    world.receive = lambda post: 500
    body = {"webhook_url": "http://127.0.0.1:9/hook"}
    assert not firm_client(world).post("/v1/kyc/webhook", json=body).json()["validated"]
    refused = event(world, "RuleApplied", subject=firm(world.simulation).name)
    assert refused.facts == {"webhook": "not saved"}
    return refused


@decides
def test_k10_a_delivery_is_sent_with_its_headers() -> Decided:
    world = _registered()
    _start(world, email="reject@example.com")
    return _last_attempt(world)


@decides
def test_k11_an_attempt_that_was_not_acknowledged_is_repeated() -> Decided:
    world = _registered(500)
    _start(world, email="reject@example.com")
    world.advance("1m")
    return _last_attempt(world)


@decides
def test_k12_repeated_failures_open_the_breaker() -> Decided:
    world = _registered(*(500,) * 9)
    _start(world, email="reject@example.com")
    world.advance("40s")
    return event(world, "RuleApplied", subject=firm(world.simulation).name)


@decides
def test_k12_an_event_while_the_breaker_is_open_is_lost() -> Decided:
    world = _registered(*(500,) * 9)
    assume(world, "webhook.breaker_threshold", "1")
    _start(world, email="reject@example.com")
    body = {**APPLICATION, "email": "reject@example.com"}
    assert firm_client(world).post("/v1/kyc/start", json=body).status == 200
    lost = [
        Decided(world, seq, row["rule"], row["facts"], row["subject"])
        for seq, out in records(world)
        for row in out.get("events", ())
        if row["event"] == "RuleApplied" and row.get("facts", {}).get("outcome") == "lost"
    ]
    return lost[-1]


@decides
def test_k13_a_delivery_repeats_under_the_same_event_id() -> Decided:
    world = _registered()
    operate(world, "quirk.set", "webhook_duplicates", value="always")
    _start(world, email="reject@example.com")
    world.advance("1m")
    return _last_attempt(world)


# ---- testers


@decides
def test_t1_an_operator_pays_into_an_account_at_once() -> Decided:
    world = world_of()
    account = account_of(world)
    operate(world, "account.fund", account, amount="5")
    return event(world, "CashMoved", ask=account, account=account)


@decides
def test_t1_an_action_that_is_impossible_is_refused() -> Decided:
    world = world_of()
    with suppress(Refusal):
        operate(world, "fault.remove", "f9")
    return refused_action(world)


@decides
def test_t2_an_injected_fault_refuses_the_call_that_it_matches() -> Decided:
    world = world_of()
    operate(world, "fault.add", match={"operation": "ListLeagues"}, act={"status": 503})
    assert world.gateway.get("/v2/leagues").status == 503
    assert event(world, "FaultStruck").rule == "T2"
    return refusal(world)


@decides
def test_t3_a_quantity_beyond_what_can_be_counted_is_refused() -> Decided:
    world = world_of()
    assert enter(world, listed(world), "buy", 40, orderQty=str(2**62)).status == 400
    return refusal(world)


@decides
def test_t4_an_operation_that_is_not_simulated_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> Decided:
    world = world_of()
    monkeypatch.delitem(handlers(), "HealthAPI.HealthCheck")
    assert firm_client(world).get("/v1/health").status == 501
    return refusal(world)


@decides
def test_r13_a_long_window_of_prices_is_clamped() -> Decided:
    world = world_of()
    window = {"assets": "crypto:btc", "from": 1, "bucket": "ASSET_PRICE_BUCKET_1S"}
    assert world.gateway.get("/v1/asset-prices/history", params=window).status == 200
    return event(world, "RuleApplied", subject="crypto:btc")
