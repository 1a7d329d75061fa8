"""Who plays whom and when in a season: planned from a seed, without making anything.

Planning is all that a start pays for, so it deals in names and instants only.
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from datetime import date, timedelta
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from sim.kernel.instants import DAY, MINUTE, Instant, eastern
from sim.reference.market_layout import ordered

# the day before the default world's beginning, so that some games are over
FIRST_DAY = date(2026, 9, 7)
SEED = 2026
_LISTED_BEFORE = eastern(FIRST_DAY, 12)


class League(NamedTuple):
    """When a league plays (Monday 0), at which hour, and which markets its games have."""

    slug: str
    days: tuple[int, ...]
    hour: int
    sets: tuple[str, ...]
    fee_class: str = "standard"


_DAILY = (0, 1, 2, 3, 4, 5, 6)
LEAGUES = (
    League("nfl", (0, 3, 6), 13, ("lines", "ladder")),
    League("mlb", _DAILY, 19, ("lines", "ladder")),
    League("nba", _DAILY, 20, ("lines", "halves", "ladder")),
    League("wnba", _DAILY, 21, ("lines", "halves")),
    League("nhl", (1, 3, 5), 19, ("lines", "ladder")),
    League("epl", (2, 5, 6), 10, ("three_way", "soccer_halves", "ladder")),
    League("lib", (1, 2), 20, ("three_way", "advance", "ladder")),
    League("atp", _DAILY, 12, ("tennis", "ladder")),
    League("wta", _DAILY, 14, ("tennis",)),
    League("lol", (4, 5), 4, ("esports_games",)),
    League("cs2", (3, 4), 11, ("esports_maps",)),
    League("ufc", (5,), 22, ("winner",)),
    League("wtt", (0, 2, 4), 7, ("winner",), "table_tennis"),
)


class Fixture(NamedTuple):
    """A planned game: abbreviations of the teams, when it starts and was listed, and when its
    markets open where that is later.
    """

    league: League
    home: str
    away: str
    start: Instant
    created: Instant
    opens: Instant | None


Plan = dict[str, Fixture]  # by stem, in order of date


@lru_cache(maxsize=8)
def plan(
    count: int, teams: tuple[tuple[str, tuple[str, ...]], ...], taken: Set[str], seed: int = SEED
) -> Plan:
    """So many games in order of date: every league plays rounds in which each team meets another.
    `taken` stems are left out.
    """
    abbreviations = dict(teams)
    found: Plan = {}
    for number in range(10_000):
        day = FIRST_DAY + timedelta(days=number)
        for league in LEAGUES:
            if day.weekday() in league.days and len(found) < count:
                first_start = eastern(day, league.hour)
                for pair in _round(abbreviations.get(league.slug, ()), number + seed):
                    _add(found, league, day, pair, first_start, taken, seed)
        if len(found) >= count:
            break
    return dict(list(found.items())[:count])


def _round(teams: tuple[str, ...], number: int) -> Iterator[tuple[str, str]]:
    """Who meets whom in a round: one stays, the others go round the table."""
    if len(teams) < 2:
        return
    turn = number % (len(teams) - 1)
    table = (teams[0], *teams[1 + turn :], *teams[1 : 1 + turn])
    yield from ((table[place], table[-1 - place]) for place in range(len(table) // 2))


def _add(
    found: Plan,
    league: League,
    day: date,
    pair: tuple[str, str],
    first_start: Instant,
    taken: Set[str],
    seed: int,
) -> None:
    mark = crc32(f"{seed}:{league.slug}:{day}:{pair}".encode())
    home, away = pair if mark & 1 else pair[::-1]
    one, other = ordered(league.slug, home, away)
    stem = f"{league.slug}-{one.lower()}-{other.lower()}-{day}"
    if stem in taken:
        return
    start = first_start + mark % 4 * 15 * MINUTE
    created = min(start, _LISTED_BEFORE) - (5 + mark % 60) * DAY
    found[stem] = Fixture(
        league, home, away, start, created, start - 2 * DAY if mark % 10 == 3 else None
    )
