"""When each step of a scenario runs.

Steps without `when`. Steps run in the order of the file. Each has an instant: its `at`, or, if that
is a duration such as "+30s", so much after the instant of the previous step (`advance` adds to that
instant). A step is a timer at its instant. A due step waits in a queue. While the queue is not
empty no other timer fires: the engine interrupts the advance, asks the script for its next input,
and handles that first.

Steps with `when`. Such a step has no instant of its own: it waits for an event, or for a client's
call. The script sets timers only up to the next such step. Right before the preceding step acts,
the waiting step is armed: only from then on do events count, and so do events that the preceding
step itself causes. At most one step is armed. When its event happens, its `at` counts from now; it
and the steps after it are planned from there, up to the next waiting one. Those that are due now
join the queue, so they run right after the input that caused the event; the others become timers.
If nothing happens for `within`, the step fails and the script continues with the next step.
"""

from __future__ import annotations

from msgspec import Struct, field

from sim.api.pipeline.inputs import Input, Outcome, StepResult
from sim.kernel.instants import Instant, parse_span
from sim.kernel.timers import Timer
from sim.run.engine.engine import Engine
from sim.world.format.steps import When

STEP_TIMER, LATE_TIMER = "script.step", "script.late"


class StepOrder:
    """The queue and the timers of the steps of a script. `state` is the part
    that snapshots store.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.steps = engine.scenario.steps
        self.state = ScriptState()

    def step_due(self, timer: Timer, outcome: Outcome) -> None:
        """Queue a step that is due."""
        self.state.queue.append((int(timer.subject) - 1, timer.due, self._input))

    @property
    def _input(self) -> int:
        """The number of the present input."""
        return int(self._engine.exchange.ctx.trace_id, 16)

    def go_on(self, index: int, now: Instant, *, running: bool) -> None:
        """Arm a step if it has a `when`; otherwise plan it and the steps after it from now on."""
        if index < len(self.steps):
            if self.steps[index].when is not None:
                self.arm(index)
            else:
                self._schedule(index, now, running=running)

    def _schedule(self, index: int, now: Instant, *, running: bool) -> None:
        """Set timers for a step and those after it, up to the next one that has a `when`.

        In a running scenario the first ones join the queue at once if they are due.
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
        """The condition of the armed step; None if no step is armed."""
        waiting = self.state.waiting
        return self.steps[waiting].when if waiting >= 0 else None

    def arm(self, index: int) -> None:
        """Let a step wait from now on, for at most its `within`."""
        ctx = self._engine.exchange.ctx
        due = ctx.now + self.steps[index].within
        self.state.waiting = index
        self.state.late = ctx.timers.schedule(due, LATE_TIMER, str(index + 1))

    def disarm(self) -> None:
        """Let no step wait."""
        self._engine.exchange.ctx.timers.cancel(self.state.late)
        self.state.waiting, self.state.late = -1, 0

    def wake(self, index: int) -> None:
        """The event of the armed step has happened: plan the step and those after it."""
        self.disarm()
        self._schedule(index, self._engine.now, running=True)


class StepUnderWay(Struct):
    """A step that has begun, with its remaining inputs. `at` is its instant, `seq` the input in
    which it began, `rejected` the reasons why the exchange rejected its orders or changes of
    orders. `fault` broke the connection of its call to `operation`, which ignored the names in
    `ignored`; `remedy` says what would have worked.
    """

    index: int
    at: Instant
    inputs: list[Input]
    seq: int = 0
    refusal: str = ""
    rejected: list[str] = field(default_factory=list)
    fault: str = ""
    operation: str = ""
    ignored: tuple[str, ...] = ()
    remedy: str = ""


class ScriptState(Struct):
    """The progress of a script, as snapshots store it: results so far, saved values, and unfinished
    steps. Indexes of steps count from 0.

    `waiting` is the index of the armed step (-1: none) and `late` the timer of its `within`.
    `queue` contains (index, instant, input that made it due) of due steps. `pending` contains the
    steps whose call has no answer yet, by the name of the answer.
    """

    results: list[StepResult] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    waiting: int = -1
    late: int = 0
    queue: list[tuple[int, Instant, int]] = field(default_factory=list)
    under_way: StepUnderWay | None = None
    pending: dict[str, StepUnderWay] = field(default_factory=dict)
