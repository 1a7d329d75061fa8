"""The gateway's events and markets as numbered places in order of listing: those listed before the
season, the season, windows, and those listed after it.

Windows come and go, so they have places of their own that are dealt out anew whenever others are
shown. Of the season nothing is made to tell where it stands. What is kept here follows from
reference data; `gateway_facets.py` has what trading, games and the clock change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from sim.core.exchange import Exchange
from sim.core.recurring.markets import Slot
from sim.indexes.ordered_index import MISSING, KeyIndex, UniqueKeyIndex
from sim.messages.gateway_v1 import Event, Market

if TYPE_CHECKING:
    from sim.reference.season import Season

_NO_EVENT = Event()
_NO_MARKET = Market()


class Places:
    """The places of a list: `season` and `windows` are the first of those, `added` the first of
    what was listed later.
    """

    def __init__(self, base: int, season: int, windows: int, added: int) -> None:
        self.season = base
        self.windows = base + season
        self.added = base + season + windows
        self.count = base + season + windows + added


class Catalogue:
    """Which event and which market is where. True as long as the reference data it was made of are
    the exchange's, and once `deal` was told of the windows.
    """

    def __init__(self, exchange: Exchange) -> None:
        reference = self.reference = exchange.reference
        season = reference.season
        windows = 0 if reference.windows is None else exchange.recurring.most_listed()
        base, base_markets = reference.base, reference.base_markets
        self.first_markets = [0] if season is None else season.index.first_markets
        self.events = Places(
            base, len(self.first_markets) - 1, windows, len(reference.events) - base
        )
        self.markets = Places(
            base_markets, self.first_markets[-1], windows, len(reference.markets) - base_markets
        )
        self.shown: list[Slot] = []
        self._windows: list[Event] = []
        self._event_places = {
            event.slug: self._listed(self.events, place)
            for place, event in enumerate(reference.events)
        }
        self._places = {
            market.slug: self._listed(self.markets, place)
            for place, market in enumerate(reference.markets)
        }
        self._owners: dict[int, int] = {}
        self._markets: dict[int, list[int]] = {}
        for slug, place in self._places.items():
            owner = reference.event_of(slug)
            event = None if owner is None else self.place_of_event(owner.slug)
            if event is not None:
                self._owners[place] = event
                self._markets.setdefault(event, []).append(place)
        self._event_keys: dict[str, KeyIndex | UniqueKeyIndex] = {}
        self._market_keys: dict[str, KeyIndex | UniqueKeyIndex] = {}

    @staticmethod
    def _listed(places: Places, number: int) -> int:
        return number if number < places.season else number - places.season + places.added

    @property
    def season(self) -> Season:
        """The season, where a place is one of its."""
        season: Season | None = self.reference.season
        if season is None:
            raise LookupError("there is no season")
        return season

    # ---- what is where

    def event(self, place: int) -> Event:
        """The event at a place as reference data; without its markets if it is the season's and
        nothing was added to it.
        """
        places, reference = self.events, self.reference
        if places.season <= place < places.windows:
            number = place - places.season
            return reference.grown.get(number) or self.season.bare(number)
        if places.windows <= place < places.added:
            return self._window(place - places.windows)
        return reference.events[
            place if place < places.season else place - places.added + places.season
        ]

    def whole_event(self, place: int) -> Event:
        """The event at a place with its markets."""
        places = self.events
        return (
            self.reference.of_season(place - places.season)
            if places.season <= place < places.windows
            else self.event(place)
        )

    def market(self, place: int) -> Market:
        """The market at a place as reference data."""
        places = self.markets
        if places.season <= place < places.windows:
            return self.season.market_at(*self.split(place))
        if places.windows <= place < places.added:
            return next(iter(self._window(place - places.windows).markets), _NO_MARKET)
        return self.reference.markets[
            place if place < places.season else place - places.added + places.season
        ]

    def slug(self, place: int) -> str:
        """The slug of the market at a place."""
        places = self.markets
        return (
            self.season.symbol(*self.split(place))
            if places.season <= place < places.windows
            else self.market(place).slug
        )

    def split(self, place: int) -> tuple[int, int]:
        """A market's place as that of its event in the season, and its own within the event."""
        return self.season.index.split(place - self.markets.season)

    def place_of_event(self, slug: str) -> int | None:
        """The place of an event, or None."""
        season = self.reference.season
        number = None if season is None else season.number(slug)
        return self._event_places.get(slug) if number is None else self.events.season + number

    def place_of(self, symbol: str) -> int | None:
        """The place of a market, or None. Those of the season are remembered, event by event."""
        found = self._places.get(symbol)
        if found is not None or self.reference.season is None:
            return found
        number = self.season.event_of(symbol)
        if number is None:
            return None
        first = self.markets.season + self.first_markets[number]
        self._places.update(
            (mine, first + offset) for offset, mine in enumerate(self.season.symbols_of(number))
        )
        return self._places.get(symbol)

    def event_of(self, place: int) -> int:
        """The place of a market's event."""
        places = self.markets
        if places.season <= place < places.windows:
            return self.events.season + self.split(place)[0]
        return (
            self._owners[place]
            if place not in range(places.windows, places.added)
            else place - places.windows + self.events.windows
        )

    def markets_of(self, event: int) -> Iterable[int]:
        """The places of an event's markets, in order of listing."""
        places, added = self.events, self._markets.get(event, ())
        if places.season <= event < places.windows:
            number = event - places.season
            return (
                *range(
                    self.markets.season + self.first_markets[number],
                    self.markets.season + self.first_markets[number + 1],
                ),
                *added,
            )
        return (
            (event - places.windows + self.markets.windows,)
            if places.windows <= event < places.added
            else added
        )

    # ---- windows

    def deal(self, shown: list[Slot]) -> list[int]:
        """Give the windows' places to those that are shown now. The numbers, from 0, of the places
        that others have now.
        """
        if shown == self.shown:
            return []
        made = self.reference.windows
        windows = [] if made is None else list(map(made.event, shown))
        most = max(len(windows), len(self._windows))
        changed = [
            number
            for number in range(most)
            if windows[number : number + 1] != self._windows[number : number + 1]
        ]
        for window in self._windows:
            del self._event_places[window.slug], self._places[window.markets[0].slug]
        for number, window in enumerate(windows):
            self._event_places[window.slug] = self.events.windows + number
            self._places[window.markets[0].slug] = self.markets.windows + number
        self.shown, self._windows = shown, windows
        for name, key in self._event_keys.items():
            _deal(
                key,
                self.events.windows,
                {
                    number: _value(EVENT_KEYS[name][0], windows[number : number + 1])
                    for number in changed
                },
            )
        markets = [window.markets[0] for window in windows]
        for name, key in self._market_keys.items():
            _deal(
                key,
                self.markets.windows,
                {
                    number: _value(MARKET_KEYS[name][0], markets[number : number + 1])
                    for number in changed
                },
            )
        return changed

    def _window(self, number: int) -> Event:
        return self._windows[number] if number < len(self._windows) else _NO_EVENT

    # ---- keys to sort by

    def event_key(self, name: str) -> KeyIndex | UniqueKeyIndex | None:
        """Events in order of what never changes; None where the name is no such key."""
        found = self._event_keys.get(name)
        if found is None and name in EVENT_KEYS:
            of, of_season = EVENT_KEYS[name]
            others = {place: of(self.event(place)) for place in self.singles(self.events)}
            games = range(len(self.first_markets) - 1)
            if name in UNIQUE:
                first = self.events.season
                ranks = [
                    first + number
                    for number in (
                        sorted(games, key=self.season.slug) if name == "slug" and games else games
                    )
                ]
                found = UniqueKeyIndex(
                    ranks, lambda place: of_season(self.season, place - first), others
                )
            else:
                found = KeyIndex(
                    self.runs(
                        self.events,
                        others,
                        ((of_season(self.season, number), 1) for number in games),
                    )
                )
            self._event_keys[name] = found
        return found

    def market_key(self, name: str) -> KeyIndex | UniqueKeyIndex | None:
        """Markets in order of what never changes; None where the name is no such key."""
        found = self._market_keys.get(name)
        if found is None and name in MARKET_KEYS:
            of, of_season = MARKET_KEYS[name]
            others = {place: of(self.market(place)) for place in self.singles(self.markets)}
            first = self.markets.season
            sizes = list(map(int.__sub__, self.first_markets[1:], self.first_markets))
            if name in UNIQUE:
                ranks = (
                    [first + rank for rank in self.season.index.by_slug]
                    if name == "slug" and sizes
                    else list(range(first, self.markets.windows))
                )
                found = UniqueKeyIndex(
                    ranks, lambda place: of_season(self.season, *self.split(place)), others
                )
            elif name in _BY_PLACE:
                each = (
                    of_season(self.season, number, offset)
                    for number, size in enumerate(sizes)
                    for offset in range(size)
                )
                found = KeyIndex(self.runs(self.markets, others, ((key, 1) for key in each)))
            else:
                found = KeyIndex(
                    self.runs(
                        self.markets,
                        others,
                        (
                            (of_season(self.season, number, 0), size)
                            for number, size in enumerate(sizes)
                        ),
                    )
                )
            self._market_keys[name] = found
        return found

    def singles(self, places: Places) -> Iterator[int]:
        """Places of what is there by itself, empty ones left out."""
        yield from range(places.season)
        yield from range(places.windows, places.windows + len(self._windows))
        yield from range(places.added, places.count)

    def runs(
        self, places: Places, others: dict[int, Any], season: Iterable[tuple[Any, int]]
    ) -> Iterator[tuple[Any, int]]:
        """Keys of every place, with how many places in a row have each: the season's, and others by
        place.
        """
        yield from ((known_key(others.get(place)), 1) for place in range(places.season))
        yield from season
        yield from (
            (known_key(others.get(place)), 1) for place in range(places.windows, places.count)
        )


def known_key(key: Any) -> Any:
    """What stands for a key in an order: for None the smallest."""
    return MISSING if key is None else key


def _deal(key: KeyIndex | UniqueKeyIndex, first: int, values: dict[int, Any]) -> None:
    """Give windows' places new values. First they lose the old ones, so that no two have the same
    at any time.
    """
    for number in values:
        key.move(first + number, MISSING)
    for number, value in values.items():
        key.move(first + number, value)


def _value(of: Callable[[Any], Any], rows: list[Any]) -> Any:
    return known_key(of(rows[0])) if rows else MISSING


# Keys by which events, and markets, are put in order: as a message says them, and as the season
# does of a place without making what is there.
UNIQUE = frozenset(("id", "slug"))
# in what else is not unique, the markets of one event of the season agree
_BY_PLACE = frozenset(("sortorder",))
EVENT_KEYS: dict[str, tuple[Callable[[Event], Any], Callable[[Season, int], Any]]] = {
    "id": (lambda event: event.id, lambda season, number: season.event_id(number)),
    "slug": (lambda event: event.slug, lambda season, number: season.slug(number)),
    "title": (lambda event: event.title, lambda season, number: season.title(number)),
    "startdate": (lambda event: event.start_date, lambda season, number: season.timing(number)[0]),
    "enddate": (lambda event: event.end_date, lambda season, number: season.timing(number)[2]),
    "starttime": (lambda event: event.start_time, lambda season, number: season.timing(number)[1]),
    "createdat": (lambda event: event.created_at, lambda season, number: season.timing(number)[0]),
    "featuredorder": (lambda event: event.featured_order, lambda season, number: 0),
}
MARKET_KEYS: dict[str, tuple[Callable[[Market], Any], Callable[[Season, int, int], Any]]] = {
    "id": (
        lambda market: int(market.id),
        lambda season, number, place: season.market_id(number, place),
    ),
    "slug": (
        lambda market: market.slug,
        lambda season, number, place: season.symbol(number, place),
    ),
    "sortorder": (
        lambda market: market.sort_order,
        lambda season, number, place: season.sort_order(number, place),
    ),
    "startdate": (
        lambda market: market.start_date,
        lambda season, number, place: season.opens(number),
    ),
    "enddate": (
        lambda market: market.end_date,
        lambda season, number, place: season.timing(number)[2],
    ),
    "createdat": (
        lambda market: market.created_at,
        lambda season, number, place: season.timing(number)[0],
    ),
}
