"""Tags and series, and the events behind them."""

from __future__ import annotations

from typing import Any

from sim.api.gateway.event_filters import EventFilters, event_keys, event_page
from sim.api.gateway.list_query import PAGE_MAX, agrees, arranged, check_order, page
from sim.api.gateway.market_columns import ACTIVE, CLOSED
from sim.api.gateway.market_index import market_index
from sim.api.pipeline.handler import handles
from sim.contract.messages import gateway_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.reference_data import Flags
from sim.core.model.refusals import NotFound, cut

_SERIES_KEYS: dict[str, Any] = {
    "id": lambda series: int(series.id),
    "slug": lambda series: series.slug,
    "title": lambda series: series.title,
    "createdat": lambda series: series.created_at,
}


@handles("GatewayTagsAPI.ListTags")
def list_tags(exchange: Exchange, request: wire.ListTagsRequest) -> wire.ListTagsResponse:
    """Tags in listing order; 500 without a limit, and at most."""
    tags = page(exchange.reference.tags, request.limit, request.offset, default=PAGE_MAX)
    return wire.ListTagsResponse(tags=tags)


@handles("GatewayTagsAPI.GetTag", "GatewayTagsAPI.GetTagBySlug")
def get_tag(
    exchange: Exchange, request: wire.GetTagRequest | wire.GetTagBySlugRequest
) -> wire.GetTagResponse:
    """One tag by its number or its slug."""
    if isinstance(request, wire.GetTagBySlugRequest):
        return wire.GetTagResponse(tag=_require(exchange, request.slug))
    slugs = (tag.slug for tag in exchange.reference.tags if tag.id == str(request.id))
    return wire.GetTagResponse(tag=_require(exchange, next(slugs, ""), str(request.id)))


@handles("GatewayTagsAPI.ListTagEvents")
def list_tag_events(
    exchange: Exchange, request: wire.ListTagEventsRequest
) -> wire.ListTagEventsResponse:
    """Events with a tag, the largest volume first. By default only active events that
    are not closed.
    """
    tag = _require(exchange, request.slug)
    active = True if request.active is None else request.active
    closed = False if request.closed is None else request.closed
    index = market_index(exchange)
    flags: list[Flags] = [
        index.of(ACTIVE).events.among(active),
        index.of(CLOSED).events.among(closed),
    ]
    filters = EventFilters([lambda event: tag.slug in [mine.slug for mine in event.tags]], flags)
    order = event_keys(index, ("volume",)), True
    events = event_page(index, filters.select(index), order, request)
    return wire.ListTagEventsResponse(events=events)


@handles("GatewaySeriesAPI.ListSeries")
def list_series(exchange: Exchange, request: wire.ListSeriesRequest) -> wire.ListSeriesResponse:
    """Series that pass every filter."""
    order, direction = request.order_by, request.order_direction
    is_ascending = check_order(exchange, _SERIES_KEYS, wire.Series, order, direction)
    matching = [
        series
        for series in exchange.reference.series
        if (not request.slug or series.slug in request.slug)
        and agrees(series.active, request.active)
        and agrees(series.closed, request.closed)
        and agrees(series.archived, request.archived)
        and request.recurrence in ("", series.recurrence)
    ]
    ordered = arranged(matching, _SERIES_KEYS, order, is_ascending)
    return wire.ListSeriesResponse(series=page(ordered, request.limit, request.offset))


@handles("GatewaySeriesAPI.GetSeries")
def get_series(exchange: Exchange, request: wire.GetSeriesRequest) -> wire.GetSeriesResponse:
    """One series."""
    every, number = exchange.reference.series, str(request.id)
    series_asked = next((series for series in every if series.id == number), None)
    if series_asked is None:
        raise NotFound(f"series not found: {request.id}", remedy="GET /v1/series lists the series")
    return wire.GetSeriesResponse(series=series_asked)


def _require(exchange: Exchange, slug: str, number: str = "") -> wire.Tag:
    tag = exchange.reference.tag_by_slug.get(slug)
    if tag is None:
        remedy = "GET /v2/tags lists the tags"
        raise NotFound(f"tag not found: {cut(number or slug)}", remedy=remedy)
    return tag
