"""Display data about the market of an order or position, from the gateway's reference data."""

from __future__ import annotations

from sim.contract.messages import gateway_v1 as gateway
from sim.contract.messages import retail_v1 as wire
from sim.core.exchange import Exchange


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
