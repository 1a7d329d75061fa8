"""Journal lines as causes: who or what caused an input, what resulted, and by which rule.

A cause is a document: the journal position, the virtual instant, the actor, and a sentence. If it
is a decision, it also has the rule and the facts that the journal records, and the section,
assumptions and quirk behind the rule (`rules.py`). The journal of the current branch is the only
source, so the exchange stores nothing extra for explanations.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, json, to_builtins

from sim.api.pipeline.inputs import SCRIPT
from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal_reader import read_line
from sim.read.explain.rules import basis_of
from sim.read.line_search import lines_with

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

Cause = dict[str, Any]


class Verdict(NamedTuple):
    """The current state of something, what helps, and whether a retry does (or the exchange
    retries).
    """

    summary: str
    remedy: str
    retry: bool = False


class JournalStep(Struct, frozen=True):
    """One input of the current branch and its outcome, as the journal has them."""

    sim: Any  # the Simulation, which a Struct cannot refer to because it is imported late
    seq: int
    at: Instant
    input: dict[str, Any]
    out: dict[str, Any]

    @property
    def events(self) -> list[dict[str, Any]]:
        """The events of this input, in order."""
        events: list[dict[str, Any]] = self.out.get("events", [])
        return events

    @property
    def timers(self) -> list[dict[str, Any]]:
        """The timers that fired in this input, in order: `at`, `timer`, `subject`."""
        timers: list[dict[str, Any]] = self.out.get("fired", [])
        return timers

    @property
    def by_script(self) -> bool:
        """Whether a step of the scenario caused this."""
        return self.input["type"] == "step" or self.input.get("peer") == SCRIPT

    def _scenario_step(self) -> str:
        """Return the name of the step that began at this input, or the last one before it."""
        step = self
        while step.input["type"] != "step":
            step = step_of(self.sim, step.seq - 1)
        return str(self.sim.script.name_of(step.input["step"] - 1))

    def events_of(self, kind: str, **fields: object) -> list[dict[str, Any]]:
        """Return the events of one kind whose fields have these values."""
        return [
            event
            for event in self.events
            if event["event"] == kind and all(event[key] == fields[key] for key in fields)
        ]

    def decision(self, what: str, decided: dict[str, Any]) -> Cause:
        """Return the link of a chain that reports a decision: an event, or the end of a stream.

        It has the rule and the facts of the decision, and what stands behind the rule.
        """
        rule = decided["rule"]
        return {
            **self.cause(what, decided.get("at")),
            "rule": rule,
            "facts": decided.get("facts", {}),
            **basis_of(rule).document(self.sim),
        }

    def cause(self, what: str, at: Instant | None = None) -> Cause:
        """Return one link of a chain. `at` is set if it happened after the input's own instant."""
        at = self.at if at is None else at
        document: Cause = {
            "seq": self.seq,
            "at": format_instant(at),
            "by": self.actor(at),
            "what": what,
        }
        if self.input["type"] in ("rest", "rpc", "open"):
            document["request_id"] = f"{self.seq:016x}"
        return document

    def actor(self, at: Instant) -> str:
        """Return who or what made something happen at an instant, as a clause."""
        if self.by_script:
            return f"{self._scenario_step()} of the scenario"
        peer = self.input.get("peer") or "an unknown address"
        caller = self.out.get("caller") or f"a caller at {peer}"
        match self.input:
            case {"type": "rest", "verb": verb, "path": path}:
                return f"{caller} called {verb} {path}"
            case {"type": "rpc", "method": method}:
                return f"{caller} called gRPC {_operation(method)}"
            case {"type": "open", "method": method}:
                return f"{caller} opened {_operation(method)}"
            case {"type": "frame", "stream": stream}:
                return f"the client sent a frame on stream {stream}"
            case {"type": "hangup", "stream": stream}:
                return f"the client disconnected from stream {stream}"
            case {"type": "control", "action": action, **rest}:
                words = (action, rest.get("subject", ""), rest.get("arguments", "{}"))
                return "the tester called " + " ".join(
                    word for word in words if word not in ("", "{}")
                )
            case {"type": "answer", **answer}:
                return (
                    f"a webhook receiver answered {answer.get('status') or answer.get('error', '')}"
                )
        timers = [
            f"{timer['timer']} {timer['subject']}".rstrip()
            for timer in self.timers
            if timer["at"] == at
        ]
        return f"timer {', '.join(dict.fromkeys(timers))} fired" if timers else "the clock moved"


def steps(
    sim: Simulation, *needles: str, after: int = 0, until: int | None = None
) -> Iterator[JournalStep]:
    """Yield the steps whose line contains one of the texts, oldest first, up to an input."""
    texts, end = [needle.encode() for needle in needles], _end(sim, until)
    for raw in lines_with(sim.journal, sim.journal.branch, texts, after, end):
        yield _step(sim, raw)


def steps_back(sim: Simulation, needle: str, until: int | None = None) -> Iterator[JournalStep]:
    """Yield the steps whose journal line contains a text, latest first."""
    texts, end = [needle.encode()], _end(sim, until)
    for raw in lines_with(sim.journal, sim.journal.branch, texts, 0, end, backwards=True):
        yield _step(sim, raw)


def _end(sim: Simulation, until: int | None) -> int:
    return sim.journal.seq if until is None else min(until, sim.journal.seq)


def step_of(sim: Simulation, seq: int) -> JournalStep:
    """Return the step of an input of the current branch."""
    return _step(sim, next(sim.journal.lines(seq - 1, seq)))


def _step(sim: Simulation, raw: bytes) -> JournalStep:
    line = read_line(raw)
    return JournalStep(sim, line.seq, line.at, json.decode(line.input), json.decode(line.out))


def due_of(sim: Simulation, kind: str, subject: str) -> Instant | None:
    """Return when the next timer of a kind (or with that prefix) for a subject fires, if any."""
    for timer in sim.exchange.ctx.timers.pending():
        if timer.kind.startswith(kind) and timer.subject == subject:
            return timer.due
    return None


def fault_document(sim: Simulation, name: str) -> dict[str, Any]:
    """Return a fault by its id, as it was added; an empty document without an id."""
    if not name:
        return {}
    faults = {one.id: one for one in (*sim.exchange.faults.over(), *sim.exchange.faults.all())}
    fault = faults.get(name)
    spec = to_builtins(fault.spec) if fault else None
    return {
        "fault": {"id": name, "spec": spec, "added": format_instant(fault.added) if fault else None}
    }


def _operation(method: str) -> str:
    """Return service and method of a full gRPC name. The path of a WebSocket stays as it is."""
    return method.rpartition(".")[2] if method.count("/") == 2 and "." in method else method
