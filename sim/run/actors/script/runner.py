"""Runs the steps of a scenario inside the simulation, in the same way for `sim serve`, `sim run`
and a replay. `step_order.py` decides the order of the steps and implements `when`.

A step in the journal: the input `Stepped` begins it. Everything that the step does follows as
inputs of their own, as if a client or a tester had sent them (`calls.py`). So each has its own
record, and a replay takes all of them from the journal. At the end of the last of these inputs the
expectations are checked, and the result is stored in the record of that input.

The end of a step: a failed expectation is a line of the report and does not stop the scenario. A
call whose answer is deferred (a synchronous order on a slow engine) has no answer to check yet. The
step stays pending under the name of that answer, and ends when the answer is sent. Later steps do
not wait for it, so the results are in the order in which the steps ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import json

from sim.api.pipeline.inputs import (
    SCRIPT,
    Controlled,
    Input,
    InputHandlers,
    Outcome,
    OutcomeHandlers,
    Reply,
    Stepped,
    StepResult,
    StreamHungUp,
    StreamOpened,
    by_script,
)
from sim.core.model.events import Event
from sim.core.model.refusals import Conflict, Refusal
from sim.kernel.instants import Instant, format_span
from sim.kernel.timers import Timer
from sim.run.actors.operator.action import check_steps
from sim.run.actors.operator.actions import ACTIONS
from sim.run.actors.script.calls import ClientCalls, truncated_reply
from sim.run.actors.script.expectations import Rejection, rejections
from sim.run.actors.script.step_end import end_of, with_order_id
from sim.run.actors.script.step_order import (
    LATE_TIMER,
    STEP_TIMER,
    ScriptState,
    StepOrder,
    StepUnderWay,
)
from sim.run.actors.script.triggers import describe, holds, matches_call, matches_event
from sim.run.engine.engine import Engine
from sim.run.engine.extension import Extension
from sim.world.format.steps import Step, When
from sim.world.start.orders import in_keys

# Keys of a step for when and how it runs, and keys for what a client does. All other keys are
# operator actions.
TIMING_KEYS = ("at", "when", "within", "name", "advance", "save", "expect")
CLIENT_KEYS = ("call", "subscribe", "send", "disconnect", "input")
STEP_ACTIONS = check_steps(Step, ACTIONS.values(), (*TIMING_KEYS, *CLIENT_KEYS))


class Script(Extension):
    """Runs the steps of the scenario of one engine."""

    name = "script"
    state_type = ScriptState

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._order = StepOrder(engine)
        self._clients = ClientCalls(engine)
        # of the present input: answers of pending steps, and rejections
        self._answered: list[tuple[StepUnderWay, Reply]] = []
        self._rejected: list[Rejection] = []
        self._watched: When | None = None
        self.has_happened = False
        # (index, sentence) of each unexpected refusal; like `has_happened` not part of the state
        self.refusals: list[tuple[int, str]] = []

    def plan(self) -> None:
        """Set timers for the steps up to the first that has a `when`, or arm the first step."""
        self._order.go_on(0, self._engine.run.start, running=False)

    def restart(self, steps: tuple[Step, ...]) -> None:
        """Replace the steps by these, from now on."""
        self._order.steps = steps
        self.load(ScriptState())
        self.plan()
        self.follow()

    def follow(self) -> None:
        """Follow recurring markets if a step waits for one; otherwise they publish no events."""
        markets = self._engine.exchange.recurring
        triggers = [step.when for step in self.steps if step.when is not None]
        awaited = [when.instrument.symbol for when in triggers if when.instrument is not None]
        if any(markets.slot_of_symbol(symbol) is not None for symbol in awaited):
            self._engine.exchange.recurring_feed.follow()

    @property
    def results(self) -> list[StepResult]:
        """Results so far, in the order in which steps ran."""
        return self._state.results

    def ran(self) -> Iterator[tuple[StepResult, Step]]:
        """The results with their steps, in the order of the results. Saved values are filled in."""
        return ((result, self._step(result.step - 1)) for result in self._state.results)

    def watch(self, when: When | None) -> None:
        """Watch for an event on behalf of whoever moves the clock; `has_happened` tells whether it
        came, or holds already. This changes nothing and is not part of the state.
        """
        self._watched = when
        self.has_happened = when is not None and holds(when, self._engine.exchange)

    def name_of(self, index: int) -> str:
        """The name of a step: its own, or "step" and its number, from 1."""
        return self.steps[index].name or f"step {index + 1}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps, in the order of the file."""
        return self._order.steps

    def _must_work(self, index: int) -> bool:
        """Whether the step fails if it is refused."""
        expect = self.steps[index].expect
        return expect is None or expect.refused == "false"

    @property
    def _state(self) -> ScriptState:
        return self._order.state

    @property
    def done(self) -> bool:
        """Whether every step has run or has failed."""
        return len(self._state.results) == len(self.steps)

    # ---- interface to the engine

    @property
    def timers(self) -> OutcomeHandlers:
        """The kinds of timers that a script owns."""
        return {STEP_TIMER: self._order.step_due, LATE_TIMER: self._on_timeout}

    @property
    def inputs(self) -> InputHandlers:
        """The types of input that a script handles: the beginning of a step."""
        return {Stepped: self._begin}

    def next_input(self) -> Input | None:
        """The next input of the present step, or the beginning of the next step that is due."""
        state = self._order.state
        if state.under_way is not None:
            return state.under_way.inputs[0]
        return Stepped(state.queue[0][0] + 1) if state.queue else None

    def cause_of(self, input_: Input) -> int:
        """The input that caused an input of the script: for the beginning of a step the input that
        made it due, for its other inputs the beginning.
        """
        state = self._state
        if isinstance(input_, Stepped):
            return state.queue[0][2] if state.queue else 0
        return state.under_way.seq if state.under_way is not None else 0

    def on_events(self, events: Sequence[Event], outcome: Outcome) -> None:
        """Wake the armed step if it waits for one of these events."""
        if self._watched is not None and not self.has_happened:
            self.has_happened = any(matches_event(self._watched, event) for event in events)
        if self._state.under_way is not None or self._state.pending:
            self._rejected += rejections(events)
        armed = self._order.armed
        if armed is not None and any(matches_event(armed, event) for event in events):
            self._order.wake(self._state.waiting)

    def on_call(self, input_: Input, outcome: Outcome) -> None:
        """Wake the armed step if it waits for this client's call.

        A call of the present step whose answer is deferred leaves that step pending.
        """
        state, reply = self._order.state, outcome.reply
        if self._is_next(input_):
            assert state.under_way is not None
            if (logged := self._engine.log.last(outcome.seq)) is not None:
                state.under_way.operation = logged.operation
                state.under_way.ignored = logged.ignored
                state.under_way.remedy = logged.why.remedy if logged.why is not None else ""
            if reply is not None and reply.pending_on:
                state.under_way.fault = reply.connection_fault
                state.under_way.inputs.clear()
                state.pending[reply.pending_on] = state.under_way
                state.under_way = None
        elif (armed := self._order.armed) is not None:
            call = self._engine.log.last(outcome.seq)
            if call is not None and matches_call(armed, call):
                self._order.wake(state.waiting)

    def on_answer(self, name: str, reply: Reply, outcome: Outcome) -> None:
        """Take a deferred answer. The step whose call it answers ends with this input."""
        pending = self._state.pending.pop(name, None)
        if pending is not None:
            step = self.steps[pending.index].call
            rpc = step is not None and step.plane == "grpc"
            self._answered.append((pending, truncated_reply(reply, pending.fault, rpc=rpc)))

    def on_done(self, input_: Input, outcome: Outcome) -> None:
        """An input is complete: keep frames of the script's own streams, and end the steps that
        have nothing left to do.
        """
        is_own = self._is_next(input_)
        if is_own and isinstance(input_, StreamOpened):
            self._opened(outcome)
        if outcome.effects:
            self._clients.streams.absorb(outcome)
        if self._answered:
            answered, self._answered = self._answered, []
            for pending, reply in answered:
                pending.rejected = [
                    rejection.sentence
                    for rejection in self._rejected
                    if rejection.order_id.encode() in reply.body
                ]
                self._check(pending, reply, outcome)
        if is_own:
            self._continue_step(input_, outcome)
        self._rejected.clear()

    # ---- one step

    def _on_timeout(self, timer: Timer, outcome: Outcome) -> None:
        index = int(timer.subject) - 1
        step, now = self.steps[index], self._engine.now
        self._order.disarm()
        awaited = format_span(step.within)
        if step.when is not None:
            awaited += f" for {describe(step.when)}"
        self._end(index, now, [f"waited {awaited}, which did not happen"], outcome)
        self._order.go_on(index + 1, now, running=True)

    def _step(self, index: int) -> Step:
        """A step with the values of its `${name}` that earlier steps saved."""
        return self._clients.filled(self.steps[index], self._state.values)

    def _is_next(self, input_: Input) -> bool:
        """Whether an input is the next input of the present step."""
        under_way = self._order.state.under_way
        return under_way is not None and by_script(input_) and input_ == under_way.inputs[0]

    def _begin(self, input_: Input, outcome: Outcome) -> None:
        """Begin the first step of the queue. Its actions follow as inputs of their own; a step
        without an action, or whose action is impossible, ends at the end of this input.
        """
        state = self._state
        if not state.queue or input_ != Stepped(state.queue[0][0] + 1):
            return  # in a journal from which inputs were removed
        index, at, _ = state.queue.pop(0)
        following = index + 1
        if following < len(self.steps) and self.steps[following].when is not None:
            # before this step acts, because it may cause the event that the armed step waits for
            self._order.arm(following)
        step = with_order_id(self._step(index))
        under_way = StepUnderWay(index, at, [input_], outcome.seq)
        try:
            self._require_values(step, index)
            under_way.inputs += [*_actions(step), *self._clients.inputs(step)]
        except Refusal as refusal:
            under_way.refusal = _sentence(refusal)
        state.under_way = under_way

    def _require_values(self, step: Step, index: int) -> None:
        """Refuse a step with a `${name}` that no earlier step has saved."""
        for name in self._clients.unsaved(step):
            savers = [n for n in range(index) if name in self.steps[n].save]
            by = f"{self.name_of(savers[-1])} saved none" if savers else "no earlier step saves it"
            raise Conflict(f"${{{name}}} has no value: {by}", rule="T1")

    def _opened(self, outcome: Outcome) -> None:
        """Follow the stream that the present step has opened. A refused subscription
        gets no frames.
        """
        under_way = self._state.under_way
        assert under_way is not None
        step = self._step(under_way.index).subscribe
        if step is None:
            return  # a recorded input, of whose frames no step speaks
        first, *rest = under_way.inputs
        rest = self._clients.opened(step, outcome.stream, rest) if outcome.stream else []
        under_way.inputs = [first, *rest]

    def _continue_step(self, input_: Input, outcome: Outcome) -> None:
        """Continue after an input of the present step. The step ends with its last input."""
        state, under_way = self._state, self._state.under_way
        assert under_way is not None
        del under_way.inputs[0]
        if isinstance(input_, StreamHungUp):
            self._clients.streams.leave(input_.stream)
        if isinstance(outcome.value, Refusal):
            sentence = _sentence(outcome.value)
            places_order = self.steps[under_way.index].order is not None
            under_way.refusal = in_keys(sentence) if places_order else sentence
        under_way.rejected += [rejection.sentence for rejection in self._rejected]
        if under_way.inputs and not under_way.refusal:
            return
        state.under_way = None
        if under_way.refusal and isinstance(input_, Stepped) and self._must_work(under_way.index):
            # It has no other input at which it could be checked
            at, problems = under_way.at, [under_way.refusal]
            self.refusals.append((under_way.index, under_way.refusal))
            self._end(under_way.index, at, problems, outcome, refused=True)
            return
        reply = outcome.reply and self._clients.readable(input_, outcome.reply)
        self._check(under_way, reply, outcome)

    def _check(self, ended: StepUnderWay, reply: Reply | None, outcome: Outcome) -> None:
        """Save parts of the answer, check the expectations of a step, and end it."""
        index, step = ended.index, self._step(ended.index)
        missing: list[str] = []
        if step.save:
            missing = list(self._clients.keep(step.save, reply, self._state.values))
        frames: list[str] = []
        if step.expect is not None:
            frames = list(self._clients.streams.failures(step.expect.stream))
        end = end_of(self._engine, step, ended, reply, frames, missing)
        self.refusals += ((index, refusal) for refusal in end.unexpected)
        self._end(index, ended.at, end.failures, outcome, refused=end.refused)

    def _end(
        self,
        index: int,
        at: Instant,
        problems: list[str],
        outcome: Outcome,
        *,
        refused: bool = False,
    ) -> None:
        result = StepResult(index + 1, self.name_of(index), at, tuple(problems), refused)
        self._state.results.append(result)
        outcome.steps.append(result)

    def save_streams(self) -> object:
        """The script's own streams, with the frames that arrived on them."""
        return self._clients.streams.save()

    def load_streams(self, state: Any) -> None:
        """Continue with the streams of a snapshot, or with none."""
        self._clients = ClientCalls(self._engine)
        self._clients.load_streams(state or [])

    def save(self) -> ScriptState:
        """The state, not a copy."""
        return self._state

    def load(self, state: ScriptState) -> None:
        """Continue from a saved state. The script's streams have ended by then, like all others."""
        self._order.state = state
        self.load_streams(None)


def _actions(step: Step) -> Iterator[Controlled]:
    """The operator actions of a step, as calls of the control plane."""
    for key, action in STEP_ACTIONS.items():
        if value := getattr(step, key):
            for entry in action.entries(value):
                subject, body = action.written(entry)
                arguments = json.encode(body, order="sorted").decode()
                yield Controlled(action.name, subject, arguments, SCRIPT)


def _sentence(refusal: Refusal) -> str:
    remedy = f" ({refusal.remedy})" if refusal.remedy else ""
    return f"refused: {refusal.message}{remedy}"
