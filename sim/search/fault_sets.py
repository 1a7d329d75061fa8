"""What `sim explore` and `pytest --explore` try after every fault at every point: pairs of faults,
and the same fault with another delay, the most promising first.

Trying every pair would square the number of runs, and most pairs are uninformative: what breaks a
run by itself breaks it in combination, and two distant faults rarely interact. The other pairs are
tried in this order:

1. a fault at a point that the run passed only *because* of another fault: the retry fails, too;
2. a survived fault that takes longer, or asks to wait longer;
3. two survived faults at neighbouring points, and at the same one of two calls in a row;
4. all others, nearer points first.

In each class, every pair of points is tried once before any is tried again. A set that breaks a run
is reduced: unnecessary faults are removed, and delays become as short as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple, TypeAlias, TypeVar

from sim.search.delta import minimal
from sim.search.fault_points import FAULT_KINDS, Point, points

R = TypeVar("R")

Survey: TypeAlias = Mapping[tuple[str, str], int]
FaultSet: TypeAlias = tuple[Point, ...]

# How long a fault of a kind may take, besides what single faults try: just below and above the
# usual timeouts of clients, and those of the service.
DELAYS: dict[str, tuple[str, ...]] = {
    "late": ("250ms", "1s", "12s", "31s", "2m"),
    "late engine": ("1s", "4s", "12s", "31s"),
    "limited": ("1s", "30s"),
}
_DELAYED_BY = {"late": "delay", "late engine": "delay", "limited": "retry_after"}


class SingleFaultResult(NamedTuple):
    """The result of a single fault: whether the run survived it, and the points it passed."""

    point: Point
    survived: bool
    passed: Survey


def names_of(points_: Sequence[Point]) -> tuple[str, str]:
    """Return the points and the kinds of a set in words."""
    return " + ".join(each.where for each in points_), " + ".join(each.kind for each in points_)


def sets_of(
    base: Survey, tried: Sequence[SingleFaultResult], *, wire: bool, faults: str
) -> list[FaultSet]:
    """Return sets to try after single faults, the most promising first.

    `base` are the points that a run without faults passes, `faults` a pattern of their kinds.
    """
    survived = [result for result in tried if result.survived]
    order = list(dict.fromkeys(result.point.where for result in tried))
    ranked: list[tuple[int, int, int, FaultSet]] = []
    for result in survived:
        first, index = result.point, order.index(result.point.where)
        reached = _newly_reached(base, result.passed, wire=wire, faults=faults)
        for number, point in enumerate(reached, start=index):
            ranked.append((0, _kind_rank(first) + _kind_rank(point), number, (first, point)))
        for turn, other in enumerate(timings(first)):
            ranked.append((1, turn, index, (other,)))
    for left, right in combinations((result.point for result in survived), 2):
        index = order.index(left.where)
        apart = abs(index - order.index(right.where))
        if apart:
            rank = 2 if apart == 1 else 1 + apart
            ranked.append((rank, _kind_rank(left) + _kind_rank(right), index, (left, right)))
    ranked.sort(key=lambda row: row[:3])
    return [row[3] for row in ranked]


def timings(point: Point) -> Iterator[Point]:
    """Yield the same fault with other delays."""
    for delay in DELAYS.get(point.kind, ()):
        yield _lasting(point, delay)


def try_sets(
    sets: Sequence[FaultSet],
    run: Callable[[Sequence[FaultSet]], Iterable[R]],
    breaks: Callable[[R], bool],
) -> Iterator[R | None]:
    """Run with each set; one that breaks the run is reduced first. Yield the result of each, or
    None for a set that was reduced to one before.
    """
    reduced: set[tuple[str, ...]] = set()
    for faults, result in zip(sets, run(sets), strict=False):
        small = faults
        if breaks(result):
            small = smallest(faults, lambda part: any(map(breaks, run([part]))))
            (result,) = run([small])
        key = tuple(point.as_json() for point in small)
        yield None if key in reduced else result
        reduced.add(key)


def smallest(faults: FaultSet, breaks: Callable[[FaultSet], bool]) -> FaultSet:
    """Return the smallest subset of faults that breaks a run, with the shortest delays."""
    kept = tuple(minimal(faults, lambda part: breaks(tuple(part))))
    for number, point in enumerate(kept):
        for shorter in _shorter(point):
            other = (*kept[:number], shorter, *kept[number + 1 :])
            if breaks(other):
                kept = other
                break
    return kept


def _shorter(point: Point) -> Iterator[Point]:
    """Yield the fault with shorter delays, the shortest first."""
    name, _, delay = point.kind.rpartition(" ")
    if delay in DELAYS.get(name, ()):
        plain = point._replace(kind=name)
        for shorter in DELAYS[name][: DELAYS[name].index(delay)]:
            yield _lasting(plain, shorter)


def _lasting(point: Point, delay: str) -> Point:
    act = point.act | {_DELAYED_BY[point.kind]: delay}
    return point._replace(kind=f"{point.kind} {delay}", act=act)


def _newly_reached(base: Survey, passed: Survey, *, wire: bool, faults: str) -> Iterator[Point]:
    """Yield faults at points that a run passed only because of a fault."""
    more = {key: count for key, count in passed.items() if count > base.get(key, 0)}
    for point in points(more, wire=wire, faults=faults):
        if point.nth > base.get((point.plane, point.operation), 0):
            yield point


_KIND_RANKS = {kind.name: turn for turn, kind in enumerate(FAULT_KINDS)}


def _kind_rank(point: Point) -> int:
    return _KIND_RANKS.get(point.kind, 0)
