"""Events with their markets and scores (§2.11, §4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from sim.api.gateway import event_filters
from sim.api.gateway.event_filters import (
    EventFilters,
    Test,
    carrying,
    events_between,
    events_like,
    events_with_market,
)
from sim.api.gateway.event_views import event_view, exists
from sim.api.gateway.list_query import check_order, folded, of_sport
from sim.api.gateway.market_columns import (
    ACTIVE,
    CLOSED,
    ENDED,
    FINISHED,
    LIVE,
    PERIOD,
    RESTING,
    VOLUME,
)
from sim.api.gateway.market_index import MarketIndex, market_index
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.reference_data import EVENT_FIELDS, Flags
from sim.core.model.refusals import NotFound, cut
from sim.kernel.indexes.ordered_index import neither

_TRADED = ("volume", "volume24hr", "volume1wk", "liquidity", "openinterest", "updatedat")
_KEYS = (*EVENT_FIELDS, *_TRADED)
# The switches of an event that a list can ask for.
_SWITCHES = {"active": ACTIVE, "closed": CLOSED, "live": LIVE, "ended": ENDED}


@handles("GatewayEventsAPI.ListEvents")
def list_events(
    exchange: Exchange, caller: Caller, request: wire.ListEventsRequest
) -> wire.ListEventsResponse:
    """List the events that pass every filter, by default in listing order; 100 without a limit."""
    check_order(exchange, _KEYS, wire.Event, request.order_by, request.order_direction)
    order_by = [*request.order_by, *(["featuredOrder"] if request.featured_order else [])]
    by_feature_alone = request.featured_order and not request.order_by
    direction = request.order_direction or ("asc" if by_feature_alone else "")
    index = market_index(exchange)
    flags = _filters(index, request).select(index)
    keys = event_filters.event_keys(index, [name for name in order_by if folded(name) in _KEYS])
    order = keys, direction != "asc"
    events = event_filters.event_page(index, flags, order, request)
    if request.include_combo_market_counts:
        events = list(map(_with_market_counts, events))
    return wire.ListEventsResponse(events=events)


@handles("GatewaySportsAPI.ListSeriesEvents")
def list_series_events(
    exchange: Exchange, caller: Caller, request: wire.ListSeriesEventsRequest
) -> wire.ListEventsResponse:
    """List the events of a series, in order of listing; none for an unknown series."""
    events = wire.ListEventsRequest(
        series_id=[request.series_id], limit=request.limit, offset=request.offset
    )
    return list_events(exchange, caller, events)


@handles("GatewayEventsAPI.GetEvent")
def get_event(
    exchange: Exchange, caller: Caller, request: wire.GetEventRequest
) -> wire.GetEventResponse:
    """Return an event by its number."""
    event = _require(exchange, exchange.reference.event_numbered(request.id), str(request.id))
    return wire.GetEventResponse(event=_shaped(event, request))


@handles("GatewayEventsAPI.GetEventBySlug")
def get_event_by_slug(
    exchange: Exchange, caller: Caller, request: wire.GetEventBySlugRequest
) -> wire.GetEventResponse:
    """Return an event by its slug."""
    event = _require(exchange, exchange.reference.event_named(request.slug), request.slug)
    return wire.GetEventResponse(event=_shaped(event, request))


def _with_market_counts(event: wire.Event) -> wire.Event:
    counts = Counter(market.market_type for market in event.markets)
    return replace(event, market_counts=dict(counts))


def _require(exchange: Exchange, event: wire.Event | None, name: str) -> wire.Event:
    if event is None or not exists(exchange, event):
        remedy = "GET /v1/events lists the events"
        raise NotFound(f"event not found: {cut(name)}", rule="S4.1-10", remedy=remedy)
    return event_view(exchange, event)


def _shaped(
    event: wire.Event, request: wire.GetEventRequest | wire.GetEventBySlugRequest
) -> wire.Event:
    """An event with only its combinable markets, or with its markets grouped by
    type, if requested.
    """
    if request.combo_enabled_only:
        event = replace(event, markets=[market for market in event.markets if market.combo_enabled])
    if request.groups:
        slugs: dict[str, list[str]] = {}
        for market in event.markets:
            slugs.setdefault(market.market_type, []).append(market.slug)
        groups = [{"type": kind, "marketSlugs": names} for kind, names in slugs.items()]
        event = replace(event, market_groups=groups)
    return event


def _filters(index: MarketIndex, request: wire.ListEventsRequest) -> EventFilters:
    """Return one filter for each parameter that is set."""
    tests = [*_tests(index.exchange, request), *_tag_tests(index.exchange, request)]
    fixed = [*_on_places(index, request), *_on_dates(index, request)]
    return EventFilters(tests, [*fixed, *_changing_filters(index, request)])


def _tests(exchange: Exchange, request: wire.ListEventsRequest) -> Iterator[Test]:
    """Yield tests of properties that all games of a league share.

    No event matches a filter on a property that no event here has (a week, a user).
    """
    if request.categories:
        yield lambda event: event.category in request.categories
    if not request.include_hidden:
        yield lambda event: not event.hidden
    if request.archived is not None:
        yield lambda event: event.archived is request.archived
    if request.featured is not None:
        yield lambda event: event.featured is request.featured
    if request.event_week is not None or request.user_id:
        yield lambda event: False
    if request.sportradar_game_id:
        yield lambda event: event.sportradar_game_id == request.sportradar_game_id
    if request.rescheduled_from_game_id:
        yield lambda event: event.rescheduled_from_game_id == request.rescheduled_from_game_id
    every_series = exchange.reference.series
    numbers = {series.slug: int(series.id) for series in every_series}
    if request.series_id:
        yield lambda event: numbers.get(event.series_slug, 0) in request.series_id
    if request.exclude_series_id:
        yield lambda event: numbers.get(event.series_slug, 0) not in request.exclude_series_id
    if request.recurrence:
        slugs = {series.slug for series in every_series if series.recurrence == request.recurrence}
        yield lambda event: event.series_slug in slugs


def _tag_tests(exchange: Exchange, request: wire.ListEventsRequest) -> Iterator[Test]:
    numbers = {*request.tag_ids, *([request.tag_id] if request.tag_id else [])}
    tags, related = exchange.reference.tags, request.related_tags
    if numbers:
        tagged = carrying(tags, numbers, related=related)
        yield lambda event: not tagged.isdisjoint([tag.id for tag in event.tags])
    if request.exclude_tag_id:
        excluded = carrying(tags, request.exclude_tag_id, related=related)
        yield lambda event: excluded.isdisjoint([tag.id for tag in event.tags])
    slugs = {*request.tag_slugs_all, *([request.tag_slug] if request.tag_slug else [])}
    if slugs:
        yield lambda event: slugs.issubset({tag.slug for tag in event.tags})


def _on_places(index: MarketIndex, request: wire.ListEventsRequest) -> Iterator[Flags]:
    """Yield flags for each filter on an event's own properties."""
    if request.id:
        yield event_filters.events_numbered(index, request.id)
    if request.slug:
        yield event_filters.events_named(index, request.slug)
    if request.exclude_event_id:
        yield neither(event_filters.events_numbered(index, request.exclude_event_id))
    if request.game_id:
        yield events_like(index, lambda event: event.game_id == request.game_id)
    if request.event_date:
        yield from events_between(index, "eventdate", (request.event_date, request.event_date))
    if request.team_id:
        team_id = request.team_id
        yield events_like(index, lambda event: team_id in [team.id for team in event.teams])
    types, sports_types = request.market_types, request.sports_market_types
    if types:
        yield events_with_market(index, lambda market: market.market_type in types)
    if sports_types:
        yield events_with_market(index, lambda market: of_sport(market, sports_types))


def _on_dates(index: MarketIndex, request: wire.ListEventsRequest) -> Iterator[Flags]:
    for name in ("start_date", "end_date", "start_time"):
        bounds = getattr(request, f"{name}_min"), getattr(request, f"{name}_max")
        yield from events_between(index, folded(name), bounds)


def _changing_filters(index: MarketIndex, request: wire.ListEventsRequest) -> Iterator[Flags]:
    """Yield flags for each filter on properties that trading and the game change."""
    for name, aspect in _SWITCHES.items():
        if (asked := getattr(request, name)) is not None:
            yield index.of(aspect).events.among(asked)
    if request.period:
        yield index.of(PERIOD).events.among(request.period)
    low, high = request.finished_timestamp_min, request.finished_timestamp_max
    if low is not None or high is not None:
        yield index.of(FINISHED).events.within(low, high)
    if request.liquidity_min is not None or request.liquidity_max is not None:
        yield index.of(RESTING).events.within(request.liquidity_min, request.liquidity_max)
    if request.volume_min is not None or request.volume_max is not None:
        yield index.of(VOLUME).events.within(request.volume_min, request.volume_max)
