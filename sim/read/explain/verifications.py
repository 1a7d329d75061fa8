"""Why a verification is in its stage: starts, refusals, decisions and delays with their causes, and
what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import json

from sim.core.identity.kyc import KycCase
from sim.core.identity.kyc_outcomes import Stage
from sim.kernel.instants import format_instant
from sim.kernel.journal_reader import UNREADABLE
from sim.read.explain.causes import Cause, JournalStep, Verdict, due_of, steps
from sim.read.explain.webhooks import deliveries_about

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

_START = "KYCAPI.StartKYCVerification"
_DECISIONS = ("kyc.decide", "kyc.document")
# What the clock ended, by the stage that a case left.
_ENDED = {"uploaded": "the document was examined", "review": "the manual review ended"}
_STAGES = {
    Stage.DOCUMENT: Verdict(
        "a document is required",
        "upload one at the address of docv, or use POST /_sim/v1/kyc/{id}/document instead",
    ),
    Stage.UPLOADED: Verdict("the document is being examined", "wait, and poll GET /v1/kyc/status"),
    Stage.REVIEW: Verdict(
        "it is under manual review",
        "wait a business day or two, or decide with POST /_sim/v1/kyc/{id}/decision",
    ),
    Stage.RESUBMIT: Verdict(
        "it has to be started again with better data",
        "POST /v1/kyc/start with the same external_id",
        retry=True,
    ),
    Stage.PROVISIONING: Verdict(
        "approved, but the participant does not exist yet: participantId is empty",
        "trade after the kyc.approved webhook",
    ),
    Stage.TRADABLE: Verdict("approved and tradable", "nothing is wrong"),
    Stage.REJECTED: Verdict("rejected", "a rejection is final; its SSN is free again"),
}
_ENDLESS_REVIEW = Verdict(
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
        entered = step.events_of("RuleApplied", subject=subject)
        if sentence and "rule" in step.out:
            yield step.decision(sentence, step.out)
        elif sentence and not entered:
            yield step.cause(sentence)
        for event in entered:
            yield step.decision(sentence or _ENDED[event["facts"]["before"]], event)
        for event in step.events_of("KycDecided", firm=case.firm, external_id=case.external_id):
            result = "rejected"
            if event["approved"]:
                result = f"tradable: {event['participant']} with {event['account']}"
            yield step.decision(result, event)


def _act(step: JournalStep, case: KycCase) -> str:
    """Return what a firm or an operator did to a verification; "" for what the clock did."""
    if _is_start(step, case):
        return _started(step)
    return _decided_by_hand(step) if _is_decision(step, case) else ""


def _is_start(step: JournalStep, case: KycCase) -> bool:
    """Return whether a call started a verification, or tried to. Its body may be invalid JSON."""
    if step.out.get("operation") != _START or step.out.get("caller") != case.firm:
        return False
    try:
        body = json.decode(step.input.get("body") or "{}")
    except UNREADABLE:
        return False
    if not isinstance(body, dict):
        return False
    return bool(body.get("external_id", body.get("externalId")) == case.external_id)


def _is_decision(step: JournalStep, case: KycCase) -> bool:
    return step.input.get("action") in _DECISIONS and _names(step.input["subject"], case)


def _names(subject: str, case: KycCase) -> bool:
    """Return whether a subject means a verification.

    An upload names the document's token instead.
    """
    return subject == case.external_id or subject in case.docv_tokens


def _decided_by_hand(step: JournalStep) -> str:
    arguments = json.decode(step.input["arguments"])
    if "decision" in arguments:
        what = f"decided: {arguments['decision']}"
    else:
        what = f"the document was {arguments.get('result', arguments.get('document', ''))}"
    return f"{what}, which was refused: {step.out['message']}" if "rule" in step.out else what


def _started(step: JournalStep) -> str:
    if "rule" in step.out:
        code, message = step.out["status"], step.out["message"]
        return f"a start was refused with {code}: {message}"
    status = (step.out.get("body") or {}).get("status", {})
    words = (status.get("decision"), status.get("status"), status.get("subStatus"))
    return f"started; its status was {' '.join(filter(None, words))}"
