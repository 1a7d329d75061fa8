"""Events with their markets and scores (§2.11, §4.1)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec.structs import replace

from sim.api.callers import Caller
from sim.api.gateway_entries import Entry, Wanted, cut, entries, leagues_of, standing, views
from sim.api.gateway_lists import agrees, arranged, within
from sim.api.gateway_views import event_view
from sim.api.handles import handles
from sim.core.exchange import Exchange
from sim.core.refusals import NotFound
from sim.messages import gateway_v1 as wire

_KEYS: dict[str, Any] = {
    "id": lambda row: row[1].id,
    "slug": lambda row: row[1].slug,
    "title": lambda row: row[1].title,
    "volume": lambda row: row[1].volume,
    "volume24hr": lambda row: row[1].volume_24hr,
    "volume1wk": lambda row: row[1].volume_1wk,
    "liquidity": lambda row: row[1].liquidity,
    "openinterest": lambda row: row[1].open_interest,
    "startdate": lambda row: row[1].start_date,
    "enddate": lambda row: row[1].end_date,
    "starttime": lambda row: row[1].start_time,
    "createdat": lambda row: row[1].created_at,
    "updatedat": lambda row: row[1].updated_at,
    "featuredorder": lambda row: row[1].featured_order,
}


@handles("GatewayEventsAPI.ListEvents")
def list_events(exchange: Exchange, caller: Caller, request: wire.ListEventsRequest) -> wire.ListEventsResponse:
    """Events that pass every filter, in order of listing unless asked otherwise; 100 where no limit is given."""
    named = (entry for entry in entries(exchange, _wanted(exchange, request)) if _named(exchange, entry, request))
    standings = ((entry, standing(exchange, entry)) for entry in named)
    found = ((entry, event) for entry, event in standings if _stands(event, request))
    order_by = [*request.order_by, *(["featuredOrder"] if request.featured_order else [])]
    direction = request.order_direction or ("asc" if request.featured_order and not request.order_by else "")
    shown = views(exchange, (entry for entry, _ in cut(arranged(found, _KEYS, order_by, direction), request.limit, request.offset)))
    if request.include_combo_market_counts:
        shown = [replace(event, market_counts=dict(Counter(market.market_type for market in event.markets))) for event in shown]
    return wire.ListEventsResponse(events=shown)


@handles("GatewayEventsAPI.GetEvent")
def get_event(exchange: Exchange, caller: Caller, request: wire.GetEventRequest) -> wire.GetEventResponse:
    """One event by its number."""
    event = _require(exchange, exchange.reference.event_numbered(request.id), str(request.id))
    return wire.GetEventResponse(event=_shaped(event, groups=request.groups, combos_only=request.combo_enabled_only))


@handles("GatewayEventsAPI.GetEventBySlug")
def get_event_by_slug(exchange: Exchange, caller: Caller, request: wire.GetEventBySlugRequest) -> wire.GetEventResponse:
    """One event by its slug."""
    event = _require(exchange, exchange.reference.event_named(request.slug), request.slug)
    return wire.GetEventResponse(event=_shaped(event, groups=request.groups, combos_only=request.combo_enabled_only))


def _require(exchange: Exchange, event: wire.Event | None, name: str) -> wire.Event:
    if event is None:
        raise NotFound(f"event not found: {name[:80]}", rule="S4.1-10", remedy="GET /v1/events lists the events")
    return event_view(exchange, event)


def _shaped(event: wire.Event, *, groups: bool, combos_only: bool) -> wire.Event:
    """An event with only its combinable markets, or with its markets grouped by type, when asked for."""
    if combos_only:
        event = replace(event, markets=[market for market in event.markets if market.combo_enabled])
    if groups:
        kinds = dict.fromkeys(market.market_type for market in event.markets)
        slugs = {kind: [market.slug for market in event.markets if market.market_type == kind] for kind in kinds}
        event = replace(event, market_groups=[{"type": kind, "marketSlugs": slugs[kind]} for kind in kinds])
    return event


def _wanted(exchange: Exchange, request: wire.ListEventsRequest) -> Wanted:
    """What the season's indexes know of a request; the filters below have the last word."""
    nobody = request.event_week is not None or request.user_id or (request.categories and "sports" not in request.categories)
    tags = [*([request.tag_slug] if request.tag_slug else []), *request.tag_slugs_all[:1]]
    tag_ids = [] if request.related_tags else [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    return Wanted(
        numbers=() if nobody else request.id or None,
        slugs=request.slug or None,
        leagues=leagues_of(exchange.reference, tags=tags[:1], tag_ids=() if tags else tag_ids, series_ids=() if tags or tag_ids else request.series_id),
        day=request.event_date,
        team=request.team_id,
    )


def _named(exchange: Exchange, entry: Entry, request: wire.ListEventsRequest) -> bool:
    """Filters on what never changes. What no event here has (a week, a user, a former date) is matched by none."""
    event, markets = entry.event, entry.kinds
    series = exchange.reference.series_by_slug.get(event.series_slug)
    series_id = int(series.id) if series is not None else 0
    return (
        (not request.id or event.id in request.id)
        and (not request.slug or event.slug in request.slug)
        and event.id not in request.exclude_event_id
        and (not request.categories or event.category in request.categories)
        and (not request.series_id or series_id in request.series_id)
        and series_id not in request.exclude_series_id
        and (not request.recurrence or (series is not None and series.recurrence == request.recurrence))
        and _tagged(event, request)
        and _played(event, request)
        and (not request.market_types or any(market.market_type in request.market_types for market in markets))
        and (not request.sports_market_types or any(market.sports_market_type_v2 in request.sports_market_types for market in markets))
        and (request.include_hidden or not event.hidden)
        and agrees(event.archived, request.archived)
        and agrees(event.featured, request.featured)
        and within(event.start_date, request.start_date_min, request.start_date_max)
        and within(event.end_date, request.end_date_min, request.end_date_max)
        and within(event.start_time, request.start_time_min, request.start_time_max)
        and request.event_week is None
        and not request.user_id
    )


def _tagged(event: wire.Event, request: wire.ListEventsRequest) -> bool:
    ids = {int(tag.id) for tag in event.tags}
    slugs = {tag.slug for tag in event.tags}
    if request.related_tags:
        ids |= {tag.parent_id for tag in event.tags}
    wanted = [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    return (
        (not wanted or not ids.isdisjoint(wanted))
        and request.tag_slug in ("", *slugs)
        and slugs.issuperset(request.tag_slugs_all)
        and ids.isdisjoint(request.exclude_tag_id)
    )


def _played(event: wire.Event, request: wire.ListEventsRequest) -> bool:
    return (
        request.game_id in ("", event.game_id)
        and request.event_date in ("", event.event_date)
        and request.sportradar_game_id in ("", event.sportradar_game_id)
        and request.rescheduled_from_game_id in ("", event.rescheduled_from_game_id)
        and (not request.team_id or any(team.id == request.team_id for team in event.teams))
    )


def _stands(event: wire.Event, request: wire.ListEventsRequest) -> bool:
    """Filters on what trading and the game change."""
    return (
        agrees(event.active, request.active)
        and agrees(event.closed, request.closed)
        and agrees(event.live, request.live)
        and agrees(event.ended, request.ended)
        and request.period in ("", event.period)
        and within(event.liquidity, request.liquidity_min, request.liquidity_max)
        and within(event.volume, request.volume_min, request.volume_max)
        and within(event.finished_timestamp, request.finished_timestamp_min, request.finished_timestamp_max)
    )
