"""A recording, the scenario that it is replayed into, and trials of settings: which lines differ,
where, and which values the exchange read.

A trial is `sim compare --scenario` without the contract. Where recording and replay both deviate
from the contract in the same way, there is no difference, because the aim is to answer like the
recording. A trial differs from the replay of the present setting in a value or two. If the exchange
never reads a value that differs, the outcome is already known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Set

from msgspec.structs import replace

from sim.core.catalogue.assumption import Value
from sim.evidence.infer.outcome import ALL, CERTAIN, Decisions, Setting, TrialOutcome, change
from sim.evidence.recording.files import RecordedLine, RecordedMessage
from sim.evidence.recording.recorded_events import RecordedEvent
from sim.evidence.replay.arrival_order import likely_order
from sim.evidence.replay.identities import Unmatched
from sim.evidence.replay.player import RecordedSession
from sim.evidence.replay.service_clock import ServiceClock
from sim.evidence.replay.session_comparison import SessionComparison
from sim.evidence.validation.answers import NoEvidence
from sim.evidence.validation.difference import Misfit
from sim.run.client.client import RpcError
from sim.run.simulation import Simulation, asked_to_begin
from sim.world.format.scenario import Scenario


class TrialSession:
    """A recording, a scenario, and trials of settings."""

    def __init__(self, scenario: Scenario, seed: int | None, entries: list[RecordedLine]) -> None:
        """Raises UnreadableRecording for a line whose instant cannot be read."""
        self.scenario, self.seed, self.entries = scenario, seed, entries
        self.clock = ServiceClock(entries)
        self.silent: dict[int, bool] = {}  # by line: whether no document describes it
        ctx = Simulation(scenario, seed=seed).exchange.ctx
        self.base: dict[str, Value] = dict(ctx.assumptions.save())
        self.odds = {name: ctx.quirks.as_written(name) for name in ctx.quirks.save()}
        self.asked_to_begin = asked_to_begin(scenario, seed=seed)
        self.trials = 0
        self._present: tuple[Setting, TrialOutcome] | None = None

    def recorded(self, setting: Setting, seed: int | None = None) -> RecordedSession:
        """Return the session with the values of a setting, and perhaps another seed."""
        values = {**self.scenario.assumptions, **setting.values}
        scenario = replace(self.scenario, assumptions=values)
        seed = self.seed if seed is None else seed
        return RecordedSession(scenario, seed, self.entries, self.clock)

    def rebase(self, setting: Setting, outcome: TrialOutcome) -> None:
        """Make this setting and its outcome the base of the next trials."""
        self._present = setting, outcome

    def find_order(self) -> TrialOutcome | None:
        """Look for another order of arrival, in which less differs with the present setting; return
        its outcome, None if there is none. The order holds for the next trials.
        """
        assert self._present is not None
        setting, present = self._present

        def replay(other: RecordedSession) -> Iterator[Misfit]:
            self.trials += 1
            self.clock = other.clock
            lines = self._replayed(setting).lines.values()
            return (difference for line in lines for difference in line.values())

        session = self.recorded(setting)
        moved = likely_order(session, present.lines, replay)
        self.clock = (moved or session).clock
        return None if moved is None else self._replayed(setting)

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
        return ReplayTrial(self, setting, seed).finish(against, certain)


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


class ReplayTrial(SessionComparison):
    """A replay that notes differences and decides when quirks strike. Raises Unmatched if the
    scenario has no identity for a client of the recording.
    """

    def __init__(self, session: TrialSession, setting: Setting, seed: int | None) -> None:
        self._outcome = outcome = TrialOutcome()
        super().__init__(session.recorded(setting, seed), outcome)
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

    def _contract_violations(self, event: RecordedEvent, own: RecordedMessage) -> list[Misfit]:
        return []
