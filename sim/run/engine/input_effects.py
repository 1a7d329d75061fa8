"""The effects of an input: events go to streams and extensions; pending answers and webhooks are
sent.

All of them belong to the same input and its outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sim.api.pipeline.handler import Finisher
from sim.api.pipeline.inputs import Input, Outcome, Post, Reply, Resolve
from sim.api.pipeline.pipeline import Pipeline
from sim.api.streams.hub import Hub
from sim.core.exchange import Exchange
from sim.core.model.refusals import Refusal
from sim.core.trading.synchronous import PendingAnswer
from sim.run.engine.extension import Extension


class InputEffects:
    """Adds the effects of inputs to the outcomes of one engine."""

    def __init__(
        self,
        exchange: Exchange,
        hub: Hub,
        pipeline: Pipeline,
        finishers: Mapping[str, Finisher],
        extensions: Sequence[Extension],
    ) -> None:
        self._exchange = exchange
        self._hub = hub
        self._pipeline = pipeline
        self._finishers = finishers
        self._on_events = [hook.on_events for hook in extensions if hook.overrides("on_events")]
        self._on_answer = [hook.on_answer for hook in extensions if hook.overrides("on_answer")]
        self._on_done = [hook.on_done for hook in extensions if hook.overrides("on_done")]

    def publish(self, outcome: Outcome) -> None:
        """Report the events since the last call, at virtual now, to streams and extensions."""
        exchange = self._exchange
        if exchange.settled:
            return
        exchange.flush()
        while unsent := exchange.ctx.events[exchange.published :]:
            exchange.published = len(exchange.ctx.events)
            outcome.effects += self._hub.publish(unsent)
            for on_events in self._on_events:
                on_events(unsent, outcome)
        if exchange.awaited.ended:
            for pending in exchange.awaited.take_ended():
                self._answer_order(pending, outcome)

    def _answer_order(self, pending: PendingAnswer, outcome: Outcome) -> None:
        """Answer a synchronous order with its current state."""
        answer, reply = self._finish("synchronous order", pending, pending.request_id)
        if isinstance(answer, Refusal):
            self._pipeline.log_late_refusal(answer, reply, pending.orders)
        if pending.clock_stalled:
            reply.headers = (*reply.headers, ("x-sim-clock", "stood still"))
        outcome.effects.append(Resolve(pending.name, reply))
        for on_answer in self._on_answer:
            on_answer(pending.name, reply, outcome)

    def _finish(self, kind: str, pending: object, request_id: str) -> tuple[Any, Reply]:
        """Build the answer of a deferred call, and the reply that carries it."""
        finisher = self._finishers[kind]
        answer = finisher.build(self._exchange, pending)
        return answer, self._pipeline.complete(finisher.plane, answer, request_id)

    def finish(self, input_: Input, outcome: Outcome) -> None:
        """Publish the remaining events, and collect events and effects."""
        exchange = self._exchange
        self.publish(outcome)
        if exchange.webhooks.outbox or exchange.webhooks.settled:
            self._send_webhooks(outcome)
        for on_done in self._on_done:
            on_done(input_, outcome)
        if exchange.ctx.events:
            outcome.events = exchange.take_events()

    def _send_webhooks(self, outcome: Outcome) -> None:
        """Send webhook attempts that are due, and the answers of completed registrations."""
        webhooks = self._exchange.webhooks
        for post in webhooks.take_attempts():
            outcome.effects.append(
                Post(
                    post.id,
                    post.url,
                    post.event_id,
                    post.body,
                    post.secret,
                    post.timeout,
                    skew=post.skew,
                )
            )
        for registration in webhooks.take_settled():
            _, reply = self._finish("webhook registration", registration, registration.request_id)
            outcome.effects.append(Resolve(registration.id, reply))
            for on_answer in self._on_answer:
                on_answer(registration.id, reply, outcome)
