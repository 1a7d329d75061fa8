"""Starts of runs that this process begins again and again, so that the next run copies one.

Building a world, listing its instruments and placing its standing orders costs far more than
loading the state that comes of it, and a sweep or a test-suite begins the same scenario hundreds of
times. So the second run of a kind is begun twice: once for itself, and once for an engine that
never moves, from which every later one is copied as a fork is. The first pays nothing, because most
commands begin one run.

Runs of one kind may differ in their seed, where nothing but identifiers follows from it until the
run begins (`start.py`). Where more does, each seed is a kind of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sim.engine.engine import Engine
from sim.engine.run import Run
from sim.engine.start import Start
from sim.kernel.instants import Instant
from sim.kernel.journal import Header
from sim.scenario.scenario import Scenario

_ANY_SEED = -1


class _RunKind(NamedTuple):
    """What the state at the start follows from, but for what no journal keeps of the scenario."""

    scenario_digest: str
    seed: int
    start: Instant
    settings: tuple[tuple[str, Any], ...]


class _KindEntry(NamedTuple):
    """The scenario of the last run of a kind, how many there were, and from the second on its
    start, or that each seed is a kind of its own.
    """

    scenario: Scenario
    runs: int = 0
    start: Start | None = None
    by_seed: bool = False


class PreparedStarts:
    """Starts of runs: at most `kept`, those that were used last."""

    def __init__(self, kept: int = 8) -> None:
        self._kept = kept
        self._entries: dict[_RunKind, _KindEntry] = {}  # those used last at the end

    def of(self, run: Run, header: Header, begin: Callable[[], Engine]) -> Start | None:
        """The start of such a run, perhaps under another seed; None for the first of its kind.

        `begin` begins an engine from nothing.
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
        """What is known of a kind of which one more run begins."""
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
