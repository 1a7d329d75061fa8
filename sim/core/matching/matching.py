"""What an accepted order does: trades, rests, expires; and how an order ends (rules M1, M9-M29,
P5).

The order of telling is the order of happening: NEW, then cancels that self-match prevention asks
for, then fills, then EXPIRED for what may not rest. Stops released by those trades, and the end of
orders that their accounts can no longer pay for, follow once the arriving order is done.
"""

from __future__ import annotations

from collections import deque

from sim.core.accounts.risk import Exposure, Risk
from sim.core.catalogue.assumptions import AUTO_CANCEL_ORDER, STRICT_LIMIT_MODE
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.matching.book import Book
from sim.core.matching.books import Books
from sim.core.matching.checks import STOP_TYPES
from sim.core.matching.fills import Fills
from sim.core.matching.market_order_bounds import market_price
from sim.core.matching.self_match import SELF_MATCH_TEXT, conflicting_orders, has_prevention
from sim.core.model.context import Context
from sim.core.model.enums import (
    BUY,
    DAY_ORDER,
    FOK,
    GTT,
    IOC,
    LIMIT,
    MARKET_TO_LIMIT,
    SELL,
    STOP,
    ExecutionType,
    OrderState,
    SelfMatchPrevention,
    UnsolicitedReason,
)
from sim.core.model.orders import Order, Orders
from sim.core.model.timer_priority import EXPIRY_TIMER, ROLL_TIMER
from sim.kernel.instants import next_trade_day_roll

NO_LIQUIDITY_TEXT = "No liquidity for market order"

NEW, CANCELED, EXPIRED = ExecutionType.NEW, ExecutionType.CANCELED, ExecutionType.EXPIRED

_END = {CANCELED: OrderState.CANCELED, EXPIRED: OrderState.EXPIRED}


class Matching:
    """Runs orders through books. `priority` is the place in time last given out; `roll_timer` is
    the timer of the next trade day while DAY orders rest.
    """

    __slots__ = (
        "_books",
        "_ctx",
        "_execution_log",
        "_fills",
        "_ids",
        "_match",
        "_orders",
        "_risk",
        "priority",
        "roll_timer",
    )

    def __init__(
        self,
        ctx: Context,
        books: Books,
        orders: Orders,
        execution_log: ExecutionLog,
        risk: Risk,
        fills: Fills,
    ) -> None:
        self._ctx = ctx
        self._ids = ctx.ids.sequence("order")
        self._books = books
        self._orders = orders
        self._execution_log = execution_log
        self._risk = risk
        self._fills = fills
        self._match = fills.match  # bound once
        self.priority = 0
        self.roll_timer = 0

    # ---- arrival

    def accept(self, book: Book, order: Order, *, continuous: bool) -> None:
        """Take in a checked order: NEW, then whatever it does at once. Without `continuous` it only
        joins the book (auction states).
        """
        self.enter(order)
        if order.type in STOP_TYPES:
            self.wait(book, order)
        elif continuous:
            self.work(book, order)
        else:
            self.rest(book, order)

    def enter(self, order: Order) -> None:
        """Give a checked order its id and its place in time, and report it NEW."""
        now = self._ctx.now
        if not order.id:
            order.id = self._ids.next()
            order.created = now
        order.changed = order.inserted = now
        order.priority = self.priority = self.priority + 1
        self._orders.add(order)
        self._execution_log.report(order, NEW)

    def work(self, book: Book, order: Order, *, again: bool = False) -> None:
        """Trade what can be traded now; what is left rests or expires. Then everything that follows
        from the trades.

        An order that comes `again`, repriced, is no longer bound to its minimum quantity (rule
        M19).
        """
        self._run(book, order, again)
        if self._fills.touched:
            self.follow_up(book, release_stops=True)

    def follow_up(self, book: Book, *, release_stops: bool) -> None:
        """After trades: run the stops they reached, one by one, then take out of other instruments
        what can no longer be paid for.
        """
        self._books.changed(book)
        fills = self._fills
        if book.stops:
            self._release_stops(book, release_stops)
        else:
            fills.take_range()
        for account in fills.take_touched():
            if unfunded := self._risk.unfunded(account, book.symbol):
                self._cancel_unfunded(account, unfunded)

    def _release_stops(self, book: Book, release_stops: bool) -> None:
        released: deque[Order] = deque()
        while True:
            low, high = self._fills.take_range()
            if release_stops and high:
                released.extend(book.stops.triggered(low, high))
            if not released:
                break
            self._trigger(book, released.popleft())

    def _run(self, book: Book, order: Order, again: bool = False) -> None:
        if has_prevention(order) and not self._prevent(book, order):
            return
        better = False
        if order.all_or_none or order.min_qty or order.strict_limit or order.tif is FOK:
            opposite = book.opposite(order.side)
            at_once = order.all_or_none or order.tif is FOK
            needed = (
                order.leaves_qty
                if at_once
                else (0 if again else min(order.min_qty, order.leaves_qty))
            )
            better = (
                order.strict_limit
                and book.crosses(order.side, order.price)
                and opposite.best != order.price
            )
            if (needed and opposite.available(order.price, needed) < needed) or (
                better and at_once
            ):
                self.end(order, EXPIRED)
                return
        if not better:
            book.sweep(order, self._match)
        if order.leaves_qty:
            if order.tif is IOC or (
                better and self._ctx.assumptions.text(STRICT_LIMIT_MODE) == "expire"
            ):
                self.end(order, EXPIRED)
            else:
                self.rest(book, order)
        elif order.expiry_timer:
            self._ctx.timers.cancel(order.expiry_timer)

    def _prevent(self, book: Book, order: Order) -> bool:
        """Apply self-match prevention; False when it ended the order. Orders it would have refused
        at entry come here only as released stops.
        """
        other = SELL if order.side is BUY else BUY
        if not order.smp_id and not self._risk.working(order.account, order.symbol, other):
            return True
        found = conflicting_orders(book, order)
        if not found:
            return True
        if order.smp in (SelfMatchPrevention.CANCEL_RESTING, SelfMatchPrevention.REMOVE_BOTH):
            for resting in found:
                self.remove(
                    book,
                    resting,
                    CANCELED,
                    text=SELF_MATCH_TEXT,
                    unsolicited=UnsolicitedReason.EXCHANGE_OPTION,
                )
            if order.smp is SelfMatchPrevention.CANCEL_RESTING:
                return True
        self.end(
            order, CANCELED, text=SELF_MATCH_TEXT, unsolicited=UnsolicitedReason.EXCHANGE_OPTION
        )
        return False

    def next_priority(self) -> int:
        """A place in time behind everybody else's."""
        self.priority += 1
        return self.priority

    # ---- resting

    def rest(self, book: Book, order: Order) -> None:
        """Join the queue at the order's price."""
        self._open(book, order)
        book.ladder(order.side).add(order)
        self._books.changed(book)

    def wait(self, book: Book, order: Order) -> None:
        """Wait for the stop price, off the book."""
        self._open(book, order)
        book.stops.add(order)

    def _open(self, book: Book, order: Order) -> None:
        self._orders.opened(order)
        self._risk.reserve(order, book.instrument)
        self.await_end(order)

    def await_end(self, order: Order) -> None:
        """Set the timer that ends a working order: its own for good-till-time, the trade day's for
        DAY.
        """
        if order.tif is DAY_ORDER:
            self._await_roll()
        elif order.tif is GTT and not order.expiry_timer and order.good_till is not None:
            order.expiry_timer = self._ctx.timers.schedule(order.good_till, EXPIRY_TIMER, order.id)

    def withdraw(self, book: Book, order: Order) -> None:
        """Take an order out of where it rests. Its `leaves_qty` must become 0 right after, or it
        must go on as another object (see `book.py`).
        """
        if order.type in STOP_TYPES:
            book.stops.remove(order)
        else:
            book.ladder(order.side).remove(order)
            self._books.changed(book)
        self._risk.release(order, book.instrument, order.leaves_qty)
        self._orders.closed(order)

    # ---- ends

    def remove(
        self,
        book: Book,
        order: Order,
        type: ExecutionType,
        *,
        text: str = "",
        unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED,
    ) -> None:
        """End an order that rests or waits: CANCELED or EXPIRED."""
        self.withdraw(book, order)
        self.end(order, type, text=text, unsolicited=unsolicited)

    def end(
        self,
        order: Order,
        type: ExecutionType,
        *,
        text: str = "",
        unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED,
    ) -> None:
        """End an order that is nowhere in the book: CANCELED or EXPIRED."""
        order.leaves_qty = 0
        order.state = _END[type]
        order.changed = self._ctx.now
        if order.expiry_timer:
            self._ctx.timers.cancel(order.expiry_timer)
        self._execution_log.report(order, type, text=text, unsolicited=unsolicited)

    def expire(self, order_id: str) -> None:
        """A good-till-time order has reached its time, whatever the instrument's state (rule L23)."""
        order = self._orders.require(order_id)
        if order.live:
            self.remove(self._books.get(order.symbol), order, EXPIRED)

    def roll(self, *, expire: bool) -> None:
        """The trade day rolls: DAY orders expire, or wait for the next roll (rule L12)."""
        self.roll_timer = 0
        resting = [
            order for order in self._orders.open() if order.tif is DAY_ORDER and not order.received
        ]
        if not expire:
            if resting:
                self._await_roll()
            return
        for order in resting:
            self.remove(self._books.get(order.symbol), order, EXPIRED)

    def _await_roll(self) -> None:
        if not self.roll_timer:
            self.roll_timer = self._ctx.timers.schedule(
                next_trade_day_roll(self._ctx.now), ROLL_TIMER
            )

    # ---- what trades cause

    def _trigger(self, book: Book, stop: Order) -> None:
        """A stop becomes what it stood for, with a second NEW and a new place in time (rule M12)."""
        self._risk.release(stop, book.instrument, stop.leaves_qty)
        self._orders.closed(stop)
        liquid = True
        if stop.type is STOP:
            stop.type = MARKET_TO_LIMIT
            stop.price = market_price(book, stop, 0)
            liquid = stop.price > 0
        else:
            stop.type = LIMIT
        stop.inserted = stop.changed = self._ctx.now
        stop.priority = self.next_priority()
        self._execution_log.report(stop, NEW)
        if liquid:
            self._run(book, stop)
        else:
            self.end(
                stop,
                CANCELED,
                text=NO_LIQUIDITY_TEXT,
                unsolicited=UnsolicitedReason.EXCHANGE_OPTION,
            )

    def _cancel_unfunded(self, account: str, unfunded: list[Exposure]) -> None:
        """Cancel what an account can no longer pay for in other instruments, by time, on the sides
        that are too dear (rule P5).
        """
        for exposure in unfunded:
            book = self._books.get(exposure.instrument.symbol)
            mine = self._orders.open_of((account,), (book.symbol,))
            mine.sort(
                key=lambda order: order.priority,
                reverse=self._ctx.assumptions.text(AUTO_CANCEL_ORDER) == "newest_first",
            )
            for order in mine:
                if not order.received and self._risk.overspent(account, exposure, order.side):
                    self.remove(
                        book,
                        order,
                        CANCELED,
                        text="Insufficient funds",
                        unsolicited=UnsolicitedReason.EXCHANGE_OPTION,
                    )
