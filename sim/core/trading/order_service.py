"""The order desk: whatever is asked about orders comes in here, waits for the engine where that
takes time, and is entered, changed or taken out.

An operation refuses at once what it can; what the engine refuses later, when nobody waits for an
answer any more, is told as a rejection (rules M36, M37).
"""

from __future__ import annotations

from collections.abc import Callable

from sim.core.catalogue.assumptions import RETAIL_FUNDS
from sim.core.lifecycle.states import Lifecycle
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.matching.books import Books
from sim.core.matching.clearing import Clearing
from sim.core.matching.matching import Matching
from sim.core.model.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import OPEN, RETAIL, ExecutionType, OrderState, Side, UnsolicitedReason
from sim.core.model.orders import Order, Orders
from sim.core.model.refusals import (
    DuplicateOrder,
    InsufficientFunds,
    InvalidRequest,
    OrderRefused,
    Refusal,
)
from sim.core.trading.admission import OrderAdmission
from sim.core.trading.cancel_replace import CancelReplace
from sim.core.trading.crosses import CrossOrders, check_pair
from sim.core.trading.engine_queue import STOPGAP_TEXT, EngineQueue, Pair


class OrderService:
    """Takes orders, crosses, quotes, changes and cancels.

    `taken` is told of every order that waited once the engine has taken or rejected it,
    `quote_taken` what became of a quote: its orders, or None when it did not trade.
    """

    def __init__(
        self,
        ctx: Context,
        engine_queue: EngineQueue,
        orders: Orders,
        execution_log: ExecutionLog,
        books: Books,
        lifecycle: Lifecycle,
        admission: OrderAdmission,
        matching: Matching,
        crossing: CrossOrders,
        replacing: CancelReplace,
        clearing: Clearing,
    ) -> None:
        self._ctx = ctx
        self._engine_queue = engine_queue
        self._orders = orders
        self._execution_log = execution_log
        self._books = books
        self._lifecycle = lifecycle
        self._admission = admission
        self._matching = matching
        self._crossing = crossing
        self._replacing = replacing
        self._clearing = clearing
        self.taken: Callable[[Order], None] = lambda order: None
        self.quote_taken: Callable[[str, tuple[Order, Order] | None], None] = (
            lambda quote_id, orders: None
        )

    # ---- new orders

    def place(self, command: PlaceOrder) -> Order:
        """Take a new order and run it. A business reject is raised, or, for a deferred command, an
        order in state REJECTED with its execution (rule M7).
        """
        order = self._admission.draft(command)
        try:
            if after := self._engine_queue.latency("place", order):
                self._admission.check_clord_id(order)
                self._receive(order)
                self._engine_queue.enqueue(order, after, place=command)
                return order
            self._admission.validate(command, order)
        except (OrderRefused, DuplicateOrder) as refusal:
            if not command.deferred:
                raise
            if (
                isinstance(refusal, InsufficientFunds)
                and command.channel is RETAIL
                and self._ctx.assumptions.text(RETAIL_FUNDS) == "400"
            ):
                raise InvalidRequest(
                    "You don't have enough funds", rule="P4", remedy=refusal.remedy
                ) from refusal
            order.id = self._ctx.ids.next("order")
            self._rejected(order, refusal)
            return order
        self._accept(order)
        return order

    def preview(self, command: PlaceOrder) -> Order:
        """The order a command would make, checked the same way; nothing changes and it has no id.
        Deferred: a refused one comes back REJECTED.
        """
        order = self._admission.draft(command)
        try:
            self._admission.validate(command, order)
        except (OrderRefused, DuplicateOrder):
            if not command.deferred:
                raise
            _reject(order)
        return order

    def cross(
        self, commands: tuple[PlaceOrder, PlaceOrder], *, cross_id: str, priority: Side
    ) -> tuple[Order, Order]:
        """Enter two orders that trade with each other, wholly or not at all. Business rejects as
        for `place`, of both.
        """
        check_pair(commands)
        return self._enter_pair(
            Pair(commands=commands, priority=priority, cross_id=cross_id),
            deferred=commands[0].deferred,
        )

    def trade_quote(self, quote_id: str, quoted: PlaceOrder, asked: PlaceOrder) -> None:
        """Trade an accepted quote: who quoted is the maker. `quote_taken` is told the orders, of
        maker and taker; a refusal of either changes nothing.
        """
        try:
            self._enter_pair(
                Pair(commands=(quoted, asked), priority=quoted.side, quote_id=quote_id),
                deferred=False,
            )
        except Refusal:
            self.quote_taken(quote_id, None)

    def _enter_pair(self, pair: Pair, *, deferred: bool) -> tuple[Order, Order]:
        orders = self._admission.draft(pair.commands[0]), self._admission.draft(pair.commands[1])
        try:
            if after := max(self._engine_queue.latency("cross", order) for order in orders):
                for order in orders:
                    self._admission.check_clord_id(order)
                for order in orders:
                    order.cross_id = pair.cross_id
                    self._receive(order)
                self._engine_queue.enqueue_pair(pair, orders, after)
                return orders
            self._crossing.validate(pair, orders)
        except (OrderRefused, DuplicateOrder) as refusal:
            if not deferred:
                raise
            for order in orders:
                order.id = self._ctx.ids.next("order")
                order.cross_id = pair.cross_id
                self._rejected(order, refusal)
            return orders
        self._run_pair(pair, orders)
        return orders

    def _run_pair(self, pair: Pair, orders: tuple[Order, Order]) -> None:
        self._crossing.run(pair, orders)
        self._clearing.wait()
        if pair.quote_id:
            self.quote_taken(pair.quote_id, orders)

    def _receive(self, order: Order) -> None:
        """An order that waits for the engine is known from now on."""
        order.id = self._ctx.ids.next("order")
        order.state = OrderState.PENDING_NEW
        self._orders.add(order)
        self._orders.opened(order)

    def _accept(self, order: Order) -> None:
        self._matching.accept(
            self._books.get(order.symbol),
            order,
            continuous=self._lifecycle.state(order.symbol) is OPEN,
        )
        self._clearing.wait()

    def _rejected(self, order: Order, refusal: Refusal) -> None:
        _reject(order)
        order.changed = self._ctx.now
        self._orders.add(order)
        self._execution_log.report(
            order, ExecutionType.REJECTED, text=refusal.message, reason=refusal.reason
        )

    # ---- changes

    def cancel(self, command: CancelOrder) -> Order:
        """Take an order out (rule M34): UnknownOrder, OrderDone or InstrumentNotTradable, the
        latter two also told as CancelRejected.
        """
        order = self._replacing.find(command)
        after = self._engine_queue.latency("cancel", order) if order.live else 0
        if after:
            self._engine_queue.enqueue(order, after, cancel=command)
            return order
        return self._replacing.cancel(command)

    def replace(self, command: ReplaceOrder) -> Order:
        """Change an order in place (rules M31-M33)."""
        order = self._replacing.find(command)
        after = self._engine_queue.latency("replace", order) if order.live else 0
        if after:
            self._engine_queue.enqueue(order, after, replace=command)
            return order
        order = self._replacing.replace(command)
        self._clearing.wait()
        return order

    def bound_to(self, session_id: str) -> list[Order]:
        """Open orders that were entered under the session of an order stream, by priority."""
        return [order for order in self._orders.open() if order.session_id == session_id]

    def cancel_session(self, session_id: str) -> None:
        """Cancel what is bound to a session, unsolicited; what the engine has not taken yet is left
        to it.
        """
        for order in self.bound_to(session_id):
            if not order.received:
                self._matching.remove(
                    self._books.get(order.symbol),
                    order,
                    ExecutionType.CANCELED,
                    unsolicited=UnsolicitedReason.CONNECTION_LOSS,
                )

    # ---- what waited

    def take(self, number: str) -> None:
        """The engine takes what waited at the gate."""
        held = self._engine_queue.dequeue(number)
        order = self._orders.require(held.order_id)
        late = self._engine_queue.timed_out(held, order)
        if held.pair is not None:
            self._take_pair(held.pair, (order, self._orders.require(held.other_id)), late=late)
            return
        if held.place is not None:
            self._take_order(held.place, order, late=late)
            self.taken(order)
            return
        if order.state in (OrderState.PENDING_REPLACE, OrderState.PENDING_CANCEL):
            order.state = self._execution_log.last_reported_state(order)
        try:
            if held.cancel is not None:
                self._replacing.cancel(held.cancel)
            elif late:
                self._replacing.refuse(order, _stopgap(), is_replace=True)
            elif held.replace is not None:
                self._replacing.replace(held.replace)
                self._clearing.wait()
        except Refusal:
            return  # told as a cancel reject

    def _take_order(self, command: PlaceOrder, order: Order, *, late: bool) -> None:
        self._taken(order)
        try:
            if late:
                raise _stopgap()
            self._admission.validate(command, order)
        except Refusal as refusal:
            self._rejected(order, refusal)
            return
        self._accept(order)

    def _take_pair(self, pair: Pair, orders: tuple[Order, Order], *, late: bool) -> None:
        for order in orders:
            self._taken(order)
        try:
            if late:
                raise _stopgap()
            self._crossing.validate(pair, orders)
        except Refusal as refusal:
            for order in orders:
                self._rejected(order, refusal)
            if pair.quote_id:
                self.quote_taken(pair.quote_id, None)
            return
        self._run_pair(pair, orders)

    def _taken(self, order: Order) -> None:
        self._orders.closed(order)
        order.state = OrderState.NEW


def _stopgap() -> OrderRefused:
    return OrderRefused(STOPGAP_TEXT, rule="M37", remedy="wait until the engine is quick again")


def _reject(order: Order) -> None:
    order.state = OrderState.REJECTED
    order.leaves_qty = 0
