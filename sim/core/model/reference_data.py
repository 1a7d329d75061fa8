"""What core and api may know of the reference data: sports, leagues, events and markets as the
gateway shows them.

`sim.reference` implements this Protocol. Nobody else needs to know whether an event was read from a
fixture, listed by hand, generated from a seed, or recurs on the clock. An `Exchange` carries the
reference data for its handlers and never reads them itself.
"""

from __future__ import annotations

from typing import Any, Protocol

from sim.messages.gateway_v1 import Event, League, Market, Series, Sport, Subject, Tag, Team


class ReferenceData(Protocol):
    """Reference data by name and number. Lists are in order of listing."""

    sports: list[Sport]
    leagues: list[League]
    series: list[Series]
    teams: list[Team]
    subjects: list[Subject]
    tags: list[Tag]
    markets: list[Market]
    league_by_slug: dict[str, League]
    tag_by_slug: dict[str, Tag]
    series_by_slug: dict[str, Series]
    team_by_name: dict[tuple[str, str], Team]
    # (partner's key, its id of the event) → slug
    partner_events: dict[tuple[str, str], str]

    # Only until the lists of the gateway ask a catalogue instead.
    season: Any
    windows: Any
    base: int
    base_markets: int
    events: list[Event]
    grown: dict[int, Event]

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

    def sport_of(self, league: League) -> Sport:
        """Return the sport of a league."""

    def of_season(self, number: int) -> Event: ...

    def holds(self, event: Event, words: list[str]) -> bool: ...
