"""Search over events by their words (retail facts §2.7)."""

from __future__ import annotations

from collections.abc import Iterator

from sim.api.gateway.event_filters import (
    Filter,
    Flags,
    between,
    by_league,
    by_market,
    selected,
    shown,
)
from sim.api.gateway.list_query import check_page, within
from sim.api.gateway.market_index import Facets, facets
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.core.exchange import Exchange
from sim.core.model.refusals import InvalidRequest
from sim.indexes.ordered_index import both, neither, pick
from sim.messages import gateway_v1 as wire

PAGE_DEFAULT = 20


@handles("GatewaySearchAPI.SearchEvents")
def search_events(
    exchange: Exchange, caller: Caller, request: wire.SearchEventsRequest
) -> wire.SearchEventsResponse:
    """Events in which every word of the query occurs, in any case: those with it in the title
    first. Pages count from 1.
    """
    if request.status and request.status not in _STATUSES:
        raise InvalidRequest("status is active, closed or upcoming")
    if request.page < 0:
        raise InvalidRequest("page must not be negative")
    words = request.query.lower().split()
    found = facets(exchange)
    holding, titled = _holding(found, words)
    flags = both(selected(found, _filters(exchange, request), _on_dates(found, request)), holding)
    if request.status:
        flags = both(flags, _status(found, request.status))
    size = check_page(request.limit, 0) or PAGE_DEFAULT
    skipped = max(request.page - 1, 0) * size
    first = both(flags, titled)
    places = pick(first, (), False, skipped, size)
    others = both(flags, neither(titled))
    places += pick(others, (), False, max(skipped - sum(first), 0), size - len(places))
    return wire.SearchEventsResponse(events=shown(found, places))


def _holding(found: Facets, words: list[str]) -> tuple[bytearray, bytearray]:
    """Flags of the events in whose texts every word occurs, and of those with all of them in the
    title. What was listed by hand is read.
    """
    catalogue, reference = found.catalogue, found.exchange.reference
    places, season = catalogue.events, reference.season
    holding, titled = bytearray(places.count), bytearray(places.count)
    if season is not None:
        holding[places.season : places.windows], titled[places.season : places.windows] = (
            season.index.words.search(words)
        )
    for place in (
        *catalogue.singles(places),
        *(places.season + number for number in reference.grown),
    ):
        event = catalogue.event(place)
        holding[place] = reference.holds(event, words)
        titled[place] = all(word in event.title.lower() for word in words)
    return holding, titled


def _filters(exchange: Exchange, request: wire.SearchEventsRequest) -> Iterator[Filter]:
    """One filter for each that is set, on what never changes."""
    yield by_league(lambda event: not event.hidden)
    if request.series_ids:
        slugs = {
            series.slug
            for series in exchange.reference.series
            if int(series.id) in request.series_ids
        }
        yield by_league(lambda event: event.series_slug in slugs)
    if request.market_type:
        yield by_market(lambda market: market.market_type in request.market_type)
    if request.combo_enabled_only:
        yield by_market(lambda market: market.combo_enabled)
    if request.closed_time_min is not None or request.closed_time_max is not None:
        yield by_league(
            lambda event: within(
                event.closed_time, request.closed_time_min, request.closed_time_max
            )
        )


def _on_dates(found: Facets, request: wire.SearchEventsRequest) -> Iterator[Flags]:
    if request.start_time_min is not None or request.start_time_max is not None:
        yield between(found, "starttime", request.start_time_min, request.start_time_max)


def _status(found: Facets, status: str) -> Flags:
    if status == "active":
        return found.states.active
    if status == "closed":
        return found.states.closed
    return both(
        neither(found.states.closed), between(found, "starttime", found.exchange.now + 1, None)
    )


_STATUSES = ("active", "closed", "upcoming")
