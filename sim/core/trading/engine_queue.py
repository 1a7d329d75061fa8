"""The queue in front of the matching engine (rules M35-M37).

While the engine is slow (assumption `engine.latency`, or a fault), orders and changes wait here in
order of receipt. Reads show them as PENDING_NEW, PENDING_REPLACE or PENDING_CANCEL, and they
produce no executions. A participant's commands on one instrument never overtake each other, so a
cancel that arrives before its order is acknowledged waits behind it (M35). A retail order or change
that waited longer than `STOPGAP` is rejected when it leaves the queue; a cancel never is (M37).

This module stores the queue; `order_service.py` decides what happens to a command that leaves it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

from sim.core.catalogue.assumptions import ENGINE_LATENCY
from sim.core.model.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import RETAIL, SCRIPT, OrderState, Side
from sim.core.model.orders import Order
from sim.core.model.why import because
from sim.kernel.instants import Instant, Span, format_span, seconds

ENGINE_TIMER = "engine.take"
STOPGAP: Span = seconds(5)  # §7.2
STOPGAP_TEXT = "Global Rate Limit Exceeded"

# The engine's additional delay, besides the assumption: (kind, names of the caller, symbol).
Delay: TypeAlias = Callable[[str, tuple[str, ...], str], Span]


class OrderPair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two orders that trade with each other: a cross.

    `priority` is the side that counts as the one that arrived first.
    """

    commands: tuple[PlaceOrder, PlaceOrder]
    priority: Side
    cross_id: str = ""


class QueuedCommand(Struct, kw_only=True, omit_defaults=True):
    """One command in the queue: exactly one of `place`, `replace`, `cancel` and `pair` is set.

    `other_id` is the second order of a pair.
    """

    order_id: str
    received: Instant
    due: Instant
    place: PlaceOrder | None = None
    replace: ReplaceOrder | None = None
    cancel: CancelOrder | None = None
    pair: OrderPair | None = None
    other_id: str = ""


class EngineQueueState(Struct):
    """The saved queue: commands by number, in order of receipt."""

    queued: dict[int, QueuedCommand] = field(default_factory=dict)
    next: int = 1


class EngineQueue:
    """Holds commands until the engine takes them.

    `_last` is the instant at which the engine takes the newest command of a participant on an
    instrument.
    """

    def __init__(self, ctx: Context, delay: Delay) -> None:
        self._ctx = ctx
        self._delay = delay
        self._state = EngineQueueState()
        self._last: dict[tuple[str, str], Instant] = {}

    def latency(self, kind: str, order: Order) -> Span:
        """Return how long a command waits from now; 0 for orders of scripted participants."""
        if order.channel is SCRIPT:
            return 0
        delay = self._delay(kind, (order.account, order.participant), order.symbol)
        span = self._ctx.assumptions.number(ENGINE_LATENCY) + delay
        if self._last:
            span = max(span, self._last.get((order.participant, order.symbol), 0) - self._ctx.now)
        return span

    def enqueue(
        self, order: Order, span: Span, command: PlaceOrder | ReplaceOrder | CancelOrder
    ) -> None:
        """Queue a command. The state of its order shows which kind it is."""
        queued = self._queued(order, span)
        if isinstance(command, PlaceOrder):
            queued.place = command
        elif isinstance(command, ReplaceOrder):
            queued.replace = command
        else:
            queued.cancel = command
        if not queued.place and not order.received:
            replaces = queued.replace is not None
            order.state = OrderState.PENDING_REPLACE if replaces else OrderState.PENDING_CANCEL
        self._enqueue(queued, (order,))

    def enqueue_pair(self, pair: OrderPair, orders: tuple[Order, Order], span: Span) -> None:
        """Queue the two orders of a cross together."""
        queued = self._queued(orders[0], span)
        queued.pair, queued.other_id = pair, orders[1].id
        self._enqueue(queued, orders)

    def _queued(self, order: Order, span: Span) -> QueuedCommand:
        now = self._ctx.now
        return QueuedCommand(order_id=order.id, received=now, due=now + span)

    def _enqueue(self, command: QueuedCommand, orders: tuple[Order, ...]) -> None:
        state = self._state
        number, state.next = state.next, state.next + 1
        state.queued[number] = command
        for order in orders:
            self._last[order.participant, order.symbol] = command.due
        self._ctx.timers.schedule(command.due, ENGINE_TIMER, str(number))
        waits = because("M36", waits=format_span(command.due - command.received))
        self._ctx.apply(waits, f"order/{command.order_id}")

    def dequeue(self, number: str) -> QueuedCommand:
        """Remove and return the command that the engine takes now."""
        command = self._state.queued.pop(int(number))
        if not self._state.queued:
            self._last.clear()
        return command

    @property
    def order_ids(self) -> set[str]:
        """The orders with a command in the queue."""
        return {command.order_id for command in self._state.queued.values()}

    def timed_out(self, command: QueuedCommand, order: Order) -> bool:
        """Return whether the stopgap rejects a command that leaves the queue (rule M37)."""
        return (
            order.channel is RETAIL
            and command.cancel is None
            and self._ctx.now - command.received > STOPGAP
        )

    def save(self) -> EngineQueueState:
        """Return the queue itself."""
        return self._state

    def load(self, state: EngineQueueState, order: Callable[[str], Order]) -> None:
        """Restore a saved queue. Its timers are saved with all others.

        `order` finds orders by id.
        """
        self._state = state
        self._last = {}
        for command in state.queued.values():
            for order_id in filter(None, (command.order_id, command.other_id)):
                waiting = order(order_id)
                self._last[waiting.participant, waiting.symbol] = command.due
