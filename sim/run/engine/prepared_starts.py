"""Caches the start of runs that this process begins repeatedly, so that later runs copy it.

Building a world, listing instruments and placing standing orders costs far more than loading the
resulting state, and a sweep or a test suite begins the same scenario hundreds of times. The second
run of a kind therefore begins twice: once for itself, and once in an engine that never moves. Every
later run is copied from that engine, like a fork. The first run costs nothing extra, because most
commands begin only one.

Runs of one kind may have different seeds if only identifiers depend on the seed at the start
(`start.py`). Otherwise each seed is a kind of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sim.kernel.instants import Instant
from sim.kernel.journal import Header
from sim.run.engine.engine import Engine
from sim.run.engine.run import Run
from sim.run.engine.start import Start
from sim.world.format.scenario import Scenario

_ANY_SEED = -1


class _RunKind(NamedTuple):
    """What determines the start, except the parts of a scenario that the journal omits."""

    scenario_digest: str
    seed: int
    start: Instant
    settings: tuple[tuple[str, Any], ...]


class _KindEntry(NamedTuple):
    """The scenario of the last run of a kind and the number of runs.

    From the second run on, also the start, or a note that each seed is a kind of its own.
    """

    scenario: Scenario
    runs: int = 0
    start: Start | None = None
    by_seed: bool = False


class PreparedStarts:
    """The starts of runs: at most `kept`, the most recently used ones."""

    def __init__(self, kept: int = 8) -> None:
        self._kept = kept
        self._entries: dict[_RunKind, _KindEntry] = {}  # the most recently used last

    def of(self, run: Run, header: Header, begin: Callable[[], Engine]) -> Start | None:
        """Return a start for a run, possibly of another seed; None for the first run of a kind.

        `begin` builds an engine without using a cached start.
        """
        settings = tuple(run.settings.recorded().items())
        kind = _RunKind(header.scenario_digest, _ANY_SEED, run.start, settings)
        entry = self._count_run(kind, run.scenario)
        if entry.by_seed:
            kind = kind._replace(seed=run.seed)
            entry = self._count_run(kind, run.scenario)
        if entry.start is None and entry.runs > 1:
            entry = self._add_start(kind, entry, begin())
        return entry.start

    def _count_run(self, kind: _RunKind, scenario: Scenario) -> _KindEntry:
        """Count one more run of a kind and return its entry."""
        entry = self._entries.pop(kind, None)
        if entry is None or entry.scenario != scenario:
            entry = _KindEntry(scenario)
        entry = self._entries[kind] = entry._replace(runs=entry.runs + 1)
        if len(self._entries) > self._kept:
            del self._entries[next(iter(self._entries))]
        return entry

    def _add_start(self, kind: _RunKind, entry: _KindEntry, engine: Engine) -> _KindEntry:
        start = Start(engine)
        if kind.seed == _ANY_SEED and start.follows_from_the_seed():
            self._entries[kind] = entry._replace(by_seed=True)
            kind = kind._replace(seed=engine.run.seed)
        entry = self._entries[kind] = entry._replace(start=start)
        return entry
