"""Journal lines as causes: who or what caused an input, what resulted, and by which rule.

A cause is a document: the journal position, the virtual instant, the actor, and a sentence. If it
is a decision, it also has the rule and the facts that the journal records, and the section,
assumptions and quirk behind the rule (`rules.py`). The journal of the current branch is the only
source, so the exchange stores nothing extra for explanations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import to_builtins

from sim.api.pipeline.inputs import (
    SCRIPT,
    Controlled,
    RestCall,
    RpcCall,
    Stepped,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    WebhookAnswered,
)
from sim.core.service.faults import ActiveFault
from sim.kernel.instants import Instant, format_instant
from sim.read.explain.rules import basis_of
from sim.read.line_search import lines_with
from sim.read.record import JournalEntry, facts_of
from sim.run.simulation import Simulation

Cause = dict[str, Any]
E = TypeVar("E")


class Status(NamedTuple):
    """The current state of something, what helps, and whether a retry would, be it the caller's or
    the exchange's own.
    """

    summary: str
    remedy: str
    retry: bool = False


class Decided(Protocol):
    """Something that reports a decision; it may have `facts` and `at`, too."""

    @property
    def rule(self) -> str: ...


class JournalStep(JournalEntry):
    """One input of the current branch and its outcome, as the journal has them."""

    def __init__(self, sim: Simulation, raw: bytes) -> None:
        super().__init__(raw)
        self.sim = sim

    @property
    def by_script(self) -> bool:
        """Whether a step of the scenario caused this."""
        return isinstance(self.input, Stepped) or getattr(self.input, "peer", "") == SCRIPT

    @property
    def action(self) -> str:
        """The name of an operator's action; "" of another input."""
        return self.input.action if isinstance(self.input, Controlled) else ""

    def events_of(self, *kinds: type[E], **fields: object) -> Iterator[E]:
        """Yield the events of some kinds that have these values in their fields, in order."""
        for event in self.events:
            if isinstance(event, kinds):
                if all(getattr(event, name) == value for name, value in fields.items()):
                    yield event

    def _scenario_step(self) -> str:
        """Return the name of the step that began at this input, or the last one before it."""
        step = self
        while not isinstance(step.input, Stepped):
            step = step_of(self.sim, step.seq - 1)
        return str(self.sim.script.name_of(step.input.step - 1))

    def decision(self, sentence: str, decided: Decided, at: Instant | None = None) -> Cause:
        """Return the link of a chain that reports a decision: an event, or the end of a stream.

        It has the rule and the facts of the decision, and what stands behind the rule. It was made
        at `at`, or else at the instant that an event has.
        """
        at = getattr(decided, "at", None) if at is None else at
        return {
            **self.cause(sentence, at),
            "rule": decided.rule,
            "facts": facts_of(decided),
            **basis_of(decided.rule).document(self.sim),
        }

    def cause(self, sentence: str, at: Instant | None = None) -> Cause:
        """Return one link of a chain. `at` is set if it happened after the input's own instant."""
        at = self.at if at is None else at
        document: Cause = {
            "seq": self.seq,
            "at": format_instant(at),
            "by": self.actor(at),
            "what": sentence,
        }
        return document | ({"request_id": self.request_id} if self.request_id else {})

    def actor(self, at: Instant) -> str:
        """Return who or what made something happen at an instant, as a clause."""
        if self.by_script:
            return f"{self._scenario_step()} of the scenario"
        peer = getattr(self.input, "peer", "") or "an unknown address"
        caller = self.out.caller or f"a caller at {peer}"
        match self.input:
            case RestCall(verb=verb, path=path):
                return f"{caller} called {verb} {path}"
            case RpcCall(method=method):
                return f"{caller} called gRPC {_operation(method)}"
            case StreamOpened(method=method):
                return f"{caller} opened {_operation(method)}"
            case StreamFrame(stream=stream):
                return f"the client sent a frame on stream {stream}"
            case StreamHungUp(stream=stream):
                return f"the client disconnected from stream {stream}"
            case Controlled() as action:
                words = (action.action, action.subject, action.arguments)
                return "the tester called " + " ".join(
                    word for word in words if word not in ("", "{}")
                )
            case WebhookAnswered() as answer:
                return f"a webhook receiver answered {answer.status or answer.error}"
        timers = [
            f"{timer.timer} {timer.subject}".rstrip() for timer in self.out.fired if timer.at == at
        ]
        return f"timer {', '.join(dict.fromkeys(timers))} fired" if timers else "the clock moved"


def steps(
    sim: Simulation, *needles: str, after: int = 0, until: int | None = None
) -> Iterator[JournalStep]:
    """Yield the steps whose line contains one of the texts, oldest first, up to an input."""
    texts, end = [needle.encode() for needle in needles], _end(sim, until)
    for raw in lines_with(sim.journal, sim.journal.branch, texts, after, end):
        yield JournalStep(sim, raw)


def steps_back(sim: Simulation, needle: str, until: int | None = None) -> Iterator[JournalStep]:
    """Yield the steps whose journal line contains a text, latest first."""
    texts, end = [needle.encode()], _end(sim, until)
    for raw in lines_with(sim.journal, sim.journal.branch, texts, 0, end, backwards=True):
        yield JournalStep(sim, raw)


def _end(sim: Simulation, until: int | None) -> int:
    return sim.journal.seq if until is None else min(until, sim.journal.seq)


def step_of(sim: Simulation, seq: int) -> JournalStep:
    """Return the step of an input of the current branch."""
    return JournalStep(sim, next(sim.journal.lines(seq - 1, seq)))


def due_of(sim: Simulation, kind: str, subject: str) -> Instant | None:
    """Return when the next timer of a kind (or with that prefix) for a subject fires, if any."""
    for timer in sim.exchange.ctx.timers.pending():
        if timer.kind.startswith(kind) and timer.subject == subject:
            return timer.due
    return None


def fault_named(sim: Simulation, name: str) -> ActiveFault | None:
    """Return a fault by its id, in force or over; None if there is none."""
    every = (*sim.exchange.faults.all(), *sim.exchange.faults.over())
    return next((fault for fault in every if fault.id == name), None)


def fault_document(sim: Simulation, name: str) -> dict[str, Any]:
    """Return a fault by its id, as it was added; an empty document without an id."""
    if not name:
        return {}
    fault = fault_named(sim, name)
    spec = to_builtins(fault.spec) if fault else None
    return {
        "fault": {"id": name, "spec": spec, "added": format_instant(fault.added) if fault else None}
    }


def _operation(method: str) -> str:
    """Return service and method of a full gRPC name. The path of a WebSocket stays as it is."""
    return method.rpartition(".")[2] if method.count("/") == 2 and "." in method else method
