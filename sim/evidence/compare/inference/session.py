"""A recording, the scenario that it is replayed into, and trials of settings.

A trial differs from the replay of the present setting in a value or two, and the two run alike
until the exchange reads one of these values. That common part is replayed once: the replay is
forked at a few places (`forked_checkpoints.py`), and a trial continues from the last place before
the first read. If the exchange never reads a value that differs, the outcome is already known.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from sim.evidence.compare.arrival_order import Remaining, likely_order
from sim.evidence.compare.identities import Unmatched
from sim.evidence.compare.inference.forked_checkpoints import ForkedCheckpoints
from sim.evidence.compare.inference.outcome import ALL, CERTAIN, Outcome, Setting
from sim.evidence.compare.inference.trial import Trial, TrialContext
from sim.evidence.compare.service_clock import ServiceClock
from sim.evidence.recording.files import Entry
from sim.run.client.client import RpcError
from sim.world.format.scenario import Scenario

_PLACES = 16  # places at which a replay is forked
_WORTH = 3  # forking pays off after this many trials of a setting


class Session(TrialContext):
    """A recording, a scenario, and trials of settings."""

    def __init__(self, scenario: Scenario, seed: int | None, entries: list[Entry]) -> None:
        super().__init__(scenario, seed, entries)
        self.trials = 0
        self._present: tuple[Setting, Outcome] | None = None
        self._asked = 0  # trials of the present setting
        self._stops: ForkedCheckpoints[tuple[Setting, int], Outcome] | None = None

    def rebase(self, setting: Setting, outcome: Outcome) -> None:
        """Make this setting and its outcome the base of the next trials."""
        self.close()
        self._present, self._asked = (setting, outcome), 0

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
            return Remaining.of(one for line in lines for one in line.values())

        moves = likely_order(present.lines, self.entries, clock, replay)
        self.clock = clock.with_moves(moves)
        return None if moves == clock.moves else self._replayed(setting, None, None, CERTAIN)

    def close(self) -> None:
        """End the waiting processes."""
        if self._stops is not None:
            self._stops.close()
        self._stops = None

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
            steps = present[1].same_steps(present[0], setting)
            if steps == ALL:
                return present[1]
            self.trials += 1
            outcome = self._continued(setting, steps, certain if against is not None else 0)
            if outcome is not None:
                return outcome
        else:
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
        return trial.finish(trial.steps(), against, certain)

    # ---- trials that go on from a stop

    def _continued(self, setting: Setting, steps: int, certain: int) -> Outcome | None:
        """Return the outcome of a trial that continues after some steps; None if it must start
        over.
        """
        self._asked += 1
        if self._asked <= _WORTH or steps < 0:
            return None
        if self._stops is None:
            self._stops = self._stopped()
        place = bisect_right(self._stops.places, steps)
        if not place:
            return None
        return self._stops.ask(self._stops.places[place - 1], (setting, certain))

    def _stopped(self) -> ForkedCheckpoints[tuple[Setting, int], Outcome]:
        """Return the present replay, forked where values are read for the first time."""
        assert self._present is not None
        setting, known = self._present
        places = sorted(
            {steps for steps in known.asked_after.values() if steps >= 0}
            | {steps for times in known.asks_after.values() for steps in times}
        )
        if len(places) > _PLACES:
            places = [places[number * len(places) // _PLACES] for number in range(_PLACES)]

        def begin() -> tuple[Iterator[int], Callable[[tuple[Setting, int]], Outcome]]:
            whole = Trial(self, setting, self.seed)
            whole.finish(whole.steps())
            trial = Trial(self, setting, self.seed, whole.compared)
            steps = trial.steps()

            def finish(asked: tuple[Setting, int]) -> Outcome:
                trial.go_on_with(asked[0])
                return trial.finish(steps, known if asked[1] else None, asked[1])

            return steps, finish

        return ForkedCheckpoints(places, begin)
