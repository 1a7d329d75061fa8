"""A recording, the scenario that it is replayed into, and trials of settings: which lines differ,
where, and which values the exchange read.

A trial is `sim compare --scenario` without the contract. Where recording and replay both deviate
from the contract in the same way, there is no difference, because the aim is to answer like the
recording. A trial differs from the replay of the present setting in a value or two. If the exchange
never reads a value that differs, the outcome is already known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from typing import NamedTuple

from msgspec.structs import replace

from sim.core.catalogue.assumption import Value
from sim.evidence.infer.outcome import (
    ALL,
    CERTAIN,
    HIDING,
    Decisions,
    Setting,
    TrialOutcome,
    change,
)
from sim.evidence.recording.files import RecordedLine, RecordedMessage
from sim.evidence.recording.recorded_events import RecordedEvent
from sim.evidence.replay.arrival_order import Remaining, likely_order
from sim.evidence.replay.identities import Unmatched
from sim.evidence.replay.service_clock import ServiceClock
from sim.evidence.replay.session_comparison import ComparisonResults, SessionComparison
from sim.evidence.validation.answers import NoEvidence
from sim.evidence.validation.difference import Misfit
from sim.run.client.client import RpcError
from sim.run.simulation import Simulation, asked_to_begin
from sim.world.format.scenario import Scenario

_FRAMES_MAX = 20  # frames sent by one side only that a line lists


class TrialSession:
    """A recording, a scenario, and trials of settings."""

    def __init__(self, scenario: Scenario, seed: int | None, entries: list[RecordedLine]) -> None:
        """Raises UnreadableRecording for a line whose instant cannot be read."""
        self.scenario, self.seed, self.entries = scenario, seed, entries
        self.clock = ServiceClock(entries)
        self.silent: dict[int, bool] = {}  # by line: whether no document describes it
        self.compared: dict[int, ComparedAnswer] = {}  # by line: its first comparison
        ctx = Simulation(scenario, seed=seed).exchange.ctx
        self.base: dict[str, Value] = dict(ctx.assumptions.save())
        self.odds = {name: ctx.quirks.as_written(name) for name in ctx.quirks.save()}
        self.asked_to_begin = asked_to_begin(scenario, seed=seed)
        self.trials = 0
        self._present: tuple[Setting, TrialOutcome] | None = None

    def scenario_with(self, setting: Setting) -> Scenario:
        """Return the scenario with the values of a setting."""
        values = {**self.scenario.assumptions, **setting.values}
        return replace(self.scenario, assumptions=values)

    def rebase(self, setting: Setting, outcome: TrialOutcome) -> None:
        """Make this setting and its outcome the base of the next trials."""
        self._present = setting, outcome

    def find_order(self) -> TrialOutcome | None:
        """Look for another order of arrival, in which less differs with the present setting; return
        its outcome, None if there is none. The order holds for the next trials.
        """
        assert self._present is not None
        setting, present = self._present
        clock = self.clock

        def replay(other: ServiceClock) -> Remaining:
            self.trials += 1
            self.clock = other
            lines = self._replayed(setting).lines.values()
            return Remaining.of(difference for line in lines for difference in line.values())

        moves = likely_order(present.lines, self.entries, clock, replay)
        self.clock = clock.with_moves(moves)
        return None if moves == clock.moves else self._replayed(setting)

    def trial_of(
        self,
        setting: Setting,
        against: TrialOutcome | None = None,
        seed: int | None = None,
        certain: int = CERTAIN,
    ) -> TrialOutcome:
        """Return the outcome of a replay. Against another outcome it ends once `certain` lines more
        are worse than can become better. Raises Unmatched.
        """
        present = self._present
        if seed is None and present is not None and (against is None or against is present[1]):
            if not present[1].depends_on(present[0], setting):
                return present[1]
        self.trials += 1
        return self._replayed(setting, against, seed, certain)

    def _replayed(
        self,
        setting: Setting,
        against: TrialOutcome | None = None,
        seed: int | None = None,
        certain: int = CERTAIN,
    ) -> TrialOutcome:
        try:
            trial = ReplayTrial(self, setting, self.seed if seed is None else seed)
        except (RpcError, Unmatched) as error:
            if against is None:
                raise Unmatched(str(error)) from None
            return TrialOutcome(failure=str(error))
        return trial.finish(against, certain)


def unvarying(
    session: TrialSession,
    rows: Mapping[str, list[str]],
    setting: Setting,
    outcome: TrialOutcome,
    lines: Set[int] | None = None,
) -> list[str]:
    """Return the names of `rows` of which no value changes one of `lines` (or any line),
    compared with the outcome of a setting. Many are tried at once, and a half that changes
    nothing is not searched further.
    """
    certain = CERTAIN if lines is None else ALL
    for turn in range(max(map(len, rows.values()), default=0)):
        values = {name: row[turn] for name, row in rows.items() if turn < len(row)}
        together = Setting({**setting.values, **values}, setting.quirks)
        trial = session.trial_of(together, outcome, certain=certain)
        touched = set(change(outcome, trial).touched)
        if trial.failure or (touched if lines is None else touched & lines):
            names, half = list(rows), len(rows) // 2
            if not half:
                return []
            halves = [{name: rows[name] for name in part} for part in (names[:half], names[half:])]
            parts = (unvarying(session, part, setting, outcome, lines) for part in halves)
            return [name for part in parts for name in part]
    return list(rows)


class ComparedAnswer(NamedTuple):
    """An answer of ours and its comparison, valid after the same earlier identifier pairs."""

    before: int
    own: RecordedMessage
    differences: list[Misfit]
    pairs: list[tuple[str, str]]


class ReplayTrial(SessionComparison):
    """A replay that notes differences and decides when quirks strike.

    An answer that an earlier trial gave too is not compared again. Raises Unmatched if the scenario
    has no identity for a client of the recording.
    """

    def __init__(self, session: TrialSession, setting: Setting, seed: int | None) -> None:
        self._outcome = outcome = TrialOutcome()
        scenario, notes = session.scenario_with(setting), _Notes(outcome)
        super().__init__(scenario, seed, session.entries, notes, session.clock)
        self._session, self._line = session, 0
        self._setting, self._times = setting, Counter[str]()
        ctx = self._player.world.simulation.exchange.ctx
        ctx.quirks.decided_by(self._decide)
        outcome.asked = ctx.assumptions.watch()
        outcome.asked |= session.asked_to_begin

    def finish(self, against: TrialOutcome | None = None, certain: int = CERTAIN) -> TrialOutcome:
        """Replay the recording and return the outcome. Against another outcome the trial ends once
        it cannot become better. Raises Unmatched.
        """
        outcome, entries = self._outcome, self._session.entries
        try:
            for n in self.steps():
                self._line = n
                outcome.until = max(outcome.until, n)
                if against is not None and outcome.is_lost(against, certain):
                    outcome.complete = False
                    return outcome
        except (RpcError, Unmatched) as error:
            if against is None:
                raise Unmatched(str(error)) from None
            outcome.failure = str(error)
        outcome.until = max(outcome.until, entries[-1].n if entries else 0)
        return outcome

    def _decide(self, name: str) -> bool:
        time, self._times[name] = self._times[name], self._times[name] + 1
        self._outcome.asks.setdefault(name, []).append(self._line + 1)
        odds = self._session.odds[name]
        decisions = self._setting.quirks.get(name) or Decisions(odds != "never")
        return decisions.at(time)

    def _contract_differences(self, event: RecordedEvent) -> list[Misfit] | None:
        silent, n = self._session.silent, event.entry.n
        if n not in silent:
            try:
                self._checker.check(event)
                silent[n] = False
            except NoEvidence:
                silent[n] = True
        return None if silent[n] else []

    def _compare_answer(
        self, event: RecordedEvent, recorded: RecordedMessage, own: RecordedMessage
    ) -> list[Misfit]:
        names, compared, n = self._player.names, self._session.compared, event.entry.n
        before, mark, first = names.state, names.mark(), compared.get(n)
        if first is not None and first.before == before and first.own == own:
            for pair in first.pairs:
                names.pair(*pair)
            return first.differences
        differences = super()._compare_answer(event, recorded, own)
        if first is None:
            compared[n] = ComparedAnswer(before, own, differences, names.pairs_since(mark))
        return differences

    def _contract_violations(self, event: RecordedEvent, own: RecordedMessage) -> list[Misfit]:
        return []


class _Notes(ComparisonResults):
    """Receives the results of a comparison in place of a tally."""

    def __init__(self, outcome: TrialOutcome) -> None:
        self._outcome = outcome

    def differ(
        self, name: str, n: int, differences: list[Misfit], is_recorded: bool = True
    ) -> None:
        """Note the differing places of a line. A frame that only we sent counts at the
        next recorded line.
        """
        line = self._outcome.lines.setdefault(n, {})
        self._outcome.names.setdefault(n, name)
        for misfit in differences:
            where, count = misfit.where, 1
            if misfit.kind in HIDING:  # several frames that only we sent
                while where in line and count < _FRAMES_MAX:
                    count += 1
                    where = f"{misfit.where} {count}"
            line.setdefault(where, misfit)
