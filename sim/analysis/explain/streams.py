"""Why a stream ended, or what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.analysis.explain.causes import Basis, Cause, JournalStep, cause_of, steps
from sim.api.streams.stream_faults import REVOKED
from sim.core.catalogue.assumptions import (
    BIDI_IDLE_TIMEOUT,
    IDLE_TIMEOUT,
    MAINTENANCE_STREAM_END,
    REVOCATION_SCOPE,
    SYMBOLS_SPARE,
)
from sim.core.catalogue.quirks import SESSION_REVOCATION

if TYPE_CHECKING:
    from sim.simulation import Simulation

_REVOCATION = Basis(
    "S6", "6.2", (REVOCATION_SCOPE.name, SYMBOLS_SPARE.name), SESSION_REVOCATION.name
)


def explain_stream(sim: Simulation, number: int) -> dict[str, Any] | None:
    """The explanation of a stream by its id; None when the present branch never had it."""
    chain: list[Cause] = []
    rpc, caller, end, remedy, retry = "", "", None, "", False
    for step in steps(sim, f'"stream":{number},', f'"stream":{number}}}'):
        if step.out.get("stream") == number:
            rpc, caller = step.out["operation"], step.out["caller"]
            chain.append(cause_of(sim, step, "it was opened", Basis(section="6.2")))
        if step.input["type"] == "hangup" and step.input["stream"] == number:
            end, remedy = {"code": 1, "message": "the client hung up"}, "nothing is wrong"
            chain.append(cause_of(sim, step, "the client's side was gone", Basis(section="6.2")))
        for closed in step.out.get("closed", ()):
            if closed["stream"] == number:
                end = {"code": closed["code"], "message": closed["message"]}
                what, basis, remedy, retry = _ended(step, closed)
                chain.append(cause_of(sim, step, what, basis))
    if not chain:
        return None
    is_open = any(row["id"] == number for row in sim.streams())
    if end is None and not is_open:
        end = {"code": 14, "message": "the simulation was moved to another moment"}
        remedy, retry = "subscribe again: whoever travels in time ends every stream", True
    return {
        "subject": f"stream/{number}",
        "kind": "stream",
        "state": "OPEN" if is_open else "ENDED",
        "rpc": rpc,
        "caller": caller,
        "end": end,
        "summary": (
            "it is open"
            if is_open
            else (
                chain[-1]["what"]
                if len(chain) > 1
                else "the simulation was moved to another moment"
            )
        ),
        "remedy": remedy,
        "retry": retry,
        "chain": chain,
    }


def _ended(step: JournalStep, closed: dict[str, Any]) -> tuple[str, Basis, str, bool]:
    """(what, why, what helps, whether to retry) of a stream that the exchange ended."""
    message = closed["message"]
    if message == REVOKED:
        taker = step.out.get("stream")
        by = (
            f"stream {taker}, opened by the same identity, took its session"
            if taker
            else "its session was revoked"
        )
        return (
            by,
            _REVOCATION,
            (
                "hold one subscription for each participant, or name the symbols: such streams"
                " neither take a session nor lose one"
            ),
            True,
        )
    if message.startswith("idle timeout"):
        return (
            message,
            Basis("S13", "8", (IDLE_TIMEOUT.name, BIDI_IDLE_TIMEOUT.name)),
            "on a bidirectional stream send a keepalive every 30 minutes",
            True,
        )
    if any(event["event"] == "MaintenanceChanged" and event["active"] for event in step.events):
        return (
            "a maintenance window began",
            Basis("W5", "8", (MAINTENANCE_STREAM_END.name,)),
            "subscribe again after the window",
            True,
        )
    if step.input.get("action") == "stream.close":
        return (
            "the tester ended it",
            Basis(),
            "subscribe again, with the last resume token where the stream has one",
            True,
        )
    return (
        f"it ended with {closed['code']}: {message}",
        Basis(section="6.2"),
        "",
        closed["code"] in (13, 14),
    )
