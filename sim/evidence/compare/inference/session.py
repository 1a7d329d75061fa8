"""A recording, the scenario that it is replayed into, and trials of settings.

A trial differs from the replay of the present setting in a value or two. If the exchange never
reads a value that differs, the outcome is already known.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from sim.evidence.compare.arrival_order import Remaining, likely_order
from sim.evidence.compare.identities import Unmatched
from sim.evidence.compare.inference.outcome import ALL, CERTAIN, Setting, TrialOutcome, change
from sim.evidence.compare.inference.trial import ReplayTrial, TrialContext
from sim.evidence.compare.service_clock import ServiceClock
from sim.evidence.recording.files import RecordedLine
from sim.run.client.client import RpcError
from sim.world.format.scenario import Scenario


class TrialSession(TrialContext):
    """A recording, a scenario, and trials of settings."""

    def __init__(self, scenario: Scenario, seed: int | None, entries: list[RecordedLine]) -> None:
        super().__init__(scenario, seed, entries)
        self.trials = 0
        self._present: tuple[Setting, TrialOutcome] | None = None

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
            lines = self._replayed(setting, None, None, CERTAIN).lines.values()
            return Remaining.of(difference for line in lines for difference in line.values())

        moves = likely_order(present.lines, self.entries, clock, replay)
        self.clock = clock.with_moves(moves)
        return None if moves == clock.moves else self._replayed(setting, None, None, CERTAIN)

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
        self, setting: Setting, against: TrialOutcome | None, seed: int | None, certain: int
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
