"""Which events a list wants, and in which order: filters as flags over the catalogue's places.

A filter says which events of the season pass, by an index of it, and how to tell of an event that
is listed by itself. What trading changes is asked of the facets. No filter looks at each event of
the season, and none at a market.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from sim.api.gateway.list_query import PAGE_DEFAULT, check_page, folded
from sim.api.gateway.live_views import event_view
from sim.api.gateway.market_index import Facets
from sim.indexes.ordered_index import KeyIndex, OrderedIndex, both, flags_of, neither, pick
from sim.messages.gateway_v1 import Event, Market, Tag

if TYPE_CHECKING:
    from sim.reference.market_templates import Kind
    from sim.reference.season import Season

Flags = bytes | bytearray


class Filter(NamedTuple):
    """Flags of the season's events that pass, and whether an event by itself does."""

    season: Callable[[Season], Flags]
    single: Callable[[Event], bool]


def by_league(test: Callable[[Event], bool]) -> Filter:
    """A test of something in which all games of a league agree."""
    return Filter(lambda season: season.index.where_league(test), test)


def by_market(test: Callable[[Market | Kind], bool]) -> Filter:
    """A test that one of an event's markets must pass, of what says its kind."""
    return Filter(
        lambda season: season.index.where_kinds(lambda kinds: any(map(test, kinds))),
        lambda event: any(map(test, event.markets)),
    )


def by_place(
    numbers: Callable[[Season], Iterable[int | None]], test: Callable[[Event], bool]
) -> Filter:
    """A test that an index has answered: places in the season, None where there is none."""
    return Filter(
        lambda season: flags_of(
            (number for number in numbers(season) if number is not None), season.games
        ),
        test,
    )


def excluding(one: Filter) -> Filter:
    """What a filter leaves out."""
    return Filter(lambda season: neither(one.season(season)), lambda event: not one.single(event))


def nothing() -> Filter:
    """What no event passes."""
    return by_place(lambda season: (), lambda event: False)


def of_ids(ids: Collection[int]) -> Filter:
    """Events by number."""
    return by_place(lambda season: map(season.numbered, ids), lambda event: event.id in ids)


def of_slugs(slugs: Collection[str]) -> Filter:
    """Events by slug."""
    return by_place(lambda season: map(season.number, slugs), lambda event: event.slug in slugs)


def tag_ids(tags: Iterable[Tag], *, related: bool) -> set[int]:
    """Numbers of tags; `related`: of those above them too, so that what carries a tag is found by
    the tag above it.
    """
    return {int(tag.id) for tag in tags} | ({tag.parent_id for tag in tags} if related else set())


def event_dates(
    starts: tuple[int | None, int | None], ends: tuple[int | None, int | None]
) -> Iterator[Filter]:
    """Bounds, both inclusive, on when markets of the season open and expire; what stands by itself
    is looked at market by market.
    """
    for name, (low, high) in (("opening", starts), ("expiring", ends)):
        if low is not None or high is not None:
            found = partial(_between, name, low, high)
            yield by_place(found, lambda event: True)


def _between(name: str, low: int | None, high: int | None, season: Season) -> Iterable[int | None]:
    return season.index.between(name, low, high)


# ---- selecting


def passing(season: Season, filters: Iterable[Filter]) -> Flags:
    """Flags of the season's events that pass every filter."""
    found: Flags = b"\1" * season.games
    for one in filters:
        found = both(found, one.season(season))
    return found


def selected(found: Facets, filters: Iterable[Filter], others: Iterable[Flags] = ()) -> Flags:
    """Flags of the events that pass every filter and are flagged in all the others."""
    catalogue, filters = found.catalogue, list(filters)
    places, season = catalogue.events, catalogue.reference.season
    found_here = bytearray(places.count)
    if season is not None:
        found_here[places.season : places.windows] = passing(season, filters)
    for place in (
        *catalogue.singles(places),
        *(places.season + number for number in catalogue.reference.grown),
    ):
        event = catalogue.event(place)
        found_here[place] = all(one.single(event) for one in filters)
    flags: Flags = found_here
    for other in others:
        flags = both(flags, other)
    return flags


def between(found: Facets, name: str, low: int | None, high: int | None) -> Flags:
    """Flags of the events whose date of a name lies within bounds, both inclusive."""
    key = found.catalogue.event_key(name)
    return flags_of(
        key.between(low, high) if isinstance(key, KeyIndex) else (), found.catalogue.events.count
    )


def event_keys(found: Facets, names: Iterable[str]) -> list[OrderedIndex]:
    """What to sort events by; names without a key sort nothing."""
    keys = (_event_key(found, folded(name)) for name in names)
    return [key for key in keys if key is not None]


def _event_key(found: Facets, name: str) -> OrderedIndex | None:
    if name in TRADED:
        return found.trades.events[TRADED[name]]
    if name == "openinterest":
        return found.trades.interest
    if name == "liquidity":
        return found.resting.events
    if name == "updatedat":
        return found.updates.events
    return found.catalogue.event_key(name)


TRADED = {
    "volume": 0,
    "volumenum": 0,
    "volume24hr": 1,
    "volume1wk": 2,
    "volume1mo": 3,
    "volume1yr": 4,
}


def event_page(
    found: Facets,
    flags: Flags,
    keys: list[OrderedIndex],
    falling: bool,
    limit: int,
    offset: int,
    default: int = PAGE_DEFAULT,
) -> list[Event]:
    """A page of the flagged events as they are now, with their markets."""
    size = check_page(limit, offset) or default
    return shown(found, pick(flags, keys, falling, offset, size))


def shown(found: Facets, places: Iterable[int]) -> list[Event]:
    """Events as they are now, with their markets."""
    return [event_view(found.exchange, found.catalogue.whole_event(place)) for place in places]
