"""A recording, the scenario that it is replayed into, and trials of settings.

A trial differs from the replay of the present setting in a value or two. If the exchange never
reads a value that differs, the outcome is already known.
"""

from __future__ import annotations

from sim.evidence.compare.arrival_order import Remaining, likely_order
from sim.evidence.compare.identities import Unmatched
from sim.evidence.compare.inference.outcome import CERTAIN, Outcome, Setting
from sim.evidence.compare.inference.trial import Trial, TrialContext
from sim.evidence.compare.service_clock import ServiceClock
from sim.evidence.recording.files import Entry
from sim.run.client.client import RpcError
from sim.world.format.scenario import Scenario


class Session(TrialContext):
    """A recording, a scenario, and trials of settings."""

    def __init__(self, scenario: Scenario, seed: int | None, entries: list[Entry]) -> None:
        super().__init__(scenario, seed, entries)
        self.trials = 0
        self._present: tuple[Setting, Outcome] | None = None

    def rebase(self, setting: Setting, outcome: Outcome) -> None:
        """Make this setting and its outcome the base of the next trials."""
        self._present = setting, outcome

    def find_order(self) -> Outcome | None:
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
        against: Outcome | None = None,
        seed: int | None = None,
        certain: int = CERTAIN,
    ) -> Outcome:
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
        self, setting: Setting, against: Outcome | None, seed: int | None, certain: int
    ) -> Outcome:
        try:
            trial = Trial(self, setting, self.seed if seed is None else seed)
        except (RpcError, Unmatched) as error:
            if against is None:
                raise Unmatched(str(error)) from None
            return Outcome(failure=str(error))
        return trial.finish(against, certain)
