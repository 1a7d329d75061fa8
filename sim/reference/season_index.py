"""What lists and searches find the events of a season by. Each index is made when somebody first
asks for it, from the plan, without making an event.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, TypeVar

from sim.core.model.instrument import Instrument
from sim.indexes.ordered_index import flags_of
from sim.kernel.instants import HOUR, Instant
from sim.messages.gateway_v1 import Event
from sim.reference.market_pair import eastern_day
from sim.reference.market_templates import Kind, tail_of
from sim.reference.season_text import Words

if TYPE_CHECKING:
    from sim.reference.season import Season

K = TypeVar("K", bound=Hashable)


class Indexes:
    """Indexes from what is asked for to places of events in the season, ascending. Flags have one
    byte for each event.
    """

    def __init__(self, season: Season) -> None:
        self._season = season

    # ---- events

    @cached_property
    def by_league(self) -> dict[str, list[int]]:
        """Events of each league."""
        return _grouped(map(self._season.league_of, range(self._season.games)))

    @cached_property
    def by_kind(self) -> dict[tuple[object, ...], list[int]]:
        """Events with the same kinds of markets."""
        return _grouped(self._season.kind_keys)

    @cached_property
    def by_day(self) -> dict[str, list[int]]:
        """Events of each day, YYYY-MM-DD in Eastern Time."""
        days: dict[int, str] = {}  # by hour: no day begins within one
        return _grouped(
            days.get(start // HOUR) or days.setdefault(start // HOUR, eastern_day(start))
            for _, start, _ in self.timings
        )

    @cached_property
    def by_team(self) -> dict[int, list[int]]:
        """Events of each team, by the team's number."""
        found: dict[int, list[int]] = {}
        for number in range(self._season.games):
            for team in self._season.teams(number):
                found.setdefault(team.id, []).append(number)
        return found

    @cached_property
    def timings(self) -> list[tuple[Instant, Instant, Instant]]:
        """When each event was listed, starts, and expires."""
        return list(map(self._season.timing, range(self._season.games)))

    @cached_property
    def _dates(self) -> dict[str, list[tuple[Instant, int]]]:
        season = self._season
        opening = sorted((season.opens(number), number) for number in range(season.games))
        return {
            "opening": opening,
            "expiring": sorted((over, number) for number, (_, _, over) in enumerate(self.timings)),
        }

    def between(self, name: str, low: Instant | None, high: Instant | None) -> Iterator[int]:
        """Events whose markets are opening, or expiring, within bounds, both inclusive where they
        are given.
        """
        dates = self._dates[name]
        first = 0 if low is None else bisect_left(dates, (low, -1))
        last = len(dates) if high is None else bisect_left(dates, (high, self._season.games))
        return (number for _, number in dates[first:last])

    @cached_property
    def titles(self) -> list[str]:
        """Titles."""
        return list(map(self._season.title, range(self._season.games)))

    @cached_property
    def words(self) -> Words:
        """What a search finds events by."""
        return Words(self._season)

    def where_league(self, test: Callable[[Event], bool]) -> bytearray:
        """Flags of the events that pass a test in which those of one league agree."""
        return self._where(self.by_league, lambda numbers: test(self._season.bare(numbers[0])))

    def where_kinds(self, test: Callable[[Sequence[Kind]], bool]) -> bytearray:
        """Flags of the events whose kinds of markets pass a test."""
        return self._where(self.by_kind, lambda numbers: test(self._season.kinds(numbers[0])))

    def _where(self, groups: dict[K, list[int]], test: Callable[[list[int]], bool]) -> bytearray:
        passing = [numbers for numbers in groups.values() if test(numbers)]
        if len(passing) == len(groups):
            return bytearray(b"\1" * self._season.games)
        return flags_of((number for numbers in passing for number in numbers), self._season.games)

    # ---- markets, which are numbered through the season in order of listing

    @cached_property
    def first_markets(self) -> list[int]:
        """The number of each event's first market, and after the last event the number of all
        markets.
        """
        return [
            0,
            *accumulate(len(self._season.kinds(number)) for number in range(self._season.games)),
        ]

    def split(self, market: int) -> tuple[int, int]:
        """A market's number as its event's and its place in the event."""
        event = bisect_right(self.first_markets, market) - 1
        return event, market - self.first_markets[event]

    def market_of(self, symbol: str) -> int | None:
        """The number of the market with a symbol, or None."""
        event = self._season.event_of(symbol)
        symbols = [] if event is None else self._season.symbols_of(event)
        return (
            self.first_markets[event] + symbols.index(symbol)
            if event is not None and symbol in symbols
            else None
        )

    @cached_property
    def by_slug(self) -> list[int]:
        """Markets in alphabetical order of their symbols: by product, then by event, then by how
        symbols end. No slug of an event begins another's.
        """
        season, first = self._season, self.first_markets
        numbers = sorted(range(season.games), key=season.slug)
        found: list[int] = []
        for product in sorted(
            {kind.product for numbers in self.by_kind.values() for kind in season.kinds(numbers[0])}
        ):
            ends = {
                key: _places(season.kinds(mine[0]), product) for key, mine in self.by_kind.items()
            }
            for number in numbers:
                places, alike = ends[season.kind_keys[number]]
                if not alike:
                    kinds, names = season.kinds(number), season.short_names(number)
                    places = sorted(places, key=lambda place: tail_of(kinds[place], names))
                found += [first[number] + place for place in places]
        return found

    def spread(
        self, events: bytes | bytearray, test: Callable[[Kind], bool] | None = None
    ) -> bytes:
        """Flags of the markets of the flagged events; of those kinds that pass a test."""
        return self._spread(
            events,
            lambda number: [test is None or test(kind) for kind in self._season.kinds(number)],
        )

    def spread_alike(self, events: bytes | bytearray, test: Callable[[Instrument], bool]) -> bytes:
        """The same by a test of something in which instruments of the same kind agree."""
        return self._spread(
            events, lambda number: map(test, self._season.of_event(self._season.slug(number)))
        )

    def _spread(self, events: bytes | bytearray, passing: Callable[[int], Iterable[bool]]) -> bytes:
        patterns = {key: bytes(passing(numbers[0])) for key, numbers in self.by_kind.items()}
        both = {key: (bytes(len(pattern)), pattern) for key, pattern in patterns.items()}
        return b"".join(
            [both[key][flag] for key, flag in zip(self._season.kind_keys, events, strict=True)]
        )


def _grouped(keys: Iterable[K]) -> dict[K, list[int]]:
    found: dict[K, list[int]] = {}
    for number, key in enumerate(keys):
        found.setdefault(key, []).append(number)
    return found


def _places(kinds: Sequence[Kind], product: str) -> tuple[list[int], bool]:
    """Places of the markets of a product in order of their symbols' ends, and whether that is their
    order whoever plays.
    """
    found = [place for place, kind in enumerate(kinds) if kind.product == product]
    return sorted(found, key=lambda place: kinds[place].tail), not any(
        tail_of(kinds[place], ("", "")) != kinds[place].tail for place in found
    )
