"""Between receipt and the engine: while the engine takes time, orders and changes wait here, in the order in which they came (rules M35-M37).

What waits shows in reads as PENDING_NEW, PENDING_REPLACE or PENDING_CANCEL and produces no execution. A retail order or change that waited longer than the
stopgap is rejected when its turn comes; a cancel never is, and one that overtook its order's acknowledgement waits behind it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

from sim.core.assumptions import ENGINE_LATENCY
from sim.core.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.context import Context
from sim.core.orders import Order
from sim.core.vocabulary import Channel, OrderState
from sim.kernel.instants import Instant, Span, seconds

GATE_TIMER = "engine.take"
STOPGAP: Span = seconds(5)  # §7.2
STOPGAP_TEXT = "Global Rate Limit Exceeded"

# How long the engine takes over something of an account on an instrument, besides the assumption: kind, names of the caller, symbol.
Delay: TypeAlias = Callable[[str, tuple[str, ...], str], Span]


class Held(Struct, kw_only=True, omit_defaults=True):
    """What waits: exactly one command, about an order."""

    order_id: str
    received: Instant
    due: Instant
    place: PlaceOrder | None = None
    replace: ReplaceOrder | None = None
    cancel: CancelOrder | None = None


class GateState(Struct):
    """What waits, by number, in order of receipt."""

    held: dict[int, Held] = field(default_factory=dict)
    next: int = 1


class Gate:
    """Holds commands until the engine takes them."""

    def __init__(self, ctx: Context, delay: Delay) -> None:
        self._ctx = ctx
        self._delay = delay
        self._state = GateState()

    def latency(self, kind: str, order: Order) -> Span:
        """How long the engine takes from now; what waits for the same order is not overtaken. Scripted participants are never late."""
        if order.channel is Channel.SCRIPT:
            return 0
        span = self._ctx.assumptions.number(ENGINE_LATENCY) + self._delay(kind, (order.account, order.participant), order.symbol)
        if self._state.held:
            before = max((held.due for held in self._state.held.values() if held.order_id == order.id), default=0)
            span = max(span, before - self._ctx.now)
        return span

    def hold(
        self, order: Order, span: Span, *, place: PlaceOrder | None = None, replace: ReplaceOrder | None = None, cancel: CancelOrder | None = None
    ) -> None:
        """Let a command wait; its order shows what it waits for."""
        now, state = self._ctx.now, self._state
        if order.state is not OrderState.PENDING_NEW:
            order.state = OrderState.PENDING_NEW if place else OrderState.PENDING_REPLACE if replace else OrderState.PENDING_CANCEL
        number, state.next = state.next, state.next + 1
        state.held[number] = Held(order_id=order.id, received=now, due=now + span, place=place, replace=replace, cancel=cancel)
        self._ctx.timers.schedule(now + span, GATE_TIMER, str(number))

    def take(self, number: str) -> Held:
        """What the engine takes now."""
        return self._state.held.pop(int(number))

    def late(self, held: Held, order: Order) -> bool:
        """Whether the stopgap rejects it."""
        return order.channel is Channel.RETAIL and held.cancel is None and self._ctx.now - held.received > STOPGAP

    def save(self) -> GateState:
        """What waits."""
        return self._state

    def load(self, state: GateState) -> None:
        """Take what waited; its timers are saved with the queue."""
        self._state = state
