"""Cancel and replace: finding the order, what may change, and who keeps a place in the queue (rules
M31-M35).
"""

from __future__ import annotations

from msgspec.structs import replace

from sim.core.accounts.risk import Risk
from sim.core.lifecycle.states import AUCTION_STATES, Lifecycle, check_cancel, check_entry
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.matching.book import Book
from sim.core.matching.books import Books
from sim.core.matching.checks import (
    AT_ONCE,
    STOP_TYPES,
    check_continuous,
    check_lot,
    check_price,
    check_size,
)
from sim.core.matching.matching import Matching
from sim.core.model.commands import CancelOrder, ReplaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import (
    GTT,
    LIMIT,
    CancelRejectReason,
    ExecutionType,
    OrderState,
    RejectReason,
)
from sim.core.model.events import CancelRejected
from sim.core.model.orders import Order, Orders
from sim.core.model.refusals import (
    Code,
    InvalidRequest,
    OrderDone,
    OrderRefused,
    Refusal,
    UnknownOrder,
)
from sim.core.trading.admission import OrderAdmission, check_stop, derived_price

_CANCEL_REASONS = {
    RejectReason.EXCHANGE_CLOSED: CancelRejectReason.EXCHANGE_CLOSED,
    RejectReason.INCORRECT_QUANTITY: CancelRejectReason.INCORRECT_QUANTITY,
    RejectReason.INVALID_PRICE_INCREMENT: CancelRejectReason.INVALID_PRICE_INCREMENT,
    RejectReason.PRICE_OUT_OF_BOUNDS: CancelRejectReason.PRICE_OUT_OF_BOUNDS,
}


class CancelReplace:
    """Changes to orders that are in the market already."""

    __slots__ = (
        "_admission",
        "_books",
        "_ctx",
        "_execution_log",
        "_lifecycle",
        "_matching",
        "_orders",
        "_risk",
    )

    def __init__(
        self,
        ctx: Context,
        orders: Orders,
        books: Books,
        lifecycle: Lifecycle,
        risk: Risk,
        execution_log: ExecutionLog,
        admission: OrderAdmission,
        matching: Matching,
    ) -> None:
        self._ctx = ctx
        self._orders = orders
        self._books = books
        self._lifecycle = lifecycle
        self._risk = risk
        self._execution_log = execution_log
        self._admission = admission
        self._matching = matching

    def find(self, command: CancelOrder | ReplaceOrder) -> Order:
        """The order a command means, open or done. UnknownOrder when there is none, or it is not
        the caller's to touch (rule M34).
        """
        order = (
            self._orders.get(command.order_id)
            if command.order_id
            else self._orders.by_clord_id(command.participant, command.clord_id)
        )
        if (
            order is None
            or order.account not in command.accounts
            or (command.symbol and command.symbol != order.symbol)
        ):
            refusal = UnknownOrder()
            if command.report_unknown:
                self._told(
                    refusal,
                    (command.accounts[0], command.symbol, command.order_id, command.clord_id),
                    is_replace=isinstance(command, ReplaceOrder),
                )
            raise refusal
        return order

    def cancel(self, command: CancelOrder) -> Order:
        """Take an order out. What cannot be done is told as a cancel reject and raised."""
        order = self.find(command)
        try:
            _check_live(order)
            check_cancel(self._lifecycle.state(order.symbol))
        except Refusal as refusal:
            self.refuse(order, refusal, is_replace=False)
            raise
        self._matching.remove(self._books.get(order.symbol), order, ExecutionType.CANCELED)
        return order

    def replace(self, command: ReplaceOrder) -> Order:
        """Change an order. A failed replace leaves it untouched and is told as a cancel reject
        (rule M33).

        It is raised too, unless the command is deferred; that an order is done is raised always, as
        for a cancel (§7.1: 409).
        """
        order = self.find(command)
        try:
            _check_live(order)
            wanted = self._wanted(command, order)
        except Refusal as refusal:
            self.refuse(order, refusal, is_replace=True)
            if (
                command.deferred
                and refusal.code is not Code.INVALID_ARGUMENT
                and not isinstance(refusal, OrderDone)
            ):
                return order
            raise
        return self._apply(order, wanted)

    def _wanted(self, command: ReplaceOrder, order: Order) -> Order:
        """The order as it shall be, checked; a copy."""
        state = self._lifecycle.state(order.symbol)
        check_entry(order.symbol, state)
        wanted = _changed(command, order)
        self._check_combination(command, wanted)
        book = self._books.get(order.symbol)
        if command.strict_limit or command.best_limit or command.immediately_executable_limit:
            check_continuous(state)
        if command.best_limit or command.immediately_executable_limit:
            wanted.best_limit, wanted.immediately_executable_limit = (
                command.best_limit,
                command.immediately_executable_limit,
            )
            wanted.price = derived_price(book, wanted)
        if wanted.qty != order.qty:
            if wanted.qty <= order.cum_qty:
                raise OrderRefused(
                    "Quantity is not above the filled quantity",
                    rule="M31",
                    reason=RejectReason.INCORRECT_QUANTITY,
                )
            check_lot(book.instrument, wanted.qty, self._ctx.assumptions)
        if wanted.price != order.price:
            check_price(book.instrument, wanted.price, order.channel, self._ctx.assumptions)
        if wanted.stop_price != order.stop_price:
            check_price(book.instrument, wanted.stop_price, order.channel, self._ctx.assumptions)
        check_stop(wanted)
        check_size(book.instrument, wanted.qty, wanted.price or wanted.stop_price)
        if wanted.leaves_qty > order.leaves_qty or wanted.price != order.price:
            self._check_funds(book, order, wanted)
        if wanted.price != order.price or wanted.post_only != order.post_only:
            self._admission.check_against_book(book, wanted, state)
        return wanted

    def _check_combination(self, command: ReplaceOrder, wanted: Order) -> None:
        if command.tif in AT_ONCE or command.all_or_none:
            raise InvalidRequest(
                "a working order cannot become IOC, FOK or all_or_none", rule="M31"
            )
        if wanted.tif is GTT and (wanted.good_till is None or wanted.good_till <= self._ctx.now):
            raise InvalidRequest("good_till_time must be in the future", rule="M18")
        if command.stop_price and wanted.type not in STOP_TYPES:
            raise InvalidRequest("stop_price needs a waiting stop order", rule="M12")
        if command.best_limit and command.immediately_executable_limit:
            raise InvalidRequest(
                "best_limit and immediately_executable_limit exclude each other", rule="M21"
            )
        if (
            command.best_limit or command.immediately_executable_limit
        ) and wanted.type is not LIMIT:
            raise InvalidRequest(
                "best_limit and immediately_executable_limit need a limit order", rule="M21"
            )
        if min(command.qty, command.price, command.stop_price, command.min_qty) < 0:
            raise InvalidRequest("quantities and prices must not be negative", rule="M31")

    def _check_funds(self, book: Book, order: Order, wanted: Order) -> None:
        """Check the wanted order against buying power as if the present one were gone."""
        instrument = book.instrument
        self._risk.release(order, instrument, order.leaves_qty)
        try:
            self._risk.check(wanted, instrument, self._admission.fee)
        finally:
            self._risk.reserve(order, instrument)

    def _apply(self, order: Order, wanted: Order) -> Order:
        """Put the wanted order in the present one's place (rules M31, M32).

        An order that only shrinks keeps its place in the queue; any other goes to the end of its
        new one, trading first where it crosses.
        """
        book = self._books.get(order.symbol)
        keeps_place = wanted.price == order.price and wanted.leaves_qty <= order.leaves_qty
        waits = order.type in STOP_TYPES
        if order.expiry_timer and wanted.good_till != order.good_till:
            self._ctx.timers.cancel(order.expiry_timer)
            wanted.expiry_timer = 0
        wanted.state = OrderState.REPLACED
        wanted.changed = self._ctx.now
        if keeps_place and not waits:
            return self._shrink(book, order, wanted)
        self._matching.withdraw(book, order)
        order.leaves_qty = 0
        if not keeps_place:
            wanted.priority = self._matching.next_priority()
        self._orders.add(wanted)
        self._execution_log.report(wanted, ExecutionType.REPLACE)
        if waits:
            self._matching.wait(book, wanted)
        elif self._lifecycle.state(order.symbol) in AUCTION_STATES:
            self._matching.rest(book, wanted)
        else:
            self._matching.work(book, wanted, again=True)
        return wanted

    def _shrink(self, book: Book, order: Order, wanted: Order) -> Order:
        less = order.leaves_qty - wanted.leaves_qty
        if less:
            self._risk.release(order, book.instrument, less)
            book.ladder(order.side).levels[order.price].qty -= less
            self._books.changed(book)
        for name in (
            "qty",
            "leaves_qty",
            "tif",
            "good_till",
            "min_qty",
            "post_only",
            "state",
            "changed",
            "expiry_timer",
        ):
            setattr(order, name, getattr(wanted, name))
        self._matching.await_end(order)
        self._execution_log.report(order, ExecutionType.REPLACE)
        return order

    def refuse(self, order: Order, refusal: Refusal, *, is_replace: bool) -> None:
        """Tell that a cancel or replace failed; the order is as it was."""
        self._told(
            refusal, (order.account, order.symbol, order.id, order.clord_id), is_replace=is_replace
        )

    def _told(
        self, refusal: Refusal, whose: tuple[str, str, str, str], *, is_replace: bool
    ) -> None:
        """Say why an order stays as it is: account, symbol, exchange id and client id, as far as
        anybody knows them.
        """
        reason = refusal.cancel_reason
        if reason is CancelRejectReason.EXCHANGE_OPTION:
            reason = _CANCEL_REASONS.get(refusal.reason, reason)
        ctx = self._ctx
        ctx.emit(
            CancelRejected(
                ctx.ids.next("cancel_reject"),
                *whose,
                reason,
                refusal.message,
                is_replace,
                ctx.now,
                ctx.trace_id,
            )
        )


def _check_live(order: Order) -> None:
    if not order.live:
        raise OrderDone(remedy=f"the order is {order.state.name}")


def _changed(command: ReplaceOrder, order: Order) -> Order:
    """A copy of an order with what a command changes; zero or None keeps the old value (rule M33)."""
    wanted = replace(order)
    if command.qty:
        wanted.qty = command.qty
        wanted.leaves_qty = command.qty - order.cum_qty
    if command.price:
        wanted.price = command.price
        wanted.best_limit = wanted.immediately_executable_limit = False
    wanted.stop_price = command.stop_price or order.stop_price
    wanted.min_qty = command.min_qty or order.min_qty
    if command.tif:
        wanted.tif = command.tif
    if command.good_till is not None:
        wanted.good_till = command.good_till
    elif wanted.tif is not GTT:
        wanted.good_till = None
    if command.post_only is not None:
        wanted.post_only = command.post_only
    if command.strict_limit:
        wanted.strict_limit = True
    return wanted
