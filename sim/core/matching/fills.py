"""One fill, from end to end: both orders, both reports, the trade, then positions, cash, collateral
and statistics, in this order (rules M1, M41, P9-P21).
"""

from __future__ import annotations

from sim.core.accounts.fees import Fees
from sim.core.accounts.ledger import Ledger
from sim.core.accounts.positions import Positions
from sim.core.accounts.risk import Risk
from sim.core.catalogue.assumptions import AUCTION_FEE_MODE, CROSS_FEE_MODE
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.market_data.statistics import Statistics
from sim.core.matching.book import Book
from sim.core.model.context import Context
from sim.core.model.enums import BUY, ExecutionType, OrderState, TradeType
from sim.core.model.orders import Execution, Order, Orders
from sim.core.model.quantities import Cash, Price, Qty, divide_half_even

_PART = OrderState.PARTIALLY_FILLED, ExecutionType.PARTIAL_FILL
_WHOLE = OrderState.FILLED, ExecutionType.FILL


class Fills:
    """Applies matches to everything that a match changes, except the book's levels, which the
    caller has already reduced.
    """

    __slots__ = (
        "_ctx",
        "_execution_log",
        "_fees",
        "_ledger",
        "_orders",
        "_positions",
        "_risk",
        "_statistics",
        "high",
        "low",
        "touched",
    )

    def __init__(
        self,
        ctx: Context,
        orders: Orders,
        execution_log: ExecutionLog,
        positions: Positions,
        ledger: Ledger,
        risk: Risk,
        fees: Fees,
        statistics: Statistics,
    ) -> None:
        self._ctx = ctx
        self._orders = orders
        self._execution_log = execution_log
        self._positions = positions
        self._ledger = ledger
        self._risk = risk
        self._fees = fees
        self._statistics = statistics
        self.touched: dict[str, None] = {}
        self.low: Price = 0
        self.high: Price = 0

    def take_range(self) -> tuple[Price, Price]:
        """Lowest and highest price traded since the last time; zeros for none."""
        found = self.low, self.high
        self.low = self.high = 0
        return found

    def take_touched(self) -> list[str]:
        """Accounts that traded since the last time, in order of first trade."""
        found = list(self.touched)
        self.touched.clear()
        return found

    def match(self, book: Book, taker: Order, maker: Order, qty: Qty, price: Price) -> None:
        """A continuous match: the taker pays, the maker is paid back."""
        instrument = book.instrument
        theta = self._fees.theta(instrument, self._ctx.now)
        taker_fee = self._fees.charge_taker(taker, instrument, theta, qty, price)
        maker_fee = -self._fees.rebate_maker(instrument, theta, qty, price)
        self._settle_sides(book, taker, maker, qty, price, taker_fee, maker_fee, False)

    def cross(self, book: Book, later: Order, earlier: Order, qty: Qty, price: Price) -> None:
        """An auction match: the later order counts as the aggressor; fees as `auction.fee_mode`
        says (rule L19).
        """
        fees = self._fees_by(
            self._ctx.assumptions.text(AUCTION_FEE_MODE), book, later, earlier, qty, price
        )
        self._settle_sides(book, later, earlier, qty, price, *fees, True)

    def prearranged(
        self, book: Book, aggressor: Order, passive: Order, qty: Qty, price: Price, type: TradeType
    ) -> None:
        """Two sides that agreed beforehand, in a cross or by a quote; fees as
        `orders.cross_fee_mode` says.
        """
        fees = self._fees_by(
            self._ctx.assumptions.text(CROSS_FEE_MODE), book, aggressor, passive, qty, price
        )
        self._settle_sides(book, aggressor, passive, qty, price, *fees, False, type)

    def _fees_by(
        self, mode: str, book: Book, aggressor: Order, passive: Order, qty: Qty, price: Price
    ) -> tuple[Cash, Cash]:
        """Fees of aggressor and passive side: "maker_taker", "both_taker" or "none"."""
        instrument = book.instrument
        theta = self._fees.theta(instrument, self._ctx.now)
        aggressor_fee = passive_fee = 0
        if mode != "none":
            aggressor_fee = self._fees.charge_taker(aggressor, instrument, theta, qty, price)
        if mode == "maker_taker":
            passive_fee = -self._fees.rebate_maker(instrument, theta, qty, price)
        elif mode == "both_taker":
            passive_fee = self._fees.charge_taker(passive, instrument, theta, qty, price)
        return aggressor_fee, passive_fee

    def _settle_sides(
        self,
        book: Book,
        aggressor: Order,
        passive: Order,
        qty: Qty,
        price: Price,
        aggressor_fee: Cash,
        passive_fee: Cash,
        aggressor_rests: bool,
        type: TradeType = TradeType.REGULAR,
    ) -> None:
        instrument = book.instrument
        symbol = book.symbol
        trade_id = self._execution_log.next_trade_id()
        aggressor_report = self._fill(
            book, aggressor, qty, price, trade_id, aggressor_fee, True, aggressor_rests
        )
        passive_report = self._fill(book, passive, qty, price, trade_id, passive_fee, False, True)
        self._execution_log.trade(trade_id, price, qty, aggressor_report, passive_report, type)
        for order, report in (aggressor, aggressor_report), (passive, passive_report):
            signed = qty if order.side is BUY else -qty
            self._risk.moved(
                order.account,
                instrument,
                self._positions.fill(
                    order.account, symbol, signed, price, trade_id, report.commission
                ),
            )
        value = price * qty * book.factor
        for order, fee in (aggressor, aggressor_fee), (passive, passive_fee):
            self._ledger.fill(
                order.account, -value if order.side is BUY else value, fee, symbol, trade_id
            )
            self.touched[order.account] = None
        self._statistics.traded(symbol, price, qty, self._ctx.now)
        if price > self.high:
            self.high = price
        if not self.low or price < self.low:
            self.low = price

    def _fill(
        self,
        book: Book,
        order: Order,
        qty: Qty,
        price: Price,
        trade_id: str,
        fee: Cash,
        aggressor: bool,
        rests: bool,
    ) -> Execution:
        """Apply a fill to an order and report it. An order that rests stops reserving what filled,
        and is closed with its last fill.
        """
        if rests:
            self._risk.release(order, book.instrument, qty)
        commission = fee // book.factor
        order.leaves_qty = leaves = order.leaves_qty - qty
        order.cum_qty += qty
        order.filled_notional += price * qty
        if filled_at := order.filled_at:
            order.filled_at = {**filled_at, price: filled_at.get(price, 0) + qty}
            order.avg_px = divide_half_even(order.filled_notional, order.cum_qty)
        else:
            order.filled_at = {price: qty}
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
        return self._execution_log.report(order, type, qty, price, trade_id, aggressor, commission)
