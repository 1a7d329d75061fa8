"""Journal lines as steps of an explanation: who or what caused the input, what came of it, and the
links that are document of both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from msgspec import Struct, json, to_builtins

from sim.core.catalogue import assumptions, quirks
from sim.kernel.instants import Instant, format_instant
from sim.kernel.journal import read_line

if TYPE_CHECKING:
    from sim.simulation import Simulation

Cause = dict[str, Any]
_PIECE = 1_000  # lines held at once


class Basis(Struct, frozen=True):
    """What decided: a rule and its section, and the names of the assumptions and the quirk that had
    a say.
    """

    rule: str = ""
    section: str = ""
    assumptions: tuple[str, ...] = ()
    quirk: str = ""


class JournalStep(Struct, frozen=True):
    """One input and what came of it, as the journal tells it."""

    seq: int
    at: Instant
    input: dict[str, Any]
    out: dict[str, Any]

    @property
    def events(self) -> list[dict[str, Any]]:
        """What happened, in order."""
        found: list[dict[str, Any]] = self.out.get("events", [])
        return found

    def fired(self, at: Instant, prefix: str, subject: str = "") -> bool:
        """Whether a timer of this kind fired at an instant."""
        timers = self.out.get("fired", ())
        return any(
            one["at"] == at
            and one["timer"].startswith(prefix)
            and (not subject or one["subject"] == subject)
            for one in timers
        )

    def moved(self, symbol: str, state: int) -> bool:
        """Whether an instrument went to a state."""
        return any(
            event["event"] == "StateChanged"
            and event["symbol"] == symbol
            and event["state"] == state
            for event in self.events
        )

    def actor(self, at: Instant) -> str:
        """Who or what document it happen, in words; `at` is when it happened, which is later than the
        input's instant where time moves.
        """
        given = self.input
        caller = (
            self.out.get("caller") or f"somebody at {given.get('peer') or 'an unknown address'}"
        )
        match given["type"]:
            case "rest":
                return f"{caller} called {given['verb']} {given['path']}"
            case "rpc":
                return f"{caller} called gRPC {_rpc(given['method'])}"
            case "open":
                return f"{caller} opened {_rpc(given['method'])}"
            case "frame":
                return f"the client sent a frame on stream {given['stream']}"
            case "hangup":
                return f"the client hung up stream {given['stream']}"
            case "control":
                return (
                    f"the tester: {given['action']} {given.get('subject', '')}"
                    f" {given.get('arguments', '{}')}".replace(" {}", "").rstrip()
                )
            case "answer":
                return (
                    f"a webhook receiver answered {given.get('status') or given.get('error', '')}"
                )
        timers = [
            f"{one['timer']} {one['subject']}".rstrip()
            for one in self.out.get("fired", ())
            if one["at"] == at
        ]
        return f"time came: {', '.join(dict.fromkeys(timers))}" if timers else "time moved"


def steps(sim: Simulation, *needles: str, until: int | None = None) -> Iterator[JournalStep]:
    """Steps of the present branch whose line holds one of the texts, oldest first; up to an input
    when one is given.
    """
    texts = [needle.encode() for needle in needles]
    for raw in sim.journal.lines(0, until):
        if any(needle in raw for needle in texts):
            yield _step(raw)


def steps_back(sim: Simulation, needle: str, until: int | None = None) -> Iterator[JournalStep]:
    """Steps whose line holds a text, latest first."""
    text, end = needle.encode(), sim.seq if until is None else until
    while end > 0:
        start = max(0, end - _PIECE)
        for raw in reversed(list(sim.journal.lines(start, end))):
            if text in raw:
                yield _step(raw)
        end = start


def step_of(sim: Simulation, seq: int) -> JournalStep:
    """The step of an input of the present branch."""
    return _step(next(sim.journal.lines(seq - 1, seq)))


def _step(raw: bytes) -> JournalStep:
    line = read_line(raw)
    return JournalStep(line.seq, line.at, json.decode(line.input), json.decode(line.out))


def cause_of(
    sim: Simulation, step: JournalStep, what: str, basis: Basis, at: Instant | None = None
) -> Cause:
    """One link of a chain."""
    at = step.at if at is None else at
    document: Cause = {
        "seq": step.seq,
        "at": format_instant(at),
        "by": step.actor(at),
        "what": what,
    }
    if step.input["type"] in ("rest", "rpc", "open"):
        document["request_id"] = f"{step.seq:016x}"
    return document | basis_document(sim, basis)


def basis_document(sim: Simulation, basis: Basis) -> dict[str, Any]:
    """A reason as it is shown, with the values in force now."""
    document: dict[str, Any] = {}
    if basis.rule:
        document["rule"] = basis.rule
    if basis.section:
        document["section"] = f"§{basis.section}"
    if basis.assumptions:
        known = assumptions.catalogue()
        document["assumptions"] = [
            {
                "name": known[name].name,
                "value": sim.exchange.ctx.assumptions.shown(name),
                "source": known[name].source,
            }
            for name in basis.assumptions
        ]
    if basis.quirk:
        quirk = quirks.catalogue()[basis.quirk]
        document["quirk"] = {
            "name": quirk.name,
            "odds": sim.exchange.ctx.quirks.shown(quirk.name),
            "section": f"§{quirk.spec}",
        }
    return document


def due_of(sim: Simulation, kind: str, subject: str) -> Instant | None:
    """When the timer of this kind that is about something fires; None when none is set."""
    return next(
        (
            timer.due
            for timer in sim.exchange.ctx.timers.pending()
            if timer.kind.startswith(kind) and timer.subject == subject
        ),
        None,
    )


def fault_document(sim: Simulation, name: str) -> dict[str, Any]:
    """A fault by its id, as it was asked for; nothing without an id."""
    if not name:
        return {}
    known = {fault.id: fault for fault in (*sim.exchange.faults.over(), *sim.exchange.faults.all())}
    fault = known.get(name)
    return {
        "fault": {
            "id": name,
            "spec": to_builtins(fault.spec) if fault else None,
            "added": format_instant(fault.added) if fault else None,
        }
    }


def _rpc(method: str) -> str:
    return method.rpartition(".")[2] if method.count("/") == 2 and "." in method else method
