"""Markets as reference data with live prices (§2.10, §4.1)."""

from __future__ import annotations

from typing import Any

from sim.api.callers import Caller
from sim.api.gateway_lists import agrees, arranged, page, within
from sim.api.gateway_views import listed, market_view
from sim.api.handles import handles
from sim.core.exchange import Exchange
from sim.core.refusals import NotFound
from sim.messages import gateway_v1 as wire

_KEYS: dict[str, Any] = {
    "id": lambda market: int(market.id),
    "slug": lambda market: market.slug,
    "volume": lambda market: market.volume,
    "volumenum": lambda market: market.volume,
    "volume24hr": lambda market: market.volume_24hr,
    "volume1wk": lambda market: market.volume_1wk,
    "volume1mo": lambda market: market.volume_1mo,
    "startdate": lambda market: market.start_date,
    "enddate": lambda market: market.end_date,
    "createdat": lambda market: market.created_at,
    "updatedat": lambda market: market.updated_at,
    "sortorder": lambda market: market.sort_order,
}


@handles("GatewayMarketsAPI.ListMarkets")
def list_markets(exchange: Exchange, caller: Caller, request: wire.ListMarketsRequest) -> wire.ListMarketsResponse:
    """Markets that pass every filter, in order of listing unless asked otherwise; 100 where no limit is given."""
    found = [market_view(exchange, market) for market in exchange.reference.markets if listed(exchange, market) and _named(exchange, market, request)]
    shown = arranged([market for market in found if _stands(market, request)], _KEYS, request.order_by, request.order_direction)
    return wire.ListMarketsResponse(markets=page(shown, request.limit, request.offset))


@handles("GatewayMarketsAPI.GetMarketBySlug")
def get_market_by_slug(exchange: Exchange, caller: Caller, request: wire.GetMarketBySlugRequest) -> wire.GetMarketResponse:
    """One market."""
    return wire.GetMarketResponse(market=_require(exchange, exchange.reference.market_by_slug.get(request.slug), request.slug))


@handles("GatewayMarketsAPI.GetMarketById")
def get_market_by_id(exchange: Exchange, caller: Caller, request: wire.GetMarketByIdRequest) -> wire.GetMarketResponse:
    """One market."""
    return wire.GetMarketResponse(market=_require(exchange, exchange.reference.market_by_id.get(str(request.id)), str(request.id)))


@handles("GatewayMarketsAPI.GetMarketSettlement")
def get_market_settlement(exchange: Exchange, caller: Caller, request: wire.GetMarketSettlementRequest) -> wire.GetMarketSettlementResponse:
    """What a market paid per YES contract; unknown until it has."""
    instrument = exchange.instruments.get(request.slug)
    settlement = exchange.trading.settlements.get(request.slug) if instrument is not None else None
    if instrument is None or settlement is None or settlement.preliminary:
        raise NotFound(f"Settlement not found for market {request.slug[:80]}", rule="L25", remedy="settlements exist once a price is final")
    return wire.GetMarketSettlementResponse(slug=request.slug, settlement=settlement.price / instrument.price_scale)


def _require(exchange: Exchange, market: wire.Market | None, name: str) -> wire.Market:
    if market is None or not listed(exchange, market):
        raise NotFound(f"market not found: {name[:80]}", rule="S4.1-9", remedy="GET /v1/markets lists the markets")
    return market_view(exchange, market)


def _named(exchange: Exchange, market: wire.Market, request: wire.ListMarketsRequest) -> bool:
    """Filters on what never changes."""
    event = exchange.reference.event_of(market.slug)
    tags = [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    return (
        (not request.id or int(market.id) in request.id)
        and (not request.slug or market.slug in request.slug)
        and (not request.event_slug or (event is not None and event.slug in request.event_slug))
        and (not request.categories or market.category in request.categories)
        and (not request.market_types or market.market_type in request.market_types)
        and (not request.sports_market_types or market.sports_market_type_v2 in request.sports_market_types)
        and (not request.game_id or (event is not None and event.game_id == request.game_id))
        and (not tags or any(int(tag.id) in tags for tag in market.tags))
        and (request.include_hidden or not market.hidden)
        and within(market.start_date, request.start_date_min, request.start_date_max)
        and within(market.end_date, request.end_date_min, request.end_date_max)
        and not request.question_ids
        and request.cyom is not True
    )


def _stands(market: wire.Market, request: wire.ListMarketsRequest) -> bool:
    """Filters on what trading changes."""
    return (
        agrees(market.active, request.active)
        and agrees(market.closed, request.closed)
        and agrees(market.archived, request.archived)
        and within(market.volume, request.volume_num_min, request.volume_num_max)
        and within(market.volume, request.volume_min, request.volume_max)
    )
