"""A campaign: rounds of episodes until the budget is spent, something is found, or the user stops
it.

The seed draws every episode, and the results of a round are used in the order in which they were
drawn. So the result depends on scenario, seed and budget in inputs, and not on the number of
processes or their speed.

The *corpus* is a folder with the sequences that met a feature first. The next hunt with the same
scenarios and seed repeats them, which takes it where the earlier ones have been, and goes on with
the rounds that these did not draw.

A search that finds nothing may be a search that sees nothing, so some episodes have a *canary*: a
small mistake of the kind that the hunt looks for. When the rest of a partly filled order leaves the
book, one unit of its reservation stays. No answer to a call shows this, but an invariant does,
which recomputes the reservations. A campaign that did not find it was blind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from time import process_time
from typing import NamedTuple

from msgspec import DecodeError, Struct, field, json

from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import Qty
from sim.kernel.entropy import Entropy
from sim.read.errors import UsageError
from sim.run.simulation import Simulation
from sim.search.hunt.episode import Episode, EpisodeResult
from sim.search.hunt.oracles import replays
from sim.search.hunt.roots import journal_of, start_of
from sim.search.hunt.sequences import DrawnMove, random_sequence
from sim.search.hunt.troubles import JUDGE_ERROR, Trouble
from sim.search.workers import Mapper, workers

ROUND = 16  # episodes in a round
CANARY_EVERY = 4  # every fourth episode has the canary, until one finds it
REPLAY_EVERY = 4  # in every fourth round one episode is replayed from its journal
CORPUS_FORMAT = 3
_CORPUS_FILE = "corpus.json"


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
    """An episode, as a worker gets it: the text and the number of its root, and its moves."""

    scenario: str
    seed: int
    root: int
    moves: tuple[DrawnMove, ...]
    canary: bool = False
    replay: bool = False


class HuntFinding(Struct):
    """A trouble, the episode that leads to it, and the journals of the episode and its replay."""

    trouble: Trouble
    task: EpisodeTask
    journals: list[bytes]


class CampaignState(Struct):
    """The state of a campaign.

    `features` has the number of inputs after which each feature was first met, `kept` the number of
    sequences that met one first. `canary` is the number of inputs after which the planted bug was
    found; None: not yet.
    """

    inputs: int = 0
    cpu_s: float = 0.0
    episodes: int = 0
    features: dict[str, int] = field(default_factory=dict)
    findings: list[HuntFinding] = field(default_factory=list)
    canary: int | None = None
    canary_cpu_s: float = 0.0
    kept: int = 0
    interrupted: bool = False


class EpisodeReport(NamedTuple):
    """What an episode met first, and what is wrong in it for the first time. After the last episode
    of a round comes one that `ends_round`.
    """

    features: list[str] = []
    findings: list[HuntFinding] = []
    ends_round: bool = False


# ---- the corpus


class KeptSequence(Struct):
    """Moves from the start of a root, as far as the last one that met a feature first."""

    root: int
    moves: list[DrawnMove]
    features: list[str]


class Corpus(Struct):
    """The kept sequences, what they belong to, and the number of `rounds` that were drawn so far.
    `corpus` is the version of the format.
    """

    roots: tuple[str, ...]
    seed: int
    rounds: int = 0
    sequences: list[KeptSequence] = field(default_factory=list)
    corpus: int = CORPUS_FORMAT

    def save(self, folder: Path) -> None:
        """Write the corpus to a folder."""
        part = folder / f"{_CORPUS_FILE}.part"
        part.write_bytes(json.encode(self))
        part.rename(folder / _CORPUS_FILE)


def corpus_of(roots: tuple[str, ...], seed: int, folder: Path | None) -> Corpus:
    """Return the corpus of a folder, or an empty one.

    Refuses a corpus of another scenario, seed or version.
    """
    if folder is None or not (folder / _CORPUS_FILE).exists():
        return Corpus(roots, seed)
    path = folder / _CORPUS_FILE
    try:
        stored = json.decode(path.read_bytes(), type=Corpus)
    except DecodeError as error:
        raise UsageError(f"{path} is not of a hunt's corpus: {error}") from None
    if (stored.corpus, stored.roots, stored.seed) != (CORPUS_FORMAT, roots, seed):
        raise UsageError(
            f"the corpus in {folder} belongs to another scenario, seed ({stored.seed}) or version;"
            " use another folder"
        )
    return stored


# ---- episodes


def plant_canary(simulation: Simulation) -> None:
    """Plant the bug in one simulation. It is not part of any snapshot, so no moment contains it."""
    risk = simulation.exchange.trading.risk
    release = risk.release

    def release_less(order: Order, instrument: Instrument, qty: Qty) -> None:
        rest = order.cum_qty and qty == order.leaves_qty
        release(order, instrument, qty - 1 if rest else qty)

    risk.release = release_less  # type: ignore[method-assign]


def carry_out(task: EpisodeTask) -> EpisodeResult:
    """Carry out an episode in this process."""
    began = process_time()
    simulation = start_of(task.scenario, task.seed)
    if task.canary:
        plant_canary(simulation)
    result = Episode(simulation).run(task.moves)
    if not task.canary and (result.troubles or task.replay):
        result.journals.append(journal_of(simulation))
    if task.replay and not result.over:
        differences, replayed = replays(result.journals[0])
        result.troubles += differences
        result.journals.append(replayed)
    if not result.troubles:
        result.journals.clear()
    result.cpu_s = process_time() - began
    return result


class Campaign:
    """One hunt. `state` has the results so far, also after an interrupt."""

    def __init__(self, plan: HuntPlan) -> None:
        self._plan = plan
        self._corpus = corpus_of(plan.roots, plan.seed, plan.corpus)
        self._entropy = Entropy(plan.seed)
        self.state = CampaignState()

    def run(self) -> Iterator[EpisodeReport]:
        """Repeat the corpus, then hunt; yield what is new. A caller that stops after a round ends
        the hunt there.
        """
        with workers(self._plan.jobs, self._plan.cluster) as mapper:
            corpus = self._corpus
            tasks = [self._task(kept.root, kept.moves) for kept in corpus.sequences]
            self.state.kept = len(tasks)
            for task, result in zip(tasks, mapper(carry_out, tasks), strict=True):
                yield self._take(task, result)[0]
            while not self._over():
                yield from self._round(mapper, corpus.rounds)
                corpus.rounds += 1
                if self._plan.corpus is not None:
                    corpus.save(self._plan.corpus)
                yield EpisodeReport(ends_round=True)

    def _over(self) -> bool:
        spent = bool(self._plan.inputs) and self.state.inputs >= self._plan.inputs
        return spent or self._has_ended

    @property
    def _has_ended(self) -> bool:
        """Whether a finding ends the hunt. A judge that fails does not end it."""
        kinds = {finding.trouble.kind for finding in self.state.findings}
        return bool(kinds - {JUDGE_ERROR}) and not self._plan.keep_going

    # ---- episodes

    def _round(self, mapper: Mapper, number: int) -> Iterator[EpisodeReport]:
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
        for task, result in zip(tasks, mapper(carry_out, tasks), strict=True):
            report, last = self._take(task, result)
            if report.features and not result.troubles:
                moves = list(task.moves[: last + 1])
                self._corpus.sequences.append(KeptSequence(task.root, moves, report.features))
                self.state.kept = len(self._corpus.sequences)
            yield report
            if self._has_ended:
                break

    def _task(
        self, root: int, moves: Iterable[DrawnMove], *, canary: bool = False, replay: bool = False
    ) -> EpisodeTask:
        scenario, seed = self._plan.roots[root], self._plan.seed
        return EpisodeTask(scenario, seed, root, tuple(moves), canary, replay)

    # ---- results

    def _take(self, task: EpisodeTask, result: EpisodeResult) -> tuple[EpisodeReport, int]:
        """Count an episode. Return what is new, and the last move that met a feature first."""
        state = self.state
        state.inputs += result.inputs
        state.cpu_s += result.cpu_s
        state.episodes += 1
        if task.canary:
            if result.troubles and state.canary is None:
                state.canary, state.canary_cpu_s = state.inputs, state.cpu_s
            return EpisodeReport(), 0
        last, first_met = 0, list[str]()
        for number, features in enumerate(result.features):
            fresh = [each for each in dict.fromkeys(features) if each not in state.features]
            if fresh:
                last = number
                first_met += fresh
                state.features.update(dict.fromkeys(fresh, state.inputs))
        return EpisodeReport(first_met, self._findings(task, result)), last

    def _findings(self, task: EpisodeTask, result: EpisodeResult) -> list[HuntFinding]:
        """Note the first trouble of an episode, and judge errors, unless they were found before."""
        new = []
        errors = [trouble for trouble in result.troubles if trouble.kind == JUDGE_ERROR]
        others = [trouble for trouble in result.troubles if trouble.kind != JUDGE_ERROR]
        for trouble in (*errors, *others[:1]):
            if not any(each.trouble.is_like(trouble) for each in self.state.findings):
                new.append(HuntFinding(trouble, task, result.journals))
                self.state.findings.append(new[-1])
        return new
