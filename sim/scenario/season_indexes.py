"""What lists and searches find the events of a season by. Each index is made when somebody first asks for it, from what never changes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sim.kernel.instants import Instant
from sim.scenario.season_words import Words

if TYPE_CHECKING:
    from sim.scenario.season import Season


class Indexes:
    """Indexes from what is asked for to places of events in the season, ascending."""

    def __init__(self, season: Season) -> None:
        self._season = season
        self._tables: dict[Hashable, dict[int, Any]] = {}
        self._tables_hold = range(0)  # the instants at which what is in the tables is true

    @cached_property
    def by_league(self) -> dict[str, list[int]]:
        """Events of each league."""
        found: dict[str, list[int]] = {}
        for number in range(self._season.games):
            found.setdefault(self._season.league_of(number), []).append(number)
        return found

    @cached_property
    def by_day(self) -> dict[str, list[int]]:
        """Events of each day, YYYY-MM-DD in Eastern Time."""
        found: dict[str, list[int]] = {}
        for number in range(self._season.games):
            found.setdefault(self._season.bare(number).event_date, []).append(number)
        return found

    @cached_property
    def by_team(self) -> dict[int, list[int]]:
        """Events of each team, by the team's number."""
        found: dict[int, list[int]] = {}
        for number in range(self._season.games):
            for team in self._season.bare(number).teams:
                found.setdefault(team.id, []).append(number)
        return found

    @cached_property
    def by_slug(self) -> list[tuple[str, int, int]]:
        """Symbols in alphabetical order, with the places of their events and of the markets in them."""
        season = self._season
        return sorted((symbol, number, place) for number in range(season.games) for place, symbol in enumerate(season.symbols_of(number)))

    @cached_property
    def titles(self) -> list[str]:
        """Titles in lower case, by place."""
        return [self._season.bare(number).title.lower() for number in range(self._season.games)]

    @cached_property
    def words(self) -> Words:
        """What a search finds events by."""
        return Words(self._season)

    def table(self, key: Hashable, at: Instant) -> dict[int, Any]:
        """Where a reader keeps, by place, what follows from the dates of events at an instant and from the key: empty again once a date has passed."""
        if at not in self._tables_hold:
            dates = self._season.dates
            after = bisect_right(dates, (at, self._season.games))
            self._tables_hold = range(dates[after - 1][0] if after else 0, dates[after][0] if after < len(dates) else at + 1)
            self._tables.clear()
        return self._tables.setdefault(key, {})
