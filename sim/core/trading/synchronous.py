"""Answers that are held until the engine has taken an order: synchronous execution on a slow engine
(retail facts §2.1, §5.3).

Who waits is told at the first outcome of the order, or once it is done (assumption
`retail.synchronous_until`), and at the latest when its block time is over; the order goes on in any
case. Nothing polls: executions are looked at only while somebody waits. Waits are state, so a
snapshot keeps them; whether anybody is still there to take an answer is not.
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
EDGE_TIMEOUT: Span = seconds(30)  # §8: the edge gives up on any request

Kind: TypeAlias = Literal["order", "close", "batch"]


class PendingAnswer(Struct, kw_only=True, omit_defaults=True):
    """One held answer, to the request `request_id`. `orders` are all it is about, `open` those
    without an outcome; `cut` says that the edge gives up on it.
    """

    name: str
    kind: Kind
    orders: list[str]
    open: list[str]
    until: Instant
    timer: int
    request_id: str
    timed_out: bool = False
    clock_stalled: bool = False


class SynchronousOrdersState(Struct):
    """What is waited for, by name; and orders of which a synchronous answer told, while reads trail
    (`retail.read_lag`), since when.
    """

    waits: dict[str, PendingAnswer] = field(default_factory=dict)
    reported: dict[str, Instant] = field(default_factory=dict)


class SynchronousOrders:
    """Every held answer. `any` is whether there is one, `ended` those that are over and not taken
    yet.
    """

    __slots__ = ("_by_order", "_ctx", "_state", "ended")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._state = SynchronousOrdersState()
        self._by_order: dict[str, PendingAnswer] = {}
        self.ended: list[PendingAnswer] = []

    @property
    def any(self) -> bool:
        """Whether an order is waited for."""
        return bool(self._by_order)

    def block_time(self, given: int) -> Span:
        """How long a request wants to wait, from its seconds; 0 was not given. InvalidRequest below
        zero.
        """
        if given < 0:
            raise InvalidRequest(
                "maxBlockTime must not be negative",
                rule="G-17",
                remedy="give seconds, or leave it out",
            )
        return (
            seconds(min(given, 1 + EDGE_TIMEOUT // seconds(1)))
            if given
            else self._ctx.assumptions.number(BLOCK_TIME)
        )

    def unfinished(self, order: Order) -> bool:
        """Whether a synchronous answer about an order, right after it was received, has to wait."""
        return order.received or (order.live and self._until_done)

    def hold(
        self, kind: Kind, orders: Iterable[str], open: Iterable[str], span: Span
    ) -> PendingAnswer:
        """Wait for the open ones of some orders, at most so long; the edge never waits longer than
        its thirty seconds.
        """
        ctx, timed_out = self._ctx, span > EDGE_TIMEOUT
        until = ctx.now + min(span, EDGE_TIMEOUT)
        name = f"answer-{ctx.ids.count('answer')}"
        timer = ctx.timers.schedule(until, ANSWER_TIMER, name)
        wait = PendingAnswer(
            name=name,
            kind=kind,
            orders=list(orders),
            open=list(open),
            until=until,
            timer=timer,
            request_id=ctx.trace_id,
            timed_out=timed_out,
        )
        self._state.waits[name] = wait
        self._index(wait)
        return wait

    def on_execution(self, order: Order) -> None:
        """An execution of an order: who waits for it may have its answer."""
        wait = self._by_order.get(order.id)
        if wait is None or (order.live and self._until_done):
            return
        del self._by_order[order.id]
        wait.open.remove(order.id)
        if not wait.open:
            wait.timed_out = False
            self._end(wait)

    def answered(self, orders: Iterable[str]) -> None:
        """Somebody has been told of these orders in a synchronous answer: reads do not take that
        back.
        """
        lag, reported = self._ctx.assumptions.number(READ_LAG), self._state.reported
        if lag:
            for order_id in [
                order_id for order_id, since in reported.items() if since + lag <= self._ctx.now
            ]:
                del reported[order_id]
            reported.update(dict.fromkeys(orders, self._ctx.now))

    def was_reported(self, order_id: str) -> bool:
        """Whether a synchronous answer has told of an order lately."""
        return order_id in self._state.reported

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {ANSWER_TIMER: self._block_time_over}

    def _block_time_over(self, timer: Timer) -> None:
        self._end(self._state.waits[timer.subject])

    def give_up(self, name: str) -> None:
        """Nobody moved the clock for so long that the answer leaves without an outcome; nothing to
        do when it has left.
        """
        wait = self._state.waits.get(name)
        if wait is not None:
            wait.clock_stalled, wait.timed_out = True, False
            self._end(wait)

    def take_ended(self) -> list[PendingAnswer]:
        """Waits that are over since last asked, in order."""
        ended, self.ended = self.ended, []
        return ended

    @property
    def _until_done(self) -> bool:
        return self._ctx.assumptions.text(SYNCHRONOUS_UNTIL) == "done"

    def _end(self, wait: PendingAnswer) -> None:
        del self._state.waits[wait.name]
        for order_id in wait.open:
            del self._by_order[order_id]
        self._ctx.timers.cancel(wait.timer)
        self.ended.append(wait)

    def _index(self, wait: PendingAnswer) -> None:
        for order_id in wait.open:
            self._by_order[order_id] = wait

    def save(self) -> SynchronousOrdersState:
        """What is waited for."""
        return self._state

    def load(self, state: SynchronousOrdersState) -> None:
        """Take saved waits; their timers are saved with the queue."""
        self._state = state
        self._by_order, self.ended = {}, []
        for wait in state.waits.values():
            self._index(wait)
