"""Why a stream ended, or that it is open."""

from __future__ import annotations

import re
from typing import Any

from sim.api.pipeline.inputs import Close, StreamHungUp
from sim.read.explain.causes import Cause, JournalStep, Status, steps
from sim.read.explain.faults import strikes_of
from sim.run.simulation import Simulation

_NUMBER = re.compile(r"[0-9]{1,15}", re.ASCII)
_OPEN = Status("it is open", "")
_HUNG_UP = Status("the client disconnected", "nothing is wrong")
_DISCONNECTED = 1, "S19", _HUNG_UP
_TOO_SLOW = Status(
    "the client did not read its frames in time, so it was disconnected",
    "read faster, subscribe to less, or set slow_consumer_skip_to_head where the stream has it",
    retry=True,
)
_TIME_TRAVEL = Status(
    "the simulation was moved to another moment",
    "subscribe again: time travel ends every stream",
    retry=True,
)
# Why the exchange ended a stream, by the rule. Braces are parts of its end.
_ENDS = {
    "T2": Status(
        "an injected fault ended it with {code}: {message}",
        "subscribe again, as after any broken connection",
        retry=True,
    ),
    "S6": Status(
        "stream {successor}, opened by the same identity, took its session",
        "hold one subscription for each participant, or name the symbols: such streams neither take"
        " a session nor lose one",
        retry=True,
    ),
    "S13": Status(
        "{message}", "on a bidirectional stream send a keepalive every 30 minutes", retry=True
    ),
    "W5": Status("a maintenance window began", "subscribe again after the window", retry=True),
    "T1": Status(
        "the tester ended it",
        "subscribe again, with the last resume token if the stream has one",
        retry=True,
    ),
    "T5": _TIME_TRAVEL,
    "S11": Status("it has sent the snapshot that it was opened for", "nothing is wrong"),
}


def explain_stream(sim: Simulation, name: str) -> dict[str, Any] | None:
    """Explain a stream by its number; None if the current branch never had it."""
    if not _NUMBER.fullmatch(name):
        return None
    number = int(name)
    chain: list[Cause] = []
    subject = f"stream/{number}"
    rpc, caller, end, verdict = "", "", None, _OPEN
    for step in steps(sim, f'"stream":{number},', f'"stream":{number}}}', f':"{subject}"'):
        if step.out.stream == number:
            rpc, caller = step.out.operation, step.out.caller
            chain.append(step.cause("it was opened"))
        if isinstance(step.input, StreamHungUp) and step.input.stream == number:
            code, rule, verdict = (8, "S12", _TOO_SLOW) if step.input.slow else _DISCONNECTED
            hung_up = Close(number, code, verdict.summary, rule=rule)
            end = {"code": hung_up.code, "message": hung_up.message}
            chain.append(step.decision(hung_up.message, hung_up))
        chain += strikes_of(step, subject=subject)
        for closed in step.out.closed:
            if closed.stream == number:
                end = {"code": closed.code, "message": closed.message}
                verdict = _end(step, closed)
                chain.append(step.decision(verdict.summary, closed))
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


def _end(step: JournalStep, closed: Close) -> Status:
    """Return why the exchange ended a stream, and what helps."""
    other = Status("it ended with {code}: {message}", "", retry=closed.code in (13, 14))
    status = _ENDS.get(closed.rule, other)
    parts = {"code": closed.code, "message": closed.message, "successor": step.out.stream}
    return status._replace(summary=status.summary.format_map(parts))
