"""What an injected fault affected: each call, frame, attempt, delivery or order with its cause."""

from __future__ import annotations

from typing import Any

from sim.core.model.events import FaultInjected
from sim.core.service.faults import ActiveFault
from sim.read.explain.causes import Cause, JournalStep, fault_document, fault_named, steps
from sim.read.layout import counted
from sim.run.simulation import Simulation

_NEVER_WAIT = "orders of `order` steps and of simulated traders do not wait for the engine"
_SHOWN = 50  # number of injections that an explanation lists, the latest ones


def explain_fault(sim: Simulation, name: str) -> dict[str, Any] | None:
    """Explain a fault by its id; None if there is none with this id."""
    fault = fault_named(sim, name)
    if fault is None:
        return None
    in_force = fault in sim.exchange.faults.all()
    remedy = f"DELETE /_sim/v1/faults/{name} ends it" if in_force else ""
    struck = (strikes_of(step, fault=name) for step in steps(sim, f'"fault":"{name}"'))
    chain = [cause for causes in struck for cause in causes]
    return {
        "subject": f"fault/{name}",
        "kind": "fault",
        "state": "IN_FORCE" if in_force else "OVER",
        "matched": fault.matched,
        "affected": fault.affected,
        "impossible": fault.impossible,
        "summary": _summary(fault),
        "remedy": remedy,
        **fault_document(sim, name),
        "chain": chain[-_SHOWN:],
    }


def idle_faults(sim: Simulation) -> list[str]:
    """Return a line for each fault of a run that never acted: its id, and why."""
    faults = (*sim.exchange.faults.over(), *sim.exchange.faults.all())
    return [
        f"fault {fault.id} never acted: {_summary(fault)}" for fault in faults if not fault.affected
    ]


def _summary(fault: ActiveFault) -> str:
    if not fault.matched:
        match = fault.spec.match
        where = " ".join(filter(None, (match.operation, match.symbol, match.caller))) or "anything"
        queue = f"; {_NEVER_WAIT}" if fault.planes == ("engine",) else ""
        return f"it has matched nothing: {where} on {', '.join(fault.planes)}{queue}"
    matches = counted(fault.matched, "match")
    text = f"it was injected into {fault.affected} of {matches}: {fault.action}"
    return text + (f"; it was impossible on {fault.impossible}" if fault.impossible else "")


def strikes_of(step: JournalStep, **fields: str) -> list[Cause]:
    """Return the injections of faults in one input that have these values in their fields."""
    return [
        step.decision(sentence(event), event) | fault_document(step.sim, event.fault)
        for event in step.events_of(FaultInjected, **fields)
    ]


def sentence(event: FaultInjected) -> str:
    """Describe an injection."""
    target = event.operation or "a call"
    if event.plane != "webhook":
        target = target.rpartition(".")[2]
    if event.attempt:
        target = f"attempt {event.attempt} of {target}"
    elif event.plane == "webhook":
        target = f"the delivery of {target}"
    elif event.plane == "stream":
        target = f"a frame of {target}"
    whom = event.subject or event.caller
    about = f" ({whom})" if whom else ""
    return f"fault {event.fault} affected {target}{about} on {event.plane}: {event.act}"
