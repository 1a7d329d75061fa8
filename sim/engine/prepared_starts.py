"""Starts of runs that this process begins again and again, so that the next run copies one.

Building a world, listing its instruments and placing its standing orders costs far more than
loading the state that comes of it, and a test-suite begins the same scenario with the same seed
hundreds of times. So the second run of a kind is begun twice: once for itself, and once for an
engine that never moves, from which every later one is copied as a fork is. The first pays nothing,
because most commands begin one run, and a sweep begins each seed once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sim.engine.engine import Engine, Run
from sim.kernel.instants import Instant
from sim.kernel.journal import Header
from sim.scenario.scenario import Scenario


class _Kind(NamedTuple):
    """What the state at the start follows from, but for what no journal keeps of the scenario."""

    scenario_digest: str
    seed: int
    start: Instant
    settings: tuple[tuple[str, Any], ...]


class _Start(NamedTuple):
    """The scenario of the last run of a kind, and an engine at its start from the second on."""

    scenario: Scenario
    engine: Engine | None = None


class PreparedStarts:
    """Engines at the start of a run: at most `kept`, those that were used last."""

    def __init__(self, kept: int = 8) -> None:
        self._kept = kept
        self._starts: dict[_Kind, _Start] = {}  # those used last at the end

    def of(self, run: Run, header: Header, begin: Callable[[], Engine]) -> Engine | None:
        """An engine at the start of such a run, not to be moved; None for the first of its kind.

        `begin` begins one from nothing.
        """
        kind = _Kind(
            header.scenario_digest, run.seed, run.start, tuple(run.settings.recorded().items())
        )
        known = self._starts.pop(kind, None)
        if known is None or known.scenario != run.scenario:
            known = _Start(run.scenario)
        else:
            known = known._replace(engine=known.engine or begin())
        self._starts[kind] = known
        if len(self._starts) > self._kept:
            del self._starts[next(iter(self._starts))]
        return known.engine
