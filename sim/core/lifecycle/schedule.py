"""Weekly trading schedules: which segment applies, and when the next one begins (rules L3, L4).

A schedule becomes a table of offsets from Monday 00:00 Eastern, computed once. Offsets count hours
as wall clocks show them, so a segment keeps its hours when daylight saving changes. Twice a year
this needs a rule: in the hour that is repeated in autumn, all segments have begun on the first
pass; an edge in the hour that is skipped in spring is taken when the clocks go forward.
"""

from __future__ import annotations

from bisect import bisect_right
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple

from sim.core.model.enums import InstrumentState
from sim.core.model.instrument import Segment
from sim.core.model.why import Why
from sim.kernel.instants import (
    DAY,
    EASTERN,
    HOUR,
    MINUTE,
    NS_PER_S,
    NS_PER_US,
    Instant,
    Span,
    eastern,
    eastern_date,
    to_datetime,
)

_WEEK = 7 * DAY


class Phase(NamedTuple):
    """What a schedule demands from an instant on, and why; `expire_all` applies at
    that instant only.
    """

    state: InstrumentState
    hide: bool = False
    expire_all: bool = False
    why: Why = Why("L3")


_OUTSIDE = Phase(InstrumentState.CLOSED, why=Why("L4"))


@lru_cache(maxsize=1024)
def _table(schedule: tuple[Segment, ...]) -> tuple[tuple[Span, ...], tuple[Phase, ...]]:
    """Return the offsets into the week at which the phase changes, ascending, and the phases.

    At least one of each; exactly one if the phase never changes.
    """
    pieces = sorted(
        (
            (day * DAY + segment.start),
            segment.length,
            Phase(segment.state, segment.hide_market_data, segment.expire_all_orders),
        )
        for segment in schedule
        for day in segment.days
    )
    edges = sorted(
        {offset % _WEEK for start, length, _ in pieces for offset in (start, start + length)} | {0}
    )
    offsets: list[Span] = []
    phases: list[Phase] = []
    for edge in edges:
        phase = _OUTSIDE
        latest = -_WEEK
        for start, length, segment_state in pieces:
            begun = start if start <= edge else start - _WEEK
            if begun <= edge < begun + length and begun >= latest:
                latest, phase = begun, segment_state
        # A segment that began earlier has already had the effects of its beginning.
        if latest != edge:
            phase = phase._replace(expire_all=False)
        if not phases or phases[-1][:2] != phase[:2] or phase.expire_all:
            offsets.append(edge)
            phases.append(phase)
    continues = phases[0][:2] == phases[-1][:2] and not phases[0].expire_all
    if len(phases) > 1 and offsets[0] == 0 and continues:
        offsets, phases = offsets[1:], phases[1:]
    return tuple(offsets), tuple(phases)


def phase_at(schedule: tuple[Segment, ...], at: Instant) -> Phase:
    """Return what the schedule demands at an instant; CLOSED outside every segment.

    Where segments overlap, the one that began last applies.
    """
    offsets, phases = _table(schedule)
    if len(phases) == 1:
        return phases[0]
    return phases[bisect_right(offsets, _offset(at)) - 1]


def _offset(at: Instant) -> Span:
    """Return how far into the week wall clocks are.

    In autumn's repeated hour, the end of that hour.
    """
    local = to_datetime(at, EASTERN)
    if local.fold:
        local = local.replace(minute=59, second=59, microsecond=999_999)
    clock = local.hour * HOUR + local.minute * MINUTE + local.second * NS_PER_S
    return local.weekday() * DAY + clock + local.microsecond * NS_PER_US + at % NS_PER_US


def next_phase(schedule: tuple[Segment, ...], after: Instant) -> Instant | None:
    """Return the first instant after `after` at which the schedule demands something else.

    None if that never happens.
    """
    offsets, phases = _table(schedule)
    if len(phases) == 1 and not phases[0].expire_all:
        return None
    today = eastern_date(after)
    monday = today - timedelta(days=today.weekday())
    for week in range(3):
        for offset in offsets:
            day, rest = divmod(offset, DAY)
            at = _instant(monday + timedelta(days=7 * week + day), rest)
            if at > after:
                return at
    return None


def _instant(day: date, rest: Span) -> Instant:
    """Return the instant at which wall clocks show a time of day, or skip it."""
    second = eastern(day, rest // HOUR, rest % HOUR // MINUTE, rest % MINUTE // NS_PER_S)
    at = second + rest % NS_PER_S
    left_out = rest // HOUR == 2 and _offset(at) % DAY // HOUR == 3
    return at // HOUR * HOUR if left_out else at
