"""Cancel and replace: which order a command means, what may change, and which order keeps its time
priority (rules M31-M35).

A replace is checked against a copy of the order with the changes, so a failed one leaves the order
untouched (M33). An order that only shrinks keeps its place. After any other change of price or
quantity, the order trades first where it crosses, and then joins the end of the queue at its new
price (M31, M32).
"""

from __future__ import annotations

from msgspec.structs import replace

from sim.core.accounts.risk import Risk
from sim.core.catalogue.assumptions import ORDER_REPLACED
from sim.core.catalogue.bounds import ORDER_QUANTITY
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.states import AUCTION_STATES, check_cancel, check_entry
from sim.core.matching.book import Book
from sim.core.matching.market_state import MarketState
from sim.core.matching.matching import Matching
from sim.core.model.commands import CancelOrder, ReplaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import (
    AT_ONCE,
    GTT,
    LIMIT,
    RETAIL,
    STOP_TYPES,
    CancelRejectReason,
    ExecutionType,
    OrderState,
    RejectReason,
)
from sim.core.model.events import CancelRejected
from sim.core.model.orders import Order
from sim.core.model.refusals import (
    Code,
    InvalidRequest,
    OrderDone,
    OrderRefused,
    Refusal,
    UnknownOrder,
)
from sim.core.model.why import Why
from sim.core.trading.admission import OrderAdmission, derived_price
from sim.core.trading.order_checks import (
    DERIVED_NAMES,
    beyond_quantity,
    check_continuous,
    check_lot,
    check_price,
    check_size,
    check_stop,
    check_volume,
)

_REQUESTED, _REPLACED = Why("M43"), Why("M31")
_CANCEL_REASONS = {
    RejectReason.EXCHANGE_CLOSED: CancelRejectReason.EXCHANGE_CLOSED,
    RejectReason.INCORRECT_QUANTITY: CancelRejectReason.INCORRECT_QUANTITY,
    RejectReason.INVALID_PRICE_INCREMENT: CancelRejectReason.INVALID_PRICE_INCREMENT,
    RejectReason.PRICE_OUT_OF_BOUNDS: CancelRejectReason.PRICE_OUT_OF_BOUNDS,
}
_CHANGED_IN_PLACE = [
    "qty",
    "leaves_qty",
    "price_text",
    "tif",
    "good_till",
    "min_qty",
    "post_only",
    "strict_limit",
    "best_limit",
    "immediately_executable_limit",
    "state",
    "changed",
    "inserted",
    "expiry_timer",
]


class CancelReplace:
    """Cancels and changes orders."""

    def __init__(
        self,
        ctx: Context,
        lifecycle: Lifecycle,
        market: MarketState,
        risk: Risk,
        *,
        admission: OrderAdmission,
        matching: Matching,
    ) -> None:
        self._ctx = ctx
        self._lifecycle = lifecycle
        self._orders = market.orders
        self._books = market.books
        self._execution_log = market.execution_log
        self._statistics = market.statistics
        self._risk = risk
        self._admission = admission
        self._matching = matching

    def find(self, command: CancelOrder | ReplaceOrder) -> Order:
        """Return the order that a command means, open or finished.

        Refused as UnknownOrder if there is none, or if the caller may not access it (rule M34).
        """
        if command.order_id:
            order = self._orders.get(command.order_id)
        else:
            order = self._orders.by_clord_id(command.participant, command.clord_id)
        if (
            order is None
            or order.account not in command.accounts
            or (command.symbol and command.symbol != order.symbol)
        ):
            refusal = UnknownOrder()
            if command.report_unknown:
                names = (command.accounts[0], command.symbol, command.order_id, command.clord_id)
                self._report(refusal, names, is_replace=isinstance(command, ReplaceOrder))
            raise refusal
        return order

    def cancel(self, command: CancelOrder) -> Order:
        """Cancel an order. A failure is raised, and reported as a cancel reject."""
        order = self.find(command)
        try:
            _check_live(order)
            check_cancel(self._lifecycle.state(order.symbol))
        except Refusal as refusal:
            self.refuse(order, refusal, is_replace=False)
            raise
        book = self._books.get(order.symbol)
        self._matching.remove(book, order, ExecutionType.CANCELED, _REQUESTED)
        return order

    def replace(self, command: ReplaceOrder) -> Order:
        """Change an order. A failure is raised, and reported as a cancel reject (rule M33).

        For a deferred command it is not raised, unless the request is malformed or the order
        finished (§7.1: 409, as for a cancel).
        """
        order = self.find(command)
        try:
            _check_live(order)
            changed = self._validated(command, order)
        except Refusal as refusal:
            self.refuse(order, refusal, is_replace=True)
            malformed = refusal.code is Code.INVALID_ARGUMENT
            if not command.deferred or malformed or isinstance(refusal, OrderDone):
                raise
            return order
        return self._apply(order, changed)

    def refuse(self, order: Order, refusal: Refusal, *, is_replace: bool) -> None:
        """Report that a cancel or replace failed. The order does not change."""
        names = order.account, order.symbol, order.id, order.clord_id
        self._report(refusal, names, is_replace=is_replace)

    def _report(
        self, refusal: Refusal, names: tuple[str, str, str, str], *, is_replace: bool
    ) -> None:
        """Emit a cancel reject. `names` are account, symbol, exchange id and client id."""
        ctx, reason = self._ctx, refusal.cancel_reason
        if reason is CancelRejectReason.EXCHANGE_OPTION:
            reason = _CANCEL_REASONS.get(refusal.reason, reason)
        reject_id = ctx.ids.next("cancel_reject")
        ctx.emit(
            CancelRejected(
                reject_id,
                *names,
                reason,
                refusal.message,
                is_replace,
                ctx.now,
                ctx.trace_id,
                refusal.rule,
                refusal.facts,
            )
        )

    # ---- checks of a replace

    def _validated(self, command: ReplaceOrder, order: Order) -> Order:
        """Return a copy of the order with its changes, after checking them."""
        state = self._lifecycle.state(order.symbol)
        check_entry(order.symbol, state)
        changed = _changed(command, order)
        self._check_combination(command, changed)
        book = self._books.get(order.symbol)
        derived = command.best_limit or command.immediately_executable_limit
        if command.strict_limit or derived:
            check_continuous(state)
        if derived:
            changed.best_limit = command.best_limit
            changed.immediately_executable_limit = command.immediately_executable_limit
            changed.price = derived_price(book, changed)
        self._check_terms(book, order, changed)
        if changed.leaves_qty > order.leaves_qty or changed.price != order.price:
            self._check_funds(book, order, changed)
        if changed.price != order.price or changed.post_only != order.post_only:
            self._admission.check_against_book(book, changed, state)
        return changed

    def _check_combination(self, command: ReplaceOrder, changed: Order) -> None:
        if command.tif in AT_ONCE or command.all_or_none:
            problem = "a working order cannot become IOC, FOK or all_or_none"
            raise InvalidRequest(problem, rule="M31")
        if changed.tif is GTT and (changed.good_till is None or changed.good_till <= self._ctx.now):
            raise InvalidRequest("good_till_time must be in the future", rule="M18")
        if command.stop_price and changed.type not in STOP_TYPES:
            raise InvalidRequest("stop_price needs a waiting stop order", rule="M12")
        if command.best_limit and command.immediately_executable_limit:
            raise InvalidRequest(f"{DERIVED_NAMES} are mutually exclusive", rule="M21")
        derived = command.best_limit or command.immediately_executable_limit
        if derived and changed.type is not LIMIT:
            raise InvalidRequest(f"{DERIVED_NAMES} need a limit order", rule="M21")
        if min(command.qty, command.price, command.stop_price, command.min_qty) < 0:
            raise InvalidRequest("quantities and prices must not be negative", rule="M31")
        if max(command.qty, command.min_qty) > ORDER_QUANTITY.high:
            raise beyond_quantity("order_qty")

    def _check_terms(self, book: Book, order: Order, changed: Order) -> None:
        """Check quantity, prices and size. Unchanged terms are not checked again."""
        instrument, assumptions = book.instrument, self._ctx.assumptions
        if changed.qty != order.qty:
            if changed.qty <= order.cum_qty:
                text = "Quantity is not above the filled quantity"
                reason = RejectReason.INCORRECT_QUANTITY
                raise OrderRefused(text, rule="M31", reason=reason)
            check_lot(instrument, changed.qty, assumptions)
        if changed.price != order.price:
            check_price(instrument, changed.price, order.channel, assumptions)
        if changed.stop_price != order.stop_price:
            check_price(instrument, changed.stop_price, order.channel, assumptions)
        check_stop(changed)
        check_size(instrument, changed.qty, changed.price or changed.stop_price)
        traded = self._statistics.traded_ever(changed.symbol)
        check_volume(instrument, traded, changed.leaves_qty)

    def _check_funds(self, book: Book, order: Order, changed: Order) -> None:
        """Check the changed order against buying power as if the current one were gone."""
        instrument = book.instrument
        self._risk.release(order, instrument, order.leaves_qty)
        try:
            self._risk.check(changed, instrument, self._admission.fee)
        finally:
            self._risk.reserve(order, instrument, order.leaves_qty)

    # ---- the change

    def _apply(self, order: Order, changed: Order) -> Order:
        """Replace the current order by the changed one (rules M31, M32)."""
        book = self._books.get(order.symbol)
        keeps_place = changed.price == order.price and changed.leaves_qty <= order.leaves_qty
        if order.expiry_timer and changed.good_till != order.good_till:
            self._ctx.timers.cancel(order.expiry_timer)
            changed.expiry_timer = 0
        changed.state = OrderState.REPLACED
        changed.changed = changed.inserted = self._ctx.now
        if order.channel is RETAIL and self._ctx.assumptions.text(ORDER_REPLACED) == "new_order":
            self._supersede(book, order, changed)
            return changed
        if keeps_place and order.type not in STOP_TYPES:
            return self._shrink(book, order, changed)
        self._matching.withdraw(book, order)
        order.leaves_qty = 0
        if not keeps_place:
            changed.priority = self._matching.next_priority()
        self._orders.add(changed)
        self._execution_log.report(changed, ExecutionType.REPLACE, _REPLACED)
        continuous = self._lifecycle.state(order.symbol) not in AUCTION_STATES
        self._matching.accept_replaced(book, changed, continuous=continuous)
        return changed

    def _supersede(self, book: Book, order: Order, changed: Order) -> None:
        """Leave the order dead as REPLACED, and enter the changed one under an id of its own."""
        if changed.expiry_timer:
            self._ctx.timers.cancel(changed.expiry_timer)
        self._matching.withdraw(book, order)
        order.leaves_qty, order.state, order.changed = 0, OrderState.REPLACED, self._ctx.now
        self._execution_log.report(order, ExecutionType.REPLACE, _REPLACED)
        changed.id, changed.seq, changed.expiry_timer = self._ctx.ids.next("order"), 0, 0
        changed.state = OrderState.PARTIALLY_FILLED if changed.cum_qty else OrderState.NEW
        changed.priority = self._matching.next_priority()
        self._orders.add(changed)
        self._execution_log.report(changed, ExecutionType.NEW, _REPLACED)
        continuous = self._lifecycle.state(order.symbol) not in AUCTION_STATES
        self._matching.accept_replaced(book, changed, continuous=continuous)

    def _shrink(self, book: Book, order: Order, changed: Order) -> Order:
        """Change an order in place."""
        less = order.leaves_qty - changed.leaves_qty
        if less:
            self._risk.release(order, book.instrument, less)
            book.ladder(order.side).levels[order.price].qty -= less
            self._books.changed(book)
        for name in _CHANGED_IN_PLACE:
            setattr(order, name, getattr(changed, name))
        self._matching.schedule_end(order)
        self._execution_log.report(order, ExecutionType.REPLACE, _REPLACED)
        return order


def _check_live(order: Order) -> None:
    if not order.live:
        raise OrderDone(remedy=f"the order is {order.state.name}")


def _changed(command: ReplaceOrder, order: Order) -> Order:
    """Return a copy of an order with a command's changes; 0 or None keeps the old value (M33)."""
    changed = replace(order)
    if command.qty:
        changed.qty = command.qty
        changed.leaves_qty = command.qty - order.cum_qty
    if command.price:
        changed.price, changed.price_text = command.price, command.price_text
        changed.best_limit = changed.immediately_executable_limit = False
    changed.stop_price = command.stop_price or order.stop_price
    changed.min_qty = command.min_qty or order.min_qty
    if command.tif:
        changed.tif = command.tif
    if command.good_till is not None:
        changed.good_till = command.good_till
    elif changed.tif is not GTT:
        changed.good_till = None
    if command.post_only is not None:
        changed.post_only = command.post_only
    if command.strict_limit:
        changed.strict_limit = True
    return changed
