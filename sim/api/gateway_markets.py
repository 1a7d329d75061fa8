"""Markets as reference data with live prices (§2.10, §4.1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.api.callers import Caller
from sim.api.gateway_lists import PAGE_DEFAULT, agrees, arranged, within
from sim.api.gateway_market_rows import Quiet, Row, page_of, rows, unfolded
from sim.api.gateway_views import listed, market_view
from sim.api.handles import handles
from sim.core.exchange import Exchange
from sim.core.refusals import NotFound
from sim.messages import gateway_v1 as wire

_KEYS: dict[str, Any] = {
    "id": lambda row: int(row.standing.id),
    "slug": lambda row: row.standing.slug,
    "volume": lambda row: row.standing.volume,
    "volumenum": lambda row: row.standing.volume,
    "volume24hr": lambda row: row.standing.volume_24hr,
    "volume1wk": lambda row: row.standing.volume_1wk,
    "volume1mo": lambda row: row.standing.volume_1mo,
    "startdate": lambda row: row.standing.start_date,
    "enddate": lambda row: row.standing.end_date,
    "createdat": lambda row: row.standing.created_at,
    "updatedat": lambda row: row.standing.updated_at,
    "sortorder": lambda row: row.standing.sort_order,
}
_OWN_KEYS = frozenset(("slug", "sortorder"))  # in which markets of one event differ


@handles("GatewayMarketsAPI.ListMarkets")
def list_markets(exchange: Exchange, caller: Caller, request: wire.ListMarketsRequest) -> wire.ListMarketsResponse:
    """Markets that pass every filter, in order of listing unless asked otherwise; 100 where no limit is given."""
    found: Iterator[Row] = (row for row in rows(exchange, request) if _stands(row.standing, request))
    if any(name.replace("_", "").lower() in _OWN_KEYS for name in request.order_by):
        found = unfolded(exchange, found)
    elif "id" in request.order_by and request.order_direction != "asc":
        found = (row._replace(places=row.places[::-1]) for row in found)
    return wire.ListMarketsResponse(
        markets=page_of(exchange, arranged(found, _KEYS, request.order_by, request.order_direction), request.limit, request.offset, PAGE_DEFAULT)
    )


@handles("GatewayMarketsAPI.GetMarketBySlug")
def get_market_by_slug(exchange: Exchange, caller: Caller, request: wire.GetMarketBySlugRequest) -> wire.GetMarketResponse:
    """One market."""
    return wire.GetMarketResponse(market=_require(exchange, exchange.reference.market(request.slug), request.slug))


@handles("GatewayMarketsAPI.GetMarketById")
def get_market_by_id(exchange: Exchange, caller: Caller, request: wire.GetMarketByIdRequest) -> wire.GetMarketResponse:
    """One market."""
    return wire.GetMarketResponse(market=_require(exchange, exchange.reference.market_numbered(request.id), str(request.id)))


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


def _stands(market: wire.Market | Quiet, request: wire.ListMarketsRequest) -> bool:
    """Filters on what trading changes."""
    return (
        agrees(market.active, request.active)
        and agrees(market.closed, request.closed)
        and agrees(market.archived, request.archived)
        and within(market.volume, request.volume_num_min, request.volume_num_max)
        and within(market.volume, request.volume_min, request.volume_max)
    )
