"""Values of an assumption that is a number or a span: which to try, what a range contains, and what
a recording determines.

Numbers are searched in three ways, the cheapest first.

* *By proportion*: if an answer shows a number or an instant that depends on the value (a fee, an
  expiry), two trials determine a line, and the line gives the value at which the answer is as
  recorded.
* *By candidates*: values that people choose, and distances between instants of the recording.
* *By bisection*: from a value that fits to one that does not, until the edge is known to the
  resolution of the recording's clock, or to one in fifty.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any, TypeGuard

from msgspec import Struct

from sim.contract.wire_fields import read_moment
from sim.core.catalogue.assumption import Assumption
from sim.evidence.infer.outcome import TrialOutcome
from sim.evidence.recording.files import RecordedLine
from sim.evidence.replay.service_clock import ServiceClock
from sim.kernel.instants import DAY, HOUR, MINUTE, NS_PER_MS, NS_PER_S, parse_instant

# Shorter spans cannot be distinguished from this one, and are expensive to replay.
FINEST = 100 * NS_PER_MS
_NICE = (1, 2, 3, 5, 10, 15, 20, 30, 45, 60, 90)
_SPANS = sorted(
    {count * unit for unit in (NS_PER_S, MINUTE, HOUR) for count in _NICE}
    | {count * NS_PER_MS for count in (1, 5, 10, 50, 100, 200, 250, 500, 750)}
    | {count * DAY for count in (1, 2, 3, 7, 14, 30)}
)
_INTEGERS = sorted({count * 10**power for power in range(7) for count in (1, 2, 3, 5)} | {0, 4, 6})
_UNITS = (DAY, HOUR, MINUTE, NS_PER_S, 100 * NS_PER_MS, 10 * NS_PER_MS, NS_PER_MS)
_SHOWN_MAX = 30
_DISTANCES_MAX = 12


def is_number(value: object) -> TypeGuard[int]:
    """Return whether a value of an assumption is a number or a span."""
    return isinstance(value, int) and not isinstance(value, bool)


class Range(Struct, frozen=True):
    """Values that fit, both ends inclusive; None if every value in reach fits."""

    low: int | None = None
    high: int | None = None

    def has(self, value: int) -> bool:
        """Return whether a value is within the range."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


def resolution(clock: ServiceClock) -> int:
    """Return what the clocks of a recording can distinguish, in nanoseconds.

    If the service's clock was moved, both ends of a span come from a Date header, which
    has whole seconds.
    """
    return NS_PER_S if clock.moved else FINEST


def probes(assumption: Assumption, base: int, length: int) -> list[int]:
    """Return values that show whether a number matters at all: the smallest, some around our own,
    and one longer than the session.
    """
    least = assumption.least
    if assumption.span and least > 0:
        least = max(least, FINEST)
    values = {least, base // 2, base * 2, base * 16 if base > 0 else 0}
    if assumption.span:
        values |= {NS_PER_S, length * 2}
    else:
        values |= {1, 1_000}
    most = 300 * DAY if assumption.span else 1_000_000_000
    return sorted(value for value in values - {base} if assumption.least <= value <= most)


def ladder(assumption: Assumption, entries: list[RecordedLine], length: int) -> list[int]:
    """Return values that people choose, and distances between instants of the recording."""
    if not assumption.span:
        values = set(_INTEGERS)
    else:
        values = {span for span in _SPANS if FINEST <= span <= max(2 * length, MINUTE)}
        values |= set(_distances(entries))
    return sorted(value for value in values if value >= assumption.least)


def _distances(entries: list[RecordedLine]) -> Iterator[int]:
    """Yield the distances between lines of the recording, the longest first."""
    instants = sorted(
        {_instant(entry.answer.now) for entry in entries if entry.answer and entry.answer.now}
    )
    gaps = {after - before for before, after in pairwise(instants)}
    yield from sorted(gaps, reverse=True)[:_DISTANCES_MAX]


def session_length(entries: list[RecordedLine]) -> int:
    """Return the time from the first known instant to the last, in nanoseconds."""
    instants = [
        _instant(entry.answer.now) for entry in entries if entry.answer and entry.answer.now
    ]
    return max(instants) - min(instants) if instants else 0


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError:
        return 0


# ---- by proportion


def proportional(tries: Iterable[tuple[int, TrialOutcome]]) -> Iterator[int]:
    """Yield values at which a place that depends on the value would be as recorded, from each
    two neighbouring trials.
    """
    for pair in pairwise(tries):
        yield from _proportional(pair)


def _proportional(tries: Iterable[tuple[int, TrialOutcome]]) -> Iterator[int]:
    points: dict[tuple[int, str], list[tuple[int, Decimal]]] = {}
    recorded: dict[tuple[int, str], Decimal] = {}
    for value, outcome in tries:
        for n, line in outcome.lines.items():
            for where, misfit in line.items():
                recorded_number, own = number_in(misfit.recorded), number_in(misfit.own)
                if recorded_number is not None and own is not None:
                    points.setdefault((n, where), []).append((value, own))
                    recorded[n, where] = recorded_number
    candidates: dict[int, None] = {}
    for path, values in points.items():
        (low, first), (high, second) = values[0], values[-1]
        if low != high and first != second:
            steps = (recorded[path] - first) / (second - first)
            if abs(steps) < 10**6:
                candidates.setdefault(low + round(steps * (high - low)))
    yield from candidates


def number_in(value: Any) -> Decimal | None:
    """Return a value as a number: an instant in nanoseconds. None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | Decimal):
        return Decimal(value)
    if isinstance(value, float):
        return Decimal(str(value))
    if not isinstance(value, str) or len(value) > 40:
        return None
    try:
        return Decimal(value)
    except InvalidOperation:
        pass
    try:
        return Decimal(read_moment(value))
    except ValueError:
        return None


# ---- by bisection


def edge(fits: Callable[[int], bool], inside: int, steps: Iterable[int], grain: int) -> int | None:
    """Return the outermost value that fits, between one that does and the first of `steps` that
    does not.

    None if all of them fit. The result is exact to `grain`, or to one in fifty.
    """
    for outside in steps:
        if fits(outside):
            inside = outside
            continue
        while abs(outside - inside) > max(grain, abs(inside) // 50):
            middle = (inside + outside) // 2
            if middle in (inside, outside):
                break
            if fits(middle):
                inside = middle
            else:
                outside = middle
        return inside
    return None


def steps_down(value: int, least: int) -> Iterator[int]:
    """Yield ever smaller values, down to the smallest."""
    while value > max(least, 0) + 1:
        value = max(value // 3, least)
        yield value
    if value > least:
        yield least


def steps_up(value: int, most: int) -> Iterator[int]:
    """Yield ever larger values, up to a maximum."""
    value = max(value, 1)
    while value < most:
        value = min(value * 3, most)
        yield value


# ---- readable values


def round_values(low: int, high: int, *, span: bool) -> list[int]:
    """Return values within a range as people write them, the roundest first."""
    nice = _SPANS if span else _INTEGERS
    if span and high >= 2 * NS_PER_S:
        nice = [value for value in nice if value % NS_PER_S == 0]
    usual = nice[bisect_left(nice, low) : bisect_right(nice, high)]
    units = _UNITS if span else tuple(10**power for power in range(9, -1, -1))
    for unit in units:
        first, last = -(-low // unit), high // unit
        if last >= first and len(usual) < 3:
            usual += [count * unit for count in range(first, min(last, first + 8) + 1)]
        if len(usual) >= 3:
            break
    return sorted(set(usual), key=lambda value: (_digits(value, span), value))[:_SHOWN_MAX]


def _digits(value: int, span: bool) -> int:
    """Return the number of digits of a value in its best unit."""
    if not span:
        return len(str(value).rstrip("0")) or 0
    unit = next((unit for unit in _UNITS if value and value % unit == 0), 1)
    count = value // unit
    return 0 if count in _NICE else len(str(count).rstrip("0")) + (unit < NS_PER_S)


def outward(allowed: Range, grain: int) -> Range:
    """Return a range of spans with readable ends: to a fiftieth, but not below the grain."""
    low, high = allowed.low, allowed.high
    return Range(
        None if low is None else low // _step(low, grain) * _step(low, grain),
        None if high is None else -(-high // _step(high, grain)) * _step(high, grain),
    )


def _step(value: int, grain: int) -> int:
    return next((unit for unit in _UNITS if unit * 50 <= value), grain)
