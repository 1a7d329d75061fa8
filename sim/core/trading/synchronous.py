"""Synchronous execution: answers that wait until the engine has taken an order.

A caller who asks for synchronous execution is answered at the first outcome of the order, or once
it is finished (assumption `retail.synchronous_until`), and at the latest when its block time has
passed. The order continues in any case. Nothing polls: executions are examined only while an
answer waits. Pending answers are state, so a snapshot includes them; whether the client is still
connected is not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from msgspec import Struct, field

from sim.core.catalogue.assumptions import BLOCK_TIME, READ_LAG, SYNCHRONOUS_UNTIL
from sim.core.model.context import Context
from sim.core.model.orders import Order
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import Instant, Span, seconds
from sim.kernel.timers import Timer, TimerHandlers

ANSWER_TIMER = "answer.due"
EDGE_TIMEOUT: Span = seconds(30)  # §8: timeout of the edge for any request

Kind: TypeAlias = Literal["order", "close", "batch"]


class PendingAnswer(Struct, kw_only=True, omit_defaults=True):
    """One pending answer, to the request `request_id`.

    `orders` are all orders of the request, `open` those without an outcome. `timed_out` means that
    the edge timed out. `clock_stalled` means that nobody moved the clock, so the answer leaves
    without an outcome.
    """

    name: str
    kind: Kind
    orders: list[str]
    open: list[str]
    until: Instant
    timer: int
    request_id: str
    timed_out: bool
    clock_stalled: bool = False


class SynchronousOrdersState(Struct):
    """Pending answers by name.

    `reported` holds the orders that a synchronous answer has shown, and when it last did. Delayed
    reads (`retail.read_lag`) must not contradict such an answer.
    """

    waits: dict[str, PendingAnswer] = field(default_factory=dict)
    reported: dict[str, Instant] = field(default_factory=dict)


class SynchronousOrders:
    """Every pending answer. `ended` are those that are complete but have not been taken yet."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._state = SynchronousOrdersState()
        self._by_order: dict[str, PendingAnswer] = {}
        self.ended: list[PendingAnswer] = []

    @property
    def any(self) -> bool:
        """Whether any answer waits for an order."""
        return bool(self._by_order)

    def block_time(self, block_s: int) -> Span:
        """Return how long a request is willing to wait; 0 means the default.

        Refuses a negative time.
        """
        if block_s < 0:
            problem, remedy = "maxBlockTime must not be negative", "send seconds, or omit it"
            raise InvalidRequest(problem, remedy=remedy)
        if not block_s:
            return self._ctx.assumptions.number(BLOCK_TIME)
        return seconds(block_s)

    def must_wait(self, order: Order) -> bool:
        """Return whether the answer about an order that was just received has to wait."""
        return order.received or (order.live and self._until_done)

    def wait_for(
        self, kind: Kind, orders: Iterable[str], open: Iterable[str], span: Span
    ) -> PendingAnswer:
        """Create an answer that waits for the `open` orders, at most until the edge times out."""
        ctx = self._ctx
        until = ctx.now + min(span, EDGE_TIMEOUT)
        name = f"answer-{ctx.ids.count('answer')}"
        answer = PendingAnswer(
            name=name,
            kind=kind,
            orders=list(orders),
            open=list(open),
            until=until,
            timer=ctx.timers.schedule(until, ANSWER_TIMER, name),
            request_id=ctx.trace_id,
            timed_out=span > EDGE_TIMEOUT,
        )
        self._state.waits[name] = answer
        self._index(answer)
        return answer

    def on_execution(self, order: Order) -> None:
        """End the answer that waits for an order, if no other outcome is missing."""
        answer = self._by_order.get(order.id)
        if answer is None or (order.live and self._until_done):
            return
        del self._by_order[order.id]
        answer.open.remove(order.id)
        if not answer.open:
            answer.timed_out = False
            self._end(answer)

    def note_answered(self, orders: Iterable[str]) -> None:
        """Note that a synchronous answer has shown these orders."""
        now, lag = self._ctx.now, self._ctx.assumptions.number(READ_LAG)
        if lag:
            recent = {name: at for name, at in self._state.reported.items() if at + lag > now}
            self._state.reported = recent | dict.fromkeys(orders, now)

    def reported_at(self, order_id: str) -> Instant:
        """Return when a synchronous answer last showed an order; 0 if none did lately."""
        return self._state.reported.get(order_id, 0)

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this component owns."""
        return {ANSWER_TIMER: self._block_time_over}

    def _block_time_over(self, timer: Timer) -> None:
        self._end(self._state.waits[timer.subject])

    def abandon(self, name: str) -> None:
        """End an answer without an outcome, if it still waits, because nobody moves the clock."""
        answer = self._state.waits.get(name)
        if answer is not None:
            answer.clock_stalled, answer.timed_out = True, False
            self._end(answer)

    def timer_of(self, name: str) -> int:
        """Return the timer that ends a pending answer, which was set with it; 0 if it has ended."""
        answer = self._state.waits.get(name)
        return 0 if answer is None else answer.timer

    def take_ended(self) -> list[PendingAnswer]:
        """Return the answers that ended since the last call, in order."""
        ended, self.ended = self.ended, []
        return ended

    @property
    def _until_done(self) -> bool:
        return self._ctx.assumptions.text(SYNCHRONOUS_UNTIL) == "done"

    def _end(self, answer: PendingAnswer) -> None:
        del self._state.waits[answer.name]
        for order_id in answer.open:
            del self._by_order[order_id]
        self._ctx.timers.cancel(answer.timer)
        self.ended.append(answer)

    def _index(self, answer: PendingAnswer) -> None:
        for order_id in answer.open:
            self._by_order[order_id] = answer

    def save(self) -> SynchronousOrdersState:
        """Return the pending answers."""
        return self._state

    def load(self, state: SynchronousOrdersState) -> None:
        """Restore saved answers. Their timers are saved with all others."""
        self._state = state
        self._by_order, self.ended = {}, []
        for answer in state.waits.values():
            self._index(answer)
