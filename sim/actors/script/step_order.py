"""When each step of a scenario runs.

When steps run. Steps run in the order of the file. Each has a moment: its `at`, or, if that is a
distance such as "+30s", so much after the moment of the step before it (`advance` adds to that
moment). A step is a timer at its moment, like everything else that happens by itself. A step whose
moment has come waits in a queue. While one waits no other timer fires: the engine ends the advance
there, asks for the next input of the script, and handles it before anything else.

What `when` waits for. A step with `when` has no moment of its own: it waits for an event, or for a
client's call. The script sets timers only up to the next waiting step. Right before the step that
precedes it acts, the waiting step is armed: only then do events count, and what the preceding step
itself causes counts too. At most one step is armed. When its event happens, its `at` counts from
now; it and the steps behind it are planned from there, up to the next waiting one. Those whose
moment is now join the queue, so they run right after the input that caused the event; the others
become timers. If nothing happens for `within`, the step has failed and the script goes on with the
step behind it.
"""

from __future__ import annotations

from sim.actors.script.state import ScriptState
from sim.api.pipeline.inputs import Outcome
from sim.engine.engine import Engine
from sim.kernel.instants import Instant, parse_span
from sim.kernel.timers import Timer
from sim.scenario.steps import When

STEP_TIMER, LATE_TIMER = "script.step", "script.late"


class StepOrder:
    """The queue and the timers of the steps of a script. `state` is what the script saves."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.steps = engine.scenario.steps
        self.state = ScriptState()

    def step_due(self, timer: Timer, outcome: Outcome) -> None:
        """Queue a step whose moment has come."""
        self.state.queue.append((int(timer.subject) - 1, timer.due, self._input))

    @property
    def _input(self) -> int:
        """The number of the input under way."""
        return int(self._engine.exchange.ctx.trace_id, 16)

    def go_on(self, index: int, now: Instant, *, running: bool) -> None:
        """Arm a step if it waits, else plan it and the steps behind it from now on."""
        if index < len(self.steps):
            if self.steps[index].when is not None:
                self.arm(index)
            else:
                self._schedule(index, now, running=running)

    def _schedule(self, index: int, now: Instant, *, running: bool) -> None:
        """Set timers for a step and those behind it, up to the next that waits.

        In a running scenario the first ones join the queue at once, as long as they are due.
        """
        state, timers = self.state, self._engine.exchange.ctx.timers
        at_once, moment = running, now
        for number in range(index, len(self.steps)):
            step = self.steps[number]
            if step.when is not None and number > index:
                break
            if isinstance(step.at, str):
                moment += parse_span(step.at)
            elif step.at is not None:
                moment = step.at
            at_once = at_once and moment <= now
            if at_once:
                state.queue.append((number, now, self._input))
            else:
                timers.schedule(max(moment, now), STEP_TIMER, str(number + 1))
            moment += step.advance or 0

    @property
    def armed(self) -> When | None:
        """What the armed step waits for; None when no step is armed."""
        waiting = self.state.waiting
        return self.steps[waiting].when if waiting >= 0 else None

    def arm(self, index: int) -> None:
        """Have a step wait from now on, for as long as its `within`."""
        ctx = self._engine.exchange.ctx
        due = ctx.now + self.steps[index].within
        self.state.waiting = index
        self.state.late = ctx.timers.schedule(due, LATE_TIMER, str(index + 1))

    def disarm(self) -> None:
        """Have no step wait."""
        self._engine.exchange.ctx.timers.cancel(self.state.late)
        self.state.waiting, self.state.late = -1, 0

    def wake(self, index: int) -> None:
        """Plan the step that waited, now that it has happened, and those behind it."""
        self.disarm()
        self._schedule(index, self._engine.now, running=True)
