"""One fill, from start to end.

A fill changes both orders, reports both, records the trade, and then changes positions, collateral,
cash and statistics, in this order (rules M1, M41, P9-P21). In each step the aggressor comes first.
The levels of the book are not changed here: the caller has already reduced them.
"""

from __future__ import annotations

from sim.core.accounts.account_state import AccountState
from sim.core.accounts.fees import NO_FEE, Fee, charge_taker, maker_fee
from sim.core.catalogue.assumptions import AUCTION_FEE_MODE, CROSS_FEE_MODE
from sim.core.matching.book import Book
from sim.core.matching.market_state import MarketState
from sim.core.model.context import Context
from sim.core.model.enums import BUY, ExecutionType, OrderState, TradeType
from sim.core.model.orders import Execution, Order, filled_once
from sim.core.model.quantities import Cash, Price, Qty, divide_half_even
from sim.core.model.why import Why

BY_PRICE_AND_TIME = Why("M1")
_AT_AUCTION_PRICE, _PREARRANGED = Why("L16"), Why("M44")

_REGULAR = TradeType.REGULAR
_PART = OrderState.PARTIALLY_FILLED, ExecutionType.PARTIAL_FILL
_WHOLE = OrderState.FILLED, ExecutionType.FILL


class Fills:
    """Applies matches, and collects what `Matching.follow_up` needs to know about them.

    `touched` are the accounts that traded, `low` and `high` the range of prices (0: no trade), each
    since it was last taken. `why` is the rule of trades in continuous trading.
    """

    def __init__(self, ctx: Context, market: MarketState, accounts: AccountState) -> None:
        self._ctx = ctx
        self._orders = market.orders
        self._execution_log = market.execution_log
        self._statistics = market.statistics
        self._positions = accounts.positions
        self._ledger = accounts.ledger
        self._risk = accounts.risk
        self._fees = accounts.fees
        self.why = BY_PRICE_AND_TIME
        self.touched: dict[str, None] = {}
        self.low: Price = 0
        self.high: Price = 0

    def take_range(self) -> tuple[Price, Price]:
        """Return the lowest and highest price traded since the last call; zeros without trades."""
        low, high = self.low, self.high
        self.low = self.high = 0
        return low, high

    def take_touched(self) -> list[str]:
        """Return the accounts that traded since the last call, in order of first trade."""
        accounts = list(self.touched)
        self.touched.clear()
        return accounts

    def match(self, book: Book, taker: Order, maker: Order, qty: Qty, price: Price) -> None:
        """Fill in continuous trading: the taker pays a fee, the maker gets a rebate."""
        instrument = book.instrument
        theta = self._fees.theta(instrument, self._ctx.now)
        taker_fee = charge_taker(taker, instrument, theta, qty, price)
        self._apply(
            book,
            taker,
            maker,
            qty,
            price,
            taker_fee,
            maker_fee(instrument, theta, qty, price),
            self.why,
        )

    def match_in_auction(
        self, book: Book, later: Order, earlier: Order, qty: Qty, price: Price
    ) -> None:
        """Fill at an auction price. The later order is the aggressor (rule L19); both rest."""
        mode = self._ctx.assumptions.text(AUCTION_FEE_MODE)
        fees = self._fees_by(mode, book, later, earlier, qty, price)
        why = _AT_AUCTION_PRICE
        self._apply(book, later, earlier, qty, price, *fees, why, aggressor_rests=True)

    def match_prearranged(
        self, book: Book, aggressor: Order, passive: Order, qty: Qty, price: Price
    ) -> None:
        """Fill the two orders of a cross, which were agreed beforehand."""
        mode = self._ctx.assumptions.text(CROSS_FEE_MODE)
        fees = self._fees_by(mode, book, aggressor, passive, qty, price)
        why = _PREARRANGED
        self._apply(book, aggressor, passive, qty, price, *fees, why, type=TradeType.CROSS)

    def _fees_by(
        self, mode: str, book: Book, aggressor: Order, passive: Order, qty: Qty, price: Price
    ) -> tuple[Fee, Fee]:
        """Return the fees of aggressor and passive side.

        `mode` is "maker_taker", "both_taker" or "none".
        """
        instrument = book.instrument
        theta = self._fees.theta(instrument, self._ctx.now)
        aggressor_fee = passive_fee = NO_FEE
        if mode != "none":
            aggressor_fee = charge_taker(aggressor, instrument, theta, qty, price)
        if mode == "maker_taker":
            passive_fee = maker_fee(instrument, theta, qty, price)
        elif mode == "both_taker":
            passive_fee = charge_taker(passive, instrument, theta, qty, price)
        return aggressor_fee, passive_fee

    def _apply(
        self,
        book: Book,
        aggressor: Order,
        passive: Order,
        qty: Qty,
        price: Price,
        aggressor_fee: Fee,
        passive_fee: Fee,
        why: Why,
        *,
        aggressor_rests: bool = False,
        type: TradeType = _REGULAR,
    ) -> None:
        symbol = book.symbol
        trade_id = self._execution_log.next_trade_id()
        aggressor_report = self._fill(
            book, aggressor, why, qty, price, trade_id, aggressor_fee[0], True, aggressor_rests
        )
        passive_report = self._fill(
            book, passive, why, qty, price, trade_id, passive_fee[0], False, True
        )
        if aggressor.quote_id or passive.quote_id:
            type = TradeType.REQUEST_FOR_QUOTE
        self._execution_log.trade(trade_id, price, qty, aggressor_report, passive_report, type, why)
        self._move_position(book, aggressor, qty, price, aggressor_report, aggressor_fee[1])
        self._move_position(book, passive, qty, price, passive_report, passive_fee[1])
        paid = price * qty * book.factor if aggressor.side is BUY else -price * qty * book.factor
        self._ledger.fill(aggressor.account, -paid, aggressor_fee[0], symbol, trade_id)
        self._ledger.fill(passive.account, paid, passive_fee[0], symbol, trade_id)
        self.touched[aggressor.account] = None
        self.touched[passive.account] = None
        self._statistics.traded(symbol, price, qty, self._ctx.now)
        if price > self.high:
            self.high = price
        if not self.low or price < self.low:
            self.low = price

    def _move_position(
        self, book: Book, order: Order, qty: Qty, price: Price, report: Execution, fee_exact: int
    ) -> None:
        """Change the position of one side, and the collateral that it needs."""
        account, signed = order.account, qty if order.side is BUY else -qty
        nets = self._positions.fill(
            account, book.symbol, signed, price, report.trade_id, report.commission, fee_exact
        )
        self._risk.position_changed(account, book.instrument, nets)

    def _fill(
        self,
        book: Book,
        order: Order,
        why: Why,
        qty: Qty,
        price: Price,
        trade_id: str,
        fee: Cash,
        aggressor: bool,
        rests: bool,
    ) -> Execution:
        """Apply a fill to one order and report it.

        An order that `rests` releases its reservation, and is closed with its last fill.
        """
        if rests:
            self._risk.release(order, book.instrument, qty)
        commission = fee // book.factor
        order.leaves_qty = leaves = order.leaves_qty - qty
        order.cum_qty += qty
        order.filled_notional += price * qty
        if filled_at := order.filled_at:
            # A new dictionary, because earlier reports share the old one.
            order.filled_at = {**filled_at, price: filled_at.get(price, 0) + qty}
            order.avg_px = divide_half_even(order.filled_notional, order.cum_qty)
        else:
            order.filled_at = filled_once(price, qty)
            order.avg_px = price
        if commission:
            order.commission += commission
        order.last_trade_id = trade_id
        order.changed = self._ctx.now
        if leaves:
            order.state, type = _PART
        else:
            order.state, type = _WHOLE
            if rests:
                self._orders.closed(order)
                if order.expiry_timer:
                    self._ctx.timers.cancel(order.expiry_timer)
        return self._execution_log.report(
            order, type, why, qty, price, trade_id, aggressor, commission
        )
