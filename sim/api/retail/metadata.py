"""What a screen shows about the market of an order or a position, from the gateway's reference
data.
"""

from __future__ import annotations

from sim.core.exchange import Exchange
from sim.messages import gateway_v1 as gateway
from sim.messages import retail_v1 as wire


def market_metadata(exchange: Exchange, symbol: str, *, long: bool) -> wire.MarketMetadata | None:
    """Titles and pictures of a market, with the outcome of one of its sides; None for an instrument
    without reference data.
    """
    market = exchange.reference.market(symbol)
    if market is None:
        return None
    side = side_of(market, long=long)
    event = exchange.reference.event_of(symbol)
    return wire.MarketMetadata(
        slug=market.slug,
        icon=market.image,
        title=market.title,
        outcome=side.description if side is not None else "",
        event_slug=event.slug if event is not None else "",
        event_id=str(event.id) if event is not None else "",
        team_id=side.team_id if side is not None else 0,
        team=side.team if side is not None else None,
        subject=market.subject,
    )


def side_of(market: gateway.Market, *, long: bool) -> gateway.MarketSide | None:
    """The long (YES) or the short (NO) side of a market."""
    return next((side for side in market.market_sides if side.long is long), None)
