"""Which events a list wants, and in which order: flags over the places of the catalogue.

Flags have one byte for each place; a list is the places that are flagged by all of its filters.
What never changes is asked of the catalogue, what trading changes of the market index, so no filter
looks at a market.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import reduce
from typing import Any, NamedTuple, Protocol

from sim.api.gateway.event_views import event_view
from sim.api.gateway.list_query import PAGE_DEFAULT, check_page, folded
from sim.api.gateway.market_columns import SORTED_BY
from sim.api.gateway.market_index import MarketIndex
from sim.core.model.reference_data import Flags
from sim.indexes.ordered_index import OrderedIndex, both, flags_of, pick
from sim.messages.gateway_v1 import Event, Market, Tag

Test = Callable[[Event], bool]
Bounds = tuple[Any, Any]


class EventFilters(NamedTuple):
    """What a list wants: events that pass every test and are flagged by all of `flags`.

    A test may look at whatever all games of a league share: category, tags, series, switches.
    """

    tests: list[Test]
    flags: list[Flags]

    def select(self, index: MarketIndex) -> Flags:
        """Flag the events that pass."""
        tests = self.tests
        passed = index.catalogue.events_where(lambda event: all(test(event) for test in tests))
        return reduce(both, self.flags, passed)


def events_numbered(index: MarketIndex, ids: Iterable[int]) -> Flags:
    """Flag the events with some numbers."""
    events = map(index.reference.event_numbered, ids)
    return events_named(index, (event.slug for event in events if event is not None))


def events_named(index: MarketIndex, slugs: Iterable[str]) -> Flags:
    """Flag the events with some slugs."""
    places = map(index.catalogue.place_of_event, slugs)
    return flags_of((at for at in places if at is not None), len(index.catalogue.events))


def events_like(index: MarketIndex, test: Test) -> Flags:
    """Flag the events that pass a test of what is particular to each of them."""
    return bytes(map(test, index.catalogue.events))


def events_with_market(index: MarketIndex, test: Callable[[Market], bool]) -> Flags:
    """Flag the events of which a market passes a test of what its template decides."""
    return index.catalogue.events_where(lambda event: any(map(test, event.markets)))


def carrying(tags: Iterable[Tag], numbers: Collection[int], *, related: bool) -> frozenset[str]:
    """Return the ids of the tags by which a thing is found that is asked for by tag numbers.

    With `related` a thing is also found by the tags above its own.
    """
    return frozenset(
        tag.id for tag in tags if int(tag.id) in numbers or (related and tag.parent_id in numbers)
    )


def events_between(index: MarketIndex, name: str, bounds: Bounds) -> Iterator[Flags]:
    """Yield flags of the events whose date of a name lies within bounds, where any is given."""
    key = index.catalogue.event_key(name)
    if key is not None and bounds != (None, None):
        yield flags_of(key.between(*bounds), len(index.catalogue.events))


# ---- pages


class Page(Protocol):
    """A request for a page."""

    limit: int
    offset: int


def event_keys(index: MarketIndex, names: Iterable[str]) -> list[OrderedIndex]:
    """Return what to sort events by; names without a key sort nothing."""
    keys = (_event_key(index, folded(name)) for name in names)
    return [key for key in keys if key is not None]


def _event_key(index: MarketIndex, name: str) -> OrderedIndex | None:
    aspect = SORTED_BY.get(name)
    return index.catalogue.event_key(name) if aspect is None else index.of(aspect).events


def event_page(
    index: MarketIndex, flags: Flags, order: tuple[list[OrderedIndex], bool], page: Page
) -> list[Event]:
    """Return a page of the flagged events as they are now. `order`: keys, whether descending."""
    size = check_page(page.limit, page.offset) or PAGE_DEFAULT
    return event_views(index, pick(flags, *order, page.offset, size))


def event_views(index: MarketIndex, places: Iterable[int]) -> list[Event]:
    """Return events as they are now, with their markets."""
    return [event_view(index.exchange, index.catalogue.whole_event(place)) for place in places]
