"""Identity verification (§3.5): from a firm's start to a tradable participant or a rejection.

`kyc_outcomes.py` has the tables of stages and outcomes; this module moves cases between stages. The
triggers of the public sandbox or the control plane decide the outcome; timers do the rest
(provisioning after an approval, the business days of a manual review). Only terminal results become
events (`KycDecided`, a webhook to the firm); the firm polls for everything else.

Invariant: across the whole platform, one SSN belongs to one case until that case is
rejected (rule K6).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import timedelta

from msgspec import Struct, convert, field

from sim.core.catalogue.assumptions import (
    KYC_DOCUMENT_DELAY,
    KYC_DOCV_SUB_STATUS,
    KYC_OUTCOME_RULES,
    KYC_PROVISION_DELAY,
    KYC_PROVISIONING_STATUS,
    KYC_REVIEW_OUTCOME,
    KYC_SSN_CONFLICT,
    KYC_SSN_REUSE,
)
from sim.core.catalogue.quirks import EMPTY_PARTICIPANT_WINDOW
from sim.core.identity.kyc_application import KycApplication, problems
from sim.core.identity.kyc_outcomes import DECISIONS, NOT_STARTED, STAGES, WAITING, Stage, outcome
from sim.core.model.context import Context
from sim.core.model.events import KycDecided
from sim.core.model.refusals import AlreadyExists, Conflict, InvalidRequest, NotFound, SsnTaken
from sim.core.model.stateful import Stateful
from sim.core.model.why import Facts, Why
from sim.kernel.instants import (
    EASTERN,
    NS_PER_MS,
    NS_PER_S,
    Instant,
    Span,
    eastern,
    minutes,
    to_datetime,
)
from sim.kernel.timers import Timer, TimerHandlers

PROVISION_TIMER, DOCUMENT_TIMER = "kyc.provision", "kyc.document"
REVIEW_TIMER = "kyc.review"

PROVISION_SHORTEST: Span = 500 * NS_PER_MS
PROVISION_LONGEST: Span = minutes(26)


# Base of document links inside the exchange. The server replaces it by its own address in answers:
# ports differ between runs, so they must not occur in a journal.
DOCV_BASE = "https://docv.sandbox.test"


class Docv(Struct, frozen=True):
    """A requested document: where the person uploads it. `qr_code` is the text of the QR code."""

    url: str
    qr_code: str
    transaction_token: str
    event_id: str


class KycCase(Struct, kw_only=True):
    """One verification.

    `decision`, `status` and `sub_status` are as the firm sees them since `changed`. An upload leads
    to `after_document`. `participant` and `provisioned_account` are empty until provisioned. `docv`
    is set only while a document is required; `docv_tokens` are all that were ever issued. `timer`
    is 0 if nothing is due.
    """

    firm: str
    external_id: str
    application: KycApplication
    stage: Stage
    after_document: Stage = Stage.PROVISIONING
    decision: str = ""
    status: str = ""
    sub_status: str = ""
    participant: str = ""
    provisioned_account: str = ""
    docv: Docv | None = None
    docv_tokens: list[str] = field(default_factory=list)
    started: Instant = 0
    changed: Instant = 0
    timer: int = 0

    def is_called(self, name: str) -> bool:
        """Return whether a name is the external id or the token of the required document."""
        return self.external_id == name or (
            self.docv is not None and self.docv.transaction_token == name
        )


class KycStatus(Struct, frozen=True):
    """A case as its firm may see it: NOT_STARTED and empty texts for an unknown id."""

    external_id: str
    decision: str
    status: str
    sub_status: str
    participant: str = ""
    provisioned_account: str = ""
    docv: Docv | None = None


class KycState(Struct):
    """Cases by "firm|external id", and the case that holds an SSN, by the redacted SSN."""

    cases: dict[str, KycCase] = field(default_factory=dict)
    holders: dict[str, str] = field(default_factory=dict)


class Kyc(Stateful[KycState]):
    """All verifications.

    `enroll(firm, display name, transferable) -> (participant, account)` creates a user and an
    account for an approved person. `docv_base` is the base URL of document links.
    """

    def __init__(
        self,
        ctx: Context,
        enroll: Callable[[str, str, bool], tuple[str, str]],
        *,
        docv_base: str = DOCV_BASE,
    ) -> None:
        self._ctx = ctx
        self._enroll = enroll
        self.docv_base = docv_base
        self._state = KycState()

    # ---- calls of firms

    def start(self, firm: str, application: KycApplication) -> KycCase:
        """Start a verification, or return the state of one in progress (rule K1).

        Refuses invalid fields (naming each), a person approved before (AlreadyExists), and an SSN
        that belongs to another case (SsnTaken, unless it may be reused).
        """
        mistakes = problems(application, self._ctx.now)
        if mistakes:
            raise InvalidRequest("; ".join(mistakes), rule="K2", remedy="correct the named fields")
        key = _key(firm, application.external_id)
        existing = self._state.cases.get(key)
        if existing is not None and existing.stage is not Stage.RESUBMIT:
            return self._restart(existing, application)
        self._claim(key, application)
        first, after = outcome(application, self._ctx.assumptions.text(KYC_OUTCOME_RULES))
        case = KycCase(
            firm=firm,
            external_id=application.external_id,
            application=application,
            stage=first,
            after_document=after,
            started=self._ctx.now,
        )
        self._state.cases[key] = case
        self._enter(case, first, "K5")
        return case

    def status(self, firm: str, external_id: str) -> KycStatus:
        """Return the status of a verification."""
        case = self._state.cases.get(_key(firm, external_id))
        if case is None:
            decision, status, sub_status = NOT_STARTED
            return KycStatus(external_id, decision, status, sub_status)
        return convert(case, KycStatus, from_attributes=True)

    def referred(self, firm: str) -> Counter[str]:
        """Count a firm's verifications by referral code."""
        own = [case for case in self._state.cases.values() if case.firm == firm]
        return Counter(case.application.referral_code for case in own)

    # ---- decisions by hand

    def decide(self, external_id: str, decision: str, firm: str = "") -> KycCase:
        """Apply a key of `DECISIONS` to a waiting case. Refused as Conflict if it does not wait."""
        stage = DECISIONS.get(decision)
        if stage is None:
            choices = ", ".join(DECISIONS)
            raise InvalidRequest(f"decision must be one of {choices}, not {decision!r}", rule="K4")
        case = self.find(external_id, firm)
        if case.stage not in WAITING:
            raise Conflict(
                f"{external_id} is {case.stage.value} and does not wait for a decision",
                rule="K4",
                remedy="decide a case in document, uploaded or review",
            )
        self._enter(case, stage, "K4")
        return case

    def document(self, external_id: str, result: str = "uploaded", firm: str = "") -> KycCase:
        """Record the result of a document request: "uploaded", or "failed", which requires a new
        start.

        Refused as Conflict unless a document is required.
        """
        if result not in ("uploaded", "failed"):
            raise InvalidRequest(f"result must be uploaded or failed, not {result!r}", rule="K4")
        case = self.find(external_id, firm)
        if case.stage is not Stage.DOCUMENT:
            raise Conflict(
                f"{external_id} is {case.stage.value} and requires no document",
                rule="K4",
                remedy="start it with docv_eligible true",
            )
        self._enter(case, Stage.UPLOADED if result == "uploaded" else Stage.RESUBMIT, "K4")
        return case

    def find(self, external_id: str, firm: str = "") -> KycCase:
        """Return the case with an external id or document token.

        Refused as not found, or as Conflict if several firms use the id and none is named.
        """
        matching = [
            case
            for case in self._state.cases.values()
            if case.is_called(external_id) and firm in ("", case.firm)
        ]
        if not matching:
            raise NotFound(f"no verification of {external_id!r}", rule="K4")
        if len(matching) > 1:
            firms = ", ".join(case.firm for case in matching)
            problem = f"{external_id!r} is used by {firms}"
            raise Conflict(problem, rule="K2", remedy="name the firm")
        return matching[0]

    def cases(self) -> tuple[KycCase, ...]:
        """Return all cases in order of their first start."""
        return tuple(self._state.cases.values())

    # ---- stages of a case

    def _restart(self, case: KycCase, application: KycApplication) -> KycCase:
        if case.stage in (Stage.PROVISIONING, Stage.TRADABLE):
            if case.application.ssn != application.ssn:
                raise self._ssn_conflict()
            raise AlreadyExists(rule="K1", remedy="GET /v1/kyc/status shows the approved case")
        return case

    def _claim(self, key: str, application: KycApplication) -> None:
        """Reserve the SSN for this case (rule K6).

        If another case holds it, the assumption decides whether that is refused.
        """
        holder = self._state.holders.get(application.ssn)
        if holder is not None and holder != key:
            if self._ctx.assumptions.text(KYC_SSN_REUSE) == "refused":
                raise self._ssn_conflict()
            return
        previous = self._state.cases.get(key)
        if previous is not None:
            self._release_ssn(previous)
        self._state.holders[application.ssn] = key

    def _reserves_ssn(self, case: KycCase) -> bool:
        """Whether the SSN of a case is reserved for it."""
        key = _key(case.firm, case.external_id)
        return self._state.holders.get(case.application.ssn) == key

    def _release_ssn(self, case: KycCase) -> None:
        if self._reserves_ssn(case):
            del self._state.holders[case.application.ssn]

    def _ssn_conflict(self) -> SsnTaken | Conflict:
        reason = "one SSN maps to one account on the whole platform"
        remedy = f"stop: {reason}; use another SSN per test user"
        if self._ctx.assumptions.text(KYC_SSN_CONFLICT) == "409":
            return Conflict(SsnTaken.default, rule="K6", remedy=remedy)
        return SsnTaken(rule="K6", remedy=remedy)

    def _enter(self, case: KycCase, stage: Stage, rule: str) -> None:
        """Move a case to a stage by a rule, and schedule its end."""
        ctx = self._ctx
        facts: Facts = {"stage": stage.value}
        if case.stage is not stage:
            facts["before"] = case.stage.value
        if stage is not Stage.REJECTED:
            ctx.apply(Why(rule, facts), f"kyc/{case.firm}/{case.external_id}")
        if case.timer:
            ctx.timers.cancel(case.timer)
            case.timer = 0
        case.stage = stage
        case.changed = ctx.now
        case.docv = self._docv() if stage is Stage.DOCUMENT else None
        if case.docv is not None:
            case.docv_tokens.append(case.docv.transaction_token)
        case.decision, case.status, case.sub_status = self._visible(stage)
        if stage is Stage.UPLOADED:
            self._wait(case, DOCUMENT_TIMER, ctx.now + ctx.assumptions.number(KYC_DOCUMENT_DELAY))
        elif stage is Stage.REVIEW and ctx.assumptions.text(KYC_REVIEW_OUTCOME) != "hold":
            days = ctx.entropy.stream("kyc.review_days").between(1, 2)
            self._wait(case, REVIEW_TIMER, _business_days_later(ctx.now, days))
        elif stage is Stage.PROVISIONING:
            if ctx.quirks.applies(EMPTY_PARTICIPANT_WINDOW):
                self._wait(case, PROVISION_TIMER, ctx.now + self._provision_delay())
            else:
                self._provision(case)
        elif stage is Stage.REJECTED:
            self._release_ssn(case)
            ctx.emit(KycDecided(case.firm, case.external_id, False, "", "", ctx.now, rule, facts))

    def _visible(self, stage: Stage) -> tuple[str, str, str]:
        decision, status, sub_status = STAGES[stage]
        if stage is Stage.PROVISIONING:
            status = self._ctx.assumptions.text(KYC_PROVISIONING_STATUS)
        elif stage is Stage.DOCUMENT:
            sub_status = self._ctx.assumptions.text(KYC_DOCV_SUB_STATUS)
        return decision, status, sub_status

    def _docv(self) -> Docv:
        token = self._ctx.ids.uuid("docv")
        url = f"{self.docv_base}/{token}"
        return Docv(url, url, token, self._ctx.ids.uuid("docv.event"))

    def _provision_delay(self) -> Span:
        if fixed := self._ctx.assumptions.number(KYC_PROVISION_DELAY):
            return fixed
        stream = self._ctx.entropy.stream("kyc.provision_delay")
        return stream.log_between(PROVISION_SHORTEST, PROVISION_LONGEST)

    def _provision(self, case: KycCase) -> None:
        name = f"{case.application.first_name} {case.application.last_name}"
        participant, account = self._enroll(case.firm, name, self._reserves_ssn(case))
        case.participant, case.provisioned_account = participant, account
        case.stage = Stage.TRADABLE
        case.changed = self._ctx.now
        case.decision, case.status, case.sub_status = STAGES[Stage.TRADABLE]
        now = self._ctx.now
        decided = KycDecided(case.firm, case.external_id, True, participant, account, now, "K3")
        self._ctx.emit(decided)

    def _wait(self, case: KycCase, kind: str, due: Instant) -> None:
        case.timer = self._ctx.timers.schedule(due, kind, _key(case.firm, case.external_id))

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return dict.fromkeys((PROVISION_TIMER, DOCUMENT_TIMER, REVIEW_TIMER), self._stage_over)

    def _stage_over(self, timer: Timer) -> None:
        case = self._state.cases[timer.subject]
        case.timer = 0
        if timer.kind == PROVISION_TIMER:
            self._provision(case)
        elif timer.kind == DOCUMENT_TIMER:
            self._enter(case, case.after_document, "K4")
        else:
            approved = self._ctx.assumptions.text(KYC_REVIEW_OUTCOME) != "reject"
            self._enter(case, Stage.PROVISIONING if approved else Stage.REJECTED, "K4")


def _key(firm: str, external_id: str) -> str:
    return f"{firm}|{external_id}"


def _business_days_later(at: Instant, count: int) -> Instant:
    """Return the same Eastern time of day, `count` weekdays later."""
    local = to_datetime(at, EASTERN)
    day = local.date()
    while count:
        day += timedelta(days=1)
        count -= day.weekday() < 5
    return eastern(day, local.hour, local.minute, local.second) + at % NS_PER_S
