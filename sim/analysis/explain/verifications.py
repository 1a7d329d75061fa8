"""Why a verification stands where it stands: starts, refusals, decisions and waits, each with its
cause, and what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import DecodeError, json

from sim.analysis.explain.causes import Basis, Cause, JournalStep, cause_of, due_of, step_of, steps
from sim.analysis.explain.webhooks import deliveries_about
from sim.core.catalogue.assumptions import (
    KYC_DOCUMENT_DELAY,
    KYC_OUTCOME_RULES,
    KYC_PROVISION_DELAY,
    KYC_REVIEW_OUTCOME,
)
from sim.core.catalogue.quirks import EMPTY_PARTICIPANT_WINDOW
from sim.core.identity.kyc import KycCase
from sim.core.identity.kyc_outcomes import Stage
from sim.kernel.instants import format_instant, parse_instant

if TYPE_CHECKING:
    from sim.actors.script.runner import StepResult
    from sim.scenario.steps import Step as ScenarioStep
    from sim.simulation import Simulation

_START = "KYCAPI.StartKYCVerification"
_WAIT = Basis("K3", "3.5", (KYC_PROVISION_DELAY.name,), EMPTY_PARTICIPANT_WINDOW.name)
_TIMERS = {
    "kyc.document": (
        "the document had been looked at",
        Basis("K4", "3.5", (KYC_DOCUMENT_DELAY.name,)),
    ),
    "kyc.review": ("people had looked at it", Basis("K4", "3.5", (KYC_REVIEW_OUTCOME.name,))),
}
# What a stage means, what helps, whether trying again does.
_STAGES = {
    Stage.DOCUMENT: (
        "a document is owed",
        (
            "upload one at the address of docv, or POST /_sim/v1/kyc/{id}/document says that it was"
            " done"
        ),
        False,
    ),
    Stage.UPLOADED: ("the document is being looked at", "wait, and poll GET /v1/kyc/status", False),
    Stage.REVIEW: (
        "people look at it",
        "wait a business day or two, or POST /_sim/v1/kyc/{id}/decision decides",
        False,
    ),
    Stage.RESUBMIT: (
        "it has to be started again with better data",
        "POST /v1/kyc/start with the same external_id",
        True,
    ),
    Stage.PROVISIONING: (
        "approved, but the participant is being made: participantId is empty",
        "trade after the kyc.approved webhook",
        False,
    ),
    Stage.TRADABLE: ("approved and tradable", "nothing is wrong", False),
    Stage.REJECTED: ("rejected", "a rejection is final; its SSN is free again", False),
}


def explain_verification(sim: Simulation, name: str) -> dict[str, Any] | None:
    """The explanation of a verification by its external id, with `firms/…/` in front where two
    firms use it; None when there is none.
    """
    found = [
        case
        for case in sim.exchange.kyc.cases()
        if name in (case.external_id, f"{case.firm}/{case.external_id}")
    ]
    if not found:
        return None
    if len(found) > 1:
        which = " or ".join(f"kyc/{case.firm}/{case.external_id}" for case in found)
        return {
            "subject": f"kyc/{name}",
            "kind": "verification",
            "summary": "several firms use this external id",
            "remedy": f"ask {which}",
            "chain": [],
        }
    case = found[0]
    meaning, remedy, retry = _STAGES[case.stage]
    due = due_of(sim, "kyc.", f"{case.firm}|{case.external_id}")
    if case.stage is Stage.REVIEW and due is None:
        meaning, remedy = (
            "people look at it and will not finish by themselves",
            "POST /_sim/v1/kyc/{id}/decision decides",
        )
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
        "summary": meaning + ("" if due is None else f" until {format_instant(due)}"),
        "remedy": remedy.replace("{id}", case.external_id),
        "retry": retry,
        "chain": list(_chain(sim, case)),
    }


def _chain(sim: Simulation, case: KycCase) -> Iterator[Cause]:
    """What happened to a verification, oldest first. Steps of the scenario leave no line of their
    own, so they are looked up where they ran.
    """
    causes = list(_recorded_causes(sim, case))
    for result, ran in sim.script.ran():
        kyc, refused = ran.kyc, ran.expect.refused if ran.expect is not None else "false"
        if kyc is None or not _means(kyc.external_id, case):
            continue
        step = _input_of(sim, result, ran)
        what = f"decided: {kyc.decision}" if kyc.decision else f"the document was {kyc.document}"
        if result.failures or refused != "false":
            what += (
                f": {result.failures[0]}"
                if result.failures
                else ", which was refused"
                if refused == "true"
                else ", unless that was refused"
            )
        cause = cause_of(sim, step, what, Basis("K4", "3.5"), result.at)
        cause["by"] = f"{result.name} of the scenario"
        # Before what it set off in the same input, such as the end of the verification.
        place = next(
            (
                number
                for number, one in enumerate(causes)
                if (one["seq"], parse_instant(one["at"])) >= (step.seq, result.at)
            ),
            len(causes),
        )
        causes.insert(place, cause)
    yield from causes


def _input_of(sim: Simulation, result: StepResult, ran: ScenarioStep) -> JournalStep:
    """The input in which a step ran: that of its timer, or the call that woke it; else the first of
    its instant.
    """
    first = min(sim.journal.seq_at(result.at - 1) + 1, sim.seq)
    found = [
        step_of(sim, seq) for seq in range(first, max(first, sim.journal.seq_at(result.at)) + 1)
    ]
    called = ran.when.call.operation if ran.when is not None and ran.when.call is not None else ""
    for step in found:
        if any(
            one["timer"] == "script.step" and one["subject"] == str(result.index)
            for one in step.out.get("fired", ())
        ):
            return step
        if called and called in (name := step.out.get("operation", ""), name.rpartition(".")[2]):
            return step
    return found[0]


def _recorded_causes(sim: Simulation, case: KycCase) -> Iterator[Cause]:
    key = f"{case.firm}|{case.external_id}"
    text = json.encode(case.external_id).decode()[1:-1]
    for step in steps(sim, text, '"action":"kyc.document"', '"timer":"script.step"'):
        given, out = step.input, step.out
        if (
            out.get("operation") == _START
            and out.get("caller") == case.firm
            and _asked(given) == case.external_id
        ):
            yield _started(sim, step)
        elif (
            given["type"] == "control"
            and given["action"] in ("kyc.decide", "kyc.document")
            and _means(given["subject"], case)
        ):
            said = json.decode(given["arguments"])
            what = (
                f"decided: {said['decision']}"
                if "decision" in said
                else f"the document was {said.get('result', said.get('document', ''))}"
            )
            yield cause_of(
                sim,
                step,
                what + (f", which was refused: {out['message']}" if out.get("message") else ""),
                Basis("K4", "3.5"),
            )
        elif given["type"] == "advance" and any(
            one["at"] == case.started and one["timer"] == "script.step" for one in out["fired"]
        ):
            yield cause_of(
                sim,
                step,
                "it was started by a step of the scenario",
                Basis("K5", "3.5", (KYC_OUTCOME_RULES.name,)),
                case.started,
            )
        for fired in out.get("fired", ()):
            if fired["subject"] == key and fired["timer"] in _TIMERS:
                what, basis = _TIMERS[fired["timer"]]
                yield cause_of(sim, step, what, basis, fired["at"])
        for event in step.events:
            if event["event"] == "KycDecided" and (event["firm"], event["external_id"]) == (
                case.firm,
                case.external_id,
            ):
                yield _decided(sim, step, event)


def _asked(given: dict[str, Any]) -> object:
    """The external id that a start was about; the document may be no JSON at all, and then it was
    refused.
    """
    try:
        body = json.decode(given.get("body") or "{}")
    except DecodeError:
        return None
    return body.get("external_id", body.get("externalId")) if isinstance(body, dict) else None


def _means(subject: str, case: KycCase) -> bool:
    """Whether somebody meant a verification: whoever uploads names the request for a document, not
    the person.
    """
    return subject == case.external_id or subject in case.docv_tokens


def _started(sim: Simulation, step: JournalStep) -> Cause:
    out = step.out
    if out["status"] != 200:
        rule = "K6" if "SSN" in out.get("message", "") else "K1" if out["status"] == 409 else "K2"
        return cause_of(
            sim,
            step,
            f"a start was refused with {out['status']}: {out.get('message', '')}",
            Basis(rule, "3.5"),
        )
    status = (out.get("body") or {}).get("status", {})
    shown = " ".join(
        word
        for word in (status.get("decision"), status.get("status"), status.get("subStatus"))
        if word
    )
    return cause_of(
        sim, step, f"started, and shown as {shown}", Basis("K5", "3.5", (KYC_OUTCOME_RULES.name,))
    )


def _decided(sim: Simulation, step: JournalStep, event: dict[str, Any]) -> Cause:
    if not event["approved"]:
        return cause_of(
            sim, step, "rejected", Basis("K5", "3.5", (KYC_OUTCOME_RULES.name,)), event["at"]
        )
    return cause_of(
        sim, step, f"tradable: {event['participant']} with {event['account']}", _WAIT, event["at"]
    )
