"""Decisions about access, verifications and webhooks, and about what testers ask for: each rule that
can be met, in one situation, and what the journal and `explain` name as its reason.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.api.registry import handlers
from sim.contract.messages import exchange_orderfunding_v1 as funding
from sim.run.client.client import Rpc, RpcError
from tests.api.test_exchange_participants import bearing, grant, token_of
from tests.kit import APPLICATION, PERSON, Desk
from tests.spec.decisions.decided import Decided, decides, event, few_games, refusal, refused_action

# ---- access


@decides
def test_e3_an_assertion_is_used_once() -> Decided:
    desk = few_games()
    assertion = desk.assertion(desk.firm)
    assert desk.token(desk.firm, client_assertion=assertion).status == 200
    assert desk.token(desk.firm, client_assertion=assertion).status >= 400
    return refusal(desk)


@decides
def test_e5_a_participants_token_speaks_for_nobody_else() -> Decided:
    desk = few_games()
    other = desk.firm.users[1].name
    client = bearing(desk, token_of(grant(desk)), other)
    assert client.get("/v1/trading/orders/open").status == 403
    return refusal(desk)


@decides
def test_e5_a_participants_token_changes_nothing_of_the_firm() -> Decided:
    desk = few_games()
    headers = {"authorization": f"Bearer {token_of(grant(desk))}"}
    with pytest.raises(RpcError) as refused:
        Rpc(desk, lambda: headers).call(
            "OrderFundingService.CreateVendorOrder", funding.CreateVendorOrderRequest()
        )
    assert refused.value.code == 7
    return refusal(desk)


# ---- verifications


def _start(desk: Desk, **fields: Any) -> int:
    return desk.partner.post("/v1/kyc/start", json={**PERSON, **fields}).status


@decides
def test_k1_an_approved_person_cannot_start_again() -> Decided:
    desk = few_games()
    assert _start(desk) == 200
    desk.advance("30m")
    assert _start(desk) == 409
    return refusal(desk)


@decides
def test_k2_a_start_without_a_date_of_birth_is_refused() -> Decided:
    desk = few_games()
    assert _start(desk, date_of_birth="") == 400
    return refusal(desk)


@decides
def test_k3_an_approved_person_becomes_a_participant_later() -> Decided:
    desk = few_games()
    _start(desk)
    desk.advance("30m")
    return event(desk, "KycDecided", ask="kyc/surface-1", external_id="surface-1")


@decides
def test_k4_a_document_decides_the_case() -> Decided:
    desk = few_games()
    _start(desk, date_of_birth="1985-09-05", docv_eligible=True)
    desk.operate("kyc.document", "surface-1", result="uploaded")
    desk.advance("1m")
    return event(desk, "KycDecided", ask="kyc/surface-1", approved=False)


@decides
def test_k5_an_address_chooses_the_outcome() -> Decided:
    desk = few_games()
    _start(desk, email="reject@example.com")
    return event(desk, "KycDecided", ask="kyc/surface-1", approved=False)


@decides
def test_k6_a_social_security_number_is_taken() -> Decided:
    desk = few_games()
    _start(desk)
    body = {**APPLICATION, "ssn": PERSON["ssn"]}
    assert desk.partner.post("/v1/kyc/start", json=body).status == 400
    return refusal(desk)


def _prefill(desk: Desk, code: str) -> int:
    body = {"otp": code, "external_id": "u"}
    return desk.partner.post("/v1/kyc/prefill/otp", json=body).status


def _prefilling() -> Desk:
    desk = few_games()
    body = {"user_id": "u", "phone_number": "14155551212", "date_of_birth": "1985-03-30"}
    assert desk.partner.post("/v1/kyc/prefill", json=body).status == 200
    return desk


@decides
def test_k14_a_code_is_good_once() -> Decided:
    desk = _prefilling()
    assert [_prefill(desk, "123456") for _ in range(2)] == [200, 409]
    return refusal(desk)


@decides
def test_k14_a_code_expires() -> Decided:
    desk = _prefilling()
    desk.advance("10m")
    assert _prefill(desk, "123456") == 409
    return refusal(desk)


# ---- webhooks


def _registered(*answers: int) -> Desk:
    """A desk with a webhook whose receiver gives these answers, then 200."""
    desk = few_games()
    waiting = [200, *answers]  # the test delivery of the registration is acknowledged
    desk.receive = lambda post: waiting.pop(0) if waiting else 200
    body = {"webhook_url": "http://127.0.0.1:9/hook"}
    assert desk.partner.post("/v1/kyc/webhook", json=body).status == 200
    return desk


def _last_attempt(desk: Desk) -> Decided:
    """The last report of an attempt to deliver the event about a person."""
    subject = f"webhook/{desk.webhooks[-1].event_id}"
    return event(desk, "RuleApplied", ask=subject, subject=subject)


@decides
def test_k8_a_url_that_no_receiver_may_have_is_refused() -> Decided:
    desk = few_games()
    desk.assume("webhook.allow_private", "false")
    body = {"webhook_url": "http://127.0.0.1:9/hook"}
    assert desk.partner.post("/v1/kyc/webhook", json=body).status == 400
    return refusal(desk)


@decides
def test_k8_a_url_is_saved_once_the_receiver_has_acknowledged_the_test() -> Decided:
    desk = _registered()
    saved = event(desk, "RuleApplied", subject=desk.firm.name)
    assert saved.facts == {"webhook": "saved"}
    return saved


@decides
def test_k8_a_url_whose_receiver_does_not_acknowledge_the_test_is_not_saved() -> Decided:
    desk = few_games()
    desk.receive = lambda post: 500
    body = {"webhook_url": "http://127.0.0.1:9/hook"}
    assert not desk.partner.post("/v1/kyc/webhook", json=body).json()["validated"]
    refused = event(desk, "RuleApplied", subject=desk.firm.name)
    assert refused.facts == {"webhook": "not saved"}
    return refused


@decides
def test_k10_a_delivery_is_sent_with_its_headers() -> Decided:
    desk = _registered()
    _start(desk, email="reject@example.com")
    return _last_attempt(desk)


@decides
def test_k11_an_attempt_that_was_not_acknowledged_is_repeated() -> Decided:
    desk = _registered(500)
    _start(desk, email="reject@example.com")
    desk.advance("1m")
    return _last_attempt(desk)


@decides
def test_k12_repeated_failures_open_the_breaker() -> Decided:
    desk = _registered(*(500,) * 9)
    _start(desk, email="reject@example.com")
    desk.advance("40s")
    return event(desk, "RuleApplied", subject=desk.firm.name)


@decides
def test_k12_an_event_while_the_breaker_is_open_is_lost() -> Decided:
    desk = _registered(*(500,) * 9)
    desk.assume("webhook.breaker_threshold", "1")
    _start(desk, email="reject@example.com")
    body = {**APPLICATION, "email": "reject@example.com"}
    assert desk.partner.post("/v1/kyc/start", json=body).status == 200
    lost = [
        Decided(desk, seq, row["rule"], row["facts"], row["subject"])
        for seq, row in desk.journal.events("RuleApplied")
        if row.get("facts", {}).get("outcome") == "lost"
    ]
    return lost[-1]


@decides
def test_k13_a_delivery_repeats_under_the_same_event_id() -> Decided:
    desk = _registered()
    desk.quirk("webhook_duplicates", "always")
    _start(desk, email="reject@example.com")
    desk.advance("1m")
    return _last_attempt(desk)


# ---- testers


@decides
def test_t1_an_operator_pays_into_an_account_at_once() -> Decided:
    desk = few_games()
    account = desk.account()
    desk.operate("account.fund", account, amount="5")
    return event(desk, "CashMoved", ask=account, account=account)


@decides
def test_t1_an_action_that_is_impossible_is_refused() -> Decided:
    desk = few_games()
    return refused_action(desk, "fault.remove", "f9")


@decides
def test_t2_an_injected_fault_refuses_the_call_that_it_matches() -> Decided:
    desk = few_games()
    desk.operate("fault.add", match={"operation": "ListLeagues"}, act={"status": 503})
    assert desk.gateway.get("/v2/leagues").status == 503
    assert event(desk, "FaultStruck").rule == "T2"
    return refusal(desk)


@decides
def test_t4_an_operation_that_is_not_simulated_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> Decided:
    desk = few_games()
    monkeypatch.delitem(handlers(), "HealthAPI.HealthCheck")
    assert desk.partner.get("/v1/health").status == 501
    return refusal(desk)


@decides
def test_r13_a_long_window_of_prices_is_clamped() -> Decided:
    desk = few_games()
    window = {"assets": "crypto:btc", "from": 1, "bucket": "ASSET_PRICE_BUCKET_1S"}
    assert desk.gateway.get("/v1/asset-prices/history", params=window).status == 200
    return event(desk, "RuleApplied", subject="crypto:btc")
