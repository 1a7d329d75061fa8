"""The gateway's reference data: leagues and teams, and every event and market by name and number.

Events come from four sources: those of the default world, listed one by one from fixtures;
generated games (`generated_games.py`); events of recurring markets, which change with the clock
(`recurring_markets.py`); and events that a scenario or a tester adds. Look-ups use all of them.
Values that trading and games change are stored elsewhere.

Generated and recurring events are created lazily, on first access. A world's reference data is
shared by every simulation that begins with it: additions are made to a `fork`, and an event that
gets another market is copied first (`own`).
"""

from __future__ import annotations

import copy

from msgspec.structs import replace

from sim.contract.messages.gateway_v1 import Event, Market
from sim.core.model.instrument import Instrument
from sim.core.model.reference_data import MarketDates
from sim.kernel.instants import Instant, Span
from sim.world.reference.catalogue import WorldCatalogue
from sim.world.reference.generated_games import GeneratedGames
from sim.world.reference.leagues import Leagues
from sim.world.reference.market_pair import Facts, market_of, with_metadata
from sim.world.reference.recurring_markets import RecurringEvents


class Reference(Leagues):
    """Reference data with its indexes. Lists are in listing order.

    `events` and `markets` were listed one by one; the first `base` and `base_markets` of them
    existed at the start. `changed` has generated events with additions.
    """

    def __init__(self, *, empty: bool = False, shift: Span = 0) -> None:
        super().__init__(empty=empty, shift=shift)
        self.generated = GeneratedGames(self)
        self.recurring = RecurringEvents([], self)
        self.base = self.base_markets = 0
        self.events: list[Event] = []
        self.markets: list[Market] = []
        self.changed: dict[str, Event] = {}
        self.event_by_slug: dict[str, Event] = {}
        self.event_by_id: dict[int, Event] = {}
        self.market_by_slug: dict[str, Market] = {}
        self.market_by_id: dict[str, Market] = {}
        self.partner_events: dict[tuple[str, str], str] = {}
        self._event_of_market: dict[str, Event] = {}

    def fork(self) -> Reference:
        """Return independent reference data with the same content.

        The lists and indexes are new; the messages in them are shared until an event is owned.
        """
        twin = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, list | dict):
                setattr(twin, name, value.copy())
        return twin

    def set_recurring(self, recurring: RecurringEvents) -> None:
        """Set the events of recurring markets, and list their series."""
        self.recurring = recurring
        for series in recurring.messages:
            self.add_series(series)

    def begin(self) -> None:
        """Mark everything that is listed so far as existing at the start."""
        self.base, self.base_markets = len(self.events), len(self.markets)

    def catalogue(self, recurring: int) -> WorldCatalogue:
        """Return events and markets by position, with room for a number of recurring ones."""
        return WorldCatalogue(self, recurring)

    # ---- look-ups

    def market(self, slug: str) -> Market | None:
        """Return the market of an instrument, or None."""
        return (
            self.market_by_slug.get(slug)
            or self.generated.market(slug)
            or self.recurring.market(slug)
        )

    def market_numbered(self, number: int) -> Market | None:
        """Return a market by its number, or None."""
        market = self.market_by_id.get(str(number)) or self.generated.market_numbered(number)
        if market is None and (event := self.recurring.numbered(number)) is not None:
            return event.markets[0]
        return market

    def event_of(self, slug: str) -> Event | None:
        """Return the event of a market, or None."""
        event = self._event_of_market.get(slug)
        if event is not None:
            return event
        if self.generated.market(slug) is not None:
            return self.event_named(self.generated.event_slug(slug) or "")
        return self.recurring.event_of(slug)

    def event_named(self, slug: str) -> Event | None:
        """Return an event by slug, or None."""
        event = self.event_by_slug.get(slug) or self.changed.get(slug)
        if event is None and self.generated.has(slug):
            return self.generated.event(slug)
        return event or self.recurring.event_named(slug)

    def event_numbered(self, number: int) -> Event | None:
        """Return an event by its number, or None."""
        slug = self.generated.slug_numbered(number)
        if slug is not None:
            return self.event_named(slug)
        return self.event_by_id.get(number) or self.recurring.numbered(number)

    def event_called(self, name: str) -> Event | None:
        """Return an event by slug or number, or None."""
        event = self.event_named(name)
        if event is None and name.isascii() and name.isdecimal() and len(name) < 18:
            return self.event_numbered(int(name))
        return event

    def game_event(self, slug: str) -> Event | None:
        """Return the event of a game that existed at the start or was added, or None.

        Its markets may be missing, so this is cheap for every generated game.
        """
        event = self.event_by_slug.get(slug)
        if event is None and self.generated.has(slug):
            return self.generated.bare(slug)
        return event if event is not None and event.game_id else None

    def event_of_game(self, game_id: str) -> Event | None:
        """Return the event of a game by its number on the gateway or at Sportradar."""
        slug = self.generated.slug_of_game(game_id)
        if slug is not None:
            return self.event_named(slug)
        for event in self.events:
            if game_id in (event.game_id, event.sportradar_game_id):
                return event
        return None

    def generated_dates(self, slug: str) -> MarketDates | None:
        """Return the dates of the markets of a generated event, or None for any other event."""
        return self.generated.dates(slug)

    def is_reported_game(self, slug: str) -> bool:
        """Return whether an event is a game that was added to those of the default world."""
        return any(event.slug == slug and event.game_id for event in self.events[self.base :])

    # ---- listing

    def next_event_id(self) -> int:
        """Return a number for a new event."""
        return 20_001 + len(self.events)

    def add_event(self, event: Event) -> None:
        """Add an event."""
        self.events.append(event)
        self.event_by_slug[event.slug] = self.event_by_id[event.id] = event

    def own(self, event: Event) -> Event:
        """Return a copy of an event for these lists only.

        Another market on it is then invisible to others who share the default world.
        """
        mine = replace(event, markets=list(event.markets))
        if event.slug in self.event_by_slug:
            self.events[self.events.index(event)] = mine
            self.event_by_slug[mine.slug] = self.event_by_id[mine.id] = mine
        else:
            self.changed[mine.slug] = mine
        self._event_of_market.update((market.slug, mine) for market in mine.markets)
        return mine

    def list_market(
        self, terms: Instrument, facts: Facts, event: Event, now: Instant
    ) -> Instrument:
        """Add an instrument's market to an event; return the instrument with its metadata."""
        instrument = with_metadata(terms, facts, event)
        if self.market(instrument.symbol) is None:
            number = 500_001 + len(self.markets)
            self.add_market(market_of(number, instrument, facts, now), event)
        return instrument

    def add_market(self, market: Market, event: Event) -> None:
        """Add a market to an event."""
        self.markets.append(market)
        self.market_by_slug[market.slug] = market
        self.market_by_id[market.id] = market
        self._event_of_market[market.slug] = event
        event.markets.append(market)
