"""A campaign: rounds of episodes until the budget is spent, something is found, or the user stops
it.

The seed draws every episode, and the results of a round are used in the order in which they were
drawn. So the result depends on scenario, seed and budget in inputs, and not on the number of
processes or their speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from time import process_time
from typing import Protocol

from msgspec import Struct

from sim.kernel.entropy import Entropy
from sim.search.hunt.canary import plant
from sim.search.hunt.corpus import Corpus, KeptSequence
from sim.search.hunt.episode import Episode
from sim.search.hunt.oracles import replays
from sim.search.hunt.results import CampaignState, DrawnMove, EpisodeResult, HuntFinding
from sim.search.hunt.roots import starts_of
from sim.search.hunt.sequences import random_sequence
from sim.search.workers import Mapper, workers

ROUND = 16  # episodes in a round
CANARY_EVERY = 4  # every fourth episode has the planted bug, until one finds it
REPLAY_EVERY = 4  # in every fourth round one episode is replayed from its journal


class HuntPlan(Struct, frozen=True, kw_only=True):
    """Where to hunt and for how long: at least `inputs` (0: no end).

    `roots` are the texts of scenarios.
    """

    roots: tuple[str, ...]
    seed: int
    inputs: int = 0
    jobs: int = 1
    corpus: Path | None = None
    cluster: str = ""
    keep_going: bool = False
    canary: bool = True


class EpisodeTask(Struct, frozen=True):
    """An episode, as a worker gets it."""

    roots: tuple[str, ...]
    seed: int
    root: int
    moves: tuple[DrawnMove, ...]
    canary: bool = False
    replay: bool = False


class TaskResult(Struct):
    """The result of an episode, and the processor seconds that it took."""

    result: EpisodeResult
    cpu: float


class Listener(Protocol):
    """Receives the progress of a campaign."""

    def features(self, first_met: Sequence[str], so_far: CampaignState) -> None:
        """Features were met for the first time."""

    def finding(self, new: HuntFinding, so_far: CampaignState) -> None:
        """Something is wrong."""

    def round(self, so_far: CampaignState) -> None:
        """A round has ended."""


def carry_out(task: EpisodeTask) -> TaskResult:
    """Carry out an episode in this process."""
    began = process_time()
    simulation = starts_of(task.roots, task.seed).copy(task.root)
    if task.canary:
        plant(simulation)
    result = Episode(simulation).run(task.moves)
    if task.replay and not result.over:
        result.troubles += replays(simulation)
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
        self._entropy = Entropy(plan.seed)
        self._subjects: set[tuple[str, str]] = set()
        self.state = CampaignState()

    def run(self, on_round: Callable[[], None] = lambda: None) -> CampaignState:
        """Run the hunt. After an interrupt `state` has the results so far."""
        with workers(self._plan.jobs, self._plan.cluster) as mapper:
            self._repeat(mapper)
            number = self._corpus.rounds
            while not self._over():
                self._round(mapper, number)
                number += 1
                self._corpus.end_round(number)
                on_round()
        return self.state

    def _over(self) -> bool:
        spent = bool(self._plan.inputs) and self.state.inputs >= self._plan.inputs
        return spent or self._has_ended or self._stopped()

    @property
    def _has_ended(self) -> bool:
        """Whether a finding ends the hunt."""
        return bool(self.state.findings) and not self._plan.keep_going

    # ---- episodes

    def _repeat(self, mapper: Mapper) -> None:
        """Repeat the sequences of the corpus."""
        tasks = [self._task(kept.root, kept.moves) for kept in self._corpus.stored()]
        self.state.kept = len(tasks)
        for task, done in zip(tasks, mapper(carry_out, tasks), strict=True):
            self._take(task, done)

    def _round(self, mapper: Mapper, number: int) -> None:
        choices = self._entropy.stream(f"round {number}")
        with_canary = self._plan.canary and self.state.canary is None
        tasks = [
            self._task(
                choices.below(len(self._plan.roots)),
                random_sequence(choices),
                canary=with_canary and turn % CANARY_EVERY == CANARY_EVERY - 1,
                replay=turn == 0 and number % REPLAY_EVERY == 0,
            )
            for turn in range(ROUND)
        ]
        for task, done in zip(tasks, mapper(carry_out, tasks), strict=True):
            last, first_met = self._take(task, done)
            if first_met and not done.result.troubles:
                self._corpus.add(KeptSequence(task.root, list(task.moves[: last + 1]), first_met))
                self.state.kept = self._corpus.count
            if self._has_ended:
                break
        self._listener.round(self.state)

    def _task(
        self, root: int, moves: Iterable[DrawnMove], *, canary: bool = False, replay: bool = False
    ) -> EpisodeTask:
        return EpisodeTask(self._plan.roots, self._plan.seed, root, tuple(moves), canary, replay)

    # ---- results

    def _take(self, task: EpisodeTask, done: TaskResult) -> tuple[int, list[str]]:
        """Count an episode. Return the features that it met first, and the last move that did."""
        state, result = self.state, done.result
        state.inputs += result.inputs
        state.cpu_s += done.cpu
        state.episodes += 1
        last, first_met = 0, list[str]()
        if task.canary:
            if result.troubles and state.canary is None:
                state.canary, state.canary_cpu_s = state.inputs, state.cpu_s
            return last, first_met
        for number, features in enumerate(result.features):
            fresh = [each for each in dict.fromkeys(features) if each not in state.features]
            if fresh:
                last = number
                first_met += fresh
                state.features.update(dict.fromkeys(fresh, state.inputs))
                self._listener.features(fresh, state)
        for trouble in result.troubles[:1]:
            self._find(HuntFinding(trouble, task.root, list(task.moves)))
        return last, first_met

    def _find(self, new: HuntFinding) -> None:
        key = new.trouble.kind, new.trouble.subject
        if key not in self._subjects:
            self._subjects.add(key)
            self.state.findings.append(new)
            self._listener.finding(new, self.state)
