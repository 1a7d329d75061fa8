"""Markets as reference data with live prices (§2.10, §4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from msgspec.structs import replace

from sim.api.callers import Caller
from sim.api.gateway_lists import PAGE_DEFAULT, agrees, arranged, check_order, folded, within
from sim.api.gateway_market_rows import Quiet, Row, by_slug, by_sort_order, id_of, page_of, rows, slug_of, sort_order_of, standing, unfolded
from sim.api.gateway_views import liquidity, listed, market_view
from sim.api.handles import handles
from sim.core.exchange import Exchange
from sim.core.incentives import LIQUIDITY
from sim.core.refusals import NotFound
from sim.messages import gateway_v1 as wire

_Pair: TypeAlias = tuple[Row, wire.Market | Quiet]
_STANDING: dict[str, Callable[[_Pair], Any]] = {
    "volume": lambda pair: pair[1].volume,
    "volumenum": lambda pair: pair[1].volume,
    "volume24hr": lambda pair: pair[1].volume_24hr,
    "volume1wk": lambda pair: pair[1].volume_1wk,
    "volume1mo": lambda pair: pair[1].volume_1mo,
    "volume1yr": lambda pair: pair[1].volume_1yr,
    "startdate": lambda pair: pair[1].start_date,
    "enddate": lambda pair: pair[1].end_date,
    "createdat": lambda pair: pair[1].created_at,
    "updatedat": lambda pair: pair[1].updated_at,
}
_OWN = {"id": id_of, "slug": slug_of, "sortorder": sort_order_of}  # in which markets of one event differ
_ALONG = {"slug": by_slug, "sortorder": by_sort_order}
_AMOUNTS = ("volume_num", "volume", "liquidity_num", "liquidity")
_LIVE = ("active", "closed", "archived", *(f"{name}_{end}" for name in _AMOUNTS for end in ("min", "max")))


@handles("GatewayMarketsAPI.ListMarkets")
def list_markets(exchange: Exchange, caller: Caller, request: wire.ListMarketsRequest) -> wire.ListMarketsResponse:
    """Markets that pass every filter, in order of listing unless asked otherwise; 100 where no limit is given.

    `rewardsMinSize` is held against the target sizes of the liquidity programs that are active now; a market without one is not found by it.
    """
    check_order(exchange, (*_STANDING, *_OWN), wire.Market, request.order_by, request.order_direction)
    found: Iterable[Row] = _rewarded(exchange, request) if request.rewards_min_size is not None else rows(exchange, request)
    if any(getattr(request, name) is not None for name in _LIVE):
        found = (row for row in found if _stands(exchange, standing(exchange, row), request))
    if request.order_by:
        found = _in_order(exchange, found, request)
    markets = page_of(exchange, found, request.limit, request.offset, PAGE_DEFAULT)
    return wire.ListMarketsResponse(markets=[replace(market, tags=[]) for market in markets] if request.include_tag is False else markets)


def _rewarded(exchange: Exchange, request: wire.ListMarketsRequest) -> Iterable[Row]:
    """Rows of markets on which a liquidity program of the size asked for is active."""
    least = request.rewards_min_size or 0
    slugs = [
        symbol
        for symbol, periods in exchange.incentives.programs().items()
        if any(one.program_type == LIQUIDITY and one.status(exchange.now) == "active" and (one.target_size or 0) >= least for one in periods)
    ]
    wanted = [slug for slug in slugs if not request.slug or slug in request.slug]
    return rows(exchange, replace(request, slug=wanted)) if wanted else ()


def _in_order(exchange: Exchange, found: Iterable[Row], request: wire.ListMarketsRequest) -> Iterable[Row]:
    """Rows in the order asked for. Those of one event stay together where no key tells them apart."""
    names = [*map(folded, request.order_by)]
    falling = request.order_direction != "asc"
    if len(names) == 1 and names[0] in _ALONG:
        return _ALONG[names[0]](exchange, found, falling=falling)
    keys = dict(_STANDING)
    for name, own in _OWN.items():
        keys[name] = lambda pair, own=own: own(exchange, pair[0])  # type: ignore[misc]
    if not _ALONG.keys().isdisjoint(names):
        found = unfolded(found)
    pairs = ((row, standing(exchange, row)) for row in found)
    rows_in_order: Iterable[Row] = (row for row, _ in arranged(pairs, keys, request.order_by, request.order_direction))
    if "id" in names and falling:
        return (row._replace(places=row.places[::-1]) for row in rows_in_order)
    return rows_in_order


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


def _stands(exchange: Exchange, market: wire.Market | Quiet, request: wire.ListMarketsRequest) -> bool:
    """Filters on what trading changes."""
    bounds = request.liquidity_min, request.liquidity_max, request.liquidity_num_min, request.liquidity_num_max
    if any(bound is not None for bound in bounds):
        resting = 0.0 if isinstance(market, Quiet) else liquidity(exchange, market)
        if not (within(resting, *bounds[:2]) and within(resting, *bounds[2:])):
            return False
    return (
        agrees(market.active, request.active)
        and agrees(market.closed, request.closed)
        and agrees(market.archived, request.archived)
        and within(market.volume, request.volume_num_min, request.volume_num_max)
        and within(market.volume, request.volume_min, request.volume_max)
    )
