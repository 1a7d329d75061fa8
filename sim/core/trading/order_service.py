"""The order service: the entry point of every request about an order.

A new order is drafted from its command, waits in the engine queue while the engine is slow, is
validated, and then enters the market. A request is refused at once if possible; what the engine
refuses later, when no caller is waiting any more, is reported as a rejection (rules M36, M37).

| Step | Module |
|---|---|
| draft, validate | `admission.py`, `crosses.py` |
| wait | `engine_queue.py` |
| trade, rest | `matching/matching.py` |
| cancel, replace | `cancel_replace.py` |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct

from sim.core.catalogue.assumptions import RETAIL_FUNDS
from sim.core.matching.clearing import Clearing
from sim.core.matching.market_state import MarketState
from sim.core.matching.matching import Matching
from sim.core.model.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import OPEN, RETAIL, ExecutionType, OrderState, Side, UnsolicitedReason
from sim.core.model.orders import Order
from sim.core.model.refusals import (
    DuplicateOrder,
    InsufficientFunds,
    InvalidRequest,
    OrderRefused,
    Refusal,
)
from sim.core.model.why import Why
from sim.core.trading.admission import Candidate, OrderAdmission
from sim.core.trading.cancel_replace import CancelReplace
from sim.core.trading.crosses import CrossOrders, check_pair
from sim.core.trading.engine_queue import STOPGAP_TEXT, EngineQueue, OrderPair

# Called with an order that was queued, once the engine has accepted or rejected it.
OrderListener: TypeAlias = Callable[[Order], None]


_SESSION_LOST = Why("M39")


class OrderStages(Struct, frozen=True):
    """The components that an order passes on its way through the service."""

    engine_queue: EngineQueue
    admission: OrderAdmission
    matching: Matching
    crosses: CrossOrders
    cancel_replace: CancelReplace
    clearing: Clearing


class OrderService:
    """Accepts orders, crosses, changes and cancels."""

    def __init__(
        self,
        ctx: Context,
        market: MarketState,
        stages: OrderStages,
        *,
        on_order_taken: tuple[OrderListener, ...] = (),
    ) -> None:
        self._ctx = ctx
        self._orders = market.orders
        self._books = market.books
        self._execution_log = market.execution_log
        self._engine_queue = stages.engine_queue
        self._admission = stages.admission
        self._matching = stages.matching
        self._crosses = stages.crosses
        self._cancel_replace = stages.cancel_replace
        self._clearing = stages.clearing
        self._on_order_taken = on_order_taken

    # ---- new orders

    def enter(self, command: PlaceOrder) -> Order:
        """Process a new order.

        A business reject is raised; for a deferred command, it is an order in state REJECTED with
        its execution (rule M7).
        """
        candidate = self._admission.draft(command)
        order = candidate.order
        try:
            if latency := self._engine_queue.latency("place", order):
                self._admission.check_clord_id(order)
                self._receive(order)
                self._engine_queue.enqueue(order, latency, command)
                return order
            self._admission.validate(candidate)
        except (OrderRefused, DuplicateOrder) as refusal:
            if not command.deferred:
                raise
            if isinstance(refusal, InsufficientFunds) and command.channel is RETAIL:
                if self._ctx.assumptions.text(RETAIL_FUNDS) == "400":
                    text, remedy = "You don't have enough funds", refusal.remedy
                    facts = refusal.facts or None
                    raise InvalidRequest(text, rule="P4", facts=facts, remedy=remedy) from refusal
            order.id = self._ctx.ids.next("order")
            self._reject(order, refusal)
            return order
        self._accept(candidate)
        return order

    def preview(self, command: PlaceOrder) -> Order:
        """Return the order that a command would create, after the same checks. Nothing changes.

        It has no id. For a deferred command, a refused order is returned as REJECTED.
        """
        candidate = self._admission.draft(command)
        try:
            self._admission.validate(candidate)
        except (OrderRefused, DuplicateOrder):
            if not command.deferred:
                raise
            _set_rejected(candidate.order)
        return candidate.order

    def cross(
        self, commands: tuple[PlaceOrder, PlaceOrder], *, cross_id: str, priority: Side
    ) -> tuple[Order, Order]:
        """Enter two orders that trade with each other completely or not at all.

        Rejects as `enter` does.
        """
        check_pair(commands)
        pair = OrderPair(commands=commands, priority=priority, cross_id=cross_id)
        return self._enter_pair(pair, deferred=commands[0].deferred)

    def _enter_pair(self, pair: OrderPair, *, deferred: bool) -> tuple[Order, Order]:
        draft = self._admission.draft
        orders = draft(pair.commands[0]).order, draft(pair.commands[1]).order
        try:
            if latency := max(self._engine_queue.latency("cross", order) for order in orders):
                for order in orders:
                    self._admission.check_clord_id(order)
                for order in orders:
                    order.cross_id = pair.cross_id
                    self._receive(order)
                self._engine_queue.enqueue_pair(pair, orders, latency)
                return orders
            self._crosses.validate(pair, orders)
        except (OrderRefused, DuplicateOrder) as refusal:
            if not deferred:
                raise
            for order in orders:
                order.id = self._ctx.ids.next("order")
                order.cross_id = pair.cross_id
                self._reject(order, refusal)
            return orders
        self._execute_pair(pair, orders)
        return orders

    def _execute_pair(self, pair: OrderPair, orders: tuple[Order, Order]) -> None:
        self._crosses.execute(pair, orders)
        self._clearing.wait()

    def _receive(self, order: Order) -> None:
        """Record an order that waits for the engine."""
        order.id = self._ctx.ids.next("order")
        order.state = OrderState.PENDING_NEW
        self._orders.add(order)
        self._orders.opened(order)

    def _accept(self, candidate: Candidate) -> None:
        continuous = candidate.state is OPEN
        self._matching.accept(candidate.book, candidate.order, continuous=continuous)
        self._clearing.wait()

    def _reject(self, order: Order, refusal: Refusal) -> None:
        _set_rejected(order)
        order.changed = self._ctx.now
        self._orders.add(order)
        self._execution_log.report(
            order, ExecutionType.REJECTED, refusal.why, text=refusal.message, reason=refusal.reason
        )

    # ---- changes

    def cancel(self, command: CancelOrder) -> Order:
        """Cancel an order (rule M34).

        Refused as UnknownOrder, OrderDone or InstrumentNotTradable; the latter two are also
        reported as CancelRejected.
        """
        order = self._cancel_replace.find(command)
        if order.live and (latency := self._engine_queue.latency("cancel", order)):
            self._engine_queue.enqueue(order, latency, command)
            return order
        return self._cancel_replace.cancel(command)

    def replace(self, command: ReplaceOrder) -> Order:
        """Change an order in place (rules M31-M33)."""
        order = self._cancel_replace.find(command)
        if order.live and (latency := self._engine_queue.latency("replace", order)):
            self._engine_queue.enqueue(order, latency, command)
            return order
        order = self._cancel_replace.replace(command)
        self._clearing.wait()
        return order

    def of_session(self, session_id: str) -> list[Order]:
        """Return the open orders of the session of an order stream, by priority."""
        return [order for order in self._orders.open() if order.session_id == session_id]

    def cancel_session(self, session_id: str) -> None:
        """Cancel a session's orders as unsolicited, except those still in the engine's queue."""
        for order in self.of_session(session_id):
            if not order.received:
                book, reason = self._books.get(order.symbol), UnsolicitedReason.CONNECTION_LOSS
                self._matching.remove(
                    book, order, ExecutionType.CANCELED, _SESSION_LOST, unsolicited=reason
                )

    # ---- commands that leave the queue

    def take(self, number: str) -> None:
        """Process the command that the engine takes from its queue."""
        queued = self._engine_queue.dequeue(number)
        order = self._orders.require(queued.order_id)
        timed_out = self._engine_queue.timed_out(queued, order)
        if queued.pair is not None:
            orders = order, self._orders.require(queued.other_id)
            self._take_pair(queued.pair, orders, timed_out=timed_out)
            return
        if queued.new is not None:
            self._take_order(queued.new, order, timed_out=timed_out)
            for listener in self._on_order_taken:
                listener(order)
            return
        if order.state in (OrderState.PENDING_REPLACE, OrderState.PENDING_CANCEL):
            order.state = self._execution_log.last_reported_state(order)
        try:
            if queued.cancel is not None:
                self._cancel_replace.cancel(queued.cancel)
            elif timed_out:
                self._cancel_replace.refuse(order, _stopgap(), is_replace=True)
            elif queued.replace is not None:
                self._cancel_replace.replace(queued.replace)
                self._clearing.wait()
        except Refusal:
            return  # already reported as a cancel reject

    def _take_order(self, command: PlaceOrder, order: Order, *, timed_out: bool) -> None:
        self._leave_queue(order)
        try:
            if timed_out:
                raise _stopgap()
            candidate = self._admission.drafted(command, order)
            self._admission.validate(candidate)
        except Refusal as refusal:
            self._reject(order, refusal)
            return
        self._accept(candidate)

    def _take_pair(self, pair: OrderPair, orders: tuple[Order, Order], *, timed_out: bool) -> None:
        for order in orders:
            self._leave_queue(order)
        try:
            if timed_out:
                raise _stopgap()
            self._crosses.validate(pair, orders)
        except Refusal as refusal:
            for order in orders:
                self._reject(order, refusal)
            return
        self._execute_pair(pair, orders)

    def _leave_queue(self, order: Order) -> None:
        self._orders.closed(order)
        order.state = OrderState.NEW


def _stopgap() -> OrderRefused:
    return OrderRefused(STOPGAP_TEXT, rule="M37", remedy="wait until the engine responds faster")


def _set_rejected(order: Order) -> None:
    order.state = OrderState.REJECTED
    order.leaves_qty = 0
