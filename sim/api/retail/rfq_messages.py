"""Requests, quotes and their trades as messages of the retail API, for handlers and the private
WebSocket.
"""

from __future__ import annotations

from sim.api.retail.combos import WIRE_SIDES, leg_messages
from sim.core.exchange import Exchange
from sim.core.model.orders import Trade
from sim.core.model.quantities import CASH_SCALE, decimal_text
from sim.core.model.rfq_records import Quote, Rfq
from sim.messages import retail_v1 as wire


def rfq_message(exchange: Exchange, rfq: Rfq) -> wire.Rfq:
    """A request as it stands in the record."""
    instrument = exchange.instruments.require(rfq.symbol)
    combo = exchange.combos.get(rfq.symbol)
    return wire.Rfq(
        id=rfq.id,
        symbol=rfq.symbol,
        rfq_creator_user_id=exchange.rfqs.user_id(rfq.account),
        created_time=rfq.created,
        rest_remainder=rfq.rest_remainder,
        status=rfq.status,
        updated_time=rfq.updated,
        combo_legs=leg_messages(exchange, combo) if combo is not None else [],
        qty_decimal=decimal_text(rfq.qty, instrument.qty_scale) if rfq.qty else None,
        cash_order_qty=decimal_text(rfq.cash, CASH_SCALE, 2) if rfq.cash else None,
        tick_size=instrument.tick / instrument.price_scale,
    )


def quote_message(exchange: Exchange, quote: Quote) -> wire.Quote:
    """A quote as it stands in the record."""
    instrument = exchange.instruments.require(quote.symbol)
    rfq = exchange.rfqs.rfq(quote.rfq_id)
    prices, sizes = instrument.price_scale, instrument.qty_scale
    return wire.Quote(
        id=quote.id,
        rfq_id=quote.rfq_id,
        creator_rfq_user_id=exchange.rfqs.user_id(quote.account),
        symbol=quote.symbol,
        status=quote.status,
        created_time=quote.created,
        buy_price=decimal_text(quote.buy_price, prices, 2) if quote.buy_price else "",
        sell_price=decimal_text(quote.sell_price, prices, 2) if quote.sell_price else "",
        rest_remainder=quote.rest_remainder,
        post_only=quote.post_only,
        rfq_creator_user_id=exchange.rfqs.user_id(rfq.account),
        buy_qty_decimal=decimal_text(quote.buy_qty, sizes) if quote.buy_price else "",
        sell_qty_decimal=decimal_text(quote.sell_qty, sizes) if quote.sell_price else "",
        updated_time=quote.updated,
        accepted_side=WIRE_SIDES.get(quote.accepted, wire.Side.SIDE_UNDEFINED),
        accepted_time=quote.accepted_at,
        confirmed_time=quote.confirmed_at,
        confirmation_deadline=quote.confirm_by,
        execution_deadline=quote.execute_by,
        executed_time=quote.executed_at,
        rfq_cash_order_qty=decimal_text(rfq.cash, CASH_SCALE, 2) if rfq.cash else None,
        rfq_creator_order_id=quote.rfq_order_id or None,
        creator_order_id=quote.quote_order_id or None,
    )


def rfq_trade_message(exchange: Exchange, trade: Trade) -> wire.RfqTrade:
    """A fill that came from a quote."""
    instrument = exchange.instruments.require(trade.symbol)
    return wire.RfqTrade(
        trade_id=trade.id,
        symbol=trade.symbol,
        price=decimal_text(trade.price, instrument.price_scale, 2),
        qty_decimal=decimal_text(trade.qty, instrument.qty_scale),
        aggressor_side=WIRE_SIDES[trade.aggressor.order.side],
        executed_time=trade.at,
    )
