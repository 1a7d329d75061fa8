"""The legs of a combo in the shapes of the retail API: what each was worth in a fill, and how each
stands in a position (§2.8, retail facts §2.1, §2.2).

A combo trades as one instrument, so nobody agrees on a price per leg. What is told is the price of
the leg's market at that moment, in the price frame of all others, YES (assumption
`combos.leg_prices`).
"""

from __future__ import annotations

from sim.api.gateway.live_views import how_it_stands
from sim.api.rendering.amounts import book_price, price_amount
from sim.api.rendering.retail_books import current_price
from sim.api.retail.metadata import market_metadata
from sim.core.catalogue.assumptions import COMBO_LEG_PRICES
from sim.core.exchange import Exchange
from sim.core.model.enums import BUY, Side
from sim.core.model.orders import Execution
from sim.core.model.quantities import Price, decimal_text
from sim.core.rfq.combos import Leg
from sim.messages import retail_v1 as wire


def leg_prices(exchange: Exchange, execution: Execution) -> list[wire.LegPrice]:
    """One entry for each leg of the combo that a fill is on; none for a plain market. Whoever sells
    the combo takes the other side of every leg.
    """
    order = execution.order
    combo = exchange.combos.get(order.symbol)
    if combo is None or exchange.ctx.assumptions.text(COMBO_LEG_PRICES) == "none":
        return []
    found = []
    for number, leg in enumerate(combo.legs):
        price = _worth(exchange, leg)
        scale = exchange.instruments.require(leg.symbol).price_scale
        found.append(
            wire.LegPrice(
                market_slug=leg.symbol,
                anchor=number == 0,
                px=None if price is None else price_amount(price, scale),
                qty=decimal_text(execution.last_qty, order.qty_scale),
                side=(
                    wire.OrderSide.ORDER_SIDE_BUY
                    if (leg.side is BUY) is (order.side is BUY)
                    else wire.OrderSide.ORDER_SIDE_SELL
                ),
                reference_px=price or 0,
            )
        )
    return found


def leg_details(exchange: Exchange, symbol: str) -> list[wire.ComboLegDetail]:
    """How each leg of a combo stands; nothing for a plain market."""
    combo = exchange.combos.get(symbol)
    return [] if combo is None else [_detail(exchange, leg) for leg in combo.legs]


def _detail(exchange: Exchange, leg: Leg) -> wire.ComboLegDetail:
    shown = market_metadata(exchange, leg.symbol, long=leg.side is BUY) or wire.MarketMetadata(
        slug=leg.symbol
    )
    event = exchange.reference.event_of(leg.symbol)
    game = None if event is None or not event.game_id else how_it_stands(exchange, event)
    state, settlement = _outcome(exchange, leg)
    return wire.ComboLegDetail(
        slug=shown.slug,
        icon=shown.icon,
        title=shown.title,
        outcome=shown.outcome,
        event_slug=shown.event_slug,
        event_id=shown.event_id,
        team_id=shown.team_id,
        team=shown.team,
        subject=shown.subject,
        outcome_side=(
            wire.OutcomeSide.OUTCOME_SIDE_YES
            if leg.side is BUY
            else wire.OutcomeSide.OUTCOME_SIDE_NO
        ),
        event_group_title=event.title if event is not None else "",
        event_start_time=event.start_time if event is not None else None,
        live=bool(
            event is not None and (event.live if game is None or game.live is None else game.live)
        ),
        indicative_price=book_price(
            _worth(exchange, leg), exchange.instruments.require(leg.symbol).price_scale
        ),
        settlement=settlement,
        state=state,
    )


def _outcome(
    exchange: Exchange, leg: Leg
) -> tuple[wire.ComboLegState, wire.ComboSettlement | None]:
    """Won, lost, or, where a final settlement is neither one dollar nor zero, indeterminate."""
    settlement = exchange.trading.settlements.get(leg.symbol)
    if settlement is None or settlement.preliminary:
        return wire.ComboLegState.COMBO_LEG_STATE_PENDING, None
    scale = exchange.instruments.require(leg.symbol).price_scale
    shown = wire.ComboSettlement(
        settlement_price=price_amount(settlement.price, scale),
        settlement_set_time=settlement.set_at,
    )
    if settlement.price not in (0, scale):
        return wire.ComboLegState.COMBO_LEG_STATE_INDETERMINATE, shown
    won = (settlement.price == scale) is (leg.side is BUY)
    return (
        wire.ComboLegState.COMBO_LEG_STATE_WON if won else wire.ComboLegState.COMBO_LEG_STATE_LOST
    ), shown


def _worth(exchange: Exchange, leg: Leg) -> Price | None:
    """What the market of a leg is worth now; None where nothing has traded and nobody quotes."""
    book = exchange.trading.book(leg.symbol)
    bids, offers = (
        ([], []) if book.hidden else (book.levels(Side.BUY, 1), book.levels(Side.SELL, 1))
    )
    return current_price(
        exchange.trading.stats(leg.symbol),
        bids[0][0] if bids else None,
        offers[0][0] if offers else None,
    )
