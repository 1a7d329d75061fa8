"""Identity verification (§3.5, §7.2; behaviour rules K1-K6)."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.identity.kyc import PROVISION_LONGEST, PROVISION_SHORTEST, Kyc, KycCase, KycState
from sim.core.identity.kyc_application import KycAddress, KycApplication, problems
from sim.core.identity.kyc_outcomes import Stage
from sim.core.model.context import Context
from sim.core.model.events import KycDecided
from sim.core.model.refusals import AlreadyExists, Conflict, InvalidRequest, NotFound, SsnTaken
from sim.kernel.instants import Instant, minutes, parse_instant, seconds

START = parse_instant("2026-09-08T14:00:00-04:00")  # a Tuesday
FIRM = "firms/Acme"
PERSON = KycApplication(
    external_id="user-1",
    ssn="123456789",
    first_name="Ada",
    last_name="Lovelace",
    date_of_birth="1990-12-10",
    email="ada@example.com",
    phone_number="+14155551212",
    address=KycAddress(address_line_1="1 Main St", city="Boston", state="MA", postal_code="02101"),
    agreement_version="PMX.ISV.SANDBOX.v1.0",
    agreement_signed_at="2026-09-08T17:59:00Z",
    ip_address="203.0.113.7",
)


def person(**fields: object) -> KycApplication:
    return msgspec.structs.replace(PERSON, **fields)


REVIEWED: dict[str, object] = {"first_name": "Paulina", "last_name": "Gizela"}


@dataclass
class Bench:
    """A kyc component with a clock of its own and the accounts it opened."""

    ctx: Context = field(default_factory=lambda: Context(seed=7, now=START))
    opened: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.kyc = Kyc(self.ctx, self.enroll)

    def start(self, **fields: object) -> KycCase:
        """Start the verification of a person."""
        return self.kyc.start(FIRM, person(**fields))

    def enroll(self, firm: str, name: str, transferable: bool) -> tuple[str, str]:
        self.opened.append((firm, name))
        number = len(self.opened)
        return f"{firm}/users/{number}", f"firms/Clearing/accounts/{number}"

    def advance(self, to: Instant) -> None:
        while (timer := self.ctx.timers.pop_due(to)) is not None:
            self.ctx.now = timer.due
            self.kyc.timers[timer.kind](timer)
        self.ctx.now = to

    def decisions(self) -> list[KycDecided]:
        """What firms are told of: terminal results."""
        return [event for event in self.ctx.events if isinstance(event, KycDecided)]

    def view(self, external_id: str = "user-1") -> tuple[str, str, str]:
        status = self.kyc.status(FIRM, external_id)
        return status.decision, status.status, status.sub_status


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_approved_start_has_no_participant_until_it_is_provisioned(bench: Bench) -> None:
    case = bench.start()
    assert (case.decision, case.status, case.participant) == ("ACCEPT", "CLOSED", "")
    assert bench.decisions() == []
    bench.advance(START + PROVISION_SHORTEST - 1)
    assert bench.kyc.status(FIRM, "user-1").participant == ""
    bench.advance(START + PROVISION_LONGEST)
    status = bench.kyc.status(FIRM, "user-1")
    assert status.participant == f"{FIRM}/users/1"
    assert status.provisioned_account == "firms/Clearing/accounts/1"
    assert bench.opened == [(FIRM, "Ada Lovelace")]
    (decided,) = bench.decisions()
    assert (decided.approved, decided.external_id) == (True, "user-1")
    assert decided.participant == status.participant


@given(seed=st.integers(0, 2**32))
def test_provisioning_takes_half_a_second_to_26_minutes(seed: int) -> None:
    """K3."""
    bench = Bench(ctx=Context(seed=seed, now=START))
    bench.start()
    due = bench.ctx.timers.next_due()
    assert due is not None
    assert PROVISION_SHORTEST <= due - START <= PROVISION_LONGEST


def test_the_provisioning_delay_can_be_fixed_or_switched_off(bench: Bench) -> None:
    bench.ctx.assumptions.change("kyc.provision_delay", "3s")
    bench.start()
    assert bench.ctx.timers.next_due() == START + seconds(3)
    bench.ctx.quirks.change("empty_participant_window", "never")
    second = bench.start(external_id="user-2", ssn="987654321", last_name="Byron")
    assert second.participant == f"{FIRM}/users/1"


CASES = [
    ({}, Stage.PROVISIONING),
    ({"email": "reject@example.com"}, Stage.REJECTED),
    ({"email": "reject@elsewhere.com"}, Stage.PROVISIONING),
    (REVIEWED, Stage.REVIEW),
    (REVIEWED | {"docv_eligible": True}, Stage.DOCUMENT),
    ({"date_of_birth": "1985-10-02", "docv_eligible": True}, Stage.PROVISIONING),
    ({"date_of_birth": "1985-09-04", "docv_eligible": True}, Stage.REJECTED),
    ({"date_of_birth": "1985-09-04"}, Stage.PROVISIONING),
    ({"date_of_birth": "1985-09-02", "docv_eligible": True}, Stage.DOCUMENT),
    ({"date_of_birth": "1985-09-02"}, Stage.REVIEW),
]


@pytest.mark.parametrize(("fields", "stage"), CASES)
def test_public_sandbox_triggers_choose_the_first_stage(
    bench: Bench, fields: dict[str, object], stage: Stage
) -> None:
    """K5."""
    assert bench.start(**fields).stage is stage


@pytest.mark.parametrize(
    ("word", "stage"),
    [
        ("approve", Stage.PROVISIONING),
        ("reject", Stage.REJECTED),
        ("review", Stage.REVIEW),
        ("document", Stage.REVIEW),
    ],
)
def test_an_assumption_forces_one_outcome_for_everybody(
    bench: Bench, word: str, stage: Stage
) -> None:
    bench.ctx.assumptions.change("kyc.outcome_rules", word)
    assert bench.start(email="reject@example.com").stage is stage


def test_a_rejection_is_told_at_once_and_stays(bench: Bench) -> None:
    bench.start(email="reject@example.com")
    (rejected,) = bench.decisions()
    assert (rejected.approved, rejected.participant, rejected.at) == (False, "", START)
    assert (rejected.rule, rejected.facts) == ("K5", {"stage": "rejected"})
    assert bench.start().stage is Stage.REJECTED
    assert bench.view() == ("REJECT", "CLOSED", "Reject")
    assert len(bench.decisions()) == 1


DOCUMENT_ENDS = [
    ("1985-09-02", Stage.TRADABLE),
    ("1985-09-05", Stage.REJECTED),
    ("1985-09-25", Stage.REVIEW),
]


@pytest.mark.parametrize(("birth", "end"), DOCUMENT_ENDS)
def test_a_document_is_owed_then_uploaded_then_decides(
    bench: Bench, birth: str, end: Stage
) -> None:
    """K4."""
    case = bench.start(date_of_birth=birth, docv_eligible=True)
    assert bench.view() == ("REVIEW", "ON_HOLD", "docv_required")
    assert case.docv.transaction_token in case.docv.url
    bench.kyc.document(case.docv.transaction_token)
    assert bench.view() == ("REVIEW", "ON_HOLD", "pending")
    assert bench.kyc.status(FIRM, "user-1").docv is None
    bench.advance(START + seconds(5) + PROVISION_LONGEST)
    assert case.stage is end


def test_a_document_can_only_be_uploaded_while_it_is_owed(bench: Bench) -> None:
    bench.start(date_of_birth="1985-09-02", docv_eligible=True)
    bench.kyc.document("user-1")
    with pytest.raises(Conflict, match="uploaded and requires no document"):
        bench.kyc.document("user-1")
    with pytest.raises(NotFound):
        bench.kyc.document("nobody")
    with pytest.raises(InvalidRequest):
        bench.kyc.document("user-1", "shredded")


def test_manual_review_takes_one_or_two_business_days(bench: Bench) -> None:
    """K4."""
    friday = parse_instant("2026-09-11T23:30:07.000000025-04:00")
    bench.advance(friday)
    for number in range(12):
        bench.start(external_id=f"p{number}", ssn=f"{number:09d}", **REVIEWED)
    assert {timer.due for timer in bench.ctx.timers.pending()} == {
        parse_instant("2026-09-14T23:30:07.000000025-04:00"),  # the Monday
        parse_instant("2026-09-15T23:30:07.000000025-04:00"),
    }
    bench.advance(parse_instant("2026-09-16T00:30:00-04:00"))
    assert all(case.stage is Stage.TRADABLE for case in bench.kyc.cases())


def test_a_held_review_waits_for_the_control_plane(bench: Bench) -> None:
    bench.ctx.assumptions.change("kyc.review_outcome", "hold")
    bench.start(**REVIEWED)
    assert bench.ctx.timers.next_due() is None
    assert bench.view() == ("REVIEW", "OPEN", "In Review")
    bench.kyc.decide("user-1", "approve")
    assert bench.view()[0] == "ACCEPT"
    with pytest.raises(Conflict, match="does not wait for a decision"):
        bench.kyc.decide("user-1", "reject")


def test_a_decision_by_hand_cancels_the_timer_of_the_review(bench: Bench) -> None:
    bench.start(**REVIEWED)
    bench.kyc.decide("user-1", "reject")
    assert bench.ctx.timers.next_due() is None
    assert bench.view() == ("REJECT", "CLOSED", "Reject")
    with pytest.raises(InvalidRequest, match="approve, reject, review, resubmit"):
        bench.kyc.decide("user-1", "maybe")


def test_a_resubmit_starts_anew_with_corrected_fields(bench: Bench) -> None:
    bench.start(**REVIEWED)
    bench.kyc.decide("user-1", "resubmit")
    assert bench.view()[0] == "RESUBMIT"
    assert bench.start(ssn="111111111").stage is Stage.PROVISIONING
    assert bench.start(external_id="user-2", first_name="Bob").stage is Stage.PROVISIONING


def test_a_pending_start_repeated_shows_the_present_state_and_draws_nothing(bench: Bench) -> None:
    """K1."""
    first = bench.start(**REVIEWED)
    drawn = bench.ctx.entropy.save()
    assert bench.start() is first
    assert bench.ctx.entropy.save() == drawn


def test_an_approved_person_cannot_start_again(bench: Bench) -> None:
    """K1."""
    bench.start()
    with pytest.raises(AlreadyExists):
        bench.start()
    with pytest.raises(SsnTaken, match="user already provisioned with a different SSN"):
        bench.start(ssn="999999999")


@pytest.mark.parametrize(
    ("firm", "fields"),
    [
        (FIRM, {"external_id": "user-2"}),
        (FIRM, {"external_id": "user-2", "last_name": "Byron"}),
        ("firms/Other", {}),
    ],
)
def test_one_ssn_belongs_to_one_account_platform_wide(
    bench: Bench, firm: str, fields: dict[str, object]
) -> None:
    """K6."""
    bench.start()
    with pytest.raises(SsnTaken):
        bench.kyc.start(firm, person(**fields))
    bench.ctx.assumptions.change("kyc.ssn_conflict_status", "409")
    with pytest.raises(Conflict, match="different SSN"):
        bench.kyc.start(firm, person(**fields))


def test_a_rejection_frees_the_ssn(bench: Bench) -> None:
    bench.start(email="reject@example.com")
    assert bench.kyc.start("firms/Other", PERSON).stage is Stage.PROVISIONING


def test_an_unknown_id_is_not_started_and_ids_are_per_firm(bench: Bench) -> None:
    assert bench.view("nobody") == ("", "NOT_STARTED", "")
    bench.start()
    assert bench.kyc.status("firms/Other", "user-1").status == "NOT_STARTED"
    bench.kyc.start("firms/Other", person(ssn="222222222"))
    with pytest.raises(Conflict, match="firms/Acme, firms/Other"):
        bench.kyc.find("user-1")
    assert bench.kyc.find("user-1", "firms/Other").firm == "firms/Other"


BAD_FIELDS = [
    ("external_id", ""),
    ("external_id", "x" * 50),
    ("ssn", "123-45-6789"),
    ("ssn", "12345678"),
    ("ssn", "sealed:x11:00000000000000000000000000000000"),
    ("first_name", " "),
    ("last_name", "x" * 51),
    ("date_of_birth", "1990-02-30"),
    ("date_of_birth", "10/12/1990"),
    ("date_of_birth", "2026-09-08"),
    ("email", "ada"),
    ("phone_number", "4155551212"),
    ("agreement.version", ""),
    ("agreement.signed_at", "2026-09-08"),
    ("agreement.signed_at", "yesterdayZ"),
    ("agreement.signed_at", "2026-09-08T10:00:00-04:00"),
    ("ip_address", "nowhere"),
]


@pytest.mark.parametrize(("name", "value"), BAD_FIELDS)
def test_a_bad_field_is_named(bench: Bench, name: str, value: str) -> None:
    """K2."""
    with pytest.raises(InvalidRequest) as refused:
        bench.start(**{name.replace(".", "_"): value})
    assert refused.value.message.startswith(f"{name}: ")
    assert bench.kyc.cases() == ()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("address_line_1", ""),
        ("city", ""),
        ("state", "Mass"),
        ("postal_code", "2101"),
        ("country", "CA"),
    ],
)
def test_a_bad_address_is_named(name: str, value: str) -> None:
    assert PERSON.address is not None
    wrong = person(address=msgspec.structs.replace(PERSON.address, **{name: value}))
    assert [text.partition(":")[0] for text in problems(wrong, START)] == [f"address.{name}"]


def test_every_bad_field_is_named_at_once() -> None:
    names = [text.partition(":")[0] for text in problems(KycApplication(), START)]
    fields = "external_id ssn first_name last_name date_of_birth email phone_number address"
    assert names == f"{fields} agreement.version agreement.signed_at ip_address".split()


def test_a_sealed_ssn_is_as_good_as_nine_digits(bench: Bench) -> None:
    assert bench.start(ssn="sealed:d9:" + "0" * 32).stage is Stage.PROVISIONING


def test_documented_wording_is_a_switch(bench: Bench) -> None:
    bench.ctx.assumptions.change("kyc.provisioning_status", "ON_HOLD")
    bench.ctx.assumptions.change("kyc.docv_substatus", "Document Request Initiated")
    assert bench.start().status == "ON_HOLD"
    document = bench.start(
        external_id="user-2", ssn="333333333", date_of_birth="1985-09-02", docv_eligible=True
    )
    assert document.sub_status == "Document Request Initiated"
    bench.advance(START + minutes(26))
    assert bench.view() == ("ACCEPT", "CLOSED", "Accept")


def test_a_saved_state_goes_on_where_it_stopped(bench: Bench) -> None:
    bench.start()
    other = Bench()
    other.ctx.timers.load(bench.ctx.timers.save())
    other.kyc.load(msgspec.msgpack.decode(msgspec.msgpack.encode(bench.kyc.save()), type=KycState))
    for each in (bench, other):
        each.advance(START + PROVISION_LONGEST)
    assert msgspec.json.encode(other.kyc.save()) == msgspec.json.encode(bench.kyc.save())
    assert other.decisions() == bench.decisions()
