"""Plans episodes: where they begin, and which genes they are made of."""

from __future__ import annotations

from functools import cache

from sim.hunt.corpus import Corpus, is_expensive, weighted
from sim.hunt.genes import GAPS, Gene, group_of, kinds
from sim.hunt.moments import Place
from sim.kernel.entropy import Stream

LENGTHS = (4, 8, 16, 16, 32)
MUTATIONS_MAX = 4
# Groups that a swarm of a few always has besides, so that something happens.
_ALWAYS = ("order exchange", "order retail", "order script", "do instrument.create")


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Kinds of genes by the group that a swarm keeps or leaves out."""
    groups: dict[str, list[str]] = {}
    for kind in kinds():
        groups.setdefault(group_of(kind), []).append(kind)
    return {group: tuple(members) for group, members in groups.items()}


class Planner:
    """Draws episodes from a corpus. `guided` is off for the comparison with random storms: every
    episode then begins at a root and knows nothing of news.
    """

    def __init__(self, corpus: Corpus, *, guided: bool = True) -> None:
        self._corpus = corpus
        self._guided = guided

    def episode(self, choices: Stream, now: int) -> tuple[int, Place, list[Gene]]:
        """Entry that it goes on from (-1: a root), its moment, and its genes."""
        corpus = self._corpus
        if not self._guided:
            root = choices.below(corpus.root_count)
            pool = [(kind, 1) for kind in kinds()]
            return -1, Place(root), [self._gene(choices, pool) for _ in range(16)]
        number, place = corpus.choose(choices, now)
        if number >= 0 and choices.chance(1, 3):
            entry = corpus.entries[number]
            place = corpus.place(entry.parent) if entry.parent >= 0 else Place(entry.root)
            genes = self._mutated(choices, entry.genes)
            return entry.parent, place, genes
        pool = self._swarm(choices)
        genes = [self._gene(choices, pool) for _ in range(choices.choice(LENGTHS))]
        return number, place, genes

    def _swarm(self, choices: Stream) -> list[tuple[str, int]]:
        """Kinds with their weights; most often of few groups only."""
        groups = list(_groups())
        if not choices.chance(1, 4):
            few = choices.between(2, 12)
            chosen = dict.fromkeys(choices.choice(groups) for _ in range(few))
            if choices.chance(3, 4):
                chosen |= dict.fromkeys(_ALWAYS)
            groups = list(chosen)
        pool = []
        for group in groups:
            for kind in _groups()[group]:
                weight = self._corpus.weight(kind)
                pool.append((kind, max(1, weight // 4) if is_expensive(group) else weight))
        return pool

    @staticmethod
    def _gene(choices: Stream, pool: list[tuple[str, int]]) -> Gene:
        return Gene(weighted(choices, pool), choices.bits() >> 1, choices.choice(GAPS))

    def _mutated(self, choices: Stream, genes: list[Gene]) -> list[Gene]:
        """Genes with a few of them left out, doubled, swapped, moved in time, drawn anew, or with
        those of another moment behind them.
        """
        mutated = list(genes)
        for _ in range(choices.between(1, MUTATIONS_MAX)):
            place = choices.below(len(mutated)) if mutated else 0
            match choices.below(7):
                case 0 if len(mutated) > 1:
                    del mutated[place]
                case 1 if mutated:
                    mutated.insert(place, mutated[place])
                case 2 if len(mutated) > 1:
                    other = choices.below(len(mutated))
                    mutated[place], mutated[other] = mutated[other], mutated[place]
                case 3 if mutated:
                    one = mutated[place]
                    mutated[place] = Gene(one.kind, one.seed, choices.choice(GAPS))
                case 4 if mutated:
                    one = mutated[place]
                    mutated[place] = Gene(one.kind, choices.bits() >> 1, one.gap)
                case 5:
                    mutated.insert(place, self._gene(choices, self._swarm(choices)))
                case _:
                    mutated += choices.choice(self._corpus.entries).genes
        return mutated[: 2 * LENGTHS[-1]]
