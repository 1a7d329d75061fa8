"""Combos, requests, quotes and their trades as messages; everybody appears under a pseudonym."""

from __future__ import annotations

from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import Side
from sim.core.model.orders import Trade
from sim.core.model.quantities import CASH_SCALE, decimal_text
from sim.core.model.rfq_records import Quote, Rfq
from sim.core.rfq.combos import Combo

WIRE_SIDES = {Side.BUY: wire.Side.SIDE_BUY, Side.SELL: wire.Side.SIDE_SELL}
SIDES: dict[int, Side] = {number: side for side, number in WIRE_SIDES.items()}
CASH_PLACES = 4


def combo_message(exchange: Exchange, combo: Combo) -> wire.ComboInstrument:
    """Return the message of a combo."""
    instrument = exchange.instruments.require(combo.symbol)
    return wire.ComboInstrument(
        id=combo.symbol,
        legs=[wire.ComboLeg(symbol=leg.symbol, side=WIRE_SIDES[leg.side]) for leg in combo.legs],
        state=exchange.trading.state(combo.symbol),
        created_time=combo.created,
        tick_size=instrument.tick / instrument.price_scale,
    )


def leg_messages(exchange: Exchange, combo: Combo) -> list[wire.RFQComboLeg]:
    """Return the legs of a combo, with the settlement prices of their markets once final."""
    messages = []
    for leg in combo.legs:
        message = wire.RFQComboLeg(symbol=leg.symbol, side=WIRE_SIDES[leg.side])
        settlement = exchange.trading.settlements.get(leg.symbol)
        if settlement is not None and not settlement.preliminary:
            scale = exchange.instruments.require(leg.symbol).price_scale
            message.settlement_price = decimal_text(settlement.price, scale)
        messages.append(message)
    return messages


def rfq_message(exchange: Exchange, rfq: Rfq) -> wire.RFQ:
    """Return the message of a recorded request."""
    instrument = exchange.instruments.require(rfq.symbol)
    combo = exchange.combos.get(rfq.symbol)
    return wire.RFQ(
        id=rfq.id,
        qty_decimal=decimal_text(rfq.qty, instrument.qty_scale) if rfq.qty else None,
        cash_order_qty=_cash(rfq),
        symbol=rfq.symbol,
        rfq_creator_user_id=exchange.rfqs.user_id(rfq.account),
        created_time=rfq.created,
        rest_remainder=rfq.rest_remainder,
        status=rfq.status,
        updated_time=rfq.updated,
        combo_legs=leg_messages(exchange, combo) if combo is not None else [],
        tick_size=instrument.tick / instrument.price_scale,
    )


def quote_message(exchange: Exchange, quote: Quote) -> wire.Quote:
    """Return the message of a recorded quote."""
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
        buy_price=decimal_text(quote.buy_price, prices, 2) if quote.buy_price else "0",
        sell_price=decimal_text(quote.sell_price, prices, 2) if quote.sell_price else "0",
        rest_remainder=quote.rest_remainder,
        post_only=quote.post_only,
        rfq_creator_user_id=exchange.rfqs.user_id(rfq.account),
        rfq_cash_order_qty=_cash(rfq),
        buy_qty_decimal=decimal_text(quote.buy_qty, sizes),
        sell_qty_decimal=decimal_text(quote.sell_qty, sizes),
        updated_time=quote.updated,
        accepted_side=WIRE_SIDES.get(quote.accepted, wire.Side.SIDE_UNDEFINED),
        accepted_time=quote.accepted_at,
        confirmed_time=quote.confirmed_at,
        confirmation_deadline=quote.confirm_by,
        execution_deadline=quote.execute_by,
        executed_time=quote.executed_at,
        rfq_creator_order_id=quote.rfq_order_id or None,
        creator_order_id=quote.quote_order_id or None,
    )


def trade_message(exchange: Exchange, trade: Trade) -> wire.RFQTrade:
    """Return a fill of an order that came from a quote."""
    instrument = exchange.instruments.require(trade.symbol)
    return wire.RFQTrade(
        trade_id=trade.id,
        symbol=trade.symbol,
        price=decimal_text(trade.price, instrument.price_scale, 2),
        qty_decimal=decimal_text(trade.qty, instrument.qty_scale),
        aggressor_side=WIRE_SIDES[trade.aggressor.order.side],
        executed_time=trade.at,
    )


def _cash(rfq: Rfq) -> str | None:
    return decimal_text(rfq.cash, CASH_SCALE, CASH_PLACES) if rfq.cash else None
