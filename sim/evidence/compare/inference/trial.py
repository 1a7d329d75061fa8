"""One replay of a recording under a setting: which lines differ, where, and which values were read.

A trial is `sim compare --scenario` without the contract. Where recording and replay both deviate
from the contract in the same way, there is no difference, because the aim is to answer like the
recording.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from sim.core.catalogue.assumption import Value
from sim.core.catalogue.assumptions import catalogue
from sim.evidence.compare.answers import NoEvidence
from sim.evidence.compare.difference import Difference
from sim.evidence.compare.identities import Unmatched
from sim.evidence.compare.inference.outcome import CERTAIN, WHOLE, Decisions, Outcome, Setting
from sim.evidence.compare.service_clock import ServiceClock
from sim.evidence.compare.session_comparison import SessionComparison
from sim.evidence.recording.files import Entry, Message
from sim.evidence.recording.recorded_events import RecordedEvent
from sim.run.client.client import RpcError
from sim.run.simulation import Simulation, asked_to_begin
from sim.world.format.scenario import Scenario

_FRAMES_MAX = 20  # frames sent by one side only that a line lists


class TrialContext:
    """What all trials of a recording and a scenario share."""

    def __init__(self, scenario: Scenario, seed: int | None, entries: list[Entry]) -> None:
        """Raises UnreadableRecording for a line whose instant cannot be read."""
        self.scenario, self.seed, self.entries = scenario, seed, entries
        self.clock = ServiceClock(entries)
        self.silent: dict[int, bool] = {}  # by line: whether no document describes it
        ctx = Simulation(scenario, seed=seed).exchange.ctx
        self.base: dict[str, Value] = dict(ctx.assumptions.save())
        self.written = {name: ctx.assumptions.as_written(name) for name in catalogue()}
        self.odds = {name: ctx.quirks.as_written(name) for name in ctx.quirks.save()}
        self.asked_to_begin = asked_to_begin(scenario, seed=seed)

    def scenario_with(self, setting: Setting) -> Scenario:
        """Return the scenario with the values of a setting."""
        values = {**self.scenario.assumptions, **setting.values}
        return replace(self.scenario, assumptions=values)


class ComparedAnswer(NamedTuple):
    """An answer of ours and its comparison, valid after the same earlier identifier pairs."""

    before: int
    ours: Message
    differences: list[Difference]
    pairs: list[tuple[str, str]]


class Trial(SessionComparison):
    """A replay that notes differences and decides when quirks strike.

    `compared` has answers of another trial; an equal answer is not compared again. Raises Unmatched
    if the scenario has no identity for a client of the recording.
    """

    def __init__(
        self,
        facts: TrialContext,
        setting: Setting,
        seed: int | None,
        compared: dict[int, ComparedAnswer] | None = None,
    ) -> None:
        self.outcome = outcome = Outcome()
        scenario, notes = facts.scenario_with(setting), _Notes(outcome)
        super().__init__(scenario, seed, facts.entries, notes, facts.clock)
        self._facts, self._line, self._steps = facts, 0, 0
        self._setting, self._times = setting, Counter[str]()
        self.compared = {} if compared is None else compared
        ctx = self._player.world.simulation.exchange.ctx
        ctx.quirks.decided_by(self._decide)
        outcome.asked = ctx.assumptions.watch()
        outcome.asked |= facts.asked_to_begin
        outcome.asked_after = dict.fromkeys(facts.asked_to_begin, -1)

    def steps(self, on_line: Callable[[], None] = lambda: None) -> Iterator[int]:
        for n in super().steps(on_line):
            self._note_asked()
            self._steps += 1
            self._line = n
            self.outcome.until = max(self.outcome.until, n)
            yield n
        self._note_asked()

    def _note_asked(self) -> None:
        outcome = self.outcome
        if len(outcome.asked) > len(outcome.asked_after):
            for name in outcome.asked - outcome.asked_after.keys():
                outcome.asked_after[name] = self._steps

    def go_on_with(self, setting: Setting) -> None:
        """Continue with another setting. Nothing in which it differs may have been read yet."""
        ctx, values = self._player.world.simulation.exchange.ctx, setting.values
        before, self._setting = self._setting.values, setting
        for name in sorted(before.keys() | values.keys()):
            if before.get(name) != values.get(name):
                ctx.assumptions.change(name, values.get(name, self._facts.written[name]))

    def finish(
        self, steps: Iterator[int], against: Outcome | None = None, certain: int = CERTAIN
    ) -> Outcome:
        """Do the remaining steps and return the outcome. Against another outcome the trial ends
        once it cannot become better. Raises Unmatched.
        """
        outcome, entries = self.outcome, self._facts.entries
        try:
            for _ in steps:
                if against is not None and outcome.is_lost(against, certain):
                    outcome.whole = False
                    return outcome
        except (RpcError, Unmatched) as error:
            if against is None:
                raise Unmatched(str(error)) from None
            outcome.failure = str(error)
        outcome.until = max(outcome.until, entries[-1].n if entries else 0)
        return outcome

    def _decide(self, name: str) -> bool:
        time, self._times[name] = self._times[name], self._times[name] + 1
        self.outcome.asks.setdefault(name, []).append(self._line + 1)
        self.outcome.asks_after.setdefault(name, []).append(self._steps)
        odds = self._facts.odds[name]
        decisions = self._setting.quirks.get(name) or Decisions(odds != "never")
        return decisions.at(time)

    def _contract_differences(self, event: RecordedEvent) -> list[Difference] | None:
        known = self._facts.silent
        silent = known.get(event.entry.n)
        if silent is None:
            try:
                self._checker.check(event)
                silent = False
            except NoEvidence:
                silent = True
            known[event.entry.n] = silent
        return None if silent else []

    def _compare_answer(
        self, event: RecordedEvent, recorded: Message, ours: Message
    ) -> list[Difference]:
        names = self._player.names
        before, mark, known = names.state, names.mark(), self.compared.get(event.entry.n)
        if known is not None and known.before == before and known.ours == ours:
            for pair in known.pairs:
                names.pair(*pair)
            return known.differences
        differences = super()._compare_answer(event, recorded, ours)
        if known is None:
            compared = ComparedAnswer(before, ours, differences, names.pairs_since(mark))
            self.compared[event.entry.n] = compared
        return differences

    def _with_culprits(
        self, event: RecordedEvent, ours: Message, differences: list[Difference]
    ) -> list[Difference]:
        return differences

    def _breaks_contract(self, event: RecordedEvent, ours: Message) -> bool:
        return False


class _Notes:
    """Receives the results of a comparison in place of a tally."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def agree(self, name: str) -> None:
        """Nothing to note."""

    def no_evidence(self, name: str, why: str) -> None:
        """Nothing to note."""

    def differ(self, name: str, n: int, differences: list[Difference], seen: bool = True) -> None:
        """Note the differing places of a line. A frame that only we sent counts at the next
        recorded line.
        """
        line = self._outcome.lines.setdefault(n, {})
        self._outcome.names.setdefault(n, name)
        for one in differences:
            where, count = one.where, 1
            if one.kind in WHOLE:  # several frames that only we sent
                while where in line and count < _FRAMES_MAX:
                    count += 1
                    where = f"{one.where} {count}"
            line.setdefault(where, one)
