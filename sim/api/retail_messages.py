"""Core records in the shapes of the retail API: orders, executions, positions, balances, trades. REST handlers and the WebSocket hub both write with these.

The price frame is the exchange's own: every price is the YES price, also of an order on the NO side.
"""

from __future__ import annotations

from typing import NamedTuple

from sim.api.retail_books import book_message, lite_message
from sim.api.retail_metadata import market_metadata
from sim.api.retail_numbers import (
    CURRENCY,
    dollars,
    fixed,
    nearest,
    notional_amount,
    number,
    price_amount,
    price_or_none,
)
from sim.core import orders as core
from sim.core.events import CashMoved, PositionChanged
from sim.core.exchange import Exchange
from sim.core.instruments import Instrument
from sim.core.quantities import Cash, Notional, Qty, decimal_fixed, decimal_text
from sim.core.vocabulary import ExecutionType, LedgerEntryType, OrderType, Side, TimeInForce
from sim.kernel.instants import Instant, eastern, trade_date
from sim.messages import retail_v1 as wire

__all__ = [
    "Holding",
    "balance_change",
    "balance_message",
    "book_message",
    "entry_type",
    "holdings",
    "holdings_around",
    "lite_message",
    "position_entry_type",
    "position_message",
    "retail_execution",
    "retail_order",
    "trade_frame",
]

_SIDES = {Side.BUY: wire.OrderSide.ORDER_SIDE_BUY, Side.SELL: wire.OrderSide.ORDER_SIDE_SELL}
# A stop shows as what it becomes: retail has no name for it, and its accounts cannot place one.
_TYPES = {
    OrderType.MARKET_TO_LIMIT: wire.OrderType.ORDER_TYPE_MARKET,
    OrderType.STOP: wire.OrderType.ORDER_TYPE_MARKET,
}
TIMES_IN_FORCE = {
    wire.TimeInForce.TIME_IN_FORCE_DAY: TimeInForce.DAY,
    wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_CANCEL: TimeInForce.GOOD_TILL_CANCEL,
    wire.TimeInForce.TIME_IN_FORCE_GOOD_TILL_DATE: TimeInForce.GOOD_TILL_TIME,
    wire.TimeInForce.TIME_IN_FORCE_IMMEDIATE_OR_CANCEL: TimeInForce.IMMEDIATE_OR_CANCEL,
    wire.TimeInForce.TIME_IN_FORCE_FILL_OR_KILL: TimeInForce.FILL_OR_KILL,
}
_TIMES_IN_FORCE = {core_tif: tif for tif, core_tif in TIMES_IN_FORCE.items()}
OUTCOMES = {
    wire.OrderIntent.ORDER_INTENT_BUY_LONG: (wire.OutcomeSide.OUTCOME_SIDE_YES, wire.OrderAction.ORDER_ACTION_BUY),
    wire.OrderIntent.ORDER_INTENT_SELL_LONG: (wire.OutcomeSide.OUTCOME_SIDE_YES, wire.OrderAction.ORDER_ACTION_SELL),
    wire.OrderIntent.ORDER_INTENT_BUY_SHORT: (wire.OutcomeSide.OUTCOME_SIDE_NO, wire.OrderAction.ORDER_ACTION_BUY),
    wire.OrderIntent.ORDER_INTENT_SELL_SHORT: (wire.OutcomeSide.OUTCOME_SIDE_NO, wire.OrderAction.ORDER_ACTION_SELL),
}


# ---- orders and executions


def kept_intent(intent: wire.OrderIntent) -> int:
    """An intent as the core keeps it, where 0 says that none was given."""
    return intent + 1


def kept_indicator(indicator: int | None) -> int:
    """A manual order indicator under the exchange's number, where 0 says that none was given."""
    return 0 if indicator is None else indicator + 1


def intent_of(order: core.Order) -> wire.OrderIntent:
    """What the trader meant. An order that did not say (from the exchange API) is taken as one on the YES outcome."""
    if order.intent:
        return wire.OrderIntent(order.intent - 1)
    return wire.OrderIntent.ORDER_INTENT_BUY_LONG if order.side is Side.BUY else wire.OrderIntent.ORDER_INTENT_SELL_LONG


def retail_order(exchange: Exchange, order: core.Order) -> wire.Order:
    """An order as it is now."""
    price_scale, qty_scale = order.price_scale, order.qty_scale
    intent = intent_of(order)
    outcome, action = OUTCOMES[intent]
    instrument = exchange.instruments.require(order.symbol)
    theta = exchange.trading.fees.theta(instrument.fee_class, order.created)
    return wire.Order(
        id=order.id,
        market_slug=order.symbol,
        side=_SIDES[order.side],
        type=_TYPES.get(order.type, wire.OrderType.ORDER_TYPE_LIMIT),
        price=price_or_none(order.price or None, price_scale),
        quantity=number(order.qty, qty_scale),
        cum_quantity=number(order.cum_qty, qty_scale),
        leaves_quantity=number(order.leaves_qty, qty_scale),
        tif=_TIMES_IN_FORCE.get(order.tif, wire.TimeInForce.TIME_IN_FORCE_DAY),
        intent=intent,
        outcome_side=outcome,
        action=action,
        state=order.state,
        avg_px=price_or_none(order.avg_px if order.cum_qty else None, price_scale),
        cash_order_qty=price_or_none(order.cash_qty or None, price_scale),
        good_till_time=order.good_till,
        insert_time=order.inserted,
        create_time=order.created,
        commission_notional_total_collected=notional_amount(order.commission, price_scale, qty_scale),
        commissions_basis_points=str(theta.taker),
        maker_commissions_basis_points=str(-theta.maker),
        market_metadata=market_metadata(exchange, order.symbol, long=outcome == wire.OutcomeSide.OUTCOME_SIDE_YES),
        last_transact_time=order.changed or None,
        manual_order_indicator=max(order.manual_indicator - 1, 0),
    )


def retail_execution(exchange: Exchange, execution: core.Execution) -> wire.Execution:
    """An execution with its order as it stood right after. Only the type says that an order was rejected: other executions carry the zero reason too."""
    order = execution.order
    price_scale, qty_scale = order.price_scale, order.qty_scale
    filled = execution.type in (ExecutionType.FILL, ExecutionType.PARTIAL_FILL)
    return wire.Execution(
        id=execution.id,
        order=retail_order(exchange, order),
        last_shares=decimal_text(execution.last_qty, qty_scale),
        last_px=price_amount(execution.last_px, price_scale) if filled else None,
        type=execution.type,
        text=execution.text,
        order_reject_reason=execution.reject_reason if execution.type is ExecutionType.REJECTED else 0,
        transact_time=execution.at,
        transact_trade_date=eastern(trade_date(execution.at)),
        trade_id=execution.trade_id,
        aggressor=execution.aggressor,
        commission_notional_collected=notional_amount(execution.commission, price_scale, qty_scale) if filled else None,
        unsolicited_cancel_reason=execution.unsolicited,
        trace_id=execution.trace_id,
    )


def trade_frame(trade: core.Trade) -> wire.TradeTick:
    """A trade as everybody sees it: no names."""
    taker, maker = trade.aggressor.order, trade.passive.order
    return wire.TradeTick(
        market_slug=trade.symbol,
        price=price_amount(trade.price, taker.price_scale),
        quantity=wire.Amount(value=decimal_text(trade.qty, taker.qty_scale), currency=CURRENCY),
        trade_time=trade.at,
        maker=wire.TradeParty(side=_SIDES[maker.side], intent=intent_of(maker)),
        taker=wire.TradeParty(side=_SIDES[taker.side], intent=intent_of(taker)),
    )


# ---- positions


class Holding(NamedTuple):
    """What a position message is made from: a position, or one at a point of its ledger, where only net, cost and result are known."""

    account: str
    symbol: str
    net: Qty
    cost: Notional
    realized: Notional
    at: Instant
    expired: bool = False
    bought: Qty | None = None
    sold: Qty | None = None
    at_day_start: Qty | None = None
    fees: Notional | None = None


def holdings(exchange: Exchange, account: str) -> list[Holding]:
    """Every position an account ever had, as it is now, in order of first touch."""
    trading = exchange.trading
    settled = {row.symbol: row.at for row in trading.positions.rows(account) if row.settlement is not None and row.qty_change}
    fees: dict[str, Notional] = {}
    for seq in trading.executions.of_account(account):
        execution = trading.executions[seq]
        if execution.commission:
            fees[execution.order.symbol] = fees.get(execution.order.symbol, 0) + execution.commission
    return [
        Holding(
            account=account,
            symbol=position.symbol,
            net=position.net,
            cost=position.cost,
            realized=position.realized,
            at=max(position.changed, settled.get(position.symbol, 0)),
            expired=position.net == 0 and position.symbol in settled,
            bought=position.qty_bought,
            sold=position.qty_sold,
            at_day_start=position.bod(exchange.now),
            fees=fees.get(position.symbol, 0),
        )
        for position in trading.positions.of(account)
    ]


def holdings_around(row: PositionChanged) -> tuple[Holding | None, Holding]:
    """The position before and after a row of its ledger; None before the first."""
    before = Holding(row.account, row.symbol, row.net - row.qty_change, row.cost - row.cost_change, row.realized - row.realized_change, row.at)
    after = Holding(row.account, row.symbol, row.net, row.cost, row.realized, row.at, row.settlement is not None)
    fresh = not (before.net or before.cost or before.realized)
    return (None if fresh else before), after


def position_message(exchange: Exchange, held: Holding) -> wire.UserPosition:
    """A position. Quantities that are not known at that point are empty, as stream frames may have them."""
    instrument = exchange.instruments.require(held.symbol)
    scale = instrument.qty_scale
    available = held.net - _closing(exchange, held) if held.bought is not None else None
    average = _per_contract(held, instrument)
    return wire.UserPosition(
        net_position=nearest(held.net, scale),
        qty_bought=nearest(held.bought or 0, scale),
        qty_sold=nearest(held.sold or 0, scale),
        bod_position=nearest(held.at_day_start or 0, scale),
        qty_available=None if available is None else nearest(available, scale),
        net_position_decimal=fixed(held.net, scale),
        qty_bought_decimal=_known(held.bought, scale),
        qty_sold_decimal=_known(held.sold, scale),
        bod_position_decimal=_known(held.at_day_start, scale),
        qty_available_decimal=_known(available, scale),
        cost=notional_amount(held.cost, instrument.price_scale, scale),
        realized=notional_amount(held.realized, instrument.price_scale, scale),
        cash_value=_unrealized(exchange, held, instrument),
        avg_px=average,
        fees=None if held.fees is None else notional_amount(held.fees, instrument.price_scale, scale),
        base_cost=notional_amount(held.cost, instrument.price_scale, scale),
        cost_per_share=average,
        expired=held.expired,
        update_time=held.at,
        market_metadata=market_metadata(exchange, held.symbol, long=held.net >= 0),
        position_id=f"{held.account}:{'LONG' if held.net >= 0 else 'SHORT'}:{held.symbol}",
    )


def _known(qty: Qty | None, scale: int) -> str:
    return "" if qty is None else fixed(qty, scale)


def _closing(exchange: Exchange, held: Holding) -> Qty:
    """Signed quantity that working orders would take off the position, never more than all of it."""
    closing = Side.SELL if held.net > 0 else Side.BUY
    orders = exchange.trading.orders.of_account(held.account)
    working = sum(order.leaves_qty for order in orders if order.symbol == held.symbol and order.side is closing)
    return min(working, held.net) if held.net > 0 else max(-working, held.net)


def _per_contract(held: Holding, instrument: Instrument) -> wire.Amount | None:
    if not held.net:
        return None
    return wire.Amount(value=decimal_fixed(abs(held.cost), abs(held.net) * instrument.price_scale, 4), currency=CURRENCY)


def _unrealized(exchange: Exchange, held: Holding, instrument: Instrument) -> wire.Amount | None:
    """What closing at the last traded price would add to the realized result; None where nothing has traded."""
    mark = exchange.trading.stats(held.symbol).last_trade_px
    if mark is None:
        return None
    return notional_amount(held.net * mark - held.cost, instrument.price_scale, instrument.qty_scale)


# ---- money

_ENTRY_TYPES = {
    LedgerEntryType.DEPOSIT: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_DEPOSIT,
    LedgerEntryType.WITHDRAWAL: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_WITHDRAWAL,
    LedgerEntryType.ORDER_EXECUTION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_ORDER_EXECUTION,
    LedgerEntryType.CORRECTION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CORRECTION,
    LedgerEntryType.NETTING: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_NETTING,
    LedgerEntryType.RESOLUTION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_RESOLUTION,
    LedgerEntryType.MANUAL_ADJUSTMENT: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_MANUAL_ADJUSTMENT,
    LedgerEntryType.MANUAL_TRANSFER: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_MANUAL_ADJUSTMENT,
    LedgerEntryType.COMMISSION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_COMMISSION,
    LedgerEntryType.CONTRACT_EXPIRATION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CONTRACT_EXPIRATION,
}


def entry_type(type: LedgerEntryType) -> wire.LedgerEntryType:
    """A ledger entry type under its retail name; UNDEFINED for those retail has no name for."""
    return _ENTRY_TYPES.get(type, wire.LedgerEntryType.LEDGER_ENTRY_TYPE_UNDEFINED)


def position_entry_type(row: PositionChanged) -> wire.LedgerEntryType:
    """Why a position changed."""
    if row.settlement is not None and row.qty_change:
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_RESOLUTION
    if row.description == "Correction":
        return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CORRECTION
    return wire.LedgerEntryType.LEDGER_ENTRY_TYPE_ORDER_EXECUTION


def balance_message(exchange: Exchange, account: str, *, cash: Cash | None = None, at: Instant | None = None) -> wire.UserBalance:
    """Money of an account; with `cash` and `at`, as it was around a move of it. buying_power = current_balance + asset_available - open_orders - margin."""
    trading = exchange.trading
    current = trading.ledger.balance(account) if cash is None else cash
    open_orders = trading.open_orders_reserve(account)
    margin = trading.margin_requirement(account)
    if at is None:
        rows = trading.ledger.entries(account)
        at = rows[-1].at if rows else None
    return wire.UserBalance(
        current_balance=dollars(current),
        currency=CURRENCY,
        last_updated=at,
        buying_power=dollars(current - open_orders - margin),
        asset_notional=dollars(_asset_notional(exchange, account)),
        open_orders=dollars(open_orders),
        margin_requirement=dollars(margin),
        available_to_withdraw=dollars(max(current - open_orders - margin, 0)),
    )


def _asset_notional(exchange: Exchange, account: str) -> Cash:
    """What the long holdings cost."""
    total = 0
    for position in exchange.trading.positions.of(account):
        if position.net > 0:
            total += position.cost * exchange.instruments.require(position.symbol).cash_per_notional
    return total


def balance_change(exchange: Exchange, row: CashMoved) -> wire.BalanceChange:
    """One move of cash with the balance before and after it."""
    return wire.BalanceChange(
        before_balance=balance_message(exchange, row.account, cash=row.before, at=row.at),
        after_balance=balance_message(exchange, row.account, cash=row.after, at=row.at),
        description=row.description,
        update_time=row.at,
        modified_security_id=row.symbol,
        entry_type=entry_type(row.type),
        account_name=row.account,
        id=row.id,
    )

