"""Whether an order is admitted: every check in one table, `CHECKS`. The first refusal decides.

The order of the rows is the order of precedence (rule M2), on which clients rely: an order with two
mistakes is refused for the one that comes first. The rows go from what is cheap to check to what
needs the book: state, identity, shape, price, quantity, money, and resting orders.

| Row | Rule | Refusal | The order is refused when |
|---|---|---|---|
| state | L1 | InstrumentNotTradable | the instrument's state accepts no orders |
| maintenance | W2 | InstrumentNotTradable | the exchange is under maintenance |
| account | P26 | PermissionDenied | the account is not a trading account |
| client order id | M6 | DuplicateOrder | an open order of the participant has the same id |
| combination | M9-M24 | InvalidRequest | two of its fields contradict each other |
| auction | L18 | InstrumentNotTradable | it must trade at once while an auction collects orders |
| precision | M4, M5 | OrderRefused | a retail price or quantity is 0 at the market's precision |
| derived price | M21 | OrderRefused | the side that its price derives from is empty |
| price | M4, M5 | OrderRefused | a price is off the tick or outside the band |
| stop | M12 | OrderRefused | a stop-limit order could not trade once it triggers |
| market | M10, M11, M24 | OrderRefused | there is nothing to trade with, or the cash buys nothing |
| lot | M4 | OrderRefused | the quantity is below the minimum |
| minimum quantity | M19 | OrderRefused | its minimum quantity exceeds its quantity |
| size | M5 | OrderRefused | the quantity or notional is outside the limits |
| funds | P3, P4, P8 | InsufficientFunds | the account cannot pay for it |
| sums | bounds | OrderRefused | more would trade than is ever counted (`bounds.py`) |
| self-match | M27 | OrderRefused | it would meet an own order and its mode refuses that |
| post-only | M20 | OrderRefused | it is post-only and would trade |

`draft` comes before the table: it checks that the command has a side, type, symbol, account and
quantity, without which there is no order to check. Validation changes nothing in the exchange. It
only completes the order with what the book decides: a derived price, the price of a market order,
the quantity that cash buys.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from math import gcd
from typing import NamedTuple

from sim.core.accounts.account_state import AccountState
from sim.core.accounts.ledger import TRADING
from sim.core.catalogue.assumptions import REQUIRE_REFERENCE_PRICE, RETAIL_SHORTFALL
from sim.core.catalogue.bounds import REBATES
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.states import ENTRY_STATES, check_entry
from sim.core.matching.book import Book
from sim.core.matching.market_order_bounds import cash_quantity, market_price
from sim.core.matching.market_state import MarketState
from sim.core.matching.matching import NO_LIQUIDITY_TEXT
from sim.core.matching.self_match import (
    SELF_MATCH_TEXT,
    conflicting_orders,
    has_prevention,
    prevention_rule,
)
from sim.core.model.commands import PlaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import (
    MARKET_TO_LIMIT,
    OPEN,
    REJECT_AGGRESSOR,
    RETAIL,
    STOP_TYPES,
    InstrumentState,
    RejectReason,
)
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Order
from sim.core.model.quantities import Cash, Price
from sim.core.model.refusals import (
    DuplicateOrder,
    InstrumentNotTradable,
    InsufficientFunds,
    InvalidRequest,
    OrderRefused,
    PermissionDenied,
    Refusal,
)
from sim.core.trading.order_checks import (
    check_auction_entry,
    check_cash,
    check_combination,
    check_lot,
    check_precision,
    check_price,
    check_shape,
    check_size,
    check_stop,
    check_volume,
)
from sim.core.trading.order_draft import draft_order

POST_ONLY_TEXT = "Order may participate but not initiate in the market"


class Candidate:
    """An order that is being checked, with everything that the checks look at.

    The state is that at the moment of validation. The book is created by the first row that needs
    it, so that an order refused earlier does not materialise a dormant instrument.
    """

    __slots__ = ("book", "command", "instrument", "order", "state")

    book: Book
    state: InstrumentState

    def __init__(self, command: PlaceOrder, order: Order, instrument: Instrument) -> None:
        self.command = command
        self.order = order
        self.instrument = instrument


class OrderAdmission:
    """Creates orders from commands and checks them."""

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        lifecycle: Lifecycle,
        market: MarketState,
        accounts: AccountState,
    ) -> None:
        self._ctx = ctx
        self._assumptions = ctx.assumptions
        self._instruments = instruments
        self._lifecycle = lifecycle
        self._orders = market.orders
        self._books = market.books
        self._statistics = market.statistics
        self._ledger = accounts.ledger
        self._risk = accounts.risk
        self._fees = accounts.fees
        self._fee = self.fee  # bound once, because it is called for every order

    def draft(self, command: PlaceOrder) -> Candidate:
        """Return the order that a command describes, without an id.

        Checks its shape and symbol only.
        """
        check_shape(command)
        instrument, now = self._instruments.require(command.symbol), self._ctx.now
        if command.cash_qty:
            check_cash(command, instrument)
        return Candidate(command, draft_order(command, instrument, now), instrument)

    def drafted(self, command: PlaceOrder, order: Order) -> Candidate:
        """Return the candidate for an order that was drafted earlier and had to wait."""
        instrument = self._instruments.require(order.symbol)
        return Candidate(command, order, instrument)

    def validate(self, candidate: Candidate) -> None:
        """Run every check on a draft, and complete it with what the book decides."""
        symbol = candidate.order.symbol
        candidate.state = self._lifecycle.state(symbol)
        for check in _RUN:
            check(self, candidate)

    def check_clord_id(self, order: Order) -> None:
        """Refuse the client order id of an order that is still open (rule M6)."""
        if order.clord_id:
            other = self._orders.by_clord_id(order.participant, order.clord_id)
            if other is not None and other.live and other is not order:
                remedy = "use another client order id, or wait until the order is done"
                raise DuplicateOrder(rule="M6", remedy=remedy)

    def check_against_book(self, book: Book, order: Order, state: InstrumentState) -> None:
        """Refuse an order that must not meet the orders resting in the book now (M20, M27)."""
        if state is OPEN:
            if order.smp is REJECT_AGGRESSOR:
                self._check_self_match(book, order)
            if order.post_only:
                _check_post_only(book, order)

    def fee(self, order: Order, instrument: Instrument) -> Cash:
        """Return the fee that an order reserves at its limit price (rule P4).

        That is the taker fee, unless the order can never take.
        """
        quote = self._fees.quote_maker if order.post_only else self._fees.quote
        return quote(instrument, order.leaves_qty, order.price)

    # ---- rows of the table

    def _state(self, candidate: Candidate) -> None:
        if candidate.state not in ENTRY_STATES:
            check_entry(candidate.order.symbol, candidate.state)

    def _maintenance(self, candidate: Candidate) -> None:
        # This affects scripts, and orders that were queued when maintenance began.
        if self._lifecycle.under_maintenance:
            text, reason = "Exchange is under maintenance", RejectReason.EXCHANGE_CLOSED
            raise InstrumentNotTradable(text, rule="W2", remedy="wait for its end", reason=reason)

    def _account(self, candidate: Candidate) -> None:
        if self._ledger.require(candidate.order.account).kind != TRADING:
            raise PermissionDenied("account does not trade", rule="P26")

    def _client_order_id(self, candidate: Candidate) -> None:
        if candidate.order.clord_id:
            self.check_clord_id(candidate.order)

    def _combination(self, candidate: Candidate) -> None:
        check_combination(candidate.command, self._ctx.now, self._assumptions)

    def _auction(self, candidate: Candidate) -> None:
        if candidate.state is not OPEN:
            check_auction_entry(candidate.command, candidate.state)

    def _precision(self, candidate: Candidate) -> None:
        if candidate.command.channel is RETAIL:
            check_precision(candidate.command, candidate.instrument)

    def _derived_price(self, candidate: Candidate) -> None:
        order = candidate.order
        candidate.book = self._books.get(order.symbol)
        if order.best_limit or order.immediately_executable_limit:
            order.price = derived_price(candidate.book, order)

    def _price(self, candidate: Candidate) -> None:
        order, instrument = candidate.order, candidate.instrument
        if not order.ignore_price_checks:
            if order.price:
                check_price(instrument, order.price, order.channel, self._assumptions)
            if order.stop_price:
                check_price(instrument, order.stop_price, order.channel, self._assumptions)

    def _stop(self, candidate: Candidate) -> None:
        if candidate.order.stop_price:
            check_stop(candidate.order)

    def _market(self, candidate: Candidate) -> None:
        """Price a market order and size a cash order (rules M10, M11, M24).

        A market order shows the price of its last fill from its first report on.
        """
        order, book = candidate.order, candidate.book
        if order.type is not MARKET_TO_LIMIT:
            if order.cash_qty:
                order.qty = order.leaves_qty = cash_quantity(book, order, order.price)[0]
                if not order.qty:
                    raise _cash_too_small()
            return
        if self._assumptions.flag(REQUIRE_REFERENCE_PRICE):
            if self._statistics.last_price(order.symbol) is None:
                raise OrderRefused("No reference price available for risk check", rule="M11")
        bound = order.price
        if order.cash_qty:
            order.qty, order.price = cash_quantity(book, order, bound)
            order.leaves_qty = order.qty
            if order.price and not order.qty:
                raise _cash_too_small()
        else:
            order.price = market_price(book, order, bound)
        if not order.price:
            remedy, reason = "send a limit order", RejectReason.NO_LIQUIDITY
            raise OrderRefused(NO_LIQUIDITY_TEXT, rule="M10", remedy=remedy, reason=reason)

    def _lot(self, candidate: Candidate) -> None:
        check_lot(candidate.instrument, candidate.order.qty, self._assumptions)

    def _minimum_quantity(self, candidate: Candidate) -> None:
        if candidate.order.min_qty > candidate.order.qty:
            text = "Minimum quantity exceeds the order quantity"
            reason = RejectReason.INCORRECT_QUANTITY
            raise OrderRefused(text, rule="M19", reason=reason)

    def _size(self, candidate: Candidate) -> None:
        order = candidate.order
        if not order.ignore_price_checks:
            check_size(candidate.instrument, order.qty, order.price or order.stop_price)

    def _funds(self, candidate: Candidate) -> None:
        try:
            self._risk.check(candidate.order, candidate.instrument, self._fee)
        except InsufficientFunds:
            is_retail = candidate.command.channel is RETAIL
            if not is_retail or self._assumptions.text(RETAIL_SHORTFALL) != "trim":
                raise
            self._trim(candidate)

    def _trim(self, candidate: Candidate) -> None:
        """Reduce an order to the largest quantity that the account can pay for. Refuse it if that
        is less than the least quantity.
        """
        order, instrument = candidate.order, candidate.instrument
        step = gcd(instrument.min_qty, instrument.qty_scale)
        least = max(order.min_qty, instrument.min_qty)

        def is_too_much(steps: int) -> bool:
            order.qty = order.leaves_qty = steps * step
            try:
                self._risk.check(order, instrument, self._fee)
            except InsufficientFunds:
                return True
            return False

        choices = range(-(-least // step), order.qty // step + 1)
        count = bisect_left(choices, True, key=is_too_much)
        order.qty = order.leaves_qty = choices[max(count - 1, 0)] * step
        if not count:
            self._risk.check(order, instrument, self._fee)

    def _sums(self, candidate: Candidate) -> None:
        """Refuse an order whose trades or rebates would exceed the range of a sum (`bounds.py`)."""
        order = candidate.order
        traded = self._statistics.traded_ever(order.symbol)
        check_volume(candidate.instrument, traded, order.qty)
        if self._ledger.rebates_spent:
            text = f"No more rebates can be paid; {REBATES.text()}"
            raise OrderRefused(text, rule="T3", remedy="reset the exchange")

    def _self_match(self, candidate: Candidate) -> None:
        order = candidate.order
        if order.smp is REJECT_AGGRESSOR and candidate.state is OPEN:
            self._check_self_match(candidate.book, order)

    def _post_only(self, candidate: Candidate) -> None:
        order = candidate.order
        if order.post_only and candidate.state is OPEN:
            _check_post_only(candidate.book, order)

    def _check_self_match(self, book: Book, order: Order) -> None:
        if not has_prevention(order) or order.type in STOP_TYPES:
            return
        if conflicting := conflicting_orders(book, order):
            rule = prevention_rule(order, conflicting[0]).rule
            remedy = "first cancel your order on the other side"
            raise OrderRefused(SELF_MATCH_TEXT, rule=rule, remedy=remedy)


class AdmissionCheck(NamedTuple):
    """One row of the table: its name, the rules that it enforces, its refusal, and the check."""

    name: str
    rules: str
    refusal: type[Refusal]
    run: Callable[[OrderAdmission, Candidate], None]


_Admission = OrderAdmission
CHECKS = (
    AdmissionCheck("state", "L1", InstrumentNotTradable, _Admission._state),
    AdmissionCheck("maintenance", "W2", InstrumentNotTradable, _Admission._maintenance),
    AdmissionCheck("account", "P26", PermissionDenied, _Admission._account),
    AdmissionCheck("client order id", "M6", DuplicateOrder, _Admission._client_order_id),
    AdmissionCheck("combination", "M9-M24", InvalidRequest, _Admission._combination),
    AdmissionCheck("auction", "L18", InstrumentNotTradable, _Admission._auction),
    AdmissionCheck("precision", "M4, M5", OrderRefused, _Admission._precision),
    AdmissionCheck("derived price", "M21", OrderRefused, _Admission._derived_price),
    AdmissionCheck("price", "M4, M5", OrderRefused, _Admission._price),
    AdmissionCheck("stop", "M12", OrderRefused, _Admission._stop),
    AdmissionCheck("market", "M10, M11, M24", OrderRefused, _Admission._market),
    AdmissionCheck("lot", "M4", OrderRefused, _Admission._lot),
    AdmissionCheck("minimum quantity", "M19", OrderRefused, _Admission._minimum_quantity),
    AdmissionCheck("size", "M5", OrderRefused, _Admission._size),
    AdmissionCheck("funds", "P3, P4, P8", InsufficientFunds, _Admission._funds),
    AdmissionCheck("sums", "bounds", OrderRefused, _Admission._sums),
    AdmissionCheck("self-match", "M27", OrderRefused, _Admission._self_match),
    AdmissionCheck("post-only", "M20", OrderRefused, _Admission._post_only),
)
_RUN = tuple(check.run for check in CHECKS)


def _check_post_only(book: Book, order: Order) -> None:
    if order.type not in STOP_TYPES and book.crosses(order.side, order.price):
        remedy = "choose a price that does not cross the book"
        raise OrderRefused(POST_ONLY_TEXT, rule="M20", remedy=remedy)


def derived_price(book: Book, order: Order) -> Price:
    """Return the best price of the own side for best_limit, of the other side for
    immediately_executable_limit (rule M21).
    """
    ladder = book.ladder(order.side) if order.best_limit else book.opposite(order.side)
    if not ladder.best:
        text, reason = "No liquidity to derive limit price", RejectReason.NO_LIQUIDITY
        raise OrderRefused(text, rule="M21", reason=reason)
    return ladder.best


def _cash_too_small() -> OrderRefused:
    text, reason = "CashOrderQty buys less than one unit", RejectReason.INCORRECT_QUANTITY
    return OrderRefused(text, rule="M24", reason=reason)
