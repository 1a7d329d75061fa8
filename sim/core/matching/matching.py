"""What an order does when it reaches its book, and how orders end (rules M1, M9-M32, P5).

## Arrival

An order is *admitted* first (`trading/admission.py`): it is well-formed, within limits, and covered
by funds. Then `Matching.arrive` takes these steps in order, each of which may be the last:

| Step | Rule | What happens |
|---|---|---|
| 1. enter | M8, M41 | the order gets its id and its time priority, and is reported NEW |
| 2. stop | M12 | a stop order waits beside the book until a trade reaches its stop price |
| 3. collect | L18 | while an auction collects orders, it joins the book without trading |
| 4. self-match | M26-M30 | its mode cancels the orders that it must not meet, or cancels it |
| 5. at once | M17, M19 | without enough quantity, FOK, all-or-none or a minimum quantity expires |
| 6. strict | M22 | a strict limit that would trade at a better price does not trade at all |
| 7. trade | M1 | it meets the best price first, then the oldest order, at the resting price |
| 8. remainder | M9, M16 | the rest of it joins the book, or expires if it is IOC |

Self-match prevention comes before the quantity is counted, because canceled orders no longer
provide any. The quantity is counted before anything trades, because a fill cannot be undone.

## Consequences of trades

A trade affects more than its two orders. `follow_up` applies these consequences once the arriving
order is finished, never in between, so that nobody can trade ahead of its remaining quantity:

1. Stops that the trades reached arrive one by one, oldest first, with a new time priority (M12).
   Their trades may reach further stops, which join the end of this queue.
2. Each account that traded may have spent what its orders in *other* instruments reserved. Orders
   that it can no longer pay for are canceled (P5). Orders in the traded instrument stay, because a
   fill uses the reservation of its own order.

## Order of reports

Reports come in the order in which things happen, because clients rebuild the book from them: NEW
before the order's fills, the cancel of an own order before the fill that passed it, EXPIRED after
the last fill. In a fill, the aggressor's report precedes that of the passive side (`fills.py`).

## Time priority

`priority` is a counter: a smaller number is older. A new order, a repriced one, a triggered stop
and a strict limit that was taken out of an auction each get the next number. `Book` knows where
orders rest, `Orders` which are open, `Risk` what they reserve. Invariant: an order is in a book (or
waits as a stop), open in `Orders`, and reserved in `Risk`, or none of the three.
"""

from __future__ import annotations

from collections import deque

from sim.core.accounts.risk import Exposure, Risk
from sim.core.catalogue.assumptions import AUTO_CANCEL_ORDER, STRICT_LIMIT_MODE
from sim.core.matching.book import Book
from sim.core.matching.fills import BY_PRICE_AND_TIME, Fills
from sim.core.matching.market_order_bounds import market_price
from sim.core.matching.market_state import MarketState
from sim.core.matching.self_match import (
    SELF_MATCH_TEXT,
    conflicting_orders,
    has_prevention,
    prevention_rule,
)
from sim.core.model.context import Context
from sim.core.model.enums import (
    DAY_ORDER,
    FOK,
    GTT,
    IOC,
    LIMIT,
    MARKET_TO_LIMIT,
    RETAIL,
    STOP,
    STOP_TYPES,
    ExecutionType,
    OrderState,
    SelfMatchPrevention,
    UnsolicitedReason,
)
from sim.core.model.orders import Order
from sim.core.model.quantities import Qty, cash_text, decimal_text
from sim.core.model.timer_priority import EXPIRY_TIMER, ROLL_TIMER
from sim.core.model.why import Why, because
from sim.kernel.instants import next_trade_day_roll

NO_LIQUIDITY_TEXT = "No liquidity for market order"

NEW, CANCELED, EXPIRED = ExecutionType.NEW, ExecutionType.CANCELED, ExecutionType.EXPIRED

_END = {CANCELED: OrderState.CANCELED, EXPIRED: OrderState.EXPIRED}
_BY_EXCHANGE = UnsolicitedReason.EXCHANGE_OPTION

# Why an order is accepted, or ends.
_TRIGGERED = Why("M12")
_QUOTED = Why("L13")
_REPLACED_CROSSES = Why("M32")
_LIMIT, _MARKET, _RETAIL_MARKET = Why("M9"), Why("M10"), Why("M13")
_DERIVED, _CASH, _STRICT = Why("M21"), Why("M24"), Why("M22")
_REST_OF_IOC, _GOOD_TILL = Why("M16"), Why("L23")
_TRADE_DATE_CHANGES = Why("L11")
_TRADE_DATE = because("L12", ended_by="trade date")


class Matching:
    """Runs orders through books.

    `priority` is the last time priority given out. `roll_timer` ends the working DAY orders at the
    next change of the trade date; 0 if there are none.
    """

    def __init__(self, ctx: Context, market: MarketState, risk: Risk, fills: Fills) -> None:
        self._ctx = ctx
        self._ids = ctx.ids.sequence("order")
        self._books = market.books
        self._orders = market.orders
        self._execution_log = market.execution_log
        self._risk = risk
        self._fills = fills
        self._match = fills.match  # bound once, because it is called for every fill
        self.priority = 0
        self.roll_timer = 0

    # ---- arrival

    def accept(self, book: Book, order: Order, *, continuous: bool) -> None:
        """Process an admitted order and all consequences of its arrival."""
        self.enter(order, acceptance_rule(order))
        self.arrive(book, order, continuous=continuous)
        if self._fills.touched:
            self.follow_up(book, release_stops=True)

    def accept_replaced(self, book: Book, order: Order, *, continuous: bool) -> None:
        """Process an order that a replace removed from its place (rules M31, M32)."""
        self._fills.why = _REPLACED_CROSSES
        self.arrive(book, order, continuous=continuous, replaced=True)
        self._fills.why = BY_PRICE_AND_TIME
        if self._fills.touched:
            self.follow_up(book, release_stops=True)

    def enter(self, order: Order, why: Why) -> None:
        """Give an admitted order its id and its time priority, and report it NEW."""
        now = self._ctx.now
        if not order.id:
            order.id = self._ids.next()
            order.created = now
        order.changed = order.inserted = now
        order.priority = self.priority = self.priority + 1
        self._orders.add(order)
        self._execution_log.report(order, NEW, why)

    def arrive(
        self, book: Book, order: Order, *, continuous: bool = True, replaced: bool = False
    ) -> None:
        """Run an order through its book: steps 2 to 8 of the table above.

        `continuous` is false while an auction collects orders. A `replaced` order is no longer
        bound to its minimum quantity (rule M19).
        """
        if order.type in STOP_TYPES:  # rule M12
            self.wait(book, order)
            return
        if not continuous:  # rule L18
            self.rest(book, order)
            return
        if has_prevention(order) and not self._prevent_self_match(book, order):  # rules M26-M30
            return
        improves = False  # whether a strict limit would trade at a better price (rule M22)
        if order.strict_limit or order.all_or_none or order.min_qty or order.tif is FOK:
            best = book.opposite(order.side).best
            improves = (
                order.strict_limit and best != order.price and book.crosses(order.side, order.price)
            )
            if lacks := self._lacks_quantity(book, order, improves, replaced):
                self.end(order, EXPIRED, lacks)
                return
        if not improves:
            book.sweep(order, self._match)  # rule M1
        if not order.leaves_qty:
            if order.expiry_timer:
                self._ctx.timers.cancel(order.expiry_timer)
        elif order.tif is IOC:
            self.end(order, EXPIRED, _STRICT if improves else _REST_OF_IOC)
        elif improves and self._ctx.assumptions.text(STRICT_LIMIT_MODE) == "expire":
            self.end(order, EXPIRED, _STRICT)
        else:
            self.rest(book, order)  # rule M9

    def _lacks_quantity(
        self, book: Book, order: Order, improves: bool, replaced: bool
    ) -> Why | None:
        """Return why less than the order demands can trade at once; None if it can (M17, M19)."""
        needed, rule = 0, "M17"
        if order.all_or_none or order.tif is FOK:
            needed = order.leaves_qty
        elif not replaced:
            needed, rule = min(order.min_qty, order.leaves_qty), "M19"
        if improves and needed:
            return _STRICT
        available: Qty = book.opposite(order.side).available(order.price, needed) if needed else 0
        if available >= needed:
            return None
        scale = order.qty_scale
        return because(
            rule, needed=decimal_text(needed, scale), available=decimal_text(available, scale)
        )

    def _prevent_self_match(self, book: Book, order: Order) -> bool:
        """Apply self-match prevention. Return False if it ended the order.

        Admission refuses REJECT_AGGRESSOR, so an order with that mode arrives here only as
        a released stop.
        """
        conflicting = conflicting_orders(book, order)
        if not conflicting:
            return True
        if order.smp in (SelfMatchPrevention.CANCEL_RESTING, SelfMatchPrevention.REMOVE_BOTH):
            for resting in conflicting:
                self.prevent(book, resting, prevention_rule(order, resting))
            if order.smp is SelfMatchPrevention.CANCEL_RESTING:
                return True
        why = prevention_rule(order, conflicting[0])
        self.end(order, CANCELED, why, text=SELF_MATCH_TEXT, unsolicited=_BY_EXCHANGE)
        return False

    def prevent(self, book: Book, order: Order, why: Why) -> None:
        """Cancel a resting order that must not trade with another one."""
        self.remove(book, order, CANCELED, why, text=SELF_MATCH_TEXT, unsolicited=_BY_EXCHANGE)

    def next_priority(self) -> int:
        """Return the next time priority."""
        self.priority += 1
        return self.priority

    # ---- consequences of trades

    def follow_up(self, book: Book, *, release_stops: bool) -> None:
        """Run the stops that trades reached, then cancel orders that the traders can no longer pay
        for.

        Without `release_stops`, trades trigger no stops, as in an auction that ends the session.
        """
        self._books.changed(book)
        if book.stops:
            self._run_stops(book, release_stops)
        else:
            self._fills.take_range()
        for account in self._fills.take_touched():
            if unfunded := self._risk.unfunded(account, book.symbol):
                self._cancel_unfunded(account, unfunded)

    def _run_stops(self, book: Book, release_stops: bool) -> None:
        released: deque[Order] = deque()
        while True:
            low, high = self._fills.take_range()
            if release_stops and high:
                released.extend(book.stops.triggered(low, high))
            if not released:
                break
            self._trigger(book, released.popleft())

    def _trigger(self, book: Book, stop: Order) -> None:
        """Turn a stop into a market or limit order, and report it NEW again (rule M12)."""
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
        self._execution_log.report(stop, NEW, _TRIGGERED)
        if liquid:
            self._fills.why = _TRIGGERED
            self.arrive(book, stop)
            self._fills.why = BY_PRICE_AND_TIME
        else:
            self.end(stop, CANCELED, _TRIGGERED, text=NO_LIQUIDITY_TEXT, unsolicited=_BY_EXCHANGE)

    def _cancel_unfunded(self, account: str, unfunded: list[Exposure]) -> None:
        """Cancel orders on the sides that cost more than the account has, by time (rule P5)."""
        newest_first = self._ctx.assumptions.text(AUTO_CANCEL_ORDER) == "newest_first"
        for exposure in unfunded:
            book = self._books.get(exposure.instrument.symbol)
            orders = self._orders.open_of((account,), (book.symbol,))
            orders.sort(key=lambda order: order.priority, reverse=newest_first)
            for order in orders:
                if not order.received and self._risk.overspent(account, exposure, order.side):
                    why = because("P5", available=cash_text(self._risk.buying_power(account)))
                    text, reason = "Insufficient funds", _BY_EXCHANGE
                    self.remove(book, order, CANCELED, why, text=text, unsolicited=reason)

    # ---- resting

    def rest(self, book: Book, order: Order) -> None:
        """Add an order to the queue at its price."""
        self._open(book, order)
        book.ladder(order.side).add(order)
        self._books.changed(book)

    def wait(self, book: Book, order: Order) -> None:
        """Let a stop order wait beside the book."""
        self._open(book, order)
        book.stops.add(order)

    def _open(self, book: Book, order: Order) -> None:
        self._orders.opened(order)
        self._risk.reserve(order, book.instrument, order.leaves_qty)
        self.schedule_end(order)

    def schedule_end(self, order: Order) -> None:
        """Set the timer that ends a working order: its own for GTT, a shared one for DAY orders."""
        if order.tif is DAY_ORDER:
            self._schedule_roll()
        elif order.tif is GTT and not order.expiry_timer and order.good_till is not None:
            order.expiry_timer = self._ctx.timers.schedule(order.good_till, EXPIRY_TIMER, order.id)

    def withdraw(self, book: Book, order: Order) -> None:
        """Take an order out of the book or the waiting stops.

        The caller must set `leaves_qty` to 0 right after, or continue with a copy (see `book.py`).
        """
        if order.type in STOP_TYPES:
            book.stops.remove(order)
        else:
            book.ladder(order.side).remove(order)
            self._books.changed(book)
        self._risk.release(order, book.instrument, order.leaves_qty)
        self._orders.closed(order)

    # ---- ending

    def remove(
        self,
        book: Book,
        order: Order,
        type: ExecutionType,
        why: Why,
        *,
        text: str = "",
        unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED,
    ) -> None:
        """End an order that rests or waits, as CANCELED or EXPIRED."""
        self.withdraw(book, order)
        self.end(order, type, why, text=text, unsolicited=unsolicited)

    def end(
        self,
        order: Order,
        type: ExecutionType,
        why: Why,
        *,
        text: str = "",
        unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED,
    ) -> None:
        """End an order that is not in the book, as CANCELED or EXPIRED."""
        order.leaves_qty = 0
        order.state = _END[type]
        order.changed = self._ctx.now
        if order.expiry_timer:
            self._ctx.timers.cancel(order.expiry_timer)
        self._execution_log.report(order, type, why, text=text, unsolicited=unsolicited)

    def expire(self, order_id: str) -> None:
        """Expire a GTT order at its time, whatever the instrument's state (rule L23)."""
        order = self._orders.require(order_id)
        if order.live:
            self.remove(self._books.get(order.symbol), order, EXPIRED, _GOOD_TILL)

    def roll(self, *, expire: bool) -> None:
        """Change the trade date: DAY orders expire, or wait for the next change (rule L12)."""
        self.roll_timer = 0
        self._ctx.apply(_TRADE_DATE_CHANGES, "")
        resting = [
            order for order in self._orders.open() if order.tif is DAY_ORDER and not order.received
        ]
        if not expire:
            if resting:
                self._schedule_roll()
            return
        for order in resting:
            self.remove(self._books.get(order.symbol), order, EXPIRED, _TRADE_DATE)

    def _schedule_roll(self) -> None:
        if not self.roll_timer:
            due = next_trade_day_roll(self._ctx.now)
            self.roll_timer = self._ctx.timers.schedule(due, ROLL_TIMER)


def acceptance_rule(order: Order) -> Why:
    """Return the rule of an accepted order: the most specific one about its terms."""
    if order.quote_id:
        return _QUOTED
    if order.type in STOP_TYPES:
        return _TRIGGERED
    if order.cash_qty:
        return _CASH
    if order.type is MARKET_TO_LIMIT:
        return _RETAIL_MARKET if order.channel is RETAIL else _MARKET
    if order.best_limit or order.immediately_executable_limit:
        return _DERIVED
    return _STRICT if order.strict_limit else _LIMIT
