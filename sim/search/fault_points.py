"""What `sim explore` and `pytest --explore` try: faults at the points that a run passes, one at a
time and in sets.

*Points.* A run is observed once to learn which calls, frames, deliveries and orders it passes; then
it is repeated for each fault at each point. A point is identified by plane, operation and
occurrence: the second CreateOrder of a run is a separate point, because a client may survive a
fault at the first call and not at the second. Single faults already find a client that does not
retry, retries too early, or places an order twice.

*Sets.* Pairs of faults, and the same fault with another delay, follow if requested. Trying every
pair would square the number of runs, and most pairs are uninformative: what breaks a run by itself
breaks it in combination, and two distant faults rarely interact. The other pairs are tried in this
order:

1. a fault at a point that the run passed only *because* of another fault: the retry fails, too;
2. a survived fault that takes longer, or asks to wait longer;
3. two survived faults at neighbouring points, and at the same one of two calls in a row;
4. all others, nearer points first.

In each class, every pair of points is tried once before any is tried again. A set that breaks a run
is reduced: unnecessary faults are removed, and delays become as short as possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

from msgspec import json

from sim.core.service.fault_spec import CALLS, HTTP, fault_from
from sim.core.service.json_patch import READY
from sim.read.errors import UsageError
from sim.search.delta import minimal
from sim.world.format.fault_names import has_no_effect, operation_names, unknown_operation

# How often a run passes each point, by plane and operation.
Survey: TypeAlias = Mapping[tuple[str, str], int]


class FaultKind(NamedTuple):
    """A fault to try: its name, the planes on which it is tried, and its act.

    `wire` means that without a connection it looks like an error, so it is tried over sockets only.
    `delays` are how long it may take besides: just below and above the usual timeouts of clients,
    and those of the service.
    """

    name: str
    planes: tuple[str, ...]
    act: dict[str, Any]
    wire: bool = False
    delays: tuple[str, ...] = ()

    def lasting(self, point: Point, delay: str) -> Point:
        """Return a fault of this kind at a point with another delay."""
        *_, key = self.act  # the last key says how long it takes
        return point._replace(kind=f"{self.name} {delay}", act=point.act | {key: delay})


MESSAGES = ("stream", "webhook")
_LATE = ("250ms", "1s", "12s", "31s", "2m")
FAULT_KINDS = (
    FaultKind("error", (*CALLS, *MESSAGES), {"status": 503}),
    FaultKind("limited", CALLS, {"status": 429, "retry_after": "2s"}, delays=("1s", "30s")),
    FaultKind("lost", CALLS, {"status": 504, "handled": True}),
    FaultKind("odd wait", HTTP, {"status": 429, "retry_after": "0.5"}),
    FaultKind("late", (*CALLS, *MESSAGES), {"delay": "4s"}, delays=_LATE),
    FaultKind("late engine", ("engine",), {"delay": "6s"}, delays=("1s", "4s", "12s", "31s")),
    FaultKind("close", HTTP, {"close": True}, wire=True),
    FaultKind("close stream", ("stream",), {"close": True}),
    FaultKind("refuse", CALLS, {"refuse": True}, wire=True),
    FaultKind("reset", CALLS, {"reset": True}, wire=True),
    FaultKind("reset stream", ("stream",), {"reset": True}),
    FaultKind("lost by reset", CALLS, {"reset": True, "handled": True}, wire=True),
    FaultKind("half answer", CALLS, {"half_close": True}, wire=True),
    FaultKind("slow answer", HTTP, {"slow_body": True}, wire=True),
    FaultKind("hang", CALLS, {"hang": True}, wire=True),
    FaultKind("reset delivery", ("webhook",), {"reset": True}),
    FaultKind("old delivery", ("webhook",), {"timestamp": "-10m"}),
    FaultKind("hang delivery", ("webhook",), {"hang": True}),
    FaultKind("drop", MESSAGES, {"drop": True}),
    FaultKind("duplicate", MESSAGES, {"duplicate": True}),
    FaultKind("reorder", ("stream",), {"reorder": True}),
    FaultKind("revoke", ("stream",), {"revoke": True}),
    *(FaultKind(name.replace("-", " "), (*CALLS, *MESSAGES), {"patch": name}) for name in READY),
)


class Point(NamedTuple):
    """One fault at the n-th occurrence of an operation."""

    plane: str
    operation: str
    nth: int
    kind: str
    act: dict[str, Any]

    @property
    def where(self) -> str:
        """The point in words: `retail CreateOrder #2`."""
        return f"{self.plane} {self.operation.rpartition('.')[2] or 'unknown path'} #{self.nth}"

    def document(self) -> dict[str, Any]:
        """Return the fault in the form that a scenario or the control plane takes."""
        match = {"plane": self.plane, "nth": self.nth}
        if self.operation:
            match["operation"] = self.operation
        return {"match": match, "act": self.act, "times": 1}

    def as_json(self) -> str:
        """Return `document` as JSON."""
        return json.encode(self.document()).decode()


def refuse_unknown(operations: str, faults: str) -> None:
    """Refuse patterns that match nothing, because exploring nothing must not look like success."""
    names = [kind.name for kind in FAULT_KINDS]
    if not any(fnmatchcase(name, faults) for name in names):
        raise UsageError(f"no fault matches {faults!r}; known: {', '.join(names)}")
    if not any(fnmatchcase(name, operations) for name in operation_names()):
        raise UsageError(
            unknown_operation(operations)
            or f"no operation is called {operations!r}; `sim catalogue operations` lists them"
        )


def points(
    survey: Survey,
    *,
    wire: bool,
    operations: str = "*",
    faults: str = "*",
    max_occurrences: int = 0,
) -> Iterator[Point]:
    """Yield what to try at the points of a survey.

    `operations` and `faults` are patterns; `max_occurrences` of 0 means all of them.
    """
    for (plane, operation), count in survey.items():
        names = (operation, operation.rpartition(".")[2])
        if not operation or not any(fnmatchcase(name, operations) for name in names):
            continue
        kinds = [
            kind
            for kind in FAULT_KINDS
            if plane in kind.planes and fnmatchcase(kind.name, faults) and (wire or not kind.wire)
        ]
        for nth in range(1, (min(count, max_occurrences) if max_occurrences else count) + 1):
            for kind in kinds:
                point = Point(plane, operation, nth, kind.name, kind.act)
                if not has_no_effect(fault_from(point.document())):
                    yield point


# ---- trials

FaultSet: TypeAlias = tuple[Point, ...]

# Verdicts on a scenario are in `explore.py`; those on a test are SURVIVED, FAILED, HUNG, INVARIANT.
SURVIVED, HELD, NOTICED, NOT_AFFECTED = "survived", "held", "noticed", "not affected"
BROKE, FAILED, HUNG, INVARIANT = "broke", "failed", "hung", "invariant"
_LOST = (BROKE, FAILED, HUNG, INVARIANT)


class Trial(NamedTuple):
    """One run of a scenario or a test under a fault, or a few.

    `subject` is its title, `failures` has the lines that it failed with, and `passed` counts the
    points that it passed.
    """

    subject: str
    faults: FaultSet
    verdict: str
    failures: tuple[str, ...] = ()
    passed: Survey = {}

    @property
    def survived(self) -> bool:
        return self.verdict not in _LOST

    @property
    def where(self) -> str:
        """The points in words."""
        return " + ".join(point.where for point in self.faults)

    @property
    def kind(self) -> str:
        """The kinds of the faults in words."""
        return " + ".join(point.kind for point in self.faults)

    def document(self, subject: str, failures: dict[str, Any]) -> dict[str, Any]:
        """Return the trial as JSON, with its subject under a key."""
        faults = [point.document() for point in self.faults]
        return {
            subject: self.subject,
            "point": self.where,
            "kind": self.kind,
            "verdict": self.verdict,
            **failures,
            "fault": faults[0],
            "faults": faults,
        }


def trial_of(document: dict[str, Any]) -> Trial:
    """Return the trial of a test that was written as JSON."""
    names = document["kind"].split(" + ")
    faults = tuple(
        Point(match["plane"], match.get("operation", ""), match["nth"], name, fault["act"])
        for name, fault in zip(names, document["faults"], strict=True)
        for match in (fault["match"],)
    )
    return Trial(document["test"], faults, document["verdict"], (document["why"],))


def by_point(trials: Iterable[Trial]) -> dict[tuple[str, str], list[Trial]]:
    """Return trials by subject and point."""
    grouped: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        grouped.setdefault((trial.subject, trial.where), []).append(trial)
    return grouped


# ---- sets


def sets_of(base: Survey, tried: Sequence[Trial], *, wire: bool, faults: str) -> list[FaultSet]:
    """Return sets to try after trials of single faults, the most promising first.

    `base` are the points that a run without faults passes, `faults` a pattern of their kinds.
    """
    survived = [trial for trial in tried if trial.survived and trial.verdict != NOT_AFFECTED]
    order = list(dict.fromkeys(trial.where for trial in tried))
    ranked: list[tuple[int, int, int, FaultSet]] = []
    for trial in survived:
        first, index = trial.faults[0], order.index(trial.where)
        reached = _newly_reached(base, trial.passed, wire=wire, faults=faults)
        for number, point in enumerate(reached, start=index):
            ranked.append((0, _kind_rank(first) + _kind_rank(point), number, (first, point)))
        for turn, other in enumerate(timings(first)):
            ranked.append((1, turn, index, (other,)))
    for left, right in combinations((trial.faults[0] for trial in survived), 2):
        index = order.index(left.where)
        apart = abs(index - order.index(right.where))
        if apart:
            rank = 2 if apart == 1 else 1 + apart
            ranked.append((rank, _kind_rank(left) + _kind_rank(right), index, (left, right)))
    ranked.sort(key=lambda row: row[:3])
    return [row[3] for row in ranked]


def timings(point: Point) -> Iterator[Point]:
    """Yield the same fault with other delays."""
    kind = next(kind for kind in FAULT_KINDS if kind.name == point.kind)
    yield from (kind.lasting(point, delay) for delay in kind.delays)


def try_sets(
    sets: Sequence[FaultSet], run: Callable[[Sequence[FaultSet]], Iterable[Trial]]
) -> Iterator[Trial | None]:
    """Run with each set; one that breaks the run is reduced first. Yield the trial of each, or None
    for a set that was reduced to one before.
    """
    reduced: set[tuple[str, ...]] = set()
    for faults, trial in zip(sets, run(sets), strict=False):
        small = faults
        if not trial.survived:
            small = smallest(faults, lambda part: not all(it.survived for it in run([part])))
            (trial,) = run([small])
        key = tuple(point.as_json() for point in small)
        yield None if key in reduced else trial
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
    for kind in FAULT_KINDS:
        name, _, delay = point.kind.rpartition(" ")
        if kind.name == name and delay in kind.delays:
            shorter = kind.delays[: kind.delays.index(delay)]
            yield from (kind.lasting(point, other) for other in shorter)


def _newly_reached(base: Survey, passed: Survey, *, wire: bool, faults: str) -> Iterator[Point]:
    """Yield faults at points that a run passed only because of a fault."""
    more = {key: count for key, count in passed.items() if count > base.get(key, 0)}
    for point in points(more, wire=wire, faults=faults):
        if point.nth > base.get((point.plane, point.operation), 0):
            yield point


def _kind_rank(point: Point) -> int:
    names = [kind.name for kind in FAULT_KINDS]
    return names.index(point.kind) if point.kind in names else 0
