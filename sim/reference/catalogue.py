"""Events and markets by place, in order of listing: what was listed before the generated games,
those games, recurring events, and what was listed after them.

A place is a number from 0; lists and indexes of the gateway know nothing else of where an event
comes from. Recurring events come and go, so they have places of their own that are dealt out anew
whenever others are listed. Everything here follows from reference data, so it is true as long as
those are the same; what trading, games and the clock change is kept by the gateway.

No market of a generated game is made to find, filter or sort it. Games of one *kind* (league and
era of listing) have the same templates, so a test of what templates decide runs once for each
market of one game of the kind, and its flags are copied to the others.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, Protocol

from sim.core.model.reference_data import EVENT_FIELDS, MARKET_FIELDS, Flags
from sim.core.recurring.markets import Slot
from sim.indexes.ordered_index import MISSING, KeyIndex, UniqueKeyIndex
from sim.messages.gateway_v1 import Event, Market
from sim.reference.event_texts import event_texts
from sim.reference.generated_games import GeneratedGames, Kind
from sim.reference.market_pair import SORT_ORDERS
from sim.reference.recurring_markets import RecurringEvents

_EVENT_FIELDS = {**EVENT_FIELDS, "eventdate": "event_date"}  # the date is for filters only
# The dates of a generated event that stand in these fields of its markets.
_DATES = {"startdate": "start", "enddate": "expiration", "createdat": "created"}
_NO_EVENT = Event()
_NO_MARKET = Market()


class Sources(Protocol):
    """Where events come from (`reference.py`)."""

    generated: GeneratedGames
    recurring: RecurringEvents
    events: list[Event]
    markets: list[Market]
    base: int
    base_markets: int
    changed: dict[str, Event]

    def event_of(self, slug: str) -> Event | None:
        """Return the event of a market, or None."""


class Catalogue:
    """Which event and which market is where; implements the Protocol of `core.model`."""

    def __init__(self, reference: Sources, recurring: int) -> None:
        """`recurring` is how many recurring events are ever listed at once."""
        self._reference = reference
        self._games = games = reference.generated
        base, base_markets = reference.base, reference.base_markets
        generated = [reference.changed.get(slug) or games.bare(slug) for slug in games.slugs]
        self.events: list[Event] = [
            *reference.events[:base],
            *generated,
            *repeat(_NO_EVENT, recurring),
            *reference.events[base:],
        ]
        self.dormant_events = range(base, base + len(generated))
        self._event_slots = _next(self.dormant_events, recurring)
        self._sizes = [len(games.templates(slug)) for slug in games.slugs]
        self._firsts = list(accumulate(self._sizes, initial=base_markets))
        self.dormant_markets = range(base_markets, self._firsts[-1])
        self._market_slots = _next(self.dormant_markets, recurring)
        self.market_count = self._market_slots.stop + len(reference.markets) - base_markets
        self._event_places = {
            event.slug: place for place, event in enumerate(self.events) if event is not _NO_EVENT
        }
        self._listed: dict[int, Market] = {}
        self._places: dict[str, int] = {}
        self._owners: dict[int, int] = {}
        self._markets: dict[int, list[int]] = {}
        for number, market in enumerate(reference.markets):
            added = number >= base_markets
            place = self._market_slots.stop + number - base_markets if added else number
            self._listed[place] = market
            self._places[market.slug] = place
            event = reference.event_of(market.slug)
            if event is not None and event.slug in self._event_places:
                owner = self._owners[place] = self._event_places[event.slug]
                self._markets.setdefault(owner, []).append(place)
        self._shown: list[tuple[int, int]] = []
        self._event_keys: dict[str, KeyIndex] = {}
        self._market_keys: dict[str, KeyIndex | UniqueKeyIndex] = {}

    # ---- what is where

    def whole_event(self, place: int) -> Event:
        """Return the event at a place with its markets."""
        event = self.events[place]
        if place in self.dormant_events and event.slug not in self._reference.changed:
            return self._games.event(event.slug)
        return event

    def market(self, place: int) -> Market:
        """Return the market at a place, as reference data."""
        if place in self.dormant_markets:
            event, offset = self._split(place)
            return self._games.event(self.events[event].slug).markets[offset]
        if place in self._market_slots:
            markets = self.events[self.event_of(place)].markets
            return markets[0] if markets else _NO_MARKET
        return self._listed[place]

    def symbol(self, place: int) -> str:
        """Return the symbol of the market at a place, without making it; "" for an empty place."""
        if place in self.dormant_markets:
            event, offset = self._split(place)
            return self._games.symbols_of(self.events[event].slug)[offset]
        return self.market(place).slug

    def place_of_event(self, slug: str) -> int | None:
        """Return the place of an event, or None."""
        return self._event_places.get(slug)

    def place_of_market(self, symbol: str) -> int | None:
        """Return the place of a market, or None. Those of generated games are remembered."""
        place = self._places.get(symbol)
        if place is None and (slug := self._games.event_slug(symbol)) is not None:
            places = self.dormant_markets_of(self._event_places[slug])
            self._places.update(zip(self._games.symbols_of(slug), places, strict=True))
            place = self._places.get(symbol)
        return place

    def event_of(self, market: int) -> int:
        """Return the place of a market's event."""
        if market in self.dormant_markets:
            return self._split(market)[0]
        if market in self._market_slots:
            return self._event_slots[market - self._market_slots.start]
        return self._owners[market]

    def markets_of(self, event: int) -> Sequence[int]:
        """Return the places of an event's markets, in order of listing."""
        added = self._markets.get(event, ())
        if event in self.dormant_events:
            own = self.dormant_markets_of(event)
            return (*own, *added) if added else own
        if event in self._event_slots:
            return (self._market_slots[event - self._event_slots.start],)
        return added

    def dormant_markets_of(self, event: int) -> range:
        """Return the places of the markets that a dormant event began with."""
        number = event - self.dormant_events.start
        return range(self._firsts[number], self._firsts[number + 1])

    def listed_events(self) -> Iterator[int]:
        """Yield the places of the events that are not dormant; empty places are left out."""
        yield from range(self.dormant_events.start)
        yield from self._event_slots[: len(self._shown)]
        yield from range(self._event_slots.stop, len(self.events))

    def listed_markets(self) -> Iterator[int]:
        """Yield the places of the markets that are not dormant; empty places are left out."""
        yield from range(self.dormant_markets.start)
        yield from self._market_slots[: len(self._shown)]
        yield from range(self._market_slots.stop, self.market_count)

    def _split(self, market: int) -> tuple[int, int]:
        """Return the place of a generated market's event, and its own among the event's markets."""
        number = bisect_right(self._firsts, market) - 1
        return self.dormant_events[number], market - self._firsts[number]

    # ---- recurring events

    def recurring_markets(self) -> range:
        """Return the places of recurring markets, the empty ones too."""
        return self._market_slots

    def show_recurring(self, slots: Sequence[tuple[int, int]]) -> bool:
        """Give the recurring places to the slots that are listed now; return whether any moved."""
        if slots == self._shown:
            return False
        events = [self._reference.recurring.event(Slot(*slot)) for slot in slots]
        before = self.events[self._event_slots.start : self._event_slots.stop]
        after = [*events, *repeat(_NO_EVENT, len(before) - len(events))]
        for event in before[: len(self._shown)]:
            del self._event_places[event.slug], self._places[event.markets[0].slug]
        for number, event in enumerate(events):
            self._event_places[event.slug] = self._event_slots[number]
            self._places[event.markets[0].slug] = self._market_slots[number]
        self._shown = list(slots)
        self.events[self._event_slots.start : self._event_slots.stop] = after
        moved = [number for number in range(len(before)) if before[number] is not after[number]]
        for name, key in self._event_keys.items():
            field = _EVENT_FIELDS[name]
            _deal(key, {self._event_slots[at]: _value(after[at], field) for at in moved})
        markets = [self._market_slots[at] for at in moved]
        for name, market_key in self._market_keys.items():
            _deal(market_key, {place: self._market_value(name, place) for place in markets})
        return True

    # ---- keys to sort by

    def event_key(self, name: str) -> KeyIndex | None:
        """Return the events in order of a field that never changes, or None for another name."""
        field = _EVENT_FIELDS.get(name)
        if field is not None and name not in self._event_keys:
            values = ((_value(event, field), 1) for event in self.events)
            self._event_keys[name] = KeyIndex(values)
        return self._event_keys.get(name)

    def market_key(self, name: str) -> KeyIndex | UniqueKeyIndex | None:
        """Return the markets in order of a field that never changes, or None for another name."""
        if name in MARKET_FIELDS and name not in self._market_keys:
            self._market_keys[name] = self._make_market_key(name)
        return self._market_keys.get(name)

    def _make_market_key(self, name: str) -> KeyIndex | UniqueKeyIndex:
        listed = {place: self._market_value(name, place) for place in self.listed_markets()}
        games, dormant = self._games, self.dormant_markets
        if name in _DATES:
            dates = (getattr(games.dates(slug), _DATES[name]) for slug in games.slugs)
            return KeyIndex(self._runs(zip(dates, self._sizes, strict=True), listed))
        if name == "slug":
            symbols = list(games.symbols())
            ranks = sorted(range(len(symbols)), key=symbols.__getitem__)
            return UniqueKeyIndex([dormant[rank] for rank in ranks], self.symbol, listed)
        ids = list(chain.from_iterable(map(games.market_ids, games.slugs)))
        if name == "id":
            return UniqueKeyIndex(dormant, lambda place: ids[place - dormant.start], listed)
        return KeyIndex(self._runs(((number % SORT_ORDERS, 1) for number in ids), listed))

    def _market_value(self, name: str, place: int) -> Any:
        """Return the key of a market that is not generated; `MISSING` for an empty place."""
        market = self.market(place)
        if name == "id":
            return int(market.id) if market is not _NO_MARKET else MISSING
        return MISSING if market is _NO_MARKET else _value(market, MARKET_FIELDS[name])

    def event_runs(self, dormant: Iterable[Any]) -> Iterator[tuple[Any, int]]:
        """Yield keys of all events, with lengths of runs, from one for each dormant event."""
        yield MISSING, self.dormant_events.start
        yield from zip(dormant, repeat(1))
        yield MISSING, len(self.events) - self.dormant_events.stop

    def market_runs(self, dormant: Iterable[Any]) -> Iterator[tuple[Any, int]]:
        """Yield keys of all markets, with lengths of runs, from one for each dormant event."""
        return self._runs(zip(dormant, self._sizes, strict=True), {})

    def _runs(
        self, dormant: Iterable[tuple[Any, int]], listed: Mapping[int, Any]
    ) -> Iterator[tuple[Any, int]]:
        """Yield keys of all markets, with lengths of runs; `listed` has those of other markets."""
        for place in range(self.dormant_markets.start):
            yield listed.get(place, MISSING), 1
        yield from dormant
        for place in range(self.dormant_markets.stop, self.market_count):
            yield listed.get(place, MISSING), 1

    # ---- filters

    def events_where(self, test: Callable[[Event], bool]) -> Flags:
        """Flag events that pass a test. It may look at whatever all games of a league share."""
        flags, games = bytearray(len(self.events)), self._games
        passed = {kind: test(games.bare(slug)) for kind, slug in games.examples.items()}
        self._set_dormant(flags, passed)
        for place in self._singles():
            flags[place] = test(self.events[place])
        return flags

    def events_with_market(self, test: Callable[[Market], bool]) -> Flags:
        """Flag the events of which a market passes a test; see `markets_where`."""
        flags, games = bytearray(len(self.events)), self._games
        examples = games.examples.items()
        passed = {kind: any(map(test, games.event(slug).markets)) for kind, slug in examples}
        self._set_dormant(flags, passed)
        for place in self._singles():
            flags[place] = any(map(test, self.whole_event(place).markets))
        return flags

    def _set_dormant(self, flags: bytearray, passed: Mapping[Kind, bool]) -> None:
        """Set the flags of dormant events, which are those of their kinds."""
        dormant = slice(self.dormant_events.start, self.dormant_events.stop)
        flags[dormant] = bytes([passed[kind] for kind in self._games.kinds])

    def _singles(self) -> Iterator[int]:
        """Yield the places of the events that are not like others of their kind."""
        yield from self.listed_events()
        yield from map(self._event_places.__getitem__, self._reference.changed)

    def markets_where(self, test: Callable[[Market], bool], *, dormant_only: bool = False) -> Flags:
        """Flag markets that pass a test.

        It may look at what does not depend on who plays when: category, tags, types.
        """
        flags, games = bytearray(self.market_count), self._games
        passed = {
            kind: bytes(map(test, games.event(slug).markets))
            for kind, slug in games.examples.items()
        }
        dormant = slice(self.dormant_markets.start, self.dormant_markets.stop)
        flags[dormant] = b"".join(map(passed.__getitem__, games.kinds))
        for place in () if dormant_only else self.listed_markets():
            flags[place] = test(self.market(place))
        return flags

    def search(self, words: Sequence[str]) -> tuple[Flags, Flags]:
        """Flag the events in whose texts every word occurs, and those in whose titles it does.

        Words are in lower case. Events that are not generated are few, so they are read.
        """
        holding, titled = bytearray(len(self.events)), bytearray(len(self.events))
        dormant = slice(self.dormant_events.start, self.dormant_events.stop)
        holding[dormant], titled[dormant] = self._games.search(tuple(words))
        for place in self._singles():
            event = self.events[place]
            text, title = "\n".join(event_texts(event)).lower(), event.title.lower()
            holding[place] = all(word in text for word in words)
            titled[place] = all(word in title for word in words)
        return holding, titled


def _next(before: range, size: int) -> range:
    """Return a range of a size that follows another."""
    return range(before.stop, before.stop + size)


def _value(row: Event | Market, field: str) -> Any:
    """Return a field as a key: `MISSING` for an empty place or an unknown value."""
    value = None if row is _NO_EVENT else getattr(row, field)
    return MISSING if value is None else value


def _deal(key: KeyIndex | UniqueKeyIndex, values: dict[int, Any]) -> None:
    """Give places new keys. First they lose the old ones, so that no two ever have the same."""
    for place in values:
        key.move(place, MISSING)
    for place, value in values.items():
        key.move(place, value)
