"""Events with their markets and scores (§2.11, §4.1)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from sim.api.callers import Caller
from sim.api.gateway_entries import Entry, Standings, Wanted, cut, entries, kinds, leagues_of, tag_ids, views
from sim.api.gateway_lists import arranged, check_order, of_sport, within
from sim.api.gateway_views import event_view, exists
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
    check_order(exchange, _KEYS, wire.Event, request.order_by, request.order_direction)
    static, live = list(_on_what_stays(exchange, request)), list(_on_what_changes(request))
    order_by = [*request.order_by, *(["featuredOrder"] if request.featured_order else [])]
    direction = request.order_direction or ("asc" if request.featured_order and not request.order_by else "")
    standing = Standings(exchange).of
    found: Iterable[Entry] = entries(exchange, _wanted(exchange, request))
    for test in static:
        found = filter(test, found)
    if live or order_by:
        rows: Iterable[tuple[Entry, wire.Event]] = ((entry, standing(entry)) for entry in found)
        for stands in live:
            rows = _where(rows, stands)
        found = (entry for entry, _ in arranged(rows, _KEYS, order_by, direction))
    shown = views(exchange, cut(found, request.limit, request.offset))
    if request.include_combo_market_counts:
        shown = [replace(event, market_counts=dict(Counter(market.market_type for market in event.markets))) for event in shown]
    return wire.ListEventsResponse(events=shown)


def _where(rows: Iterable[tuple[Entry, wire.Event]], stands: Callable[[wire.Event], bool]) -> Iterable[tuple[Entry, wire.Event]]:
    return (row for row in rows if stands(row[1]))


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
    if event is None or not exists(exchange, event):
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
    numbers = [] if request.related_tags else [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    return Wanted(
        numbers=() if nobody else request.id or None,
        slugs=request.slug or None,
        leagues=leagues_of(exchange.reference, tags=tags[:1], tag_ids=() if tags else numbers, series_ids=() if tags or numbers else request.series_id),
        day=request.event_date,
        team=request.team_id,
    )


Static = Iterator[Callable[[Entry], bool]]


def _on_what_stays(exchange: Exchange, request: wire.ListEventsRequest) -> Static:
    """One test for each filter that is set, on what never changes. What no event here has (a week, a user, a former date) is matched by none."""
    if request.id:
        yield lambda entry: entry.event.id in request.id
    if request.slug:
        yield lambda entry: entry.event.slug in request.slug
    if request.exclude_event_id:
        yield lambda entry: entry.event.id not in request.exclude_event_id
    if request.categories:
        yield lambda entry: entry.event.category in request.categories
    if request.market_types:
        yield lambda entry: any(market.market_type in request.market_types for market in kinds(exchange, entry))
    if request.sports_market_types:
        yield lambda entry: any(of_sport(market, request.sports_market_types) for market in kinds(exchange, entry))
    if not request.include_hidden:
        yield lambda entry: not entry.event.hidden
    if request.archived is not None:
        yield lambda entry: entry.event.archived is request.archived
    if request.featured is not None:
        yield lambda entry: entry.event.featured is request.featured
    if request.event_week is not None or request.user_id:
        yield lambda entry: False
    yield from _on_series(exchange, request)
    yield from _on_tags(request)
    yield from _on_play(request)
    for name in ("start_date", "end_date", "start_time"):
        low, high = getattr(request, f"{name}_min"), getattr(request, f"{name}_max")
        if low is not None or high is not None:
            yield _between(name, low, high)


def _between(name: str, low: int | None, high: int | None) -> Callable[[Entry], bool]:
    return lambda entry: within(getattr(entry.event, name), low, high)


def _on_series(exchange: Exchange, request: wire.ListEventsRequest) -> Static:
    by_slug = exchange.reference.series_by_slug
    if request.series_id or request.exclude_series_id:

        def number(entry: Entry) -> int:
            series = by_slug.get(entry.event.series_slug)
            return int(series.id) if series is not None else 0

        yield lambda entry: (not request.series_id or number(entry) in request.series_id) and number(entry) not in request.exclude_series_id
    if request.recurrence:
        slugs = frozenset(series.slug for series in exchange.reference.series if series.recurrence == request.recurrence)
        yield lambda entry: entry.event.series_slug in slugs


def _on_tags(request: wire.ListEventsRequest) -> Static:
    wanted = [*request.tag_ids, *([request.tag_id] if request.tag_id else [])]
    if wanted or request.exclude_tag_id:

        def ids(entry: Entry) -> set[int]:
            return tag_ids(entry.event.tags, related=request.related_tags)

        yield lambda entry: (not wanted or not ids(entry).isdisjoint(wanted)) and ids(entry).isdisjoint(request.exclude_tag_id)
    if request.tag_slug or request.tag_slugs_all:
        slugs = {*request.tag_slugs_all, *([request.tag_slug] if request.tag_slug else [])}
        yield lambda entry: slugs.issubset({tag.slug for tag in entry.event.tags})


def _on_play(request: wire.ListEventsRequest) -> Static:
    for name in ("game_id", "event_date", "sportradar_game_id", "rescheduled_from_game_id"):
        asked = getattr(request, name)
        if asked:
            yield _same(name, asked)
    if request.team_id:
        yield lambda entry: any(team.id == request.team_id for team in entry.event.teams)


def _same(name: str, asked: str) -> Callable[[Entry], bool]:
    return lambda entry: getattr(entry.event, name) == asked


def _on_what_changes(request: wire.ListEventsRequest) -> Iterator[Callable[[wire.Event], bool]]:
    """One test for each filter that is set, on what trading and the game change."""
    for name in ("active", "closed", "live", "ended"):
        asked = getattr(request, name)
        if asked is not None:
            yield _flag(name, asked)
    if request.period:
        yield lambda event: event.period == request.period
    for name in ("liquidity", "volume", "finished_timestamp"):
        low, high = getattr(request, f"{name}_min"), getattr(request, f"{name}_max")
        if low is not None or high is not None:
            yield _lies(name, low, high)


def _flag(name: str, asked: bool) -> Callable[[wire.Event], bool]:
    return lambda event: getattr(event, name) is asked


def _lies(name: str, low: float | None, high: float | None) -> Callable[[wire.Event], bool]:
    return lambda event: within(getattr(event, name), low, high)
