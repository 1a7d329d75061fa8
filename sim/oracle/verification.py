"""Verification of people: which case a start opens, how it goes on, who becomes a participant.

Realises rules K1-K7, K14; §3.5, §4.3, §7.2; the page *KYC triggers*. Webhooks are in `webhooks.py`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from ipaddress import ip_address

from sim.kernel.instants import (
    EASTERN,
    NS_PER_MS,
    NS_PER_S,
    NS_PER_US,
    Instant,
    eastern_date,
    from_datetime,
    to_datetime,
)
from sim.oracle.hearing import Hearing
from sim.oracle.state import Document
from sim.oracle.webhooks import WebhookRules
from sim.read.observed import ObservedInput

SHORTEST, LONGEST = 500 * NS_PER_MS, 26 * 60 * NS_PER_S
# Decision, status and sub-status of a stage.
STAGES = {
    "document": ("REVIEW", "ON_HOLD", "docv_required"),
    "uploaded": ("REVIEW", "ON_HOLD", "pending"),
    "review": ("REVIEW", "OPEN", "In Review"),
    "resubmit": ("RESUBMIT", "OPEN", "Resubmit"),
    "provisioning": ("ACCEPT", "CLOSED", "Accept"),
    "tradable": ("ACCEPT", "CLOSED", "Accept"),
    "rejected": ("REJECT", "CLOSED", "Reject"),
}
APPROVED = ("provisioning", "tradable")
# By date of birth: the first stage, and the one after a document (K5).
BIRTHS = {
    "1985-09-02": ("document", "provisioning"),
    "1985-09-05": ("document", "rejected"),
    "1985-09-25": ("document", "review"),
}
ELIGIBLE_BIRTHS = {"1985-10-02": "provisioning", "1985-09-04": "rejected"}
FORCED = {"approve": "provisioning", "reject": "rejected"}
PREFILLS = {
    "otp_sent": "pending",
    "otp_pending": "pending",
    "otp_rejected": "reject",
    "no_match": "reject",
    "prefill_complete": "accept",
}


@dataclass
class PersonCase:
    """A verification. `due` has the spans of time in which it may go on to a stage by itself."""

    stage: str
    ssn: str
    view: tuple[str, str, str] = ("", "NOT_STARTED", "")
    after_document: str = "provisioning"
    participant: str = ""
    account: str = ""
    due: list[tuple[str, Instant, Instant]] = field(default_factory=list)


class VerificationRules:
    """The part of the law about it."""

    def __init__(self, hearing: Hearing) -> None:
        self._hearing = hearing
        self._exchange = hearing.exchange
        self._webhooks = WebhookRules(hearing)
        self._cases: dict[str, PersonCase] = {}
        self._prefills: dict[str, Document] = {}
        self._doubtful: set[str] = set()  # whose prefill a fault disturbed
        cases, prefills = hearing.exchange.beginning.people
        for key, row in cases["cases"].items():
            case = self._cases[key] = PersonCase(row["stage"], row["application"]["ssn"])
            case.view = row["decision"], row["status"], row["sub_status"]
            case.after_document = row["after_document"]
            case.participant, case.account = row["participant"], row["provisioned_account"]
            self._enter(case, case.stage, row["changed"])
        for key, row in prefills["prefills"].items():
            self._prefills[key] = dict(row)

    def after_input(self, observed: ObservedInput) -> None:
        """Judge an input once all of its events are."""
        struck = any(
            event["event"] == "FaultStruck" and not event.get("subject")
            for event in observed.events
        )
        refused = observed.status in (401, 403, 413, 429, 500, 502, 503, 504)
        called = observed.operation.startswith("KYCAPI.")
        name = observed.operation.partition(".")[2] if called and not refused else ""
        caller = observed.out.get("caller", "")
        key = f"{caller}|{_value(observed.request, 'external_id')}" if called else ""
        if name == "StartKYCVerification" and not struck:
            self._started(observed, key)
        elif called and struck:
            self._struck(observed, key)
            name = ""
        for event in observed.events:
            if event["event"] == "KycDecided":
                self._decided(observed, event)
            elif event.get("subject", "").startswith("kyc/"):
                firm, _, person = event["subject"][4:].rpartition("/")
                stage = event["facts"]["stage"]
                self._moved(observed, f"{firm}|{person}", stage, event)
        if name in ("StartKYCVerification", "GetKYCStatus") and not observed.code:
            self._shown(observed, self._cases.get(key))
        elif name == "StartKYCPrefill" and not observed.code:
            self._prefill_started(observed, f"{caller}|{_value(observed.request, 'user_id')}")
        elif name == "SubmitKYCPrefillOTP":
            self._code_submitted(observed, key)
        for key, case in self._cases.items():
            if case.due and max(latest for _, _, latest in case.due) < observed.now:
                sentence = f"the verification of {key} is still {case.stage}"
                self._hearing.disagree("K3", case.due[0][0], case.stage, sentence)
                case.due.clear()
        self._webhooks.after_input(observed)

    def _struck(self, observed: ObservedInput, key: str) -> None:
        """Take over what a call did whose answer an injected fault changed."""
        stage = _first_stage(observed)
        if stage:
            case = self._cases[key] = PersonCase("", str(observed.request.get("ssn")))
            case.after_document = self._outcome(observed.request)[1]
            case.due = [(stage, observed.now, observed.now)]
        user = _value(observed.request, "user_id") or _value(observed.request, "external_id")
        self._doubtful.add(f"{observed.out.get('caller', '')}|{user}")

    # ---- starts

    def _started(self, observed: ObservedInput, key: str) -> None:
        """Judge a start: refused, the present state, or a new case (K1, K2, K5, K6)."""
        request = observed.request
        case, ssn = self._cases.get(key), str(request.get("ssn"))
        expected = self._start_code(request, key, case, ssn)
        if expected != observed.code:
            sentence = f"a start of {key} has code {observed.code}"
            self._hearing.disagree("K1", str(expected), str(observed.code), sentence)
        if expected == 9:
            status = int(self._exchange.assumed("kyc.ssn_conflict_status"))
            if observed.status != status:
                sentence = f"a start with an SSN in use has status {observed.status}"
                self._hearing.disagree("K6", str(status), str(observed.status), sentence)
        if observed.code:
            return
        if case is None or case.stage == "resubmit":
            case = self._cases[key] = PersonCase("", ssn)
            first, case.after_document = self._outcome(request)
            self._begin(observed, key, case, first)

    def _start_code(self, request: Document, key: str, case: PersonCase | None, ssn: str) -> int:
        if not _is_valid(request, self._exchange.now):
            return 3
        if case is not None and case.stage in APPROVED:
            return 6 if case.ssn == ssn else 9
        if case is not None and case.stage != "resubmit":
            return 0
        reused = any(
            each.ssn == ssn and each.stage != "rejected" and name != key
            for name, each in self._cases.items()
        )
        return 9 if reused and self._exchange.assumed("kyc.ssn_reuse") == "refused" else 0

    def _outcome(self, request: Document) -> tuple[str, str]:
        """Return the first stage of a case, and the one after a document (K4, K5)."""
        eligible = _value(request, "docv_eligible") in (True, "true")
        forced = self._exchange.assumed("kyc.outcome_rules")
        birth = str(_value(request, "date_of_birth"))
        name = f"{_value(request, 'first_name')} {_value(request, 'last_name')}".lower()
        if forced != "sandbox":
            stages = FORCED.get(forced, forced), "provisioning"
        elif birth in BIRTHS:
            stages = BIRTHS[birth]
        elif eligible and birth in ELIGIBLE_BIRTHS:
            stages = ELIGIBLE_BIRTHS[birth], "provisioning"
        elif str(request.get("email")).lower() == "reject@example.com":
            stages = "rejected", "provisioning"
        else:
            stages = "document" if name == "paulina gizela" else "provisioning", "provisioning"
        if stages[0] == "document" and not eligible:
            return "review", stages[1]
        return stages

    def _begin(self, observed: ObservedInput, key: str, case: PersonCase, first: str) -> None:
        reported = _first_stage(observed)
        if reported != first:
            sentence = f"the verification of {key} begins as {reported or 'nothing'}"
            self._hearing.disagree("K5", first, reported, sentence)
        case.due = [(reported, observed.now, observed.now)]

    # ---- how a case goes on

    def _enter(self, case: PersonCase, stage: str, at: Instant) -> None:
        """Note the stage of a case, and what may come of it when (K3, K4)."""
        assumed = self._exchange.assumed
        case.stage, case.view, case.due = stage, STAGES[stage], []
        if stage == "document":
            case.view = (*case.view[:2], assumed("kyc.docv_substatus"))
        elif stage == "uploaded":
            due = at + assumed("kyc.document_delay")
            case.due = [(case.after_document, due, due)]
        elif stage == "review" and assumed("kyc.review_outcome") != "hold":
            days = [(day, day) for day in _business_days(at)]
            case.due = [(each, *day) for each in ("provisioning", "rejected") for day in days]
        elif stage == "provisioning":
            case.view = (*case.view[:1], assumed("kyc.provisioning_status"), case.view[2])
            fixed = assumed("kyc.provision_delay")
            case.due = [("tradable", at + (fixed or SHORTEST), at + (fixed or LONGEST))]
            if not self._hearing.quirk("empty_participant_window"):
                case.due = [("tradable", at, at)]

    def _moved(self, observed: ObservedInput, key: str, stage: str, event: Document) -> None:
        """Judge a change of a case: due, or decided by an operator at this moment (K4)."""
        case, at = self._cases.get(key), event["at"]
        if case is None:
            return
        by_hand = observed.input.get("action", "").startswith("kyc.")
        due = any(each == stage and first <= at <= last for each, first, last in case.due)
        if not due and not by_hand:
            sentence = f"{key} goes from {case.stage} to {stage} at {at}, due {case.due}"
            self._hearing.disagree(event["rule"], str(case.due), f"{stage} {at}", sentence)
        self._enter(case, stage, at)

    def _decided(self, observed: ObservedInput, event: Document) -> None:
        """Judge the end of a case. Who was approved is a participant from now on (K3)."""
        key = f"{event['firm']}|{event['external_id']}"
        self._moved(observed, key, "tradable" if event["approved"] else "rejected", event)
        case = self._cases.get(key)
        if case is None:
            sentence = f"{key} is decided and was never started"
            self._hearing.disagree("K3", "no decision", str(event["approved"]), sentence)
            return
        case.participant, case.account = event["participant"], event["account"]
        if event["approved"] != (case.participant.startswith(f"{event['firm']}/users/")):
            sentence = f"{key} is decided as participant {case.participant!r}"
            self._hearing.disagree("K3", str(event["approved"]), case.participant, sentence)

    def _shown(self, observed: ObservedInput, case: PersonCase | None) -> None:
        """Judge what a start or a status answers (§3.5)."""
        case = case or PersonCase("", "")
        answer = observed.answer
        status = answer["status"]
        reported = tuple(status[name] for name in ("decision", "status", "subStatus"))
        participant = answer.get("participantId", "")
        document = bool(answer.get("docv"))
        pairs = {
            "state": (case.view, reported),
            "participantId": (case.participant, participant),
            "docv": (case.stage == "document", document),
        }
        if "provisionedAccount" in answer:
            pairs["provisionedAccount"] = case.account, answer["provisionedAccount"]
        for name, (expected, value) in pairs.items():
            if expected != value:
                sentence = f"the verification of {status.get('externalId')} has {name} {value}"
                self._hearing.disagree("S3.5-1", str(expected), str(value), sentence)

    # ---- prefills

    def _prefill_started(self, observed: ObservedInput, key: str) -> None:
        """A prefill sends a code (K14)."""
        request = observed.request
        self._doubtful.discard(key)
        self._prefills[key] = {
            "phone": str(_value(request, "phone_number")).lstrip("+"),
            "date_of_birth": _value(request, "date_of_birth"),
            "sent": observed.now,
            "failed": 0,
            "stage": "otp_sent",
        }
        self._prefill_shown(observed, "otp_sent")

    def _code_submitted(self, observed: ObservedInput, key: str) -> None:
        """A code is good for a while, once, and for a few attempts (K14)."""
        prefill, code = self._prefills.get(key), str(observed.request.get("otp"))
        if key in self._doubtful:
            self._hearing.undecided("an injected fault")
            return
        if observed.code == 3:
            return
        if code.startswith("sealed:"):
            self._hearing.undecided("a sealed code")
            if prefill is not None and not observed.code:
                prefill["stage"] = observed.answer["status"]["status"]
                prefill["failed"] += prefill["stage"] == "otp_rejected"
            return
        life = self._exchange.assumed("kyc.prefill_code_life")
        expected = 0
        if prefill is None:
            expected = 5
        elif (
            prefill["stage"] in ("prefill_complete", "no_match")
            or observed.now >= prefill["sent"] + life
            or prefill["failed"] >= self._exchange.assumed("kyc.prefill_attempts")
        ):
            expected = 9
        if observed.code != expected:
            sentence = f"a code of {key} has code {observed.code}"
            self._hearing.disagree("K14", str(expected), str(observed.code), sentence)
        if observed.code or prefill is None:
            return
        prefill["stage"] = self._prefill_stage(prefill, code)
        prefill["failed"] += prefill["stage"] == "otp_rejected"
        self._prefill_shown(observed, prefill["stage"])

    def _prefill_stage(self, prefill: Document, code: str) -> str:
        if code != "123456":
            return "otp_pending" if code == "000000" else "otp_rejected"
        person = prefill["phone"].lstrip("+"), prefill["date_of_birth"]
        registered = self._exchange.assumed("kyc.prefill_match")
        if registered == "always" or (
            registered == "sandbox" and person == ("14155551212", "1985-03-30")
        ):
            return "prefill_complete"
        return "no_match"

    def _prefill_shown(self, observed: ObservedInput, stage: str) -> None:
        status = observed.answer["status"]
        reported = status["decision"], status["status"]
        shows_person = bool(observed.answer.get("firstName"))
        expected = PREFILLS[stage], stage
        if reported != expected or shows_person != (stage == "prefill_complete"):
            sentence = f"a prefill answers {reported}, with a person: {shows_person}"
            self._hearing.disagree("K14", str(expected), str(reported), sentence)


def _value(request: Document, name: str) -> object:
    """Return a field under its name or its camelCase spelling; "" without it."""
    first, *others = name.split("_")
    return request.get(name, request.get(first + "".join(map(str.title, others)), ""))


def _first_stage(observed: ObservedInput) -> str:
    """Return the stage with which a case begins; "" if none does (K5)."""
    stages = [event["facts"]["stage"] for event in observed.events if event.get("rule") == "K5"]
    return stages[0] if stages else ""


def _business_days(at: Instant) -> list[Instant]:
    """Return the same Eastern time one and two weekdays later (K4)."""
    local = to_datetime(at, EASTERN)
    days: list[Instant] = []
    while len(days) < 2:
        local += timedelta(days=1)
        if local.weekday() < 5:
            days.append(from_datetime(local) + at % NS_PER_US)
    return days


_PATTERNS = {
    "external_id": r"(?=.*\S).{1,49}",
    "ssn": r"\d{9}|sealed:d9:.*",
    "first_name": r"(?=.*\S).{1,50}",
    "last_name": r"(?=.*\S).{1,50}",
    "date_of_birth": r"\d{4}-\d\d-\d\d",
    "email": r"[^@\s]+@[^@\s]+",
    "phone_number": r"\+[1-9]\d{1,14}|sealed:.*",
}


def _is_valid(request: Document, now: Instant) -> bool:
    """Return whether a start has every field that it needs in its form (K2)."""
    patterns = _PATTERNS.items()
    if not all(re.fullmatch(form, str(_value(request, name))) for name, form in patterns):
        return False
    address, agreement = request.get("address") or {}, request.get("agreement") or {}
    signed = str(_value(agreement, "signed_at"))
    try:
        ip_address(str(_value(request, "ip_address")))
        born = datetime.fromisoformat(str(_value(request, "date_of_birth")))
        datetime.fromisoformat(signed.replace("Z", "+00:00"))
    except ValueError:
        return False
    return (
        all(_value(address, name) for name in ("address_line_1", "city"))
        and re.fullmatch(r"[A-Z]{2}", str(_value(address, "state"))) is not None
        and re.fullmatch(r"\d{5}(-\d{4})?", str(_value(address, "postal_code"))) is not None
        and _value(address, "country") in ("US", "")
        and bool(_value(agreement, "version"))
        and signed.endswith("Z")
        and born.date() < eastern_date(now)
    )
