"""Calls that move time: the clock, snapshots, rewind and reset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Annotated

from msgspec import Struct
from msgspec.structs import asdict

from sim.api.pipeline.inputs import Fired
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import DAY, Instant, Span, format_instant, parse_span
from sim.server.control.call import ControlCall
from sim.server.host import Host
from sim.world.format.clock_mode import ClockMode, parse_clock_mode
from sim.world.format.fault_names import unknown_operation
from sim.world.format.scalar_types import INSTANT, INTEGER, ORDINAL
from sim.world.format.scenario import SEED_NUMBER
from sim.world.format.steps import When
from sim.world.format.value_types import Choice, Text

_DISTANCE = Text('a duration such as "5m" or "PT5M"', parse_span)


class AdvanceBody(Struct, frozen=True):
    """How far time moves: by a duration, to an instant, over a number of due instants, or until a
    condition holds (as `when` of a step), for at most `within`. `fired` selects how the answer
    lists the timers.
    """

    by: Annotated[Span | None, _DISTANCE] = None
    """duration, such as 90s, 5m, 2d"""
    to: Annotated[Instant | None, INSTANT] = None
    """instant, RFC 3339"""
    next: Annotated[int | None, ORDINAL] = None
    """number of due instants"""
    until: When | None = None
    within: Annotated[Span, _DISTANCE] = DAY
    fired: Annotated[str, Choice(("list", "counts", "none"))] = "list"


class ModeBody(Struct, frozen=True):
    """A mode of the clock."""

    mode: str


class ResetBody(Struct, frozen=True):
    """The seed to start with; the same seed by default."""

    seed: Annotated[int | None, SEED_NUMBER] = None


class RewindBody(Struct, frozen=True):
    """The moment to go back to: an instant, or right after an input."""

    to: Annotated[Instant | None, INSTANT] = None
    seq: Annotated[int | None, INTEGER] = None


def _now(host: Host) -> str:
    return format_instant(host.simulation.now)


async def read_clock(host: Host, call: ControlCall) -> object:
    due = host.simulation.next_due()
    next_due = format_instant(due) if due is not None else None
    return {"now": _now(host), "mode": str(host.driver.mode), "next_due": next_due}


async def advance_clock(host: Host, call: ControlCall) -> object:
    body: AdvanceBody = call.body
    if sum(part is not None for part in (body.by, body.to, body.next, body.until)) != 1:
        raise InvalidRequest(
            'give exactly one of { "by": "5m"}, {"to": "2026-07-09T06:00:00Z"}, {"next": 1} or'
            ' {"until": {"maintenance": true}, "within": "1h"}'
        )
    async with host.clock_turn():
        answer: dict[str, object] = {}
        if body.next is not None:
            fired = await _move_over(host, body.next)
        elif body.until is not None:
            happened = watch_for(host, body.until)
            try:
                fired = await host.move(host.now + _forward(body.within), happened)
                answer["happened"] = happened()
            finally:
                host.simulation.script.watch(None)
        else:
            to = body.to if body.to is not None else host.now + _forward(body.by or 0)
            fired = await host.move(to)
        return {"now": _now(host), **_fired(fired, body.fired), **answer}


def watch_for(host: Host, until: When) -> Callable[[], bool]:
    """Look out for something that a step could wait for; the function tells whether it has
    happened. InvalidRequest for several things, and for what does not exist.
    """
    _require_known(host, until)
    script = host.simulation.script
    script.watch(until)
    return lambda: script.has_happened


async def _move_over(host: Host, count: int) -> list[Fired]:
    """Move over this number of due instants, or fewer if nothing more is due."""
    fired: list[Fired] = []
    for _ in range(count):
        stop = host.next_stop()
        if stop is None:
            break
        fired += await host.move(max(stop, host.now))
    return fired


def _require_known(host: Host, until: When) -> None:
    """Refuse an `until` with no condition, with several, or with an unknown name."""
    named = [name for name in until.__struct_fields__ if getattr(until, name) is not None]
    if len(named) != 1:
        conditions = ", ".join(until.__struct_fields__)
        raise InvalidRequest(f"until must name exactly one of {conditions}")
    exchange = host.simulation.exchange
    awaited = until.instrument or until.trade
    if awaited is not None and exchange.recurring.slot_of_symbol(awaited.symbol) is None:
        exchange.instruments.require(awaited.symbol)
    if until.call is not None and (wrong := unknown_operation(until.call.operation)):
        raise InvalidRequest(wrong)


def _forward(by: Span) -> Span:
    if by < 0:
        raise InvalidRequest("time only moves forward", remedy="POST /_sim/v1/rewind goes back")
    return by


def _fired(fired: list[Fired], form: str) -> dict[str, object]:
    """The timers that fired, as a list in order, or counted by kind; nothing for "none"."""
    if form == "none":
        return {}
    if form == "counts":
        return {"fired": dict(sorted(Counter(timer.timer for timer in fired).items()))}
    return {"fired": [{**asdict(timer), "at": format_instant(timer.at)} for timer in fired]}


async def set_clock(host: Host, call: ControlCall) -> object:
    host.driver.change(clock_mode(call.body.mode))
    return await read_clock(host, call)


def clock_mode(text: str) -> ClockMode:
    """A mode by its text; InvalidRequest lists the modes."""
    try:
        return parse_clock_mode(text)
    except ValueError as problem:
        raise InvalidRequest(str(problem)) from None


async def reset(host: Host, call: ControlCall) -> object:
    await host.reset(call.body.seed)
    return {"now": _now(host), "seed": host.simulation.seed}


async def rewind(host: Host, call: ControlCall) -> object:
    body: RewindBody = call.body
    if (body.to is None) == (body.seq is None):
        raise InvalidRequest('say where to: {"to": instant} or {"seq": n}')
    branch = await (host.rewind(seq=body.seq) if body.to is None else host.rewind(to=body.to))
    return {"now": _now(host), "seq": host.simulation.seq, "branch": branch}


async def take_snapshot(host: Host, call: ControlCall) -> object:
    host.simulation.snapshot(call.path["name"])
    return _snapshot(host, call)


async def restore_snapshot(host: Host, call: ControlCall) -> object:
    await host.restore(call.path["name"])
    return _snapshot(host, call)


def _snapshot(host: Host, call: ControlCall) -> object:
    return {"name": call.path["name"], "now": _now(host), "seq": host.simulation.seq}
