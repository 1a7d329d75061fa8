"""Protocols of the reference data: sports, leagues, events and markets as the gateway shows them.

`sim.world.reference` implements them. Other packages do not need to know whether an event was read
from a fixture, listed by hand, generated from a seed, or recurs by the clock. An `Exchange` carries
the reference data for its handlers and never reads it itself.

Lists need events and markets in one order. A `Catalogue` gives each a *position* in the order of
listing, from 0. A list is a set of positions, stored as flags with one byte per position and sorted
by a key.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from sim.contract.messages.gateway_v1 import (
    Event,
    League,
    Market,
    Series,
    Sport,
    Subject,
    Tag,
    Team,
)
from sim.core.model.enums import InstrumentState
from sim.kernel.indexes.ordered_index import KeyIndex
from sim.kernel.instants import Instant

Flags = bytes | bytearray  # one byte for each position, 1 or 0

# Names to sort by, with the message field that each refers to.
EVENT_FIELDS: Mapping[str, str] = {
    "id": "id",
    "slug": "slug",
    "title": "title",
    "startdate": "start_date",
    "enddate": "end_date",
    "starttime": "start_time",
    "createdat": "created_at",
    "featuredorder": "featured_order",
}
MARKET_FIELDS: Mapping[str, str] = {
    "id": "id",
    "slug": "slug",
    "sortorder": "sort_order",
    "startdate": "start_date",
    "enddate": "end_date",
    "createdat": "created_at",
}


class MarketRow(NamedTuple):
    """The immutable fields of a market by which lists sort. An empty position has no slug."""

    id: Any
    slug: str
    sort_order: Any
    start_date: Any
    end_date: Any
    created_at: Any


class MarketDates(NamedTuple):
    """When the markets of a generated event are listed, open, expire and terminate.

    `game` is when the game begins.
    """

    created: Instant
    start: Instant
    expiration: Instant
    termination: Instant
    game: Instant

    def state(self, at: Instant) -> InstrumentState:
        """Return the state that the dates demand at an instant."""
        if at < self.start:
            return InstrumentState.PENDING
        if at < self.expiration:
            return InstrumentState.OPEN
        return InstrumentState.EXPIRED if at < self.termination else InstrumentState.TERMINATED


class Catalogue(Protocol):
    """The gateway's events and markets by position.

    Events of recurring markets come and go, so they share positions of their own
    (`show_recurring`); the others keep their positions as long as the reference data is the same.
    """

    dormant_markets: range

    @property
    def events(self) -> Sequence[Event]:
        """The events by position; generated ones have no markets here."""

    @property
    def rows(self) -> Sequence[MarketRow]:
        """The markets by position, without creating them."""

    def event_with_markets(self, position: int) -> Event:
        """Return the event at a position, with its markets."""

    def market(self, position: int) -> Market:
        """Return the market at a position, as reference data."""

    def position_of_event(self, slug: str) -> int | None:
        """Return the position of an event, or None."""

    def position_of_market(self, symbol: str) -> int | None:
        """Return the position of a market, or None."""

    def event_of(self, market: int) -> int:
        """Return the position of a market's event."""

    def markets_of(self, event: int) -> Sequence[int]:
        """Return the positions of an event's markets, in order of listing."""

    def show_recurring(self, slots: Sequence[tuple[int, Instant]]) -> bool:
        """Assign the recurring positions to the slots listed now. Return whether any assignment
        changed.

        A slot is the number of its series and the instant at which it begins.
        """

    def recurring_markets(self) -> Sequence[int]:
        """Return the positions of recurring markets, including empty ones."""

    def event_key(self, name: str) -> KeyIndex | None:
        """Return the events sorted by an immutable field; None for an unknown name."""

    def market_key(self, name: str) -> KeyIndex | None:
        """Return the markets sorted by an immutable field; None for an unknown name."""

    def events_where(self, *tests: Callable[[Event], bool]) -> Flags:
        """Flag events that pass every test.

        They may depend on anything that all games of a league share, but for the markets.
        """

    def events_with_market(self, test: Callable[[Market], bool]) -> Flags:
        """Flag events with a market that passes a test (see `markets_where`)."""

    def markets_where(self, test: Callable[[Market], bool], *, dormant_only: bool = False) -> Flags:
        """Flag markets that pass a test.

        It may depend on anything that does not vary with the game: category, tags, types.
        """

    def search(self, words: Sequence[str]) -> tuple[Flags, Flags]:
        """Flag the events whose texts contain every word, and those whose titles do."""


class ReferenceData(Protocol):
    """Reference data by name and number. Lists are in order of listing."""

    sports: list[Sport]
    leagues: list[League]
    series: list[Series]
    teams: list[Team]
    subjects: list[Subject]
    tags: list[Tag]
    markets: list[Market]  # markets listed one by one
    league_by_slug: dict[str, League]
    tag_by_slug: dict[str, Tag]
    series_by_slug: dict[str, Series]
    team_by_name: dict[tuple[str, str], Team]
    # (partner's key, the partner's id of the event) → slug
    partner_events: dict[tuple[str, str], str]

    def catalogue(self, recurring: int) -> Catalogue:
        """Return events and markets by position, with room for a number of recurring ones."""

    def market(self, slug: str) -> Market | None:
        """Return the market of an instrument, or None."""

    def market_numbered(self, number: int) -> Market | None:
        """Return a market by its number, or None."""

    def event_of(self, slug: str) -> Event | None:
        """Return the event of a market, or None."""

    def event_named(self, slug: str) -> Event | None:
        """Return an event by slug, or None."""

    def event_numbered(self, number: int) -> Event | None:
        """Return an event by its number, or None."""

    def event_called(self, name: str) -> Event | None:
        """Return an event by slug or number, or None."""

    def event_of_game(self, game_id: str) -> Event | None:
        """Return the event of a game by the number that the gateway or Sportradar gives it."""

    def generated_dates(self, slug: str) -> MarketDates | None:
        """Return the dates of the markets of a generated event; None for any other event."""

    def sport_of(self, league: League) -> Sport:
        """Return the sport of a league."""
