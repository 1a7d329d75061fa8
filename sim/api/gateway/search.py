"""Search over events by their words."""

from __future__ import annotations

from collections.abc import Iterator

from sim.api.gateway.event_filters import EventFilters, Test, event_views, events_between
from sim.api.gateway.list_query import EVENTS_MAX, page_length, within
from sim.api.gateway.market_columns import ACTIVE, CLOSED
from sim.api.gateway.market_index import MarketIndex, market_index
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.reference_data import Flags
from sim.core.model.refusals import InvalidRequest
from sim.kernel.indexes.ordered_index import both, neither, pick

PAGE_DEFAULT = 20


@handles("GatewaySearchAPI.SearchEvents")
def search_events(
    exchange: Exchange, request: wire.SearchEventsRequest
) -> wire.SearchEventsResponse:
    """Find events in which every word of the query occurs, ignoring case, matches in the title
    first.

    Pages count from 1.
    """
    if request.status and request.status not in _STATUSES:
        raise InvalidRequest("status is active, closed or upcoming")
    if request.page < 0:
        raise InvalidRequest("page must not be negative")
    index = market_index(exchange)
    holding, titled = index.catalogue.search(list(dict.fromkeys(request.query.lower().split())))
    flags = both(_filters(index, request).select(index), holding)
    size = page_length(request.limit, 0, default=PAGE_DEFAULT, most=EVENTS_MAX)
    skipped = max(request.page - 1, 0) * size
    first, others = both(flags, titled), both(flags, neither(titled))
    positions = pick(first, (), False, skipped, size)
    positions += pick(others, (), False, max(skipped - sum(first), 0), size - len(positions))
    return wire.SearchEventsResponse(events=event_views(index, positions))


def _filters(index: MarketIndex, request: wire.SearchEventsRequest) -> EventFilters:
    """Return one filter for each parameter that is set."""
    types = frozenset(request.market_type)
    starts = request.start_time_min, request.start_time_max
    flags = [*events_between(index, "starttime", starts)]
    if types:
        flags.append(index.catalogue.events_with_market(lambda market: market.market_type in types))
    if request.combo_enabled_only:
        flags.append(index.catalogue.events_with_market(lambda market: market.combo_enabled))
    if request.status:
        flags += _in_status(index, request.status)
    return EventFilters(list(_tests(index.exchange, request)), flags)


def _tests(exchange: Exchange, request: wire.SearchEventsRequest) -> Iterator[Test]:
    yield lambda event: not event.hidden
    if request.series_ids:
        series = exchange.reference.series
        slugs = {each.slug for each in series if int(each.id) in request.series_ids}
        yield lambda event: event.series_slug in slugs
    low, high = request.closed_time_min, request.closed_time_max
    if low is not None or high is not None:
        yield lambda event: within(event.closed_time, low, high)


def _in_status(index: MarketIndex, status: str) -> Iterator[Flags]:
    yield index.of(ACTIVE if status == "active" else CLOSED).events.among(status != "upcoming")
    if status == "upcoming":
        yield from events_between(index, "starttime", (index.exchange.now + 1, None))


_STATUSES = ("active", "closed", "upcoming")
