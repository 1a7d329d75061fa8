"""Tells differences that random draws explain from differences that are evidence.

An exchange draws random values: whether a search times out, how long a new account takes. Where a
recording differs from our replay because the service drew another value, the difference is no
evidence. No list of drawn values is kept. Instead the session is replayed with further seeds, and
once with each drawn quirk always and once never striking. A difference at one place of a line is
due to chance if

- one of these replays agrees with the recording there; or
- our own values there vary from seed to seed, as drawn instants do.

A replay says nothing of a frame that it did not compare as we did: if more frames of the stream are
missing or superfluous than in ours, everything behind them is compared with something else. A
missing frame is due to chance only if a replay has fewer missing on that stream.

What breaks the contract does so whatever is drawn, and is never excused. If the recording was made
with our seed, both sides drew the same values, and no difference is due to chance. The identifiers
show it: the recorded ones are then ours and those of no other seed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from sim.core.catalogue.bounds import SEED
from sim.evidence.compare.tally import ComparisonTally, without_positions
from sim.evidence.replay.identifier_map import IdentifierMap
from sim.evidence.replay.identities import Unmatched
from sim.evidence.replay.player import RecordedSession
from sim.evidence.replay.session_comparison import ComparisonResults, SessionComparison
from sim.evidence.validation.difference import LineVerdict, Misfit
from sim.read.progress import Progress
from sim.run.client.client import RpcError
from sim.run.simulation import Simulation

Spot: TypeAlias = tuple[int, str]  # (line, place in its answer or frame, or kind of a lone frame)

SEEDS = 32  # maximum number of further seeds; a value drawn more rarely counts as a difference
_FIRST = 8  # the first seeds, which settle most places
_LINES_MAX = 200_000  # limit on lines replayed with further seeds, in total
_SPREAD = 4  # so many different values at a place show that it is drawn from a wide range
_INSTANT_OR_NUMBER = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|-?\d{1,18}(\.\d+)?")
# If one of these differs, nothing else of the line is compared.
_STATUSES = frozenset(("answer.status", "closed.code"))
_MISSING, _EXTRA = "missing frame", "extra frame"
_UNPAIRED = (_MISSING, _EXTRA)


class ExcusedPlaces(NamedTuple):
    """The places at which chance decides, of all or, after an interrupt, of those tried before."""

    places: frozenset[Spot] = frozenset()
    complete: bool = True


class DeferredTally(ComparisonTally):
    """A tally that collects differing lines and counts them once `settle` says which are
    due to chance.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[LineVerdict] = []

    def replay(
        self, session: RecordedSession, on_line: Callable[[], None] = lambda: None
    ) -> IdentifierMap:
        """Collect what differs in a replay; return the pairs of identifiers. Raises Unmatched."""
        comparison = SessionComparison(session, self)
        comparison.run(on_line)
        return comparison.names

    def differ(self, line: LineVerdict) -> None:
        self.lines.append(line)

    def settle(self, excused: Collection[Spot]) -> None:
        """Count the collected differences without those at the excused places."""
        for line in self.lines:
            left = [misfit for misfit in line.differences if _spot(line.n, misfit) not in excused]
            if left:
                super().differ(line._replace(differences=left))
            elif line.is_recorded:
                where = without_positions(line.differences[0].where)
                self.no_evidence(line.name, f"chance decides {where}: it varies from run to run")
        self.lines.clear()


class _Replay(ComparisonResults):
    """The differences of a replay. `streams` maps the numbers of lines to their streams."""

    def __init__(self, streams: dict[int, int]) -> None:
        self.streams = streams
        # maps a place to our value there if it is an instant or a number, else to ""
        self.places: dict[Spot, str] = {}
        self.status_only: set[int] = set()  # lines of which only the status was compared
        self.unpaired = Counter[tuple[int | None, str]]()  # by stream and kind
        self.names = IdentifierMap()

    def differ(self, line: LineVerdict) -> None:
        n = line.n
        for difference in line.differences:
            self.places[_spot(n, difference)] = _drawn_value(difference.own)
            if difference.where in _STATUSES:
                self.status_only.add(n)
            elif difference.kind in _UNPAIRED:
                self.unpaired[self.streams.get(n), difference.kind] += 1

    def compares(self, spot: Spot, own: _Replay) -> bool:
        """Return whether this replay compared the place as our own did."""
        n, where = spot
        stream = self.streams.get(n)
        missing, extra = (self.unpaired[stream, kind] for kind in _UNPAIRED)
        our_missing, our_extra = (own.unpaired[stream, kind] for kind in _UNPAIRED)
        if where == _MISSING:
            return missing < our_missing and extra <= our_extra
        if where == _EXTRA:
            return extra < our_extra
        if where.startswith("frame"):
            is_paired = (n, _EXTRA) not in self.places
            return is_paired and missing + extra <= our_missing + our_extra
        return n not in self.status_only or where in _STATUSES


def decided_by_chance(
    session: RecordedSession, lines: Collection[LineVerdict], names: IdentifierMap
) -> ExcusedPlaces:
    """Return the places of differing lines at which chance decides what we answer.

    `names` pairs the identifiers of the recording with ours.
    """
    streams = {entry.n: entry.stream for entry in session.entries if entry.stream is not None}
    own = _Replay(streams)
    for line in lines:
        own.differ(line._replace(differences=list(filter(_may_be_chance, line.differences))))
    places = own.places
    if not places:
        return ExcusedPlaces()
    seeds = [replace(session, seed=seed) for seed in _seeds(session)]
    quirks = list(_with_quirks(session))
    excused = set[Spot]()
    with Progress(len(seeds) + len(quirks), "replays with other seeds and odds") as progress:
        others = list[_Replay]()
        for variant in seeds[:_FIRST]:
            progress.step()
            others += _replayed(streams, variant)
        if not others or _has_our_seed(names, others):
            return ExcusedPlaces()
        excused |= {spot for spot in places if _varies(spot, own, others)}
        for variant in quirks + seeds[_FIRST:]:
            if len(excused) == len(places):
                break
            progress.step()
            for run in _replayed(streams, variant):
                excused |= {p for p in places if p not in run.places and run.compares(p, own)}
    return ExcusedPlaces(frozenset(excused), not progress.interrupted)


def _spot(n: int, difference: Misfit) -> Spot:
    return n, difference.kind if difference.kind in _UNPAIRED else difference.where


def _may_be_chance(difference: Misfit) -> bool:
    """Return whether our answer made the difference, and no document."""
    return difference.culprit == "unknown" or difference.kind == _MISSING


def _seeds(session: RecordedSession) -> list[int]:
    """Return further seeds: fewer for a long recording."""
    seed = session.scenario.seed if session.seed is None else session.seed
    count = min(SEEDS, max(2, _LINES_MAX // (len(session.entries) + 1)))
    return [number % (SEED.high + 1) for number in range(seed + 1, seed + 1 + count)]


def _with_quirks(session: RecordedSession) -> Iterator[RecordedSession]:
    """Yield the session with each drawn quirk always striking, then never."""
    scenario = session.scenario
    quirks = Simulation(scenario, seed=session.seed).exchange.ctx.quirks
    for name in sorted(quirks.save()):
        if quirks.as_written(name) not in ("always", "never"):
            for odds in ("always", "never"):
                other = replace(scenario, quirks={**scenario.quirks, name: odds})
                yield replace(session, scenario=other)


def _replayed(streams: dict[int, int], session: RecordedSession) -> Iterator[_Replay]:
    """Replay the session and yield what differs; nothing if the scenario, changed like this, has no
    identity for a client of the recording.
    """
    notes = _Replay(streams)
    with suppress(RpcError, Unmatched):
        replayed = SessionComparison(session, notes)
        replayed.run()
        notes.names = replayed.names
        yield notes


def _varies(spot: Spot, own: _Replay, others: list[_Replay]) -> bool:
    """Return whether we answer as recorded under some other seed, or differently under
    nearly each one.
    """
    comparing = [run for run in others if run.compares(spot, own)]
    values = {run.places.get(spot, "") for run in comparing} | {own.places[spot]}
    spread = len(values - {""}) >= min(_SPREAD, len(others) + 1)
    return spread or any(spot not in run.places for run in comparing)


def _has_our_seed(names: IdentifierMap, others: list[_Replay]) -> bool:
    """Return whether the recording was made with our seed: most drawn identifiers are then ours."""
    first, *more = (run.names for run in others)
    drawn = [
        recorded
        for recorded, own in first.pairs
        if recorded != own and all(other.to_ours(recorded) != recorded for other in more)
    ]
    own = [recorded for recorded in drawn if names.to_ours(recorded) == recorded]
    return len(own) * 2 > len(drawn)


def _drawn_value(own: Any) -> str:
    """Return an instant or a number as text, since a seed may draw it; "" for other values."""
    if isinstance(own, (int, Decimal)) and not isinstance(own, bool):
        return str(own)
    return own if isinstance(own, str) and _INSTANT_OR_NUMBER.fullmatch(own) else ""
