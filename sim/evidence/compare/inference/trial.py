"""One replay of a recording under a setting: which lines differ, where, and which values were read.

A trial is `sim compare --scenario` without the contract. Where recording and replay both deviate
from the contract in the same way, there is no difference, because the aim is to answer like the
recording.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from msgspec.structs import replace

from sim.core.catalogue.assumption import Value
from sim.evidence.compare.answers import NoEvidence
from sim.evidence.compare.difference import Misfit
from sim.evidence.compare.identities import Unmatched
from sim.evidence.compare.inference.outcome import CERTAIN, HIDING, Decisions, Setting, TrialOutcome
from sim.evidence.compare.service_clock import ServiceClock
from sim.evidence.compare.session_comparison import SessionComparison
from sim.evidence.compare.tally import ComparisonResults
from sim.evidence.recording.files import RecordedLine, RecordedMessage
from sim.evidence.recording.recorded_events import RecordedEvent
from sim.run.client.client import RpcError
from sim.run.simulation import Simulation, asked_to_begin
from sim.world.format.scenario import Scenario

_FRAMES_MAX = 20  # frames sent by one side only that a line lists


class TrialContext:
    """What all trials of a recording and a scenario share."""

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

    def scenario_with(self, setting: Setting) -> Scenario:
        """Return the scenario with the values of a setting."""
        values = {**self.scenario.assumptions, **setting.values}
        return replace(self.scenario, assumptions=values)


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

    def __init__(self, context: TrialContext, setting: Setting, seed: int | None) -> None:
        self._outcome = outcome = TrialOutcome()
        scenario, notes = context.scenario_with(setting), _Notes(outcome)
        super().__init__(scenario, seed, context.entries, notes, context.clock)
        self._context, self._line = context, 0
        self._setting, self._times = setting, Counter[str]()
        ctx = self._player.world.simulation.exchange.ctx
        ctx.quirks.decided_by(self._decide)
        outcome.asked = ctx.assumptions.watch()
        outcome.asked |= context.asked_to_begin

    def finish(self, against: TrialOutcome | None = None, certain: int = CERTAIN) -> TrialOutcome:
        """Replay the recording and return the outcome. Against another outcome the trial ends once
        it cannot become better. Raises Unmatched.
        """
        outcome, entries = self._outcome, self._context.entries
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
        odds = self._context.odds[name]
        decisions = self._setting.quirks.get(name) or Decisions(odds != "never")
        return decisions.at(time)

    def _contract_differences(self, event: RecordedEvent) -> list[Misfit] | None:
        silent, n = self._context.silent, event.entry.n
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
        names, compared, n = self._player.names, self._context.compared, event.entry.n
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
        """Note the differing places of a line. A frame that only we sent counts at the next
        recorded line.
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
