"""Search over events by their words (retail facts §2.7)."""

from __future__ import annotations

from sim.api.callers import Caller
from sim.api.gateway_lists import page, within
from sim.api.gateway_views import event_view
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
    found = [event for event in exchange.reference.events if _fits(exchange, event, request) and _holds(event, words)]
    found.sort(key=lambda event: not all(word in event.title.lower() for word in words))
    views = [view for view in (event_view(exchange, event) for event in found) if _stands(exchange, view, request)]
    size = request.limit or PAGE_DEFAULT
    return wire.SearchEventsResponse(events=page(views, size, max(request.page - 1, 0) * size))


def _holds(event: wire.Event, words: list[str]) -> bool:
    texts = [event.title, event.slug, event.subtitle, event.description, event.category, event.subcategory]
    texts += [team.name for team in event.teams] + [team.abbreviation for team in event.teams]
    texts += [text for market in event.markets for text in (market.question, market.slug)]
    whole = "\n".join(texts).lower()
    return all(word in whole for word in words)


def _fits(exchange: Exchange, event: wire.Event, request: wire.SearchEventsRequest) -> bool:
    """Filters on what never changes."""
    series = exchange.reference.series_by_slug.get(event.series_slug)
    return (
        not event.hidden
        and (not request.series_ids or (series is not None and int(series.id) in request.series_ids))
        and (not request.market_type or any(market.market_type in request.market_type for market in event.markets))
        and (not request.combo_enabled_only or any(market.combo_enabled for market in event.markets))
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
