"""Plans episodes: where they begin, and of which genes they consist.

There are several *ways* to plan one, from knowing nothing (a root, any kind of gene) to a small
change of what brought news before. None is always the best: common situations are met soonest
without memory, rare ones only with it. So the ways compete: each has a record of the news that it
brought recently and of the work that this took, and those with the better ratio are chosen more
often.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from sim.kernel.entropy import RandomStream
from sim.search.hunt.bandit import Bandit
from sim.search.hunt.checkpoints import MomentPath
from sim.search.hunt.corpus import Corpus, is_expensive, weighted
from sim.search.hunt.genes import GAPS, Gene, group_of, kinds

LENGTHS = (4, 8, 16, 16, 32)
MUTATIONS_MAX = 4
# Groups that a swarm of few groups always includes, so that something happens.
_ALWAYS = ("order exchange", "order retail", "order script", "do instrument.create")
_STORM = 16  # number of genes of a purely random episode
WAYS = ("root storm", "root swarm", "moment storm", "moment swarm", "mutant")
_VISIT = 4  # episodes that continue from a moment before another is chosen


class EpisodePlan(NamedTuple):
    """An episode: the way in which it was planned, the entry from which it continues (-1: a root),
    its moment, and its genes.
    """

    way: int
    parent: int
    place: MomentPath
    genes: list[Gene]


@cache
def _groups() -> dict[str, tuple[str, ...]]:
    """Return the kinds of genes by the group that a swarm keeps or leaves out."""
    groups: dict[str, list[str]] = {}
    for kind in kinds():
        groups.setdefault(group_of(kind), []).append(kind)
    return {group: tuple(members) for group, members in groups.items()}


@cache
def _any() -> tuple[tuple[str, int], ...]:
    return tuple((kind, 1) for kind in kinds())


class Planner:
    """Draws episodes from a corpus.

    Without `guided`, for comparison with random storms, every episode begins at a root and ignores
    news.
    """

    def __init__(self, corpus: Corpus, *, guided: bool = True) -> None:
        self._corpus = corpus
        self._guided = guided
        self._ways = Bandit(len(WAYS))
        self._roots = Bandit(corpus.root_count)
        self._visited, self._left = -1, 0

    def episode(self, choices: RandomStream, now: int) -> EpisodePlan:
        """Return the next episode."""
        corpus = self._corpus
        if not self._guided:
            root = choices.below(corpus.root_count)
            return EpisodePlan(0, -1, MomentPath(root), self._storm(choices))
        way = self._ways.choose(choices) if corpus.entries else choices.below(2)
        if way < 2:
            parent, place = -1, MomentPath(self._roots.choose(choices))
        else:
            parent = self._moment(choices, now)
            place = corpus.place(parent)
        match WAYS[way]:
            case "root storm" | "moment storm":
                genes = self._storm(choices)
            case "mutant":
                entry = corpus.entries[parent]
                parent = entry.parent
                place = corpus.place(parent) if parent >= 0 else MomentPath(entry.root)
                genes = self._mutated(choices, entry.genes)
            case _:
                pool = self._swarm(choices)
                genes = [self._gene(choices, pool) for _ in range(choices.choice(LENGTHS))]
        return EpisodePlan(way, parent, place, genes)

    def learn(self, plan: EpisodePlan, news: int, work: int) -> None:
        """Record the news of an episode, and the work that it took."""
        self._ways.learn(plan.way, news, work)
        if plan.parent < 0:
            self._roots.learn(plan.place.root, news, work)

    def fade(self) -> None:
        """Reduce the weight of old records."""
        self._ways.fade()
        self._roots.fade()

    def _moment(self, choices: RandomStream, now: int) -> int:
        """Return the entry from which to continue.

        It is kept for a few episodes, because the way to a moment is then repeated only once.
        """
        if self._left == 0:
            self._visited, self._left = self._corpus.choose(choices, now), _VISIT
        self._left -= 1
        return self._visited

    def _storm(self, choices: RandomStream) -> list[Gene]:
        """Return genes of any kind, with equal probability."""
        offered = _any()
        return [self._random_gene(choices, choices.choice(offered)[0]) for _ in range(_STORM)]

    def _swarm(self, choices: RandomStream) -> list[tuple[str, int]]:
        """Return kinds with their weights, usually of few groups only."""
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

    def _gene(self, choices: RandomStream, pool: list[tuple[str, int]]) -> Gene:
        return self._random_gene(choices, weighted(choices, pool))

    @staticmethod
    def _random_gene(choices: RandomStream, kind: str) -> Gene:
        return Gene(kind, choices.bits() >> 1, choices.choice(GAPS))

    def _mutated(self, choices: RandomStream, genes: list[Gene]) -> list[Gene]:
        """Return genes after a mutation.

        A few of them are removed, doubled, swapped, moved in time, drawn again, or followed by
        those of another moment.
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
