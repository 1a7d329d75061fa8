"""Calls that move time: the clock, snapshots, rewind and reset."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct
from msgspec.structs import asdict

from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import Instant, Span, format_instant, parse_span
from sim.scenario.value_types import INSTANT, INTEGER, Text
from sim.server.clock_driver import ClockMode, parse_clock_mode
from sim.server.control.call import Call
from sim.server.host import Host

_DISTANCE = Text('a duration such as "5m" or "PT5M"', parse_span)


class AdvanceBody(Struct, frozen=True):
    """How far time moves: by a duration, or to an instant."""

    by: Annotated[Span | None, _DISTANCE] = None
    to: Annotated[Instant | None, INSTANT] = None


class ModeBody(Struct, frozen=True):
    """A mode of the clock."""

    mode: str


class ResetBody(Struct, frozen=True):
    """The seed to start over with; the same one when left out."""

    seed: Annotated[int | None, INTEGER] = None


class RewindBody(Struct, frozen=True):
    """Where to go back to: an instant, or right after an input."""

    to: Annotated[Instant | None, INSTANT] = None
    seq: Annotated[int | None, INTEGER] = None


def _now(host: Host) -> str:
    return format_instant(host.simulation.now)


async def read_clock(host: Host, call: Call) -> object:
    due = host.simulation.next_due()
    next_due = format_instant(due) if due is not None else None
    return {"now": _now(host), "mode": str(host.driver.mode), "next_due": next_due}


async def advance_clock(host: Host, call: Call) -> object:
    body: AdvanceBody = call.body
    if (body.by is None) == (body.to is None):
        raise InvalidRequest('say how far: {"by": "5m"} or {"to": "2026-07-09T06:00:00Z"}')
    target = body.to
    if target is None:
        assert body.by is not None
        if body.by < 0:
            raise InvalidRequest("time only moves forward", remedy="POST /_sim/v1/rewind goes back")
        target = host.simulation.now + body.by
    fired = await host.advance(target)
    timers = [{**asdict(timer), "at": format_instant(timer.at)} for timer in fired]
    return {"now": _now(host), "fired": timers}


async def set_clock(host: Host, call: Call) -> object:
    host.driver.change(clock_mode(call.body.mode))
    return await read_clock(host, call)


def clock_mode(text: str) -> ClockMode:
    """A mode by its name; InvalidRequest lists them."""
    try:
        return parse_clock_mode(text)
    except ValueError as problem:
        raise InvalidRequest(str(problem)) from None


async def reset(host: Host, call: Call) -> object:
    await host.reset(call.body.seed)
    return {"now": _now(host), "seed": host.simulation.seed}


async def rewind(host: Host, call: Call) -> object:
    body: RewindBody = call.body
    if (body.to is None) == (body.seq is None):
        raise InvalidRequest('say where to: {"to": instant} or {"seq": n}')
    branch = await (host.rewind(seq=body.seq) if body.to is None else host.rewind(to=body.to))
    return {"now": _now(host), "seq": host.simulation.seq, "branch": branch}


async def take_snapshot(host: Host, call: Call) -> object:
    host.simulation.snapshot(call.path["name"])
    return _snapshot(host, call)


async def restore_snapshot(host: Host, call: Call) -> object:
    await host.restore(call.path["name"])
    return _snapshot(host, call)


def _snapshot(host: Host, call: Call) -> object:
    return {"name": call.path["name"], "now": _now(host), "seq": host.simulation.seq}
