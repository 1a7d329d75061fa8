"""Search over events by their words (retail facts §2.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from sim.api.callers import Caller
from sim.api.gateway_entries import Entry, Standings, Wanted, cut, entries, kinds, views
from sim.api.gateway_lists import within
from sim.api.handles import handles
from sim.core.exchange import Exchange
from sim.core.refusals import InvalidRequest
from sim.kernel.instants import Instant
from sim.messages import gateway_v1 as wire

PAGE_DEFAULT = 20


@handles("GatewaySearchAPI.SearchEvents")
def search_events(exchange: Exchange, caller: Caller, request: wire.SearchEventsRequest) -> wire.SearchEventsResponse:
    """Events in which every word of the query occurs, in any case: those with it in the title first. Pages count from 1."""
    if request.status and request.status not in _STATUSES:
        raise InvalidRequest("status is active, closed or upcoming")
    if request.page < 0:
        raise InvalidRequest("page must not be negative")
    words = request.query.lower().split()
    found: Iterable[Entry] = _holding(exchange, words)
    for test in _tests(exchange, request):
        found = filter(test, found)
    titled: list[Entry] = []
    others: list[Entry] = []
    for entry in found:
        (titled if _in_title(exchange, entry, words) else others).append(entry)
    size = request.limit or PAGE_DEFAULT
    return wire.SearchEventsResponse(events=views(exchange, cut(chain(titled, others), size, max(request.page - 1, 0) * size)))


def _in_title(exchange: Exchange, entry: Entry, words: list[str]) -> bool:
    season = exchange.reference.season
    title = entry.event.title.lower() if season is None or entry.number is None else season.index.titles[entry.number]
    return all(word in title for word in words)


def _holding(exchange: Exchange, words: list[str]) -> Iterator[Entry]:
    """Events in whose texts every word occurs, in order of listing. The season has an index; the few events listed one by one are looked through."""
    reference = exchange.reference
    season = reference.season
    numbers = [] if season is None else season.index.words.holding(words)
    known = set(numbers)
    for entry in entries(exchange, Wanted(places=sorted(known.union(reference.grown)))):
        if entry.number in known or reference.holds(entry.event, words):
            yield entry


def _tests(exchange: Exchange, request: wire.SearchEventsRequest) -> Iterator[Callable[[Entry], bool]]:
    """One test for each filter that is set."""
    yield lambda entry: not entry.event.hidden
    if request.series_ids:
        slugs = {series.slug for series in exchange.reference.series if int(series.id) in request.series_ids}
        yield lambda entry: entry.event.series_slug in slugs
    if request.market_type:
        yield lambda entry: any(market.market_type in request.market_type for market in kinds(exchange, entry))
    if request.combo_enabled_only:
        yield lambda entry: any(market.combo_enabled for market in kinds(exchange, entry))
    if request.start_time_min is not None or request.start_time_max is not None:
        yield lambda entry: within(entry.event.start_time, request.start_time_min, request.start_time_max)
    if request.closed_time_min is not None or request.closed_time_max is not None:
        yield lambda entry: within(entry.event.closed_time, request.closed_time_min, request.closed_time_max)
    if request.status:
        stands, standing = _STATUSES[request.status], Standings(exchange).of
        yield lambda entry: stands(standing(entry), exchange.now)


def _upcoming(event: wire.Event, now: Instant) -> bool:
    return not event.closed and event.start_time is not None and event.start_time > now


_STATUSES: dict[str, Callable[[wire.Event, Instant], bool]] = {
    "active": lambda event, now: event.active,
    "closed": lambda event, now: event.closed,
    "upcoming": _upcoming,
}
