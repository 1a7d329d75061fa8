"""The script runs the steps of a scenario, inside the simulation: `serve`, `sim run` and a replay
all run them alike.

When steps run. Steps run in the order of the file. Each has a moment: its `at`, or, if that is a
distance such as "+30s", so much after the moment of the step before it (`advance` adds to that
moment). A step is a timer at its moment, like everything else that happens by itself.

What `when` waits for. A step with `when` has no moment of its own: it waits for an event, or for a
client's call. The script sets timers only up to the next waiting step. Right before the step that
precedes it runs, the waiting step is armed: only then do events count, and what the preceding step
itself causes counts too. At most one step is armed. When its event happens, its `at` counts from
now; it and the steps behind it are planned from there, up to the next waiting one. Those whose
moment is now run at once, as part of the input that caused the event; the others become timers. If
nothing happens for `within`, the step has failed and the script goes on with the step behind it.

How a step ends. A step does one thing (an operator action, or what a client does), then its
expectations are checked, and one `StepResult` is appended. A failed expectation is a line of the
report and does not stop the scenario. A call whose answer is deferred (a synchronous order on a
slow engine) has no answer to check yet: the step stays pending under the name of that answer, and
ends when the answer leaves. Steps behind it do not wait for that, so results stand in the order in
which steps ended.
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
    """How a step ended: a line for each thing that does not hold, none when all holds."""

    index: int
    name: str
    at: Instant
    failures: tuple[str, ...]


class ScriptState(Struct):
    """How far a script is: results so far, values that steps saved, and steps under way.

    `waiting` is the index of the armed step (-1: none) and `late` the timer that ends its patience.
    `pending` holds steps whose call has no answer yet: (index, instant at which the step ran), by
    the name of the answer.
    """

    results: list[StepResult] = field(default_factory=list)
    values: dict[str, str] = field(default_factory=dict)
    waiting: int = -1
    late: int = 0
    pending: dict[str, tuple[int, Instant]] = field(default_factory=dict)


class Script(Extension):
    """Runs the steps of the scenario of one engine."""

    name = "script"
    state_type = ScriptState

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._steps = engine.scenario.steps
        self._clients = ClientCalls(engine)
        self._state = ScriptState()

    def plan(self) -> None:
        """Set timers for the steps up to the first that waits, or arm the first step."""
        self._continue(0, self._engine.run.start)

    def restart(self, steps: tuple[Step, ...]) -> None:
        """Run these steps instead, from now on."""
        self._steps = steps
        self.load(ScriptState())
        self.plan()
        self.follow()

    def follow(self) -> None:
        """Follow recurring markets if a step waits for one; else they publish no events."""
        markets = self._engine.exchange.recurring
        triggers = [step.when for step in self._steps if step.when is not None]
        awaited = [when.instrument.symbol for when in triggers if when.instrument is not None]
        if any(markets.slot_of_symbol(symbol) is not None for symbol in awaited):
            self._engine.exchange.recurring_feed.follow()

    @property
    def results(self) -> list[StepResult]:
        """Results so far, in the order in which steps ran."""
        return self._state.results

    def ran(self) -> Iterator[tuple[StepResult, Step]]:
        """Results with their steps, in the order of results; saved values are filled in."""
        return ((result, self._step(result.index)) for result in self._state.results)

    @property
    def done(self) -> bool:
        """Whether every step has run, or failed to."""
        return len(self._state.results) == len(self._steps)

    # ---- what the engine reports

    @property
    def timers(self) -> OutcomeHandlers:
        """The kinds of timers that a script owns."""
        return {STEP_TIMER: self._step_due, LATE_TIMER: self._give_up}

    def _step_due(self, timer: Timer, outcome: Outcome) -> None:
        self._run(int(timer.subject), timer.due, outcome)

    def on_events(self, events: Sequence[Event], outcome: Outcome) -> None:
        """Run the armed step if one of these events is what it waits for."""
        waiting = self._state.waiting
        if waiting < 0:
            return
        if any(matches_event(self._steps[waiting], event) for event in events):
            self._wake(waiting, outcome)
        self._engine.exchange.flush()

    def on_call(self, outcome: Outcome) -> None:
        """Run the armed step if this client's call is what it waits for."""
        waiting = self._state.waiting
        if waiting < 0:
            return
        call = self._engine.log.last(outcome.seq)
        if call is not None and matches_call(self._steps[waiting], call):
            self._wake(waiting, outcome)

    def on_effects(self, outcome: Outcome) -> None:
        """Keep frames that an input sent on the script's own streams, for its expectations."""
        self._clients.streams.absorb(outcome)

    # ---- order of steps

    def _continue(self, index: int, now: Instant, outcome: Outcome | None = None) -> None:
        """Arm a step if it waits, else plan it and the steps behind it from now on."""
        if index < len(self._steps):
            if self._steps[index].when is not None:
                self._arm(index)
            else:
                self._schedule(index, now, outcome)

    def _schedule(self, index: int, now: Instant, outcome: Outcome | None) -> None:
        """Set timers for a step and those behind it, up to the next that waits.

        Within an input (with an outcome) the first ones run at once, as long as they are due.
        """
        timers = self._engine.exchange.ctx.timers
        due_now: list[int] = []
        at_once, moment = outcome is not None, now
        for number in range(index, len(self._steps)):
            step = self._steps[number]
            if step.when is not None and number > index:
                break
            if isinstance(step.at, str):
                moment += parse_span(step.at)
            elif step.at is not None:
                moment = step.at
            at_once = at_once and moment <= now
            if at_once:
                due_now.append(number)
            else:
                timers.schedule(max(moment, now), STEP_TIMER, str(number))
            moment += step.advance or 0
        if outcome is not None:
            for number in due_now:
                self._run(number, now, outcome)

    def _arm(self, index: int) -> None:
        ctx = self._engine.exchange.ctx
        due = ctx.now + self._steps[index].within
        self._state.waiting = index
        self._state.late = ctx.timers.schedule(due, LATE_TIMER, str(index))

    def _disarm(self) -> None:
        self._engine.exchange.ctx.timers.cancel(self._state.late)
        self._state.waiting, self._state.late = -1, 0

    def _wake(self, index: int, outcome: Outcome) -> None:
        self._disarm()
        self._schedule(index, self._engine.now, outcome)

    def _give_up(self, timer: Timer, outcome: Outcome) -> None:
        index = int(timer.subject)
        step, now = self._steps[index], self._engine.now
        self._disarm()
        awaited = f"{format_span(step.within)} for {describe(step)}"
        self._end(index, step, now, [f"waited {awaited}, which did not happen"])
        self._continue(index + 1, now, outcome)

    # ---- one step

    def _step(self, index: int) -> Step:
        """A step with the values that earlier steps saved in the place of their `${name}`."""
        return self._clients.filled(self._steps[index], self._state.values)

    def _run(self, index: int, at: Instant, outcome: Outcome) -> None:
        following = index + 1
        if following < len(self._steps) and self._steps[following].when is not None:
            self._arm(following)  # before this step acts, for it may cause what that one waits for
        step = self._step(index)
        refused = step.expect.refused if step.expect is not None else "false"
        problems: list[str] = []
        reply: Reply | None = None
        try:
            reply = self._perform(_with_order_id(step), outcome)
            if refused == "true":
                problems.append("it was not refused")
        except Refusal as refusal:
            if refused == "false":
                remedy = f" ({refusal.remedy})" if refusal.remedy else ""
                problems.append(f"refused: {refusal.message}{remedy}")
        if reply is not None and reply.deadline and not problems:
            self._state.pending[reply.pending_on] = (index, at)
            return
        if step.expect is not None and step.expect.stream:
            self._engine.exchange.flush()
            self._engine.publish(outcome)
            self._clients.streams.absorb(outcome)
        self._check(index, step, at, reply, problems)

    def on_answer(self, name: str, reply: Reply, outcome: Outcome) -> None:
        """Take a deferred answer: the step whose call it answers ends now."""
        pending = self._state.pending.pop(name, None)
        if pending is not None:
            self._clients.streams.absorb(outcome)
            index, at = pending
            self._check(index, self._step(index), at, reply, [])

    def _check(
        self, index: int, step: Step, at: Instant, reply: Reply | None, problems: list[str]
    ) -> None:
        """Save what a step keeps of an answer, check its expectations, and end it."""
        if step.save:
            missing = list(self._clients.keep(step.save, reply, self._state.values))
            if step.expect is None or step.expect.refused != "maybe":
                problems += missing
        if step.expect is not None:
            self._engine.exchange.flush()
            problems += self._clients.streams.failures(step.expect.stream)
            own_order = step.order.clord_id if step.order is not None else ""
            try:
                problems += failures(self._engine, step.expect, reply, own_order or step.name)
            except Refusal as refusal:  # what the step asks about does not exist
                problems.append(refusal.message)
        self._end(index, step, at, problems)

    def _end(self, index: int, step: Step, at: Instant, problems: list[str]) -> None:
        name = step.name or f"step {index + 1}"
        self._state.results.append(StepResult(index, name, at, tuple(problems)))

    def _perform(self, step: Step, outcome: Outcome) -> Reply | None:
        """Do the one thing that a step does; the reply when it is a client's call."""
        for key, action in STEP_ACTIONS.items():
            if value := getattr(step, key):
                for entry in action.entries(value):
                    perform(self._engine, action, entry, outcome)
        if step.subscribe is not None:
            return self._clients.subscribe(step.subscribe, outcome)
        if step.send is not None:
            self._clients.send(step.send, outcome)
        if step.disconnect:
            self._clients.disconnect(step.disconnect)
        return self._clients.call(step.call) if step.call is not None else None

    def save(self) -> ScriptState:
        """The state, not copied."""
        return self._state

    def load(self, state: ScriptState) -> None:
        """Go on from a saved state. The script's streams have ended by then, like all others."""
        self._state = state
        self._clients = ClientCalls(self._engine)


def _with_order_id(step: Step) -> Step:
    """The step, its order under the step's name unless it has a client order id."""
    if step.order is None or step.order.clord_id or not step.name:
        return step
    return replace(step, order=replace(step.order, clord_id=step.name))
