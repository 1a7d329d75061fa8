"""Moments: states to go on from, kept as simulations while there is room, else made again from the
genes that lead to them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from typing import TypeAlias

from msgspec import Struct

from sim.hunt.arena import Arena, Checkpoint
from sim.hunt.genes import Gene
from sim.hunt.vocabulary import Vocabulary
from sim.loader.load import load_scenario
from sim.simulation import Simulation

STANDS_MAX = 200  # a stand of a small world holds about a megabyte

# The way to a moment: its number and the genes that lead there from the one before.
Way: TypeAlias = tuple[tuple[int, tuple[Gene, ...]], ...]


class MomentPath(Struct, frozen=True):
    """A moment: the root that it begins with, and the way from there."""

    root: int
    way: Way = ()


class Checkpoints:
    """Stands at moments of a hunt. `roots` are the texts of scenarios."""

    def __init__(self, roots: Sequence[str], seed: int) -> None:
        self._roots = roots
        self._seed = seed
        self._checkpoints: OrderedDict[tuple[int, int], Checkpoint] = OrderedDict()

    def checkpoint(self, place: MomentPath) -> Checkpoint:
        """A stand at a moment, which is the caller's own."""
        checkpoint, start = self._nearest(place)
        for number, genes in place.way[start:]:
            checkpoint = checkpoint.fork()
            Arena(checkpoint, looking=False).run(list(genes))
            self._keep((place.root, number), checkpoint)
        return checkpoint.fork()

    def fresh(self, root: int, journal: BytesIO | None = None) -> Checkpoint:
        """A stand at the beginning of a root, whose journal begins there too."""
        scenario = load_scenario(self._roots[root])
        simulation = Simulation(scenario, seed=self._seed, journal=journal or BytesIO())
        return Checkpoint(simulation, Vocabulary(simulation))

    def _nearest(self, place: MomentPath) -> tuple[Checkpoint, int]:
        """The last moment on the way that has a stand, and how much of the way leads there."""
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

    def _keep(self, key: tuple[int, int], checkpoint: Checkpoint) -> None:
        self._checkpoints[key] = checkpoint
        if len(self._checkpoints) > STANDS_MAX:
            self._checkpoints.popitem(last=False)


@lru_cache(maxsize=1)
def checkpoints_of(roots: tuple[str, ...], seed: int) -> Checkpoints:
    """The moments of a hunt in this process."""
    return Checkpoints(roots, seed)
