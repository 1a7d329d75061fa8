"""Why a verification is in its stage: starts, refusals, decisions and delays with their causes, and
what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import json

from sim.api.pipeline.inputs import Controlled
from sim.core.identity.kyc import KycCase
from sim.core.identity.kyc_outcomes import Stage
from sim.core.model.events import KycDecided, RuleApplied
from sim.kernel.instants import format_instant
from sim.kernel.journal_reader import UNREADABLE
from sim.read.explain.causes import Cause, JournalStep, Status, due_of, steps
from sim.read.explain.webhooks import deliveries_about
from sim.read.record import facts_of
from sim.run.engine.journal_record import Record
from sim.run.simulation import Simulation

_START = "KYCAPI.StartKYCVerification"
_DECISIONS = ("kyc.decide", "kyc.document")
# What the clock ended, by the stage that a case left.
_ENDED = {"uploaded": "the document was examined", "review": "the manual review ended"}
_STAGES = {
    Stage.DOCUMENT: Status(
        "a document is required",
        "upload one at the address of docv, or use POST /_sim/v1/kyc/{id}/document instead",
    ),
    Stage.UPLOADED: Status("the document is being examined", "wait, and poll GET /v1/kyc/status"),
    Stage.REVIEW: Status(
        "it is under manual review",
        "wait a business day or two, or decide with POST /_sim/v1/kyc/{id}/decision",
    ),
    Stage.RESUBMIT: Status(
        "it has to be started again with better data",
        "POST /v1/kyc/start with the same external_id",
        retry=True,
    ),
    Stage.PROVISIONING: Status(
        "approved, but the participant does not exist yet: participantId is empty",
        "trade after the kyc.approved webhook",
    ),
    Stage.TRADABLE: Status("approved and tradable", "nothing is wrong"),
    Stage.REJECTED: Status("rejected", "a rejection is final; its SSN is free again"),
}
_ENDLESS_REVIEW = Status(
    "it is under manual review, which will not end by itself",
    "decide with POST /_sim/v1/kyc/{id}/decision",
)


def explain_verification(sim: Simulation, name: str) -> dict[str, Any] | None:
    """Explain a verification by its external id; None if there is none.

    A prefix `firms/…/` distinguishes two firms that use the same id.
    """
    cases = [
        case
        for case in sim.exchange.kyc.cases()
        if name in (case.external_id, f"{case.firm}/{case.external_id}")
    ]
    if not cases:
        return None
    if len(cases) > 1:
        which = " or ".join(f"kyc/{case.firm}/{case.external_id}" for case in cases)
        return {
            "subject": f"kyc/{name}",
            "kind": "verification",
            "summary": "several firms use this external id",
            "remedy": f"ask for {which}",
            "chain": [],
        }
    case = cases[0]
    due = due_of(sim, "kyc.", f"{case.firm}|{case.external_id}")
    verdict = _ENDLESS_REVIEW if case.stage is Stage.REVIEW and due is None else _STAGES[case.stage]
    return {
        "subject": f"kyc/{case.external_id}",
        "kind": "verification",
        "state": case.stage.name,
        "firm": case.firm,
        "decision": case.decision,
        "status": case.status,
        "sub_status": case.sub_status,
        "participant": case.participant,
        "provisioned_account": case.provisioned_account,
        "due": "" if due is None else format_instant(due),
        "webhooks": deliveries_about(sim, case.firm, case.external_id),
        "summary": verdict.summary + ("" if due is None else f" until {format_instant(due)}"),
        "remedy": verdict.remedy.replace("{id}", case.external_id),
        "retry": verdict.retry,
        "chain": list(_chain(sim, case)),
    }


def _chain(sim: Simulation, case: KycCase) -> Iterator[Cause]:
    """Yield what happened to a verification, oldest first."""
    text = json.encode(case.external_id).decode()[1:-1]
    subject = f"kyc/{case.firm}/{case.external_id}"
    for step in steps(sim, text, '"action":"kyc.'):
        sentence = _act(step, case)
        entered = list(step.events_of(RuleApplied, subject=subject))
        if sentence and step.out.rule:
            yield step.decision(sentence, step.out)
        elif sentence and not entered:
            yield step.cause(sentence)
        for event in entered:
            yield step.decision(sentence or _ENDED[str(facts_of(event)["before"])], event)
        for decided in step.events_of(KycDecided, firm=case.firm, external_id=case.external_id):
            result = "rejected"
            if decided.approved:
                result = f"tradable: {decided.participant} with {decided.account}"
            yield step.decision(result, decided)


def _act(step: JournalStep, case: KycCase) -> str:
    """Return what a firm or an operator did to a verification; "" for what the clock did."""
    if _is_start(step, case):
        return _started(step)
    if isinstance(step.input, Controlled) and _is_decision(step.input, case):
        return _decided_by_hand(step.input, step.out)
    return ""


def _is_start(step: JournalStep, case: KycCase) -> bool:
    """Return whether a call started a verification, or tried to. Its body may be invalid JSON."""
    if step.out.operation != _START or step.out.caller != case.firm:
        return False
    try:
        body = json.decode(getattr(step.input, "body", "") or "{}")
    except UNREADABLE:
        return False
    if not isinstance(body, dict):
        return False
    return bool(body.get("external_id", body.get("externalId")) == case.external_id)


def _is_decision(entered: Controlled, case: KycCase) -> bool:
    """Return whether an action decided about a verification. An upload names its token."""
    names = (case.external_id, *case.docv_tokens)
    return entered.action in _DECISIONS and entered.subject in names


def _decided_by_hand(entered: Controlled, out: Record) -> str:
    arguments = json.decode(entered.arguments)
    if "decision" in arguments:
        sentence = f"decided: {arguments['decision']}"
    else:
        sentence = f"the document was {arguments.get('result', arguments.get('document', ''))}"
    return f"{sentence}, which was refused: {out.message}" if out.rule else sentence


def _started(step: JournalStep) -> str:
    if step.out.rule:
        return f"a start was refused with {step.out.status}: {step.out.message}"
    status = (step.body or {}).get("status", {})
    words = (status.get("decision"), status.get("status"), status.get("subStatus"))
    return f"started; its status was {' '.join(filter(None, words))}"
