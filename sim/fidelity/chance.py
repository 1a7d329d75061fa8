"""Differences that chance decides, told apart from those that say something.

An exchange draws: whether a search times out, how long a new account takes. Where a recording
differs from our replay because the service drew otherwise, it is evidence of nothing. We know what
chance decides without a list of it, because a replay costs little: the session is replayed with
further seeds, and with each drawn quirk striking always and never. A difference at a place of a
line is chance where

- one of these replays has none there, so that we do answer as recorded in some runs; or
- our own values there differ from seed to seed, as instants do that are drawn.

If the recording was made with our seed, both drew the same, and nothing is excused. The identifiers
show it: those that every other seed draws otherwise are then the recorded ones.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sim.analysis.progress import Progress
from sim.core.catalogue.bounds import SEED
from sim.fidelity.difference import Difference
from sim.fidelity.identifier_map import IdentifierMap
from sim.fidelity.identities import Unmatched
from sim.fidelity.service_clock import ServiceClock
from sim.fidelity.session_comparison import SessionComparison
from sim.fidelity.tally import Tally, without_positions
from sim.recording.files import Entry
from sim.scenario.scenario import Scenario
from sim.simulation import Simulation
from sim.testing.client import RpcError

Place: TypeAlias = tuple[int, str]  # a line, and where in its answer or frame

SEEDS = 32  # further ones at most; what is drawn so rarely counts as a difference
_FIRST = 8  # of them, after which most is known
_LINES_MAX = 200_000  # replayed with further seeds, all together
_SPREAD = 4  # values of different seeds at a place that is drawn from many
_INSTANT_OR_NUMBER = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|-?\d{1,18}(\.\d+)?")
# Where these differ, nothing else of the line is compared.
_WHOLE = frozenset(("answer.status", "closed.code"))


class _DifferingLine(NamedTuple):
    """A line that differs."""

    name: str
    n: int
    differences: list[Difference]
    seen: bool


class DeferredTally(Tally):
    """A tally that waits with what differs until it is known what chance decides."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[_DifferingLine] = []

    def differ(self, name: str, n: int, differences: list[Difference], seen: bool = True) -> None:
        """One answer or frame differs."""
        self.lines.append(_DifferingLine(name, n, differences, seen))

    def settle(self, excused: Collection[Place]) -> None:
        """Count what differs, without the places that chance decides."""
        for name, n, differences, seen in self.lines:
            left = [one for one in differences if (n, one.where) not in excused]
            if left:
                super().differ(name, n, left, seen)
            elif seen:
                where = without_positions(differences[0].where)
                self.no_evidence(name, f"chance decides {where}: it varies from run to run")
        self.lines.clear()


class _OtherRun(Struct):
    """What differs in a replay with other random draws."""

    places: dict[Place, str] = {}  # with our value, where it is an instant or a number
    whole: set[int] = set()  # lines of which only the status was compared
    names: IdentifierMap = field(default_factory=IdentifierMap)

    def differ(self, name: str, n: int, differences: list[Difference], seen: bool = True) -> None:
        """One answer or frame differs."""
        for one in differences:
            self.places[n, one.where] = _drawn_value(one.ours)
            if one.where in _WHOLE:
                self.whole.add(n)

    def agree(self, name: str) -> None:
        """Nothing to note."""

    def no_evidence(self, name: str, why: str) -> None:
        """Nothing to note."""

    def compares(self, place: Place) -> bool:
        """Whether this replay came to compare a place."""
        return place[0] not in self.whole or place[1] in _WHOLE


def decided_by_chance(
    lines: Collection[_DifferingLine],
    names: IdentifierMap,
    scenario: Scenario,
    seed: int | None,
    entries: Collection[Entry],
    clock: ServiceClock,
) -> frozenset[Place]:
    """The places of lines that differ at which chance decides what we answer. `names` are the
    identifiers of the recording and ours.
    """
    places = {
        (line.n, one.where): _drawn_value(one.ours) for line in lines for one in line.differences
    }
    if not places:
        return frozenset()
    replay = partial(_replayed, entries=entries, clock=clock, last=max(places)[0])
    seed = scenario.seed if seed is None else seed
    seeds = _seeds(seed, len(entries))
    quirks = list(_with_quirks(scenario, seed))
    with Progress(len(seeds) + len(quirks), "replays with other seeds and odds") as progress:
        others = list[_OtherRun]()
        for other in seeds[:_FIRST]:
            progress.step()
            others += replay(scenario, other)
        if not others or _has_our_seed(names, others):
            return frozenset()
        excused = {place for place in places if _varies(place, places[place], others)}
        trials = [(one, seed) for one in quirks] + [(scenario, other) for other in seeds[_FIRST:]]
        for decided, other in trials:
            if len(excused) == len(places):
                break
            progress.step()
            for one in replay(decided, other):
                excused |= {p for p in places if p not in one.places and one.compares(p)}
    return frozenset(excused)


def _seeds(seed: int, lines: int) -> list[int]:
    """Further seeds: fewer where a recording is long."""
    count = min(SEEDS, max(2, _LINES_MAX // (lines + 1)))
    return [number % (SEED.high + 1) for number in range(seed + 1, seed + 1 + count)]


def _with_quirks(scenario: Scenario, seed: int) -> Iterator[Scenario]:
    """The scenario with each drawn quirk striking always, and never."""
    quirks = Simulation(scenario, seed=seed).exchange.ctx.quirks
    for name in sorted(quirks.save()):
        if quirks.as_written(name) not in ("always", "never"):
            for odds in ("always", "never"):
                yield replace(scenario, quirks={**scenario.quirks, name: odds})


def _replayed(
    scenario: Scenario, seed: int | None, entries: Collection[Entry], clock: ServiceClock, last: int
) -> Iterator[_OtherRun]:
    """What differs up to a line; nothing where the scenario has nobody for a client so."""
    notes: Any = _OtherRun()
    with suppress(RpcError, Unmatched):
        replayed = SessionComparison(scenario, seed, entries, notes, clock)
        for n in replayed.steps():
            if n > last:
                break
        notes.names = replayed.names
        yield notes


def _varies(place: Place, ours: str, others: list[_OtherRun]) -> bool:
    """Whether we answer as recorded with another seed, or otherwise with nearly each."""
    comparing = [one for one in others if one.compares(place)]
    values = {one.places.get(place, "") for one in comparing} | {ours}
    spread = len(values - {""}) >= min(_SPREAD, len(others) + 1)
    return spread or any(place not in one.places for one in comparing)


def _has_our_seed(names: IdentifierMap, others: list[_OtherRun]) -> bool:
    """Whether the recording was made with our seed: its identifiers are ours."""
    first, *more = (one.names for one in others)
    drawn = [
        recorded
        for recorded, ours in first.pairs_since(0)
        if recorded != ours and all(other.to_ours(recorded) != recorded for other in more)
    ]
    ours = [recorded for recorded in drawn if names.to_ours(recorded) == recorded]
    return len(ours) * 2 > len(drawn)


def _drawn_value(ours: Any) -> str:
    """An instant or a number as text, which a seed may draw; "" for words and names."""
    if isinstance(ours, (int, Decimal)) and not isinstance(ours, bool):
        return str(ours)
    return ours if isinstance(ours, str) and _INSTANT_OR_NUMBER.fullmatch(ours) else ""
