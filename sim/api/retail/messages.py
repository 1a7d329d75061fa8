"""Orders, executions and trades as messages of the retail API, for REST handlers and streams.

The neighbouring modules build books, positions and balances. Every price is the YES price, even for
an order on the NO side.
"""

from __future__ import annotations

from sim.api.rendering.retail_numbers import (
    book_price,
    fixed,
    fixed_amount,
    fixed_notional,
    number,
    price_amount,
    price_or_none,
)
from sim.api.retail.metadata import leg_prices, market_metadata
from sim.api.retail.order_request import OUTCOMES, TIMES_IN_FORCE
from sim.contract.messages import retail_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model import orders as core
from sim.core.model.enums import ExecutionType, OrderType, Side
from sim.core.model.quantities import CURRENCY, decimal_text
from sim.kernel.instants import midnight_utc, trade_date

_SIDES = {Side.BUY: wire.OrderSide.ORDER_SIDE_BUY, Side.SELL: wire.OrderSide.ORDER_SIDE_SELL}
# A stop order is shown as the type it turns into when triggered: the retail API has no name for
# stop orders and retail accounts cannot place them.
_TYPES = {
    OrderType.MARKET_TO_LIMIT: wire.OrderType.ORDER_TYPE_MARKET,
    OrderType.STOP: wire.OrderType.ORDER_TYPE_MARKET,
}
_TIMES_IN_FORCE = {core_tif: tif for tif, core_tif in TIMES_IN_FORCE.items()}
_YES, _NO = wire.OutcomeSide.OUTCOME_SIDE_YES, wire.OutcomeSide.OUTCOME_SIDE_NO


def intent_of(order: core.Order) -> wire.OrderIntent:
    """Return the intent of an order. Orders of the exchange API carry none and count as YES."""
    if order.intent:
        return wire.OrderIntent(order.intent - 1)
    if order.side is Side.BUY:
        return wire.OrderIntent.ORDER_INTENT_BUY_LONG
    return wire.OrderIntent.ORDER_INTENT_SELL_LONG


def retail_order(exchange: Exchange, order: core.Order) -> wire.Order:
    """Return an order in its current state."""
    price_scale, qty_scale = order.price_scale, order.qty_scale
    intent = intent_of(order)
    outcome, action = OUTCOMES[intent]
    price = order.price if order.type is OrderType.LIMIT else order.price or None
    return wire.Order(
        id=order.id,
        market_slug=order.symbol,
        side=_SIDES[order.side],
        type=_TYPES.get(order.type, wire.OrderType.ORDER_TYPE_LIMIT),
        price=wire.Amount(value=order.price_text, currency=CURRENCY)
        if order.price_text
        else price_or_none(price, price_scale),
        quantity=number(order.qty, qty_scale),
        cum_quantity=number(order.cum_qty, qty_scale),
        leaves_quantity=number(order.leaves_qty, qty_scale),
        tif=_TIMES_IN_FORCE.get(order.tif, wire.TimeInForce.TIME_IN_FORCE_DAY),
        intent=intent,
        outcome_side=outcome,
        action=action,
        state=order.state,
        avg_px=fixed_amount(order.filled_notional, max(order.cum_qty, 1) * price_scale),
        cash_order_qty=fixed_amount(order.cash_qty, price_scale),
        good_till_time=order.good_till,
        insert_time=order.inserted,
        create_time=order.created,
        commission_notional_total_collected=fixed_notional(
            order.commission, price_scale, qty_scale
        ),
        commissions_basis_points="0",
        maker_commissions_basis_points="0",
        market_metadata=market_metadata(exchange, order.symbol, long=outcome == _YES),
        last_transact_time=order.changed or None,
        manual_order_indicator=max(order.manual_indicator - 1, 0),
    )


def retail_execution(exchange: Exchange, execution: core.Execution) -> wire.Execution:
    """Return an execution with its order as it was right after the execution.

    Clients must read `type` to recognise a rejection: the reject reason is zero in
    other executions too.
    """
    order = execution.order
    price_scale, qty_scale = order.price_scale, order.qty_scale
    filled = execution.type in (ExecutionType.FILL, ExecutionType.PARTIAL_FILL)
    rejected = execution.type is ExecutionType.REJECTED
    message = wire.Execution(
        id=execution.id,
        order=retail_order(exchange, order),
        last_shares=fixed(execution.last_qty, qty_scale) if filled else "0",
        last_px=book_price(execution.last_px, price_scale) if filled else None,
        type=execution.type,
        text=execution.text,
        order_reject_reason=execution.reject_reason if rejected else 0,
        transact_time=execution.at,
        transact_trade_date=midnight_utc(trade_date(execution.at)),
        leg_prices=leg_prices(exchange, execution) if filled else [],
        trade_id=execution.trade_id,
        aggressor=execution.aggressor,
        unsolicited_cancel_reason=execution.unsolicited,
        trace_id=execution.trace_id,
    )
    if filled:
        is_no_side = message.order is not None and message.order.outcome_side == _NO
        own = price_scale - execution.last_px if is_no_side else execution.last_px
        message.commission_spread_px = book_price(own, price_scale)
        message.commission_notional_collected = fixed_notional(
            execution.commission, price_scale, qty_scale
        )
    return message


def trade_frame(trade: core.Trade) -> wire.TradeTick:
    """Return a trade in its public form, without accounts."""
    taker, maker = trade.aggressor.order, trade.passive.order
    return wire.TradeTick(
        market_slug=trade.symbol,
        price=price_amount(trade.price, taker.price_scale),
        quantity=wire.Amount(value=decimal_text(trade.qty, taker.qty_scale), currency=CURRENCY),
        trade_time=trade.at,
        maker=wire.TradeParty(side=_SIDES[maker.side], intent=intent_of(maker)),
        taker=wire.TradeParty(side=_SIDES[taker.side], intent=intent_of(taker)),
    )
