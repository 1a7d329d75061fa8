"""Verification of a person (§3.5), end to end: the window between approval and webhook, documents,
rejections.
"""

from __future__ import annotations

import json

import pytest

from sim.api.pipeline.inputs import Post
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.kernel.instants import NS_PER_S
from sim.run.client.client import RpcError
from tests.kit import Desk, begin, order


@pytest.mark.spec("S3.5-1", "S3.5-2", "S4.3-21")
def test_nobody_trades_in_the_window_between_approval_and_webhook(
    world: Desk, instrument: Instrument
) -> None:
    """Neither by the name in the later webhook nor by the account; both work right after it."""
    other = begin(limits=False)  # a run with the same seed has the same name
    other.start_kyc()
    other.advance("26m")
    case = other.kyc_status()
    participant, account = case["participantId"], case["provisionedAccount"]
    assert participant
    mine, client = world.firm, world.partner
    assert world.register_webhook().json()["validated"] is True
    assert world.start_kyc().json()["participantId"] == ""
    body = order(instrument, "buy", 40)

    def tried() -> list[int]:
        return [
            world.exchange(mine, participant).post("/v1/trading/orders", json=body).status,
            world.enter(instrument, "buy", 40, account=account).status,
            world.exchange(mine, participant).get("/v1/trading/orders/open").status,
        ]

    while len(world.webhooks) < 2:
        case = world.kyc_status()
        assert (case["status"]["decision"], case["status"]["status"]) == ("ACCEPT", "CLOSED")
        assert case["participantId"] == ""
        assert tried() == [403, 403, 403]
        assert participant not in client.get("/v1/users").json()["users"]
        with pytest.raises(RpcError) as refused:
            request = wire.GetOpenOrdersRequest()
            world.rpc(mine, participant).call("OrderEntryAPI.GetOpenOrders", request)
        assert refused.value.code == 7
        due = world.simulation.next_due()
        assert due is not None
        world.advance_to(max(due, world.now + 10_000_000_000))
    event = json.loads(world.webhooks[-1].body)
    assert (event["type"], event["participant_id"]) == ("kyc.approved", participant)
    world.operate("account.fund", account, amount="10")
    assert world.exchange(mine, participant).post("/v1/trading/orders", json=body).status == 200
    assert participant in client.get("/v1/users").json()["users"]


@pytest.mark.spec("S3.5-4", "S3.5-5", "S3.5-6")
@pytest.mark.parametrize("eligible", [True, False])
def test_a_document_is_asked_for_only_where_the_application_says_that_one_can_be_shown(
    world: Desk, eligible: bool
) -> None:
    world.register_webhook()
    case = world.start_kyc(date_of_birth="1985-09-02", docv_eligible=eligible).json()
    status = case["status"]
    assert case["participantId"] == ""
    if eligible:
        assert status["subStatus"] == "docv_required"
        assert case["docv"]["docvTransactionToken"]
        assert world.kyc_status()["docv"] == case["docv"]
    else:
        assert (status["decision"], case.get("docv")) == ("REVIEW", None)
        # Tuesday evening and night are not business hours; no webhook is sent until they are over.
        world.advance("5h")
        assert world.kyc_status()["status"]["decision"] == "REVIEW"
    assert len(world.webhooks) == 1


@pytest.mark.spec("S3.5-3")
def test_a_rejection_says_nothing_of_its_reason_anywhere(world: Desk) -> None:
    world.register_webhook()
    case = world.start_kyc(email="reject@example.com").json()
    world.advance("1m")
    event = json.loads(world.webhooks[-1].body)
    assert event["type"] == "kyc.rejected"
    for body in (case, world.kyc_status(), event):
        text = json.dumps(body).lower()
        assert "reason" not in text
        assert "decline" not in text
    assert world.kyc_status()["participantId"] == ""


@pytest.mark.spec("S3.5-1")
def test_the_window_without_a_participant_is_from_half_a_second_to_26_minutes_long(
    world: Desk,
) -> None:
    """§3.5. Of 120 windows some are near each bound."""
    world.register_webhook()
    begun, windows = world.now, []
    for number in range(120):
        answer = world.start_kyc(external_id=f"w-{number}", ssn=f"4{number:08d}")
        assert answer.json()["participantId"] == ""

    def receive(post: Post) -> int:
        windows.append(world.now - begun)
        return 200

    world.receive = receive
    world.advance("499ms")
    assert windows == []
    world.advance_to(begun + 26 * 60 * NS_PER_S)
    assert len(windows) == 120
    assert min(windows) < 60 * NS_PER_S
    assert max(windows) > 20 * 60 * NS_PER_S
