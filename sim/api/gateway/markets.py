"""Markets as reference data with live prices (§2.10, §4.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain

from msgspec.structs import replace

from sim.api.gateway.event_filters import events_like, events_named, shared_tests
from sim.api.gateway.list_query import check_order, folded, of_sport, page_length
from sim.api.gateway.live_views import listed, market_view
from sim.api.gateway.market_columns import ACTIVE, CLOSED, LISTED, RESTING, SORTED_BY, STATE, VOLUME
from sim.api.gateway.market_index import MarketIndex, market_index
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.incentives.incentives import LIQUIDITY, Period
from sim.core.model.reference_data import MARKET_FIELDS, Flags
from sim.core.model.refusals import NotFound, cut
from sim.kernel.indexes.ordered_index import KeyIndex, both, flagged, flags_of, pick

_VOLUMES = ("volume", "volumenum", "volume24hr", "volume1wk", "volume1mo", "volume1yr")
_KEYS = (*MARKET_FIELDS, *_VOLUMES, "updatedat")


@handles("GatewayMarketsAPI.ListMarkets")
def list_markets(exchange: Exchange, request: wire.ListMarketsRequest) -> wire.ListMarketsResponse:
    """List the markets that pass every filter, by default in order of listing; 100 on a page unless
    the limit says otherwise, at most 500.

    `rewardsMinSize` is compared with the target sizes of the liquidity programs that are active
    now; a market without one does not match.
    """
    order, direction = request.order_by, request.order_direction
    is_ascending = check_order(exchange, _KEYS, wire.Market, order, direction)
    size = page_length(request.limit, request.offset)
    index = market_index(exchange)
    flags = reduce(both, _filters(index, request), index.of(STATE).markets.among(*LISTED))
    names = dict.fromkeys(map(folded, order))
    keys = [key for name in names if (key := _key(index, name)) is not None]
    positions = pick(flags, keys, not is_ascending, request.offset, size)
    markets = [market_view(exchange, index.catalogue.market(position)) for position in positions]
    if request.include_tag is False:
        markets = [replace(market, tags=[]) for market in markets]
    return wire.ListMarketsResponse(markets=markets)


def _key(index: MarketIndex, name: str) -> KeyIndex | None:
    aspect = SORTED_BY.get(name) if name in _KEYS else None
    return index.catalogue.market_key(name) if aspect is None else index.of(aspect).markets


# ---- filters


def _filters(index: MarketIndex, request: wire.ListMarketsRequest) -> Iterator[Flags]:
    """Yield flags for each filter that is set."""
    tests = list(_tests(index.exchange, request))
    if tests:
        yield index.catalogue.markets_where(lambda market: all(test(market) for test in tests))
    yield from _on_events(index, request)
    yield from _on_dates(index, request)
    yield from _on_slugs(index, request)
    yield from _changing_filters(index, request)


def _tests(
    exchange: Exchange, request: wire.ListMarketsRequest
) -> Iterator[Callable[[wire.Market], bool]]:
    """Yield tests of properties that all games of a league share.

    No market matches a filter on a property that no market here has (a question, an author).
    """
    yield from shared_tests(exchange, request)
    types, sports_types = map(frozenset, (request.market_types, request.sports_market_types))
    if types:
        yield lambda market: market.market_type in types
    if sports_types:
        yield lambda market: of_sport(exchange, market, sports_types)
    if request.question_ids or request.cyom:
        yield lambda market: False


def _on_events(index: MarketIndex, request: wire.ListMarketsRequest) -> Iterator[Flags]:
    """Yield flags of the markets whose events are named by slug or by the number of a game."""
    named: list[Flags] = []
    if request.event_slug:
        named.append(events_named(index, request.event_slug))
    if request.game_id:
        named.append(events_like(index, lambda event: event.game_id == request.game_id))
    catalogue = index.catalogue
    for events in named:
        markets = map(catalogue.markets_of, flagged(events))
        yield flags_of(chain.from_iterable(markets), len(catalogue.rows))


def _on_dates(index: MarketIndex, request: wire.ListMarketsRequest) -> Iterator[Flags]:
    for name in ("start_date", "end_date"):
        low, high = getattr(request, f"{name}_min"), getattr(request, f"{name}_max")
        if low is None and high is None:
            continue  # the first one to ask for a key waits for it
        key = index.catalogue.market_key(folded(name))
        if key is not None:
            yield key.within(low, high)


def _on_slugs(index: MarketIndex, request: wire.ListMarketsRequest) -> Iterator[Flags]:
    """Yield flags of the markets that are named by slug, by number, or by a program on them."""
    exchange, catalogue = index.exchange, index.catalogue
    named: list[Sequence[str]] = [request.slug] if request.slug else []
    if request.id:
        numbered = map(exchange.reference.market_numbered, request.id)
        named.append([market.slug for market in numbered if market is not None])
    if request.rewards_min_size is not None:
        named.append(_rewarded(exchange, request.rewards_min_size))
    for slugs in named:
        positions = (
            position
            for position in map(catalogue.position_of_market, slugs)
            if position is not None
        )
        yield flags_of(positions, len(catalogue.rows))


def _rewarded(exchange: Exchange, least: float) -> list[str]:
    """Markets on which a liquidity program of a size is active."""

    def rewards(period: Period) -> bool:
        active = period.program_type == LIQUIDITY and period.status(exchange.now) == "active"
        return active and (period.target_size or 0) >= least

    programs = exchange.incentives.programs()
    return [symbol for symbol, periods in programs.items() if any(map(rewards, periods))]


def _changing_filters(index: MarketIndex, request: wire.ListMarketsRequest) -> Iterator[Flags]:
    """Yield flags for each filter on properties that trading changes."""
    for aspect, requested in ((ACTIVE, request.active), (CLOSED, request.closed)):
        if requested is not None:
            yield index.of(aspect).markets.among(requested)
    for name in ("volume_num", "volume", "liquidity_num", "liquidity"):
        low, high = getattr(request, f"{name}_min"), getattr(request, f"{name}_max")
        if low is not None or high is not None:
            amount = VOLUME if name.startswith("volume") else RESTING
            yield index.of(amount).markets.within(low, high)


# ---- one market


@handles("GatewayMarketsAPI.GetMarketBySlug", "GatewayMarketsAPI.GetMarketById")
def get_market(
    exchange: Exchange, request: wire.GetMarketBySlugRequest | wire.GetMarketByIdRequest
) -> wire.GetMarketResponse:
    """One market by its slug or its number."""
    if isinstance(request, wire.GetMarketBySlugRequest):
        name, market = request.slug, exchange.reference.market(request.slug)
    else:
        name, market = str(request.id), exchange.reference.market_numbered(request.id)
    if market is None or not listed(exchange, market):
        remedy = "GET /v1/markets lists the markets"
        raise NotFound(f"market not found: {cut(name)}", rule="S4.1-9", remedy=remedy)
    return wire.GetMarketResponse(market=market_view(exchange, market, single=True))


@handles("GatewayMarketsAPI.GetMarketSettlement")
def get_market_settlement(
    exchange: Exchange, request: wire.GetMarketSettlementRequest
) -> wire.GetMarketSettlementResponse:
    """Return what a market paid per YES contract; unknown before settlement."""
    instrument = exchange.instruments.get(request.slug)
    settlement = exchange.trading.settlements.get(request.slug) if instrument is not None else None
    if instrument is None or settlement is None or settlement.preliminary:
        problem = f"Settlement not found for market {cut(request.slug)}"
        raise NotFound(problem, rule="L25", remedy="settlements exist once a price is final")
    paid = settlement.price / instrument.price_scale
    return wire.GetMarketSettlementResponse(slug=request.slug, settlement=paid)
