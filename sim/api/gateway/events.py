"""Events with their markets and scores (§2.11, §4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from sim.api.gateway.event_filters import (
    Filter,
    Flags,
    between,
    by_league,
    by_market,
    by_place,
    event_keys,
    event_page,
    excluding,
    nothing,
    of_ids,
    of_slugs,
    selected,
    tag_ids,
)
from sim.api.gateway.list_query import check_order, folded, of_sport
from sim.api.gateway.live_views import event_view, exists
from sim.api.gateway.market_index import Facets, facets
from sim.api.gateway.place_index import EVENT_KEYS
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.core.exchange import Exchange
from sim.core.model.refusals import NotFound
from sim.indexes.ordered_index import flags_of, neither
from sim.messages import gateway_v1 as wire

_KEYS = (*EVENT_KEYS, "volume", "volume24hr", "volume1wk", "liquidity", "openinterest", "updatedat")
_FLAGS = ("active", "closed", "live", "ended")


@handles("GatewayEventsAPI.ListEvents")
def list_events(
    exchange: Exchange, caller: Caller, request: wire.ListEventsRequest
) -> wire.ListEventsResponse:
    """Events that pass every filter, in order of listing unless asked otherwise; 100 where no limit
    is given.
    """
    check_order(exchange, _KEYS, wire.Event, request.order_by, request.order_direction)
    order_by = [*request.order_by, *(["featuredOrder"] if request.featured_order else [])]
    direction = request.order_direction or (
        "asc" if request.featured_order and not request.order_by else ""
    )
    found = facets(exchange)
    flags = selected(
        found,
        _on_what_stays(exchange, request),
        (*_on_dates(found, request), *_on_what_changes(found, request)),
    )
    keys = event_keys(found, [name for name in order_by if folded(name) in _KEYS])
    shown = event_page(found, flags, keys, direction != "asc", request.limit, request.offset)
    if request.include_combo_market_counts:
        shown = [
            replace(
                event, market_counts=dict(Counter(market.market_type for market in event.markets))
            )
            for event in shown
        ]
    return wire.ListEventsResponse(events=shown)


@handles("GatewayEventsAPI.GetEvent")
def get_event(
    exchange: Exchange, caller: Caller, request: wire.GetEventRequest
) -> wire.GetEventResponse:
    """One event by its number."""
    event = _require(exchange, exchange.reference.event_numbered(request.id), str(request.id))
    return wire.GetEventResponse(
        event=_shaped(event, groups=request.groups, combos_only=request.combo_enabled_only)
    )


@handles("GatewayEventsAPI.GetEventBySlug")
def get_event_by_slug(
    exchange: Exchange, caller: Caller, request: wire.GetEventBySlugRequest
) -> wire.GetEventResponse:
    """One event by its slug."""
    event = _require(exchange, exchange.reference.event_named(request.slug), request.slug)
    return wire.GetEventResponse(
        event=_shaped(event, groups=request.groups, combos_only=request.combo_enabled_only)
    )


def _require(exchange: Exchange, event: wire.Event | None, name: str) -> wire.Event:
    if event is None or not exists(exchange, event):
        raise NotFound(
            f"event not found: {name[:80]}",
            rule="S4.1-10",
            remedy="GET /v1/events lists the events",
        )
    return event_view(exchange, event)


def _shaped(event: wire.Event, *, groups: bool, combos_only: bool) -> wire.Event:
    """An event with only its combinable markets, or with its markets grouped by type, when asked
    for.
    """
    if combos_only:
        event = replace(event, markets=[market for market in event.markets if market.combo_enabled])
    if groups:
        kinds = dict.fromkeys(market.market_type for market in event.markets)
        slugs = {
            kind: [market.slug for market in event.markets if market.market_type == kind]
            for kind in kinds
        }
        event = replace(
            event, market_groups=[{"type": kind, "marketSlugs": slugs[kind]} for kind in kinds]
        )
    return event


def _on_what_stays(exchange: Exchange, request: wire.ListEventsRequest) -> Iterator[Filter]:
    """One filter for each that is set, on what never changes. What no event here has (a week, a
    user, a former date) is matched by none.
    """
    if request.id:
        yield of_ids(request.id)
    if request.slug:
        yield of_slugs(request.slug)
    if request.exclude_event_id:
        yield excluding(of_ids(request.exclude_event_id))
    if request.categories:
        yield by_league(lambda event: event.category in request.categories)
    if request.market_types:
        yield by_market(lambda market: market.market_type in request.market_types)
    if request.sports_market_types:
        yield by_market(lambda market: of_sport(market, request.sports_market_types))
    if not request.include_hidden:
        yield by_league(lambda event: not event.hidden)
    if request.archived is not None:
        yield by_league(lambda event: event.archived is request.archived)
    if request.featured is not None:
        yield by_league(lambda event: event.featured is request.featured)
    if request.event_week is not None or request.user_id:
        yield nothing()
    yield from _on_series(exchange, request)
    yield from _on_tags(request)
    yield from _on_play(request)


def _on_series(exchange: Exchange, request: wire.ListEventsRequest) -> Iterator[Filter]:
    by_slug = exchange.reference.series_by_slug
    if request.series_id or request.exclude_series_id:

        def passes(event: wire.Event) -> bool:
            series = by_slug.get(event.series_slug)
            number = int(series.id) if series is not None else 0
            return (
                not request.series_id or number in request.series_id
            ) and number not in request.exclude_series_id

        yield by_league(passes)
    if request.recurrence:
        slugs = frozenset(
            series.slug
            for series in exchange.reference.series
            if series.recurrence == request.recurrence
        )
        yield by_league(lambda event: event.series_slug in slugs)


def _on_tags(request: wire.ListEventsRequest) -> Iterator[Filter]:
    wanted = [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    if wanted or request.exclude_tag_id:

        def passes(event: wire.Event) -> bool:
            ids = tag_ids(event.tags, related=request.related_tags)
            return (not wanted or not ids.isdisjoint(wanted)) and ids.isdisjoint(
                request.exclude_tag_id
            )

        yield by_league(passes)
    if request.tag_slug or request.tag_slugs_all:
        slugs = {*request.tag_slugs_all, *([request.tag_slug] if request.tag_slug else [])}
        yield by_league(lambda event: slugs.issubset({tag.slug for tag in event.tags}))


def _on_play(request: wire.ListEventsRequest) -> Iterator[Filter]:
    if request.game_id:
        yield by_place(
            lambda season: (season.numbered_game(request.game_id),),
            lambda event: event.game_id == request.game_id,
        )
    if request.event_date:
        yield by_place(
            lambda season: season.index.by_day.get(request.event_date, ()),
            lambda event: event.event_date == request.event_date,
        )
    if request.team_id:
        yield by_place(
            lambda season: season.index.by_team.get(request.team_id, ()),
            lambda event: any(team.id == request.team_id for team in event.teams),
        )
    if request.sportradar_game_id:
        yield by_league(lambda event: event.sportradar_game_id == request.sportradar_game_id)
    if request.rescheduled_from_game_id:
        yield by_league(
            lambda event: event.rescheduled_from_game_id == request.rescheduled_from_game_id
        )


def _on_dates(found: Facets, request: wire.ListEventsRequest) -> Iterator[Flags]:
    for name in ("start_date", "end_date", "start_time"):
        low, high = getattr(request, f"{name}_min"), getattr(request, f"{name}_max")
        if low is not None or high is not None:
            yield between(found, folded(name), low, high)


def _on_what_changes(found: Facets, request: wire.ListEventsRequest) -> Iterator[Flags]:
    """Flags for each filter that is set on what trading and the game change."""
    count = found.catalogue.events.count
    for name in _FLAGS:
        asked = getattr(request, name)
        if asked is not None:
            flags = getattr(found.states if name in ("active", "closed") else found.plays, name)
            yield flags if asked else neither(flags)
    if request.period:
        yield flags_of(found.plays.period.between(request.period, request.period), count)
    if request.finished_timestamp_min is not None or request.finished_timestamp_max is not None:
        yield flags_of(
            found.plays.finished.between(
                request.finished_timestamp_min, request.finished_timestamp_max
            ),
            count,
        )
    if request.liquidity_min is not None or request.liquidity_max is not None:
        yield found.resting.events.within(request.liquidity_min, request.liquidity_max)
    if request.volume_min is not None or request.volume_max is not None:
        yield found.trades.events[0].within(request.volume_min, request.volume_max)
