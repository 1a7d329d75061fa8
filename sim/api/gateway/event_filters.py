"""Filters and sort order of event lists, as flags over the positions of the catalogue.

Flags have one byte for each position; a list has the events that all of its filters flag. The
catalogue has the flags of fixed properties, the market index those of properties that trading
changes, so no filter reads a market.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from typing import Any, NamedTuple

from sim.api.gateway.event_views import event_view
from sim.api.gateway.list_query import EVENTS_MAX, folded, page_length
from sim.api.gateway.market_columns import SORTED_BY
from sim.api.gateway.market_index import MarketIndex
from sim.contract.messages.gateway_v1 import Event, Tag
from sim.core.exchange import Exchange
from sim.core.model.reference_data import Flags
from sim.kernel.indexes.ordered_index import KeyIndex, both, flags_of, pick

Test = Callable[[Event], bool]
Bounds = tuple[Any, Any]


class EventFilters(NamedTuple):
    """Filters of a list: an event must pass every test and be flagged by all of `flags`.

    A test may use only properties that all games of a league share: category,
    tags, series, switches.
    """

    tests: list[Test]
    flags: list[Flags]

    def select(self, index: MarketIndex) -> Flags:
        """Flag the events that pass."""
        return reduce(both, self.flags, index.catalogue.events_where(*self.tests))


def events_numbered(index: MarketIndex, ids: Iterable[int]) -> Flags:
    """Flag the events with these numbers."""
    events = map(index.reference.event_numbered, ids)
    return events_named(index, (event.slug for event in events if event is not None))


def events_named(index: MarketIndex, slugs: Iterable[str]) -> Flags:
    """Flag the events with these slugs."""
    positions = map(index.catalogue.position_of_event, slugs)
    return flags_of((at for at in positions if at is not None), len(index.catalogue.events))


def events_like(index: MarketIndex, test: Test) -> Flags:
    """Flag the events that pass a test of their own properties."""
    return bytes(map(test, index.catalogue.events))


def carrying(tags: Iterable[Tag], numbers: Collection[int], *, related: bool) -> frozenset[str]:
    """Return the ids of tags that match a request's tag numbers.

    With `related` a child tag matches its parents' numbers too.
    """
    return frozenset(
        tag.id for tag in tags if int(tag.id) in numbers or (related and tag.parent_id in numbers)
    )


def shared_tests(exchange: Exchange, request: Any) -> Iterator[Callable[[Any], bool]]:
    """Yield tests of what lists of events and of markets filter alike: category, switches, tags."""
    if categories := frozenset(request.categories):
        yield lambda row: row.category in categories
    if not request.include_hidden:
        yield lambda row: not row.hidden
    if request.archived is not None:
        yield lambda row: row.archived is request.archived
    numbers = {*request.tag_ids, *([request.tag_id] if request.tag_id else [])}
    if numbers:
        tagged = carrying(exchange.reference.tags, numbers, related=request.related_tags)
        yield lambda row: not tagged.isdisjoint([tag.id for tag in row.tags])


def events_between(index: MarketIndex, name: str, bounds: Bounds) -> Iterator[Flags]:
    """Yield flags of the events whose named date lies within the bounds; none without bounds."""
    key = index.catalogue.event_key(name)
    if key is not None and bounds != (None, None):
        yield key.within(*bounds)


# ---- pages


def event_keys(index: MarketIndex, names: Iterable[str]) -> list[KeyIndex]:
    """Return the sort keys of events; names without a key are ignored."""
    keys = (_event_key(index, name) for name in dict.fromkeys(map(folded, names)))
    return [key for key in keys if key is not None]


def _event_key(index: MarketIndex, name: str) -> KeyIndex | None:
    aspect = SORTED_BY.get(name)
    return index.catalogue.event_key(name) if aspect is None else index.of(aspect).events


def event_page(
    index: MarketIndex, flags: Flags, order: tuple[list[KeyIndex], bool], request: Any
) -> list[Event]:
    """Return the page of the flagged events that a request asks for, as they are now.

    `order`: keys, whether descending.
    """
    size = page_length(request.limit, request.offset, most=EVENTS_MAX)
    return event_views(index, pick(flags, *order, request.offset, size))


def event_views(index: MarketIndex, positions: Iterable[int]) -> list[Event]:
    """Return events as they are now, with their markets."""
    return [
        event_view(index.exchange, index.catalogue.event_with_markets(position))
        for position in positions
    ]
