"""Scripted receivers of webhooks answer attempts inside the simulation, as the scenario defines.

An attempt to the URL of a scripted receiver is marked, so the server sends nothing. The receiver
chooses its answer at once, and after the delay the answer is an input of its own, like that of a
receiver outside: `Engine.enter` asks for it, a replay takes it from the journal. A receiver that
hangs gives no answer, and the exchange's own timeout ends the attempt.
"""

from __future__ import annotations

from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from sim.api.pipeline.inputs import RECEIVER, Input, Outcome, OutcomeHandlers, Post, WebhookAnswered
from sim.core.model.refusals import NotFound
from sim.core.webhooks.payloads import shown_url
from sim.kernel.timers import Timer
from sim.run.engine.engine import Engine
from sim.run.engine.extension import Extension
from sim.world.format.party_entries import ReceiverAnswer
from sim.world.format.struct_types import record

ANSWER_TIMER = "receiver.answer"
RESET = "connection reset"


class ReceiverState(Struct):
    """A receiver's present answers, the number of attempts that got them, and the number
    of all attempts.
    """

    answers: tuple[ReceiverAnswer, ...] = ()
    answers_sent: int = 0
    received: int = 0

    def next_answer(self) -> ReceiverAnswer:
        """The answer to the next attempt; the last of the list is repeated."""
        passed = 0
        for answer in self.answers:
            passed += answer.times
            if self.answers_sent < passed:
                return answer
        return self.answers[-1] if self.answers else ReceiverAnswer()


class ReceiversState(Struct):
    """Receivers by name, answers that wait for their delay by attempt, and answers that are due."""

    receivers: dict[str, ReceiverState] = field(default_factory=dict)
    waiting: dict[str, WebhookAnswered] = field(default_factory=dict)
    due: list[WebhookAnswered] = field(default_factory=list)


class Receivers(Extension):
    """The scripted receivers of one engine."""

    name = "receivers"
    state_type = ReceiversState

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._entries = {entry.name: entry for entry in engine.scenario.world.receivers}
        self._by_url = {entry.address: entry.name for entry in self._entries.values()}
        self._state = ReceiversState()

    @property
    def timers(self) -> OutcomeHandlers:
        """The kind of timer that a receiver owns: the end of an answer's delay."""
        return {ANSWER_TIMER: self._delay_over}

    def next_input(self) -> Input | None:
        """The next answer that is due."""
        return self._state.due[0] if self._state.due else None

    def overrides(self, hook: str) -> bool:
        """Whether it uses a hook; without receivers it has no answers to give."""
        return super().overrides(hook) and (bool(self._entries) or hook != "next_input")

    def begin(self) -> None:
        """Register the receivers that belong to a firm from the beginning."""
        for entry in self._entries.values():
            self._state.receivers[entry.name] = ReceiverState(entry.answers)
            if entry.firm:
                firm = "firms/" + entry.firm.removeprefix("firms/")
                self._engine.exchange.webhooks.begin_registered(firm, entry.address)

    def on_done(self, input_: Input, outcome: Outcome) -> None:
        """Take the attempts to URLs of receivers, and count the answers that were sent."""
        due = self._state.due
        if due and input_ == due[0]:
            self._report(due.pop(0), outcome)
        if not self._by_url:
            return
        for index, effect in enumerate(outcome.effects):
            if isinstance(effect, Post) and effect.url in self._by_url:
                name = self._by_url[effect.url]
                outcome.effects[index] = replace(effect, receiver=name)
                self._take(effect.attempt, self._state.receivers[name])

    def _report(self, answered: WebhookAnswered, outcome: Outcome) -> None:
        record = self._engine.exchange.webhooks.record_of(answered.attempt)
        if record is not None:
            outcome.answered.append(record)

    def _take(self, attempt: str, receiver: ReceiverState) -> None:
        answer = receiver.next_answer()
        receiver.answers_sent += 1
        receiver.received += 1
        if answer.hang:
            return
        status, error = (0, RESET) if answer.reset else (answer.status, "")
        answered = WebhookAnswered(attempt, status, error, answer.retry_after, peer=RECEIVER)
        if answer.delay:
            ctx = self._engine.exchange.ctx
            self._state.waiting[attempt] = answered
            ctx.timers.schedule(ctx.now + answer.delay, ANSWER_TIMER, attempt)
        else:
            self._state.due.append(answered)

    def _delay_over(self, timer: Timer, outcome: Outcome) -> None:
        self._state.due.append(self._state.waiting.pop(timer.subject))

    # ---- operator actions and views

    def change(self, name: str, answers: tuple[ReceiverAnswer, ...]) -> None:
        """Change the answers of a receiver from its next attempt on. NotFound lists the names."""
        receiver = self._state.receivers.get(name)
        if receiver is None:
            names = ", ".join(self._entries) or "this scenario has none"
            remedy = f"receivers are listed in world.receivers: {names}"
            raise NotFound(f"no receiver is called {name}", rule="T1", remedy=remedy)
        receiver.answers, receiver.answers_sent = answers, 0

    def rows(self) -> list[dict[str, Any]]:
        """Every receiver with its count of attempts and its answers, in the scenario's order."""
        form = record(ReceiverAnswer)
        states = self._state.receivers
        return [
            {
                "name": name,
                "url": shown_url(entry.address),
                "firm": entry.firm,
                "received": states[name].received,
                "answers": [form.write(answer) for answer in states[name].answers],
                "next": form.write(states[name].next_answer()),
            }
            for name, entry in self._entries.items()
        ]

    def save(self) -> ReceiversState:
        """The state, not a copy."""
        return self._state

    def load(self, state: ReceiversState) -> None:
        """Continue from a saved state."""
        self._state = state


def receivers_of(engine: Engine) -> Receivers:
    """The scripted receivers of an engine."""
    return cast(Receivers, engine.extensions[Receivers.name])
