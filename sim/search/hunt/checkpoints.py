"""Checkpoints of a hunt.

A limited number is kept as simulations; others are recreated from the genes that lead to them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from typing import TypeAlias

from msgspec import Struct

from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.hunt.arena import Arena, ArenaCheckpoint
from sim.search.hunt.genes import Gene
from sim.search.hunt.vocabulary import Vocabulary

CHECKPOINTS_MAX = 200  # a checkpoint of a small world takes about a megabyte

# The path to a moment: numbers of the moments passed, each with the genes that lead to it.
Way: TypeAlias = tuple[tuple[int, tuple[Gene, ...]], ...]


class MomentPath(Struct, frozen=True):
    """The path to a moment: the number of its root scenario, and the way from there."""

    root: int
    way: Way = ()


class Checkpoints:
    """Makes checkpoints of a hunt. `roots` are the texts of scenarios."""

    def __init__(self, roots: Sequence[str], seed: int) -> None:
        self._roots = roots
        self._seed = seed
        self._checkpoints: OrderedDict[tuple[int, int], ArenaCheckpoint] = OrderedDict()

    def checkpoint(self, place: MomentPath) -> ArenaCheckpoint:
        """Return a checkpoint at a moment, as a copy that the caller owns."""
        checkpoint, start = self._nearest(place)
        for number, genes in place.way[start:]:
            checkpoint = checkpoint.fork()
            Arena(checkpoint, looking=False).run(list(genes))
            self._keep((place.root, number), checkpoint)
        return checkpoint.fork()

    def fresh(self, root: int, journal: BytesIO | None = None) -> ArenaCheckpoint:
        """Return a checkpoint at the start of a root scenario; its journal begins there too."""
        scenario = load_scenario(self._roots[root])
        simulation = Simulation(scenario, seed=self._seed, journal=journal or BytesIO())
        return ArenaCheckpoint(simulation, Vocabulary(simulation))

    def _nearest(self, place: MomentPath) -> tuple[ArenaCheckpoint, int]:
        """Return the last stored checkpoint on the way, and how much of the way leads there."""
        for count in range(len(place.way), 0, -1):
            key = place.root, place.way[count - 1][0]
            checkpoint = self._checkpoints.get(key)
            if checkpoint is not None:
                self._checkpoints.move_to_end(key)
                return checkpoint, count
        key = place.root, -1
        if key not in self._checkpoints:
            self._keep(key, self.fresh(place.root))
        self._checkpoints.move_to_end(key)
        return self._checkpoints[key], 0

    def _keep(self, key: tuple[int, int], checkpoint: ArenaCheckpoint) -> None:
        self._checkpoints[key] = checkpoint
        if len(self._checkpoints) > CHECKPOINTS_MAX:
            self._checkpoints.popitem(last=False)


@lru_cache(maxsize=1)
def checkpoints_of(roots: tuple[str, ...], seed: int) -> Checkpoints:
    """Return the checkpoints of a hunt in this process."""
    return Checkpoints(roots, seed)
