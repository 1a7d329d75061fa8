"""Markets as reference data with live prices (§2.10, §4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from sim.api.gateway.event_filters import (
    TRADED,
    Filter,
    Flags,
    by_league,
    by_place,
    event_dates,
    nothing,
    of_slugs,
    passing,
    tag_ids,
)
from sim.api.gateway.list_query import (
    PAGE_DEFAULT,
    check_order,
    check_page,
    folded,
    of_sport,
    within,
)
from sim.api.gateway.live_views import listed, market_view
from sim.api.gateway.market_index import Facets, facets
from sim.api.gateway.place_index import MARKET_KEYS
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.core.exchange import Exchange
from sim.core.incentives.incentives import LIQUIDITY
from sim.core.model.refusals import NotFound
from sim.indexes.ordered_index import OrderedIndex, both, flags_of, neither, pick
from sim.messages import gateway_v1 as wire

if TYPE_CHECKING:
    from sim.reference.market_templates import Kind

_KEYS = (*MARKET_KEYS, *TRADED, "updatedat")


@handles("GatewayMarketsAPI.ListMarkets")
def list_markets(
    exchange: Exchange, caller: Caller, request: wire.ListMarketsRequest
) -> wire.ListMarketsResponse:
    """Markets that pass every filter, in order of listing unless asked otherwise; 100 where no
    limit is given.

    `rewardsMinSize` is held against the target sizes of the liquidity programs that are active now;
    a market without one is not found by it.
    """
    check_order(exchange, _KEYS, wire.Market, request.order_by, request.order_direction)
    size = check_page(request.limit, request.offset) or PAGE_DEFAULT
    found = facets(exchange)
    flags: Flags = found.states.listed()
    for one in (
        _on_what_stays(found, request),
        *_on_slugs(found, request),
        *_on_what_changes(found, request),
    ):
        flags = both(flags, one)
    keys = [key for name in request.order_by if (key := _key(found, folded(name))) is not None]
    places = pick(flags, keys, request.order_direction != "asc", request.offset, size)
    markets = [market_view(exchange, found.catalogue.market(place)) for place in places]
    return wire.ListMarketsResponse(
        markets=(
            [replace(market, tags=[]) for market in markets]
            if request.include_tag is False
            else markets
        )
    )


def _key(found: Facets, name: str) -> OrderedIndex | None:
    if name in TRADED:
        return found.trades.markets[TRADED[name]]
    return found.updates.markets if name == "updatedat" else found.catalogue.market_key(name)


# ---- filters


def _on_what_stays(found: Facets, request: wire.ListMarketsRequest) -> Flags:
    """Flags of the markets that pass every filter on what never changes, slugs and numbers apart."""
    catalogue, season = found.catalogue, found.exchange.reference.season
    flags = bytearray(catalogue.markets.count)
    if season is not None:
        events = passing(season, _event_filters(request))
        flags[catalogue.markets.season : catalogue.markets.windows] = season.index.spread(
            events, _kind_test(request)
        )
    for place in catalogue.singles(catalogue.markets):
        flags[place] = _fits(found.exchange, catalogue.market(place), request)
    return flags


def _event_filters(request: wire.ListMarketsRequest) -> Iterator[Filter]:
    """What a request asks of the season's markets in which those of one event agree."""
    tags = {*request.tag_ids, *([request.tag_id] if request.tag_id else [])}
    if request.categories:
        yield by_league(lambda event: event.category in request.categories)
    if tags:
        yield by_league(
            lambda event: not tags.isdisjoint(tag_ids(event.tags, related=request.related_tags))
        )
    if request.event_slug:
        yield of_slugs(request.event_slug)
    if request.game_id:
        yield by_place(
            lambda season: (season.numbered_game(request.game_id),),
            lambda event: event.game_id == request.game_id,
        )
    if request.question_ids or request.cyom:
        yield nothing()
    yield from event_dates(
        (request.start_date_min, request.start_date_max),
        (request.end_date_min, request.end_date_max),
    )


def _kind_test(request: wire.ListMarketsRequest) -> Callable[[Kind | wire.Market], bool] | None:
    types, sports_types = request.market_types, request.sports_market_types
    if not types and not sports_types:
        return None
    return lambda kind: (
        (not types or kind.market_type in types)
        and (not sports_types or of_sport(kind, sports_types))
    )


def _fits(exchange: Exchange, market: wire.Market, request: wire.ListMarketsRequest) -> bool:
    """The same filters, of one market."""
    tags = {*request.tag_ids, *([request.tag_id] if request.tag_id else [])}
    event = (
        exchange.reference.event_of(market.slug) if request.event_slug or request.game_id else None
    )
    test = _kind_test(request)
    return (
        (not request.event_slug or (event is not None and event.slug in request.event_slug))
        and (not request.categories or market.category in request.categories)
        and (test is None or test(market))
        and (not request.game_id or (event is not None and event.game_id == request.game_id))
        and (not tags or not tags.isdisjoint(tag_ids(market.tags, related=request.related_tags)))
        and (request.include_hidden or not market.hidden)
        and within(market.start_date, request.start_date_min, request.start_date_max)
        and within(market.end_date, request.end_date_min, request.end_date_max)
        and not request.question_ids
        and request.cyom is not True
    )


def _on_slugs(found: Facets, request: wire.ListMarketsRequest) -> Iterator[Flags]:
    """Flags of the markets that are named by slug, by number, or by a program on them."""
    place_of, count = found.catalogue.place_of, found.catalogue.markets.count
    named: list[Sequence[str]] = [request.slug] if request.slug else []
    if request.id:
        numbered = map(found.exchange.reference.market_numbered, request.id)
        named.append([market.slug for market in numbered if market is not None])
    if request.rewards_min_size is not None:
        named.append(_rewarded(found.exchange, request.rewards_min_size))
    for slugs in named:
        yield flags_of((place for slug in slugs if (place := place_of(slug)) is not None), count)


def _rewarded(exchange: Exchange, least: float) -> list[str]:
    """Markets on which a liquidity program of a size is active."""
    return [
        symbol
        for symbol, periods in exchange.incentives.programs().items()
        if any(
            one.program_type == LIQUIDITY
            and one.status(exchange.now) == "active"
            and (one.target_size or 0) >= least
            for one in periods
        )
    ]


def _on_what_changes(found: Facets, request: wire.ListMarketsRequest) -> Iterator[Flags]:
    """Flags for each filter that is set on what trading changes."""
    if request.active is not None or request.closed is not None:
        yield from found.states.markets(active=request.active, closed=request.closed)
    if request.archived is not None:
        catalogue = found.catalogue
        archived = flags_of(
            (
                place
                for place in catalogue.singles(catalogue.markets)
                if catalogue.market(place).archived
            ),
            catalogue.markets.count,
        )
        yield archived if request.archived else neither(archived)
    for low, high in (
        (request.volume_num_min, request.volume_num_max),
        (request.volume_min, request.volume_max),
    ):
        if low is not None or high is not None:
            yield found.trades.markets[0].within(low, high)
    for low, high in (
        (request.liquidity_num_min, request.liquidity_num_max),
        (request.liquidity_min, request.liquidity_max),
    ):
        if low is not None or high is not None:
            yield found.resting.markets.within(low, high)


# ---- one market


@handles("GatewayMarketsAPI.GetMarketBySlug")
def get_market_by_slug(
    exchange: Exchange, caller: Caller, request: wire.GetMarketBySlugRequest
) -> wire.GetMarketResponse:
    """One market."""
    return wire.GetMarketResponse(
        market=_require(exchange, exchange.reference.market(request.slug), request.slug)
    )


@handles("GatewayMarketsAPI.GetMarketById")
def get_market_by_id(
    exchange: Exchange, caller: Caller, request: wire.GetMarketByIdRequest
) -> wire.GetMarketResponse:
    """One market."""
    return wire.GetMarketResponse(
        market=_require(exchange, exchange.reference.market_numbered(request.id), str(request.id))
    )


@handles("GatewayMarketsAPI.GetMarketSettlement")
def get_market_settlement(
    exchange: Exchange, caller: Caller, request: wire.GetMarketSettlementRequest
) -> wire.GetMarketSettlementResponse:
    """What a market paid per YES contract; unknown until it has."""
    instrument = exchange.instruments.get(request.slug)
    settlement = exchange.trading.settlements.get(request.slug) if instrument is not None else None
    if instrument is None or settlement is None or settlement.preliminary:
        raise NotFound(
            f"Settlement not found for market {request.slug[:80]}",
            rule="L25",
            remedy="settlements exist once a price is final",
        )
    return wire.GetMarketSettlementResponse(
        slug=request.slug, settlement=settlement.price / instrument.price_scale
    )


def _require(exchange: Exchange, market: wire.Market | None, name: str) -> wire.Market:
    if market is None or not listed(exchange, market):
        raise NotFound(
            f"market not found: {name[:80]}",
            rule="S4.1-9",
            remedy="GET /v1/markets lists the markets",
        )
    return market_view(exchange, market)
