"""Why a stream ended, or that it is open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.api.streams.stream_faults import REVOKED
from sim.core.catalogue.assumptions import (
    BIDI_IDLE_TIMEOUT,
    IDLE_TIMEOUT,
    MAINTENANCE_STREAM_END,
    REVOCATION_SCOPE,
    SYMBOLS_SPARE,
)
from sim.core.catalogue.quirks import SESSION_REVOCATION
from sim.read.explain.causes import Basis, Cause, JournalStep, Verdict, steps
from sim.read.explain.faults import strikes_of

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

_STREAMS = Basis(section="6.2")
_REVOCATION = Basis("S6", "6.2", REVOCATION_SCOPE, SYMBOLS_SPARE, quirk=SESSION_REVOCATION)
_IDLE = Basis("S13", "8", IDLE_TIMEOUT, BIDI_IDLE_TIMEOUT)
_MAINTENANCE = Basis("W5", "8", MAINTENANCE_STREAM_END)
_AVOID_REVOCATION = (
    "hold one subscription for each participant, or name the symbols: such streams neither take a"
    " session nor lose one"
)
_OPEN = Verdict("it is open", "")
_HUNG_UP = Verdict("the client disconnected", "nothing is wrong")
_TIME_TRAVEL = Verdict(
    "the simulation was moved to another moment",
    "subscribe again: time travel ends every stream",
    retry=True,
)


def explain_stream(sim: Simulation, number: int) -> dict[str, Any] | None:
    """Explain a stream by its id; None if the current branch never had it."""
    chain: list[Cause] = []
    subject = f"stream/{number}"
    rpc, caller, end, verdict = "", "", None, _OPEN
    for step in steps(sim, f'"stream":{number},', f'"stream":{number}}}', f':"{subject}"'):
        if step.out.get("stream") == number:
            rpc, caller = step.out["operation"], step.out["caller"]
            chain.append(step.cause("it was opened", _STREAMS))
        if step.input["type"] == "hangup" and step.input["stream"] == number:
            end, verdict = {"code": 1, "message": _HUNG_UP.summary}, _HUNG_UP
            chain.append(step.cause(verdict.summary, _STREAMS))
        chain += strikes_of(step, subject=subject)
        for closed in step.out.get("closed", ()):
            if closed["stream"] == number:
                end = {"code": closed["code"], "message": closed["message"]}
                verdict, basis = _end_cause(step, closed)
                chain.append(step.cause(verdict.summary, basis))
    if not chain:
        return None
    is_open = any(row["id"] == number for row in sim.streams())
    if end is None and not is_open:
        end, verdict = {"code": 14, "message": _TIME_TRAVEL.summary}, _TIME_TRAVEL
    return {
        "subject": subject,
        "kind": "stream",
        "state": "OPEN" if is_open else "ENDED",
        "rpc": rpc,
        "caller": caller,
        "end": end,
        **verdict._asdict(),
        "chain": chain,
    }


def _end_cause(step: JournalStep, closed: dict[str, Any]) -> tuple[Verdict, Basis]:
    """Return why the exchange ended a stream, and the basis."""
    code, message = closed["code"], closed["message"]
    injections = step.events_of("FaultStruck", plane="stream")
    if any(event.get("subject") == f"stream/{closed['stream']}" for event in injections):
        why = f"an injected fault ended it with {code}: {message}"
        return Verdict(why, "subscribe again, as after any broken connection", retry=True), _STREAMS
    if message == REVOKED:
        successor = step.out.get("stream")
        why = (
            f"stream {successor}, opened by the same identity, took its session"
            if successor
            else "its session was revoked"
        )
        return Verdict(why, _AVOID_REVOCATION, retry=True), _REVOCATION
    if message.startswith("idle timeout"):
        remedy = "on a bidirectional stream send a keepalive every 30 minutes"
        return Verdict(message, remedy, retry=True), _IDLE
    if step.events_of("MaintenanceChanged", active=True):
        remedy = "subscribe again after the window"
        return Verdict("a maintenance window began", remedy, retry=True), _MAINTENANCE
    if step.input.get("action") == "stream.close":
        remedy = "subscribe again, with the last resume token if the stream has one"
        return Verdict("the tester ended it", remedy, retry=True), Basis()
    return Verdict(f"it ended with {code}: {message}", "", retry=code in (13, 14)), _STREAMS
