"""A campaign: rounds of episodes until the budget is spent, something is found, or the user stops
it.

A round is planned as a whole from the results of earlier rounds, and its results are used in the
order of the plan. So the result depends on scenario, seed and budget in inputs, and not on the
number or speed of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from time import process_time
from typing import Protocol

from msgspec import Struct, field

from sim.kernel.entropy import Entropy
from sim.search.hunt.arena import Arena
from sim.search.hunt.canary import plant
from sim.search.hunt.checkpoints import MomentPath, checkpoints_of
from sim.search.hunt.corpus import Corpus, CorpusEntry
from sim.search.hunt.episode_result import EpisodeResult
from sim.search.hunt.genes import PART, Gene
from sim.search.hunt.oracles import Trouble, replays
from sim.search.hunt.planning import Planner
from sim.search.workers import Mapper, cluster_of, processes_of

ROUND = 16  # episodes in a round
CANARY_EVERY = 4  # every fourth episode has the planted bug, until one finds it
# The cost in `work` of forking a checkpoint, and of making a forgotten one again.
FORK_WORK, REPEAT_WORK = 20, 10
REPLAY_EVERY = 4  # in every fourth round one episode is replayed from its journal


class HuntPlan(Struct, frozen=True, kw_only=True):
    """What to hunt in and for how long: at least `inputs` (0: no end).

    `roots` are the texts of scenarios. `guided` is off for random episodes.
    """

    roots: tuple[str, ...]
    seed: int
    inputs: int = 0
    jobs: int = 1
    corpus: Path | None = None
    cluster: str = ""
    keep_going: bool = False
    guided: bool = True
    canary: bool = True


class EpisodeTask(Struct, frozen=True):
    """An episode, as a worker gets it."""

    roots: tuple[str, ...]
    seed: int
    place: MomentPath
    genes: tuple[Gene, ...]
    canary: bool = False
    replay: bool = False


class TaskResult(Struct):
    """The result of an episode, and the processor seconds that it took."""

    result: EpisodeResult
    cpu: float


class HuntFinding(Struct):
    """A trouble, and the root scenario and genes that lead to it."""

    trouble: Trouble
    root: int
    genes: list[Gene]


class CampaignState(Struct):
    """The state of a campaign.

    `canary` is the number of inputs after which the planted bug was found; None: not yet. `news`
    has each feature with the number of inputs after which it was first met.
    """

    inputs: int = 0
    cpu_s: float = 0.0
    episodes: int = 0
    rounds: int = 0
    news: dict[str, int] = field(default_factory=dict)
    finds: list[HuntFinding] = field(default_factory=list)
    canary: int | None = None
    canary_cpu_s: float = 0.0
    moments: int = 0
    interrupted: bool = False


class Listener(Protocol):
    """Receives the progress of a campaign."""

    def news(self, features: Sequence[str], so_far: CampaignState) -> None:
        """Features were met for the first time."""

    def trouble(self, new: HuntFinding, so_far: CampaignState) -> None:
        """Something is wrong."""

    def round(self, so_far: CampaignState) -> None:
        """A round has ended."""


def carry_out(task: EpisodeTask) -> TaskResult:
    """Carry out an episode in this process."""
    began = process_time()
    checkpoint = checkpoints_of(task.roots, task.seed).checkpoint(task.place)
    if task.canary:
        plant(checkpoint.simulation)
    result = Arena(checkpoint).run(list(task.genes))
    if task.replay and not result.over:
        result.troubles += replays(checkpoint.simulation)
    return TaskResult(result, process_time() - began)


class Campaign:
    """One hunt. `stopped` is called after every round."""

    def __init__(
        self, plan: HuntPlan, listener: Listener, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        self._plan = plan
        self._listener = listener
        self._stopped = stopped
        self._corpus = Corpus(plan.roots, plan.seed, plan.corpus)
        self._planner = Planner(self._corpus, guided=plan.guided)
        self._entropy = Entropy(plan.seed)
        self._known: set[tuple[str, str]] = set()
        self.state = CampaignState()

    def run(self, on_round: Callable[[], None] = lambda: None) -> CampaignState:
        """Run the hunt. After an interrupt `state` has the results so far."""
        with self._mapper() as carry:
            self._restore_corpus(carry)
            while not self._over():
                self._round(carry)
                on_round()
        return self.state

    def _mapper(self) -> AbstractContextManager[Mapper]:
        plan = self._plan
        return cluster_of(plan.cluster) if plan.cluster else processes_of(plan.jobs)

    def _over(self) -> bool:
        state, plan = self.state, self._plan
        spent = bool(plan.inputs) and state.inputs >= plan.inputs
        return spent or self._find_ends_hunt() or self._stopped()

    def _find_ends_hunt(self) -> bool:
        """Return whether a find ends the hunt."""
        return bool(self.state.finds) and not self._plan.keep_going

    # ---- rounds

    def _restore_corpus(self, carry: Mapper) -> None:
        """Repeat the episodes of an older hunt's corpus, and keep their moments."""
        stored = self._corpus.stored()
        for first in range(0, len(stored), ROUND):
            entries = stored[first : first + ROUND]
            tasks = []
            for entry in entries:
                self._corpus.add(entry, write=False)
                parent = entry.parent
                place = self._corpus.place(parent) if parent >= 0 else MomentPath(entry.root)
                tasks.append(self._task(place, entry.genes))
            for task, done in zip(tasks, carry(carry_out, tasks), strict=True):
                self._take(task, done)
        self.state.moments = len(self._corpus.entries)

    def _round(self, carry: Mapper) -> None:
        state = self.state
        choices = self._entropy.stream(f"round {state.rounds}")
        planned = [self._planner.episode(choices, state.rounds) for _ in range(ROUND)]
        tasks = [
            self._task(
                plan.place,
                plan.genes,
                canary=self._has_canary(number),
                replay=number == 0 and state.rounds % REPLAY_EVERY == 0,
            )
            for number, plan in enumerate(planned)
        ]
        results: Iterator[TaskResult] = carry(carry_out, tasks)
        for plan, task, done in zip(planned, tasks, results, strict=True):
            news = self._take(task, done)
            if not task.canary:
                work = done.result.work + FORK_WORK + REPEAT_WORK * len(plan.place.way)
                self._planner.learn(plan, sum(map(len, news.values())), work)
            if news and self._plan.guided and not done.result.troubles:
                self._add_entry(plan.parent, plan.place, plan.genes, news)
            if self._find_ends_hunt():
                break
        state.rounds += 1
        state.moments = len(self._corpus.entries)
        self._corpus.fade()
        self._planner.fade()
        self._listener.round(state)

    def _task(
        self,
        place: MomentPath,
        genes: Iterable[Gene],
        *,
        canary: bool = False,
        replay: bool = False,
    ) -> EpisodeTask:
        return EpisodeTask(self._plan.roots, self._plan.seed, place, tuple(genes), canary, replay)

    def _has_canary(self, number: int) -> bool:
        needed = self._plan.canary and self.state.canary is None
        return needed and number % CANARY_EVERY == CANARY_EVERY - 1

    # ---- results

    def _take(self, task: EpisodeTask, done: TaskResult) -> dict[int, list[str]]:
        """Count an episode; return its new features, by gene."""
        state, result = self.state, done.result
        state.inputs += result.inputs
        state.cpu_s += done.cpu
        state.episodes += 1
        if task.canary:
            if result.troubles and state.canary is None:
                state.canary, state.canary_cpu_s = state.inputs, state.cpu_s
            return {}
        news: dict[int, list[str]] = {}
        for number, features in enumerate(result.features):
            self._corpus.used(task.genes[number].kind)
            fresh = [one for one in dict.fromkeys(features) if one not in state.news]
            if fresh:
                news[number] = fresh
                state.news.update(dict.fromkeys(fresh, state.inputs))
                self._corpus.earned(task.genes[number].kind, len(fresh))
                self._listener.news(fresh, state)
        for trouble in result.troubles[:1]:
            self._trouble(task, trouble)
        return news

    def _trouble(self, task: EpisodeTask, trouble: Trouble) -> None:
        key = trouble.kind, trouble.subject
        if key in self._known:
            return
        self._known.add(key)
        genes: list[Gene] = []
        for _, part in task.place.way:
            genes += [*part, Gene(PART, 0)]
        new = HuntFinding(trouble, task.place.root, [*genes, *task.genes])
        self.state.finds.append(new)
        self._listener.trouble(new, self.state)

    def _add_entry(
        self, parent: int, place: MomentPath, genes: list[Gene], news: dict[int, list[str]]
    ) -> None:
        """Keep the moment of the last new feature in the corpus."""
        fresh = [feature for features in news.values() for feature in features]
        kept = genes[: max(news) + 1]
        entry = CorpusEntry(place.root, parent, kept, fresh, born=self.state.rounds)
        self._corpus.add(entry)
