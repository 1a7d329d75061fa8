"""From a command to an order that may enter: every check in the order of rule M2, first failure
decides. Nothing changes here.
"""

from __future__ import annotations

from operator import attrgetter

from sim.core.accounts.fees import Fees
from sim.core.accounts.ledger import TRADING, Ledger
from sim.core.accounts.risk import Risk
from sim.core.catalogue.assumptions import REQUIRE_REFERENCE_PRICE
from sim.core.lifecycle.states import Lifecycle, check_entry
from sim.core.market_data.statistics import Statistics
from sim.core.matching.book import Book
from sim.core.matching.books import Books
from sim.core.matching.checks import (
    STOP_TYPES,
    check_auction_entry,
    check_combination,
    check_lot,
    check_precision,
    check_price,
    check_shape,
    check_size,
)
from sim.core.matching.market_order_bounds import cash_quantity, market_price
from sim.core.matching.matching import NO_LIQUIDITY_TEXT
from sim.core.matching.self_match import SELF_MATCH_TEXT, conflicting_orders, has_prevention
from sim.core.model.commands import PlaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import (
    BUY,
    DAY_ORDER,
    EXCHANGE,
    MARKET_TO_LIMIT,
    OPEN,
    REJECT_AGGRESSOR,
    RETAIL,
    SELL,
    STOP,
    STOP_LIMIT,
    UNPREVENTED,
    InstrumentState,
    RejectReason,
)
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Order, Orders
from sim.core.model.quantities import Cash, Price
from sim.core.model.refusals import (
    DuplicateOrder,
    InstrumentNotTradable,
    OrderRefused,
    PermissionDenied,
)
from sim.kernel.instants import Instant

POST_ONLY_TEXT = "Order may participate but not initiate in the market"


class OrderAdmission:
    """Makes orders of commands."""

    __slots__ = (
        "_books",
        "_ctx",
        "_fee",
        "_fees",
        "_instruments",
        "_ledger",
        "_lifecycle",
        "_orders",
        "_risk",
        "_statistics",
    )

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        lifecycle: Lifecycle,
        ledger: Ledger,
        orders: Orders,
        books: Books,
        risk: Risk,
        fees: Fees,
        statistics: Statistics,
    ) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._lifecycle = lifecycle
        self._ledger = ledger
        self._orders = orders
        self._books = books
        self._risk = risk
        self._fees = fees
        self._statistics = statistics
        self._fee = self.fee  # bound once

    def draft(self, command: PlaceOrder) -> Order:
        """The order a command asks for, before any check but that of its shape and symbol; without
        an id.
        """
        check_shape(command)
        return _order(command, self._instruments.require(command.symbol), self._ctx.now)

    def validate(self, command: PlaceOrder, order: Order) -> None:
        """Check a draft in the order of rule M2 and fill in what the book decides: a derived price,
        a market order's price, a cash order's quantity.
        """
        symbol = order.symbol
        instrument = self._instruments.require(symbol)
        state = self._lifecycle.state(symbol)
        check_entry(symbol, state)
        # what the engine still held when it began, and what a script enters meanwhile
        if self._lifecycle.under_maintenance:
            raise InstrumentNotTradable(
                "Exchange is under maintenance",
                rule="W2",
                remedy="wait for its end",
                reason=RejectReason.EXCHANGE_CLOSED,
            )
        if self._ledger.require(order.account).kind != TRADING:
            raise PermissionDenied("account does not trade", rule="P26")
        self.check_clord_id(order)
        check_combination(command, self._ctx.now, self._ctx.assumptions)
        check_auction_entry(command, state)
        check_precision(command, instrument)
        book = self._books.get(symbol)
        self._price(book, order, instrument)
        check_lot(instrument, order.qty, self._ctx.assumptions)
        if order.min_qty > order.qty:
            raise OrderRefused(
                "Minimum quantity exceeds the order quantity",
                rule="M19",
                reason=RejectReason.INCORRECT_QUANTITY,
            )
        if not order.ignore_price_checks:
            check_size(instrument, order.qty, order.price or order.stop_price)
        self._risk.check(order, instrument, self._fee)
        self.check_against_book(book, order, state)

    def check_clord_id(self, order: Order) -> None:
        """Refuse a client order id of an order of the participant that is still open (rule M6)."""
        if order.clord_id:
            other = self._orders.by_clord_id(order.participant, order.clord_id)
            if other is not None and other.live and other is not order:
                raise DuplicateOrder(
                    rule="M6", remedy="use another client order id, or wait until the order is done"
                )

    def check_against_book(self, book: Book, order: Order, state: InstrumentState) -> None:
        """Refuse an order that must not meet what is in the book now: its own side of the
        participant, or anything when it is post-only (rules M20, M27).
        """
        if state is not OPEN or order.type in STOP_TYPES:
            return
        if has_prevention(order) and order.smp is REJECT_AGGRESSOR:
            other = SELL if order.side is BUY else BUY
            if (
                order.smp_id or self._risk.working(order.account, order.symbol, other)
            ) and conflicting_orders(book, order):
                raise OrderRefused(
                    SELF_MATCH_TEXT,
                    rule="M27",
                    remedy="cancel the own order on the other side first",
                )
        if order.post_only and book.crosses(order.side, order.price):
            raise OrderRefused(
                POST_ONLY_TEXT, rule="M20", remedy="choose a price that does not cross the book"
            )

    def fee(self, order: Order, instrument: Instrument) -> Cash:
        """Taker fee at the order's limit price (rule P4); that of a maker, if there is one, for an
        order that never takes.
        """
        quote = self._fees.quote_maker if order.post_only else self._fees.quote
        return quote(instrument, order.leaves_qty, order.price)

    def _price(self, book: Book, order: Order, instrument: Instrument) -> None:
        if order.best_limit or order.immediately_executable_limit:
            order.price = derived_price(book, order)
        if not order.ignore_price_checks:
            if order.price:
                check_price(instrument, order.price, order.channel, self._ctx.assumptions)
            if order.stop_price:
                check_price(instrument, order.stop_price, order.channel, self._ctx.assumptions)
        check_stop(order)
        if order.type is MARKET_TO_LIMIT:
            self._price_market(book, order)
        elif order.cash_qty:
            order.qty = order.leaves_qty = cash_quantity(book, order, order.price)[0]
            if not order.qty:
                raise _cash_too_small()

    def _price_market(self, book: Book, order: Order) -> None:
        """A market order shows the price of its last fill from its first report on (rule M10)."""
        if (
            self._ctx.assumptions.flag(REQUIRE_REFERENCE_PRICE)
            and self._statistics.last_price(order.symbol) is None
        ):
            raise OrderRefused("No reference price available for risk check", rule="M11")
        bound = order.price
        if order.cash_qty:
            qty, order.price = cash_quantity(book, order, bound)
            if order.price and not qty:
                raise _cash_too_small()
            order.qty = order.leaves_qty = qty
        else:
            order.price = market_price(book, order, bound)
        if not order.price:
            raise OrderRefused(
                NO_LIQUIDITY_TEXT,
                rule="M10",
                remedy="send a limit order",
                reason=RejectReason.NO_LIQUIDITY,
            )


def derived_price(book: Book, order: Order) -> Price:
    """The price of a best_limit order, the top of its own side, or of an
    immediately_executable_limit one, the top of the other (rule M21).
    """
    price = (book.ladder(order.side) if order.best_limit else book.opposite(order.side)).best
    if not price:
        raise OrderRefused(
            "No liquidity to derive limit price", rule="M21", reason=RejectReason.NO_LIQUIDITY
        )
    return price


def check_stop(order: Order) -> None:
    """Refuse a stop-limit order whose limit it would have passed when it triggers (rule M12)."""
    if order.type is STOP_LIMIT and (
        order.stop_price < order.price if order.side is BUY else order.stop_price > order.price
    ):
        raise OrderRefused(
            "Stop price must be at or above the limit of a buy, at or below the limit of a sell",
            rule="M12",
        )


def _cash_too_small() -> OrderRefused:
    return OrderRefused(
        "CashOrderQty buys less than one unit", rule="M24", reason=RejectReason.INCORRECT_QUANTITY
    )


# What most orders leave as it is; the rest of an order's terms are taken over one by one. A Struct
# looks for each keyword among all its fields, so an order of forty keywords takes three times as
# long to make as its matching does.
_SELDOM = (
    *(
        "stop_price",
        "min_qty",
        "cash_qty",
        "all_or_none",
        "post_only",
        "strict_limit",
        "best_limit",
        "immediately_executable_limit",
    ),
    *(
        "ignore_price_checks",
        "order_capacity",
        "client_account_id",
        "client_participant_id",
        "parent_id",
    ),
)
_seldom = attrgetter(*_SELDOM)


def _order(command: PlaceOrder, instrument: Instrument, now: Instant) -> Order:
    """An order as its command states it."""
    order = Order(
        id="",
        symbol=command.symbol,
        account=command.account,
        participant=command.participant,
        side=command.side,
        type=command.type,
        tif=command.tif or DAY_ORDER,
        price=0 if command.type is STOP else command.price,
        qty=command.qty,
        leaves_qty=command.qty,
        price_scale=instrument.price_scale,
        qty_scale=instrument.qty_scale,
    )
    order.created = order.changed = now
    if command.clord_id:
        order.clord_id = command.clord_id
    if command.submitter:
        order.submitter = command.submitter
    if command.intent:
        order.intent = command.intent
    if command.manual_indicator:
        order.manual_indicator = command.manual_indicator
    if command.smp_id:
        order.smp_id = command.smp_id
    if command.session_id:
        order.session_id = command.session_id
    if command.good_till is not None:
        order.good_till = command.good_till
    if command.channel is not EXCHANGE:
        order.channel = command.channel
    terms = _seldom(command)
    if any(terms):
        for name, value in zip(_SELDOM, terms, strict=True):
            if value:
                setattr(order, name, value)
    if command.channel is RETAIL or (command.smp is UNPREVENTED and command.smp_id):
        order.smp = REJECT_AGGRESSOR  # rules M30, M26
    elif command.smp:
        order.smp = command.smp
    return order
