"""The games of a season: teams and dates, planned from a seed without creating events.

Planning is the only cost at the start of a world, so a plan has teams and instants only. Every
league plays rounds in which each team meets another, on its days of the week, until there are
enough games. The same arguments always give the same plan.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from datetime import date, timedelta
from itertools import islice
from typing import NamedTuple
from zlib import crc32

from sim.contract.messages.gateway_v1 import Team
from sim.kernel.instants import DAY, MINUTE, Instant, Span, eastern
from sim.world.reference.games import ScheduledGame
from sim.world.reference.leagues import Leagues
from sim.world.reference.market_pair import eastern_day
from sim.world.reference.market_templates import sets_at

# the day before the default world begins, so that some games are over
FIRST_DAY = date(2026, 9, 7)
SEED = 2026
_LISTED_BEFORE = eastern(FIRST_DAY, 12)
_DAYS_MAX = 10_000


class LeaguePlan(NamedTuple):
    """The weekdays (Monday is 0) and hour of a league's games, and the markets on them."""

    slug: str
    days: tuple[int, ...]
    hour: int
    sets: tuple[str, ...]
    fee_class: str = "standard"


_DAILY = (0, 1, 2, 3, 4, 5, 6)
LEAGUES = (
    LeaguePlan("nfl", (0, 3, 6), 13, ("lines", "ladder")),
    LeaguePlan("mlb", _DAILY, 19, ("lines", "ladder", "innings")),
    LeaguePlan("nba", _DAILY, 20, ("lines", "halves", "ladder")),
    LeaguePlan("wnba", _DAILY, 21, ("lines", "halves")),
    LeaguePlan("nhl", (1, 3, 5), 19, ("lines", "ladder")),
    LeaguePlan("epl", (2, 5, 6), 10, ("three_way", "soccer_halves", "ladder")),
    LeaguePlan("lib", (1, 2), 20, ("three_way", "advance", "ladder")),
    LeaguePlan("atp", _DAILY, 12, ("tennis", "ladder")),
    LeaguePlan("wta", _DAILY, 14, ("tennis",)),
    LeaguePlan("lol", (4, 5), 4, ("esports_games",)),
    LeaguePlan("cs2", (3, 4), 11, ("esports_maps",)),
    LeaguePlan("ufc", (5,), 22, ("winner",)),
    LeaguePlan("wtt", (0, 2, 4), 7, ("winner",), "table_tennis"),
)


def plan(
    leagues: Leagues, games: int, taken: Container[str], shift: Span, begins: Instant = 0
) -> dict[str, ScheduledGame]:
    """Return a number of games by slug, in order of date, `shift` later than planned.

    `taken` slugs are left out. The markets are those of a world that begins at an instant.
    """
    teams: dict[str, list[Team]] = {}
    for team in leagues.teams:
        teams.setdefault(team.league, []).append(team)
    planned = (game for game in _season(teams, shift, begins) if game.stem not in taken)
    return {game.stem: game for game in islice(planned, games)}


def _season(teams: dict[str, list[Team]], shift: Span, begins: Instant) -> Iterator[ScheduledGame]:
    leagues = [league._replace(sets=sets_at(league.sets, begins)) for league in LEAGUES]
    for number in range(_DAYS_MAX):
        day = FIRST_DAY + timedelta(days=number)
        for league in leagues:
            if day.weekday() in league.days:
                starts = eastern(day, league.hour)
                for pair in _round(teams.get(league.slug, []), number + SEED):
                    yield _planned(league, day, pair, starts, shift)


def _round(teams: list[Team], number: int) -> Iterator[tuple[Team, Team]]:
    """Yield the pairs of a round by the circle method: one team stays, the others rotate."""
    if len(teams) < 2:
        return
    turn = number % (len(teams) - 1)
    table = (teams[0], *teams[1 + turn :], *teams[1 : 1 + turn])
    yield from ((table[index], table[-1 - index]) for index in range(len(table) // 2))


def _planned(
    league: LeaguePlan, day: date, pair: tuple[Team, Team], starts: Instant, shift: Span
) -> ScheduledGame:
    names = pair[0].display_abbreviation, pair[1].display_abbreviation
    mark = crc32(f"{SEED}:{league.slug}:{day}:{names}".encode())
    home, away = pair if mark & 1 else pair[::-1]
    start = starts + mark % 4 * 15 * MINUTE
    created = min(start, _LISTED_BEFORE) - (5 + mark % 60) * DAY
    opens = start - 2 * DAY if mark % 10 == 3 else created
    game = ScheduledGame(
        league=league.slug,
        home=home,
        away=away,
        stem="",
        start=start + shift,
        created=created + shift,
        opens=opens + shift,
        sets=league.sets,
        fee_class=league.fee_class,
    )
    played = eastern_day(game.start)
    return game._replace(stem="-".join((league.slug, *game.short_names, played)))
