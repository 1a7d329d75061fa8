"""The steps of a scenario at work: inside the simulation, so they run in `serve`, in `sim run` and
in a replay alike.

Steps with an instant are timers like any other. A step that waits for something (`when`) is armed
once the step before it has run; when it happens, the step and what follows it run in the same input
or, at their distances, as timers. A failed expectation is a line of the report; it does not stop
the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from sim.actors.operator.action import check_steps
from sim.actors.operator.actions import ACTIONS, perform
from sim.actors.script.calls import ClientCalls
from sim.actors.script.expectations import failures
from sim.actors.script.triggers import describe, matches_call, matches_event
from sim.api.pipeline.inputs import Outcome, OutcomeHandlers, Reply
from sim.core.model.events import Event
from sim.core.model.refusals import Refusal
from sim.engine.engine import Engine
from sim.engine.extension import Extension
from sim.kernel.instants import Instant, format_span, parse_span
from sim.kernel.timers import Timer
from sim.scenario.steps import Step

STEP_TIMER, LATE_TIMER = "script.step", "script.late"

# Keys of a step that say when and how it runs, and those that say what a client does. All others
# are operator actions.
TIMING_KEYS = ("at", "when", "within", "name", "advance", "save", "expect")
CLIENT_KEYS = ("call", "subscribe", "send", "disconnect")
STEP_ACTIONS = check_steps(Step, ACTIONS.values(), (*TIMING_KEYS, *CLIENT_KEYS))


class StepResult(Struct, frozen=True):
    """What became of a step: lines of what does not hold, empty when all is well."""

    index: int
    name: str
    at: Instant
    failures: tuple[str, ...]


class ScriptState(Struct):
    """How far a script is. `waiting` is the step that waits for something (-1: none), `late` the
    timer of its patience; `values` what steps kept.

    `held` are steps whose call has no answer yet, by the name of that answer: (index, when it ran).
    """

    results: list[StepResult] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    waiting: int = -1
    late: int = 0
    held: dict[str, tuple[int, Instant]] = field(default_factory=dict)


class Script(Extension):
    """Runs the steps of the scenario of one engine."""

    name = "script"
    state_type = ScriptState

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._steps = engine.scenario.steps
        self._caller = ClientCalls(engine)
        self._state = ScriptState()

    def plan(self) -> None:
        """Set timers for the steps up to the first that waits for something."""
        if self._steps and self._steps[0].when is not None:
            self._arm(0)
        else:
            start = self._engine.run.start
            self._plan(0, start, start)

    def restart(self, steps: tuple[Step, ...]) -> None:
        """Run these steps instead, from now on."""
        self._steps = steps
        self._caller = ClientCalls(self._engine)
        self._state = ScriptState()
        self.plan()
        self.follow()

    def follow(self) -> None:
        """Follow automated windows where a step waits for one to move: nobody hears of those that
        nobody follows.
        """
        windows = self._engine.exchange.recurring
        awaited = (
            step.when.instrument.symbol
            for step in self._steps
            if step.when is not None and step.when.instrument is not None
        )
        if any(windows.slot_of_symbol(symbol) is not None for symbol in awaited):
            self._engine.exchange.recurring_feed.follow()

    @property
    def results(self) -> list[StepResult]:
        """Results so far, in the order in which steps ran."""
        return self._state.results

    def ran(self) -> Iterator[tuple[StepResult, Step]]:
        """Steps that have run, in that order, with what became of them; with the values that
        earlier ones kept.
        """
        return (
            (result, self._caller.filled(self._steps[result.index], self._state.values))
            for result in self._state.results
        )

    @property
    def done(self) -> bool:
        """Whether every step has run, or failed to."""
        return len(self._state.results) == len(self._steps)

    # ---- what the simulation tells

    @property
    def timers(self) -> OutcomeHandlers:
        """The kinds of timers that a script owns."""
        return {STEP_TIMER: self._step_due, LATE_TIMER: self._give_up}

    def _step_due(self, timer: Timer, outcome: Outcome) -> None:
        self._run(int(timer.subject), timer.due, outcome)

    def on_events(self, events: Sequence[Event], outcome: Outcome) -> None:
        """Run the step that waits, if these events are what it waits for."""
        waiting = self._state.waiting
        if waiting < 0:
            return
        if any(matches_event(self._steps[waiting], event) for event in events):
            self._wake(waiting, outcome)
        self._engine.exchange.flush()

    def on_call(self, outcome: Outcome) -> None:
        """Run the step that waits, if this client's call is what it waits for."""
        waiting = self._state.waiting
        if waiting < 0:
            return
        call = self._engine.log.last(outcome.seq)
        if call is not None and matches_call(self._steps[waiting], call):
            self._wake(waiting, outcome)

    def on_effects(self, outcome: Outcome) -> None:
        """Keep the frames of the script's own streams for its expectations."""
        self._caller.streams.absorb(outcome)

    # ---- order of steps

    def _plan(
        self, index: int, moment: Instant, now: Instant, outcome: Outcome | None = None
    ) -> None:
        """Set timers for the steps from `index` up to the next that waits. With an outcome, those
        that are due at once run at once.
        """
        timers = self._engine.exchange.ctx.timers
        prompt: list[tuple[int, Instant]] = []
        at_once = outcome is not None
        for number in range(index, len(self._steps)):
            step = self._steps[number]
            if step.when is not None and number > index:
                break
            moment = (
                moment + parse_span(step.at)
                if isinstance(step.at, str)
                else moment
                if step.at is None
                else step.at
            )
            at_once = at_once and moment <= now
            if at_once:
                prompt.append((number, now))
            else:
                timers.schedule(max(moment, now), STEP_TIMER, str(number))
            if step.advance is not None:
                moment += step.advance
        if outcome is not None:
            for number, at in prompt:
                self._run(number, at, outcome)

    def _arm(self, index: int) -> None:
        ctx = self._engine.exchange.ctx
        self._state.waiting = index
        self._state.late = ctx.timers.schedule(
            ctx.now + self._steps[index].within, LATE_TIMER, str(index)
        )

    def _disarm(self) -> None:
        self._engine.exchange.ctx.timers.cancel(self._state.late)
        self._state.waiting, self._state.late = -1, 0

    def _wake(self, index: int, outcome: Outcome) -> None:
        self._disarm()
        now = self._engine.now
        self._plan(index, now, now, outcome)

    def _give_up(self, timer: Timer, outcome: Outcome) -> None:
        index = int(timer.subject)
        step, now = self._steps[index], self._engine.now
        self._disarm()
        waited = f"waited {format_span(step.within)} for {describe(step)}, which did not happen"
        self._state.results.append(
            StepResult(index, step.name or f"step {index + 1}", now, (waited,))
        )
        following = index + 1
        if following < len(self._steps):
            if self._steps[following].when is not None:
                self._arm(following)
            else:
                self._plan(following, now, now, outcome)

    # ---- one step

    def _run(self, index: int, at: Instant, outcome: Outcome) -> None:
        step = self._caller.filled(self._steps[index], self._state.values)
        following = index + 1
        if following < len(self._steps) and self._steps[following].when is not None:
            self._arm(following)  # before the step itself, which may be what it waits for
        wrong: list[str] = []
        reply: Reply | None = None
        refused = step.expect.refused if step.expect is not None else "false"
        try:
            reply = self._perform(_with_order_id(step), outcome)
            if refused == "true":
                wrong.append("it was not refused")
        except Refusal as refusal:
            if refused == "false":
                wrong.append(
                    f"refused: {refusal.message}"
                    + (f" ({refusal.remedy})" if refusal.remedy else "")
                )
        if reply is not None and reply.deadline and not wrong:
            self._state.held[reply.pending_on] = (index, at)
            return
        if step.expect is not None and step.expect.stream:
            self._engine.exchange.flush()
            self._engine.publish(outcome)
            self._caller.streams.absorb(outcome)
        self._judge(index, step, at, reply, wrong)

    def on_answer(self, name: str, reply: Reply, outcome: Outcome) -> None:
        """The answer that a step's call was held for: the step ends now."""
        found = self._state.held.pop(name, None)
        if found is not None:
            self._caller.streams.absorb(outcome)
            index, at = found
            self._judge(
                index, self._caller.filled(self._steps[index], self._state.values), at, reply, []
            )

    def _judge(
        self, index: int, step: Step, at: Instant, reply: Reply | None, wrong: list[str]
    ) -> None:
        """Keep what a step wants of an answer, hold everything against its expectations, and write
        down what became of it.
        """
        if reply is not None and reply.failure is not None:
            wrong.append(f"a mistake of the simulator: {reply.failure!r}")
        if step.save:
            missing = list(self._caller.keep(step.save, reply, self._state.values))
            wrong += missing if step.expect is None or step.expect.refused != "maybe" else ()
        if step.expect is not None:
            self._engine.exchange.flush()
            if step.expect.stream:
                wrong += self._caller.streams.failures(step.expect.stream)
            try:
                wrong += failures(
                    self._engine,
                    step.expect,
                    reply,
                    (step.order.clord_id if step.order else "") or step.name,
                )
            except Refusal as refusal:  # what is asked about does not exist
                wrong.append(refusal.message)
        self._state.results.append(
            StepResult(index, step.name or f"step {index + 1}", at, tuple(wrong))
        )

    def _perform(self, step: Step, outcome: Outcome) -> Reply | None:
        """Do the one thing that a step does; the reply when it is a client's call."""
        for key, action in STEP_ACTIONS.items():
            if value := getattr(step, key):
                for entry in action.entries(value):
                    perform(self._engine, action, entry, outcome)
        if step.subscribe is not None:
            return self._caller.subscribe(step.subscribe, outcome)
        if step.send is not None:
            self._caller.send(step.send, outcome)
        if step.disconnect:
            self._caller.disconnect(step.disconnect)
        return self._caller.call(step.call) if step.call is not None else None

    def save(self) -> ScriptState:
        """How far it is."""
        return self._state

    def load(self, state: ScriptState) -> None:
        """Go on from a saved state. Streams of the script have ended by then, like all others."""
        self._state = state
        self._caller = ClientCalls(self._engine)


def _with_order_id(step: Step) -> Step:
    """The step, its order under the step's name unless it has a client order id."""
    if step.order is None or step.order.clord_id or not step.name:
        return step
    return replace(step, order=replace(step.order, clord_id=step.name))
