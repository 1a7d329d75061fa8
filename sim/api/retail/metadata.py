"""Display data about the market of an order or position, and about the legs of a combo (§2.8).

A combo trades as one instrument, so a trade fixes no price per leg. A fill therefore reports the
YES price of each leg's market at that moment (assumption `combos.leg_prices`).
"""

from __future__ import annotations

from msgspec import structs

from sim.api.gateway.event_views import how_it_stands
from sim.api.rendering.retail_books import market_value
from sim.api.rendering.retail_numbers import book_price, price_amount, price_or_none
from sim.contract.messages import gateway_v1 as gateway
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import COMBO_LEG_PRICES
from sim.core.exchange import Exchange
from sim.core.model.enums import BUY, Side
from sim.core.model.orders import Execution
from sim.core.model.quantities import Price, decimal_text
from sim.core.rfq.combos import Leg


def market_metadata(
    exchange: Exchange, symbol: str, *, long: bool, resolved: bool = False
) -> wire.MarketMetadata | None:
    """Return the title of a market's event and the answer that one of its sides stands for.

    None for an instrument without reference data. In a resolved market the answer is "None",
    because nobody holds a side of it any more.
    """
    market = exchange.reference.market(symbol)
    if market is None:
        return None
    side = side_of(market, long=long)
    event = exchange.reference.event_of(symbol)
    assert event is not None  # every market has one
    message = wire.MarketMetadata(
        slug=market.slug,
        icon=market.image,
        title=event.title,
        outcome="None" if resolved else "Yes" if long else "No",
        event_slug=event.slug,
        event_id=str(event.id),
        subject=wire.MetadataSubject(name=market.title_short or market.title),
    )
    if side is not None and side.team is not None:
        message.team_id, message.team = side.team_id, side.team
    return message


def side_of(market: gateway.Market, *, long: bool) -> gateway.MarketSide | None:
    """Return the long (YES) or short (NO) side of a market."""
    return next((side for side in market.market_sides if side.long is long), None)


# ---- legs of combos


def leg_prices(exchange: Exchange, execution: Execution) -> list[wire.LegPrice]:
    """Return one entry per leg of the combo that was filled; an empty list for other instruments.

    Whoever sells a combo takes the opposite side of every leg.
    """
    order = execution.order
    combo = exchange.combos.get(order.symbol)
    if combo is None or exchange.ctx.assumptions.text(COMBO_LEG_PRICES) == "none":
        return []
    sides = wire.OrderSide
    rows = []
    for number, leg in enumerate(combo.legs):
        price = _market_value(exchange, leg)
        buys = (leg.side is BUY) is (order.side is BUY)
        row = wire.LegPrice(
            market_slug=leg.symbol,
            anchor=number == 0,
            px=price_or_none(price, exchange.instruments.require(leg.symbol).price_scale),
            qty=decimal_text(execution.last_qty, order.qty_scale),
            side=sides.ORDER_SIDE_BUY if buys else sides.ORDER_SIDE_SELL,
            reference_px=price or 0,
        )
        rows.append(row)
    return rows


def leg_details(exchange: Exchange, symbol: str) -> list[wire.ComboLegDetail]:
    """Return the status of each leg of a combo; an empty list for other instruments."""
    combo = exchange.combos.get(symbol)
    return [] if combo is None else [_detail(exchange, leg) for leg in combo.legs]


def _detail(exchange: Exchange, leg: Leg) -> wire.ComboLegDetail:
    metadata = market_metadata(exchange, leg.symbol, long=leg.side is BUY)
    event = exchange.reference.event_of(leg.symbol)
    assert metadata is not None and event is not None  # every instrument but a combo has both
    game = how_it_stands(exchange, event) if event.game_id else None
    state, settlement = _outcome(exchange, leg)
    scale, sides = exchange.instruments.require(leg.symbol).price_scale, wire.OutcomeSide
    return wire.ComboLegDetail(
        **structs.asdict(metadata),
        outcome_side=sides.OUTCOME_SIDE_YES if leg.side is BUY else sides.OUTCOME_SIDE_NO,
        indicative_price=book_price(_market_value(exchange, leg), scale),
        settlement=settlement,
        state=state,
        event_group_title=event.title,
        event_start_time=event.start_time,
        live=bool(event.live if game is None or game.live is None else game.live),
    )


def _outcome(
    exchange: Exchange, leg: Leg
) -> tuple[wire.ComboLegState, wire.ComboSettlement | None]:
    """Return whether a leg won or lost; INDETERMINATE if it settled between zero and one dollar."""
    states, settlement = wire.ComboLegState, exchange.trading.settlements.get(leg.symbol)
    if settlement is None or settlement.preliminary:
        return states.COMBO_LEG_STATE_PENDING, None
    scale = exchange.instruments.require(leg.symbol).price_scale
    message = wire.ComboSettlement(
        settlement_price=price_amount(settlement.price, scale),
        settlement_set_time=settlement.set_at,
    )
    if settlement.price not in (0, scale):
        return states.COMBO_LEG_STATE_INDETERMINATE, message
    won = (settlement.price == scale) is (leg.side is BUY)
    return states.COMBO_LEG_STATE_WON if won else states.COMBO_LEG_STATE_LOST, message


def _market_value(exchange: Exchange, leg: Leg) -> Price | None:
    """Return the current value of a leg's market; None without trades and quotes."""
    book = exchange.trading.book(leg.symbol)
    bid, offer = (
        None if book.hidden else book.ladder(side).best or None for side in (Side.BUY, Side.SELL)
    )
    return market_value(exchange.trading.stats(leg.symbol), bid, offer)
