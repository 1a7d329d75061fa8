"""Events and markets by position, in listing order: those listed before the generated games, these
games, recurring events, and those listed later.

A position is a number from 0; lists and indexes of the gateway depend only on it, not on the source
of an event. Each market has a row with the fixed values by which lists sort. The rows of generated
games follow from their plan, so finding, sorting and counting creates no markets. Recurring events
come and go: they have positions of their own, which are reassigned whenever others are listed.

Games of one *kind* (league and era of listing) have the same templates, so a test that depends on
templates only runs for one game of each kind, and the others share its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

from sim.contract.messages.gateway_v1 import Event, Market
from sim.core.model.reference_data import EVENT_FIELDS, MARKET_FIELDS, Flags, MarketRow
from sim.core.recurring.markets import Slot
from sim.kernel.indexes.ordered_index import MISSING, KeyIndex
from sim.world.reference.generated_games import GeneratedGames
from sim.world.reference.market_pair import event_texts
from sim.world.reference.recurring_markets import RecurringEvents

_EVENT_FIELDS = {**EVENT_FIELDS, "eventdate": "event_date"}  # the date is used by filters only
_NO_EVENT = Event()
_NO_ROW = MarketRow(MISSING, "", MISSING, MISSING, MISSING, MISSING)


class Sources(Protocol):
    """The sources of events (`reference.py`)."""

    generated: GeneratedGames
    recurring: RecurringEvents
    events: list[Event]
    markets: list[Market]
    base: int
    base_markets: int
    changed: dict[str, Event]

    def event_of(self, slug: str) -> Event | None:
        """Return the event of a market, or None."""

    def event_named(self, slug: str) -> Event | None:
        """Return an event by slug, or None."""

    def market(self, slug: str) -> Market | None:
        """Return the market of an instrument, or None."""


class WorldCatalogue:
    """Events and markets by position. Implements the Protocol of `core.model`."""

    def __init__(self, reference: Sources, recurring: int) -> None:
        """`recurring` is the largest number of recurring events that are listed at
        the same time.
        """
        self._reference = reference
        self._games = games = reference.generated
        generated = [reference.changed.get(slug) or games.bare(slug) for slug in games.slugs]
        slots = [_NO_EVENT] * recurring
        before, after = reference.events[: reference.base], reference.events[reference.base :]
        self.events = [*before, *generated, *slots, *after]
        self._generated = range(len(before), len(before) + len(generated))
        self._slots = range(self._generated.stop, self._generated.stop + recurring)
        self._event_positions = {event.slug: position for position, event in enumerate(self.events)}
        self._place_markets(reference.markets, reference.base_markets)
        self._examples = list(range(len(self.events)))
        alike = {kind: self._event_positions[slug] for kind, slug in games.examples.items()}
        for position, slug, kind in zip(self._generated, games.slugs, games.kinds, strict=True):
            if slug not in reference.changed:
                self._examples[position] = alike[kind]
        self._shown: list[tuple[int, int]] = []
        self._event_keys: dict[str, KeyIndex] = {}
        self._market_keys: dict[str, KeyIndex] = {}

    def _place_markets(self, listed: Sequence[Market], base: int) -> None:
        self.rows: list[MarketRow] = []
        self._owners: list[int] = []
        self._markets: list[Sequence[int]] = [()] * len(self.events)
        self._add_rows(self._rows_of(listed[:base]))
        first = len(self.rows)
        self._add_rows(zip(self._generated, self._games.rows, strict=True))
        self.dormant_markets = range(first, len(self.rows))
        self._add_rows((event, [_NO_ROW]) for event in self._slots)
        self._add_rows(self._rows_of(listed[base:]))
        self._positions = {row.slug: position for position, row in enumerate(self.rows)}

    def _add_rows(self, rows: Iterable[tuple[int, Sequence[MarketRow]]]) -> None:
        """Assign the next positions to markets of events."""
        for event, those in rows:
            first, event_markets = len(self.rows), self._markets[event]
            positions = range(first, first + len(those))
            self._markets[event] = (*event_markets, *positions) if event_markets else positions
            self._owners += [event] * len(those)
            self.rows += those

    def _rows_of(self, markets: Iterable[Market]) -> Iterator[tuple[int, Sequence[MarketRow]]]:
        for market in markets:
            if (event := self._reference.event_of(market.slug)) is not None:
                yield self._event_positions[event.slug], [row_of(market)]

    # ---- positions

    def event_with_markets(self, position: int) -> Event:
        """Return the event at a position with its markets."""
        event = self.events[position]
        return self._reference.event_named(event.slug) or event

    def market(self, position: int) -> Market:
        """Return the market at a position, as reference data."""
        market = self._reference.market(self.rows[position].slug)
        if market is None:
            raise LookupError(f"no market is listed at position {position}")
        return market

    def position_of_event(self, slug: str) -> int | None:
        """Return the position of an event, or None."""
        return self._event_positions.get(slug) if slug else None

    def position_of_market(self, symbol: str) -> int | None:
        """Return the position of a market, or None."""
        return self._positions.get(symbol) if symbol else None

    def event_of(self, market: int) -> int:
        """Return the position of a market's event."""
        return self._owners[market]

    def markets_of(self, event: int) -> Sequence[int]:
        """Return the positions of an event's markets, in listing order."""
        return self._markets[event]

    # ---- recurring events

    def recurring_markets(self) -> list[int]:
        """Return the positions of recurring markets, including empty ones."""
        return [self._markets[event][0] for event in self._slots]

    def show_recurring(self, slots: Sequence[tuple[int, int]]) -> bool:
        """Assign the recurring positions to the slots that are listed now. Return whether
        any has changed.
        """
        if slots == self._shown:
            return False
        self._shown = list(slots)
        events = [self._reference.recurring.event(Slot(*slot)) for slot in slots]
        markets = self.recurring_markets()
        for event, market in zip(self._slots, markets, strict=True):
            self._event_positions.pop(self.events[event].slug, None)
            self._positions.pop(self.rows[market].slug, None)
        alike = {series: self._slots[row] for row, (series, _) in reversed([*enumerate(slots)])}
        empty = self._slots[len(slots) :]
        examples = [*(alike[series] for series, _ in slots), *[*empty[:1]] * len(empty)]
        self._examples[self._slots.start : self._slots.stop] = examples
        events += [_NO_EVENT] * len(empty)
        for event, market, now in zip(self._slots, markets, events, strict=True):
            self.events[event] = now
            row = self.rows[market] = row_of(now.markets[0]) if now.markets else _NO_ROW
            self._event_positions[now.slug], self._positions[row.slug] = event, market
            for name, key in self._event_keys.items():
                key.move(event, _value(now, _EVENT_FIELDS[name]))
            for name, key in self._market_keys.items():
                key.move(market, _value(row, MARKET_FIELDS[name]))
        return True

    # ---- keys to sort by

    def event_key(self, name: str) -> KeyIndex | None:
        """Return the events in the order of a fixed field, or None for another name."""
        return _key(self._event_keys, name, _EVENT_FIELDS, self.events)

    def market_key(self, name: str) -> KeyIndex | None:
        """Return the markets in the order of a fixed field, or None for another name."""
        return _key(self._market_keys, name, MARKET_FIELDS, self.rows)

    # ---- filters

    def events_where(self, *tests: Callable[[Event], bool]) -> Flags:
        """Flag events that pass every test.

        The tests may use only properties that are the same for all games of a league, and for all
        events of a recurring series. They get generated events without their markets.
        """
        examples = dict.fromkeys(self._examples)
        passed = {at: self.events[at] for at in examples if self.events[at].slug}
        for test in tests:
            passed = {at: event for at, event in passed.items() if test(event)}
        return bytes(map(passed.__contains__, self._examples))

    def events_with_market(self, test: Callable[[Market], bool]) -> Flags:
        """Flag events with a market that passes a test (see `markets_where`)."""

        def passes(event: Event) -> bool:
            return any(map(test, (self._reference.event_named(event.slug) or event).markets))

        return self.events_where(passes)

    def markets_where(self, test: Callable[[Market], bool], *, dormant_only: bool = False) -> Flags:
        """Flag markets that pass a test.

        The test may use only properties that do not depend on teams and dates:
        category, tags, types.
        """
        games, dormant = self._games, self.dormant_markets
        flags = bytearray(len(self.rows))
        passed = {
            kind: bytes(map(test, games.event(slug).markets))
            for kind, slug in games.examples.items()
        }
        flags[dormant.start : dormant.stop] = b"".join(map(passed.__getitem__, games.kinds))
        others = chain(range(dormant.start), range(dormant.stop, len(flags)))
        for position in () if dormant_only else others:
            flags[position] = bool(self.rows[position].slug) and test(self.market(position))
        return flags

    def search(self, words: Sequence[str]) -> tuple[Flags, Flags]:
        """Flag the events whose texts contain every word, and those whose titles do.

        Words are in lower case. There are few events that are not generated, so they are read.
        """
        holding, titled = bytearray(len(self.events)), bytearray(len(self.events))
        dormant = slice(self._generated.start, self._generated.stop)
        holding[dormant], titled[dormant] = self._games.search(tuple(words))
        for position, event in enumerate(self.events):
            if position not in self._generated or event.slug in self._reference.changed:
                text, title = "\n".join(event_texts(event)).lower(), event.title.lower()
                holding[position] = all(word in text for word in words)
                titled[position] = all(word in title for word in words)
        return holding, titled


def row_of(market: Market) -> MarketRow:
    """Return the row of an existing market."""
    values = (_value(market, field) for field in MarketRow._fields)
    return MarketRow(*values)._replace(id=int(market.id))


def _value(row: Event | Market | MarketRow, field: str) -> Any:
    """Return a field as a key: `MISSING` for an empty position or an unknown value."""
    value = None if row is _NO_EVENT else getattr(row, field)
    return MISSING if value is None else value


def _key(
    indexes: dict[str, KeyIndex],
    name: str,
    fields: Mapping[str, str],
    rows: Iterable[Event | MarketRow],
) -> KeyIndex | None:
    if name in fields and name not in indexes:
        indexes[name] = KeyIndex(_value(row, fields[name]) for row in rows)
    return indexes.get(name)
