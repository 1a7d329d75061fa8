"""Between receipt and the engine: while the engine takes time, orders and changes wait here, in the
order in which they came (rules M35-M37).

What waits shows in reads as PENDING_NEW, PENDING_REPLACE or PENDING_CANCEL and produces no
execution. A retail order or change that waited longer than the stopgap is rejected when its turn
comes; a cancel never is, and one that overtook its order's acknowledgement waits behind it.
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
from sim.kernel.instants import Instant, Span, seconds

ENGINE_TIMER = "engine.take"
STOPGAP: Span = seconds(5)  # §7.2
STOPGAP_TEXT = "Global Rate Limit Exceeded"

# How long the engine takes over something of an account on an instrument, besides the assumption:
# kind, names of the caller, symbol.
Delay: TypeAlias = Callable[[str, tuple[str, ...], str], Span]


class Pair(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Two orders that trade with each other: a cross, or the trade of a quote. `priority` is the
    side that counts as the one that was there first.
    """

    commands: tuple[PlaceOrder, PlaceOrder]
    priority: Side
    cross_id: str = ""
    quote_id: str = ""


class QueuedCommand(Struct, kw_only=True, omit_defaults=True):
    """What waits: exactly one command, about an order, or about two of them (`other_id`)."""

    order_id: str
    received: Instant
    due: Instant
    place: PlaceOrder | None = None
    replace: ReplaceOrder | None = None
    cancel: CancelOrder | None = None
    pair: Pair | None = None
    other_id: str = ""


class EngineQueueState(Struct):
    """What waits, by number, in order of receipt."""

    held: dict[int, QueuedCommand] = field(default_factory=dict)
    next: int = 1


class EngineQueue:
    """Holds commands until the engine takes them. `last` is when it takes the newest of a
    participant on an instrument: nothing overtakes that (rule M35).
    """

    def __init__(self, ctx: Context, delay: Delay) -> None:
        self._ctx = ctx
        self._delay = delay
        self._state = EngineQueueState()
        self._last: dict[tuple[str, str], Instant] = {}

    def latency(self, kind: str, order: Order) -> Span:
        """How long the engine takes from now. Scripted participants are never late."""
        if order.channel is SCRIPT:
            return 0
        span = self._ctx.assumptions.number(ENGINE_LATENCY) + self._delay(
            kind, (order.account, order.participant), order.symbol
        )
        if self._last:
            span = max(span, self._last.get((order.participant, order.symbol), 0) - self._ctx.now)
        return span

    def enqueue(
        self,
        order: Order,
        span: Span,
        *,
        place: PlaceOrder | None = None,
        replace: ReplaceOrder | None = None,
        cancel: CancelOrder | None = None,
    ) -> None:
        """Let a command wait; its order shows what it waits for."""
        if place is None and not order.received:
            order.state = OrderState.PENDING_REPLACE if replace else OrderState.PENDING_CANCEL
        self._enqueue(
            span,
            (order,),
            QueuedCommand(
                order_id=order.id,
                received=self._ctx.now,
                due=self._ctx.now + span,
                place=place,
                replace=replace,
                cancel=cancel,
            ),
        )

    def enqueue_pair(self, pair: Pair, orders: tuple[Order, Order], span: Span) -> None:
        """Let two orders wait together."""
        one, other = orders
        self._enqueue(
            span,
            orders,
            QueuedCommand(
                order_id=one.id,
                other_id=other.id,
                received=self._ctx.now,
                due=self._ctx.now + span,
                pair=pair,
            ),
        )

    def _enqueue(self, span: Span, orders: tuple[Order, ...], held: QueuedCommand) -> None:
        state = self._state
        number, state.next = state.next, state.next + 1
        state.held[number] = held
        for order in orders:
            self._last[order.participant, order.symbol] = held.due
        self._ctx.timers.schedule(held.due, ENGINE_TIMER, str(number))

    def dequeue(self, number: str) -> QueuedCommand:
        """What the engine takes now."""
        taken = self._state.held.pop(int(number))
        if not self._state.held:
            self._last.clear()
        return taken

    def timed_out(self, held: QueuedCommand, order: Order) -> bool:
        """Whether the stopgap rejects it."""
        return (
            order.channel is RETAIL
            and held.cancel is None
            and self._ctx.now - held.received > STOPGAP
        )

    def save(self) -> EngineQueueState:
        """What waits."""
        return self._state

    def load(self, state: EngineQueueState, order: Callable[[str], Order]) -> None:
        """Take what waited; its timers are saved with the queue. `order` finds orders by their ids."""
        self._state = state
        self._last = {}
        for held in state.held.values():
            for waiting in (
                order(order_id) for order_id in (held.order_id, held.other_id) if order_id
            ):
                self._last[waiting.participant, waiting.symbol] = held.due
