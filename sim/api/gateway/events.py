"""Events with their markets and scores, also by the ids of partners (§2.11, §4.1)."""

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
    shared_tests,
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
from sim.core.catalogue.assumptions import PARTNER_GAME_IDS, PARTNER_SIDES
from sim.core.exchange import Exchange
from sim.core.model.reference_data import EVENT_FIELDS, Flags
from sim.core.model.refusals import NotFound, cut
from sim.kernel.indexes.ordered_index import neither

_TRADED = ("volume", "volume24hr", "volume1wk", "liquidity", "openinterest", "updatedat")
_KEYS = (*EVENT_FIELDS, *_TRADED)
# The switches of an event that a list can ask for.
_SWITCHES = {"active": ACTIVE, "closed": CLOSED, "live": LIVE, "ended": ENDED}


@handles("GatewayEventsAPI.ListEvents")
def list_events(exchange: Exchange, request: wire.ListEventsRequest) -> wire.ListEventsResponse:
    """List the events that pass every filter, by default in listing order; 100 at most."""
    direction = request.order_direction
    is_ascending = check_order(exchange, _KEYS, wire.Event, request.order_by, direction)
    order_by = [*request.order_by, *(["featuredOrder"] if request.featured_order else [])]
    by_feature_alone = request.featured_order and not request.order_by
    if by_feature_alone and not direction:
        is_ascending = True
    index = market_index(exchange)
    flags = _filters(index, request).select(index)
    keys = event_filters.event_keys(index, [name for name in order_by if folded(name) in _KEYS])
    order = keys, not is_ascending
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


@handles("GatewayEventsAPI.GetEvent", "GatewayEventsAPI.GetEventBySlug")
def get_event(
    exchange: Exchange, request: wire.GetEventRequest | wire.GetEventBySlugRequest
) -> wire.GetEventResponse:
    """Return an event by its number or its slug.

    If requested, with its combinable markets only, or with its markets grouped by type.
    """
    if isinstance(request, wire.GetEventRequest):
        name, entry = str(request.id), exchange.reference.event_numbered(request.id)
    else:
        name, entry = request.slug, exchange.reference.event_named(request.slug)
    if entry is None or not exists(exchange, entry):
        remedy = "GET /v1/events lists the events"
        raise NotFound(f"event not found: {cut(name)}", rule="S4.1-10", remedy=remedy)
    event = event_view(exchange, entry)
    if request.combo_enabled_only:
        event = replace(event, markets=[market for market in event.markets if market.combo_enabled])
    if request.groups:
        slugs: dict[str, list[str]] = {}
        for market in event.markets:
            slugs.setdefault(market.market_type, []).append(market.slug)
        groups = [{"type": kind, "marketSlugs": names} for kind, names in slugs.items()]
        event = replace(event, market_groups=groups)
    return wire.GetEventResponse(event=event)


def _with_market_counts(event: wire.Event) -> wire.Event:
    counts = Counter(market.market_type for market in event.markets)
    return replace(event, market_counts=dict(counts))


def _filters(index: MarketIndex, request: wire.ListEventsRequest) -> EventFilters:
    """Return one filter for each parameter that is set."""
    tests = [*_tests(index.exchange, request), *_tag_tests(index.exchange, request)]
    fixed = [*_on_places(index, request), *_on_dates(index, request)]
    return EventFilters(tests, [*fixed, *_changing_filters(index, request)])


def _tests(exchange: Exchange, request: wire.ListEventsRequest) -> Iterator[Test]:
    """Yield tests of properties that all games of a league share.

    No event matches a filter on a property that no event here has (a week, a user).
    """
    yield from shared_tests(exchange, request)
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
    if included := frozenset(request.series_id):
        yield lambda event: numbers.get(event.series_slug, 0) in included
    if excluded := frozenset(request.exclude_series_id):
        yield lambda event: numbers.get(event.series_slug, 0) not in excluded
    if request.recurrence:
        slugs = {series.slug for series in every_series if series.recurrence == request.recurrence}
        yield lambda event: event.series_slug in slugs


def _tag_tests(exchange: Exchange, request: wire.ListEventsRequest) -> Iterator[Test]:
    if request.exclude_tag_id:
        tags, related = exchange.reference.tags, request.related_tags
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
    types, sports_types = map(frozenset, (request.market_types, request.sports_market_types))
    if types:
        yield index.catalogue.events_with_market(lambda market: market.market_type in types)
    if sports_types:
        yield index.catalogue.events_with_market(
            lambda market: of_sport(index.exchange, market, sports_types)
        )


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


# ---- events by the ids of partners


@handles("GatewayPartnersAPI.GetPartnerEvent")
def get_partner_event(
    exchange: Exchange, request: wire.GetPartnerEventRequest
) -> wire.GetPartnerEventResponse:
    """Return the event with a partner's id, with the sides of its markets."""
    event = _event(exchange, request.partner_key, request.external_id)
    if event is None:
        raise NotFound(
            f"event not found: {request.partner_key[:40]}/{cut(request.external_id)}",
            remedy=(
                "give the event an id in `world.events[].partners`, or use its gameId as the"
                " assumption partners.game_ids names it"
            ),
        )
    view = event_view(exchange, event)
    kinds = exchange.ctx.assumptions.text(PARTNER_SIDES)
    sides = [
        side
        for market in view.markets
        if kinds == "all" or market.market_type == "moneyline"
        for side in market.market_sides
    ]
    return wire.GetPartnerEventResponse(event=view, mapped_market_sides=sides)


def _event(exchange: Exchange, partner: str, external_id: str) -> wire.Event | None:
    reference = exchange.reference
    slug = reference.partner_events.get((partner, external_id))
    if slug is not None:
        return reference.event_named(slug)
    if partner == exchange.ctx.assumptions.text(PARTNER_GAME_IDS) and external_id:
        return reference.event_of_game(external_id)
    return None
