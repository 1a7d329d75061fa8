"""Search over events by their words (retail facts §2.7)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.api.callers import Caller
from sim.api.gateway_entries import Entry, Standings, Wanted, cut, entries, kinds, views
from sim.api.gateway_lists import within
from sim.api.handles import handles
from sim.core.exchange import Exchange
from sim.core.refusals import InvalidRequest
from sim.messages import gateway_v1 as wire

PAGE_DEFAULT = 20
_STATUSES = ("", "active", "closed", "upcoming")


@handles("GatewaySearchAPI.SearchEvents")
def search_events(exchange: Exchange, caller: Caller, request: wire.SearchEventsRequest) -> wire.SearchEventsResponse:
    """Events in which every word of the query occurs, in any case: those with it in the title first. Pages count from 1."""
    if request.status not in _STATUSES:
        raise InvalidRequest("status is active, closed or upcoming")
    if request.page < 0:
        raise InvalidRequest("page must not be negative")
    words = request.query.lower().split()
    found = [entry for entry in _holding(exchange, words) if _fits(exchange, entry, request)]
    found.sort(key=lambda entry: not all(word in entry.event.title.lower() for word in words))
    standing = Standings(exchange).of
    stands = (entry for entry in found if _stands(exchange, standing(entry), request))
    size = request.limit or PAGE_DEFAULT
    return wire.SearchEventsResponse(events=views(exchange, cut(stands, size, max(request.page - 1, 0) * size)))


def _holding(exchange: Exchange, words: list[str]) -> Iterator[Entry]:
    """Events in whose texts every word occurs, in order of listing. The season has an index; the few events listed one by one are looked through."""
    reference = exchange.reference
    season = reference.season
    numbers = [] if season is None else season.words.holding(words)
    wanted = Wanted(slugs=[season.slug(number) for number in (*numbers, *reference.grown)] if season is not None else None)
    known = set(numbers)
    for entry in entries(exchange, wanted):
        if entry.number in known or reference.holds(entry.event, words):
            yield entry


def _fits(exchange: Exchange, entry: Entry, request: wire.SearchEventsRequest) -> bool:
    """Filters on what never changes."""
    event = entry.event
    series = exchange.reference.series_by_slug.get(event.series_slug)
    return (
        not event.hidden
        and (not request.series_ids or (series is not None and int(series.id) in request.series_ids))
        and (not request.market_type or any(market.market_type in request.market_type for market in kinds(exchange, entry)))
        and (not request.combo_enabled_only or any(market.combo_enabled for market in kinds(exchange, entry)))
        and within(event.start_time, request.start_time_min, request.start_time_max)
        and within(event.closed_time, request.closed_time_min, request.closed_time_max)
    )


def _stands(exchange: Exchange, event: wire.Event, request: wire.SearchEventsRequest) -> bool:
    if request.status == "active":
        return event.active
    if request.status == "closed":
        return event.closed
    if request.status == "upcoming":
        return not event.closed and event.start_time is not None and event.start_time > exchange.now
    return True
