"""The plan of a season: each league plays on its days and at its hour, in rounds in which no team
plays twice, in order of date, whichever games are omitted and whenever the world begins.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise

import pytest

from sim.kernel.instants import DAY, EASTERN, MINUTE, eastern, to_datetime
from sim.world.reference import season_plan
from sim.world.reference.games import ScheduledGame
from sim.world.reference.leagues import Leagues
from sim.world.reference.season_plan import plan
from tests.recorded import check_recorded

# The days on which a league plays and the hour of its first games, in New York.
EVERY_DAY = "Mon Tue Wed Thu Fri Sat Sun"
CALENDAR = {
    "nfl": ("Mon Thu Sun", 13),
    "mlb": (EVERY_DAY, 19),
    "nba": (EVERY_DAY, 20),
    "wnba": (EVERY_DAY, 21),
    "nhl": ("Tue Thu Sat", 19),
    "epl": ("Wed Sat Sun", 10),
    "lib": ("Tue Wed", 20),
    "atp": (EVERY_DAY, 12),
    "wta": (EVERY_DAY, 14),
    "lol": ("Fri Sat", 4),
    "cs2": ("Thu Fri", 11),
    "ufc": ("Sat", 22),
    "wtt": ("Mon Wed Fri", 7),
}
MONDAY = date(2026, 9, 7)


@pytest.fixture(scope="module")
def leagues() -> Leagues:
    return Leagues()


@pytest.fixture(scope="module")
def season(leagues: Leagues) -> list[ScheduledGame]:
    """Games of more than three weeks, without those of the last day, which may be cut."""
    games = list(plan(leagues, 1400, (), 0).values())
    last = to_datetime(games[-1].start, EASTERN).date()
    return [game for game in games if day_of(game) < min(last, MONDAY + timedelta(days=21))]


def day_of(game: ScheduledGame) -> date:
    return to_datetime(game.start, EASTERN).date()


def test_each_league_plays_on_its_days_and_at_its_hour(season: list[ScheduledGame]) -> None:
    days: dict[str, set[str]] = {}
    minutes: dict[str, set[int]] = {}
    for game in season:
        local = to_datetime(game.start, EASTERN)
        days.setdefault(game.league, set()).add(f"{local:%a}")
        minutes.setdefault(game.league, set()).add(local.hour * 60 + local.minute)
    for league, (when, hour) in CALENDAR.items():
        assert days[league] == set(when.split()), league
        assert minutes[league] <= {60 * hour + quarter for quarter in (0, 15, 30, 45)}
        assert hour * 60 in minutes[league] or len(minutes[league]) < 4
    assert set(days) == set(CALENDAR)
    assert {quarter % 60 for result in minutes.values() for quarter in result} == {0, 15, 30, 45}


def test_in_a_round_everybody_plays_at_most_once_and_rounds_change(
    season: list[ScheduledGame], leagues: Leagues
) -> None:
    teams = Counter(team.league for team in leagues.teams)
    rounds: dict[tuple[str, date], list[ScheduledGame]] = {}
    for game in season:
        rounds.setdefault((game.league, day_of(game)), []).append(game)
    pairs: dict[str, list[frozenset[str]]] = {}
    for (league, _), games in rounds.items():
        playing = [team.abbreviation for game in games for team in (game.home, game.away)]
        assert len(set(playing)) == len(playing) == 2 * (teams[league] // 2)
        assert {team.league for game in games for team in (game.home, game.away)} == {league}
        pairs.setdefault(league, []).append(
            frozenset("/".join(sorted((g.home.abbreviation, g.away.abbreviation))) for g in games)
        )
    for league, result in pairs.items():
        if teams[league] > 3 and CALENDAR[league][0] == EVERY_DAY:
            assert all(item.isdisjoint(other) for item, other in pairwise(result))
    assert {day_of(game) for game in season} == {MONDAY + timedelta(days=n) for n in range(21)}
    assert [day_of(game) for game in season] == sorted(day_of(game) for game in season)


def test_games_are_listed_weeks_before_and_some_open_two_days_before(
    season: list[ScheduledGame],
) -> None:
    noon = eastern(MONDAY, 12)
    ahead = set()
    for game in season:
        days, rest = divmod(min(game.start, noon) - game.created, DAY)
        assert rest == 0 and 5 <= days <= 64
        ahead.add(days)
        assert game.opens in (game.created, game.start - 2 * DAY)
        assert game.stem == "-".join((game.league, *game.short_names, day_of(game).isoformat()))
        assert (game.state, game.fee_class) == (
            None,
            "table_tennis" if game.league == "wtt" else "standard",
        )
    assert min(ahead) == 5 and max(ahead) == 64
    late = sum(game.opens != game.created for game in season)
    assert 0.07 < late / len(season) < 0.13
    homes = Counter((game.league, game.home.abbreviation) for game in season)
    aways = Counter((game.league, game.away.abbreviation) for game in season)
    assert sum(homes[team] > 2 for team in aways) > 20 < sum(aways[team] > 2 for team in homes)


def test_a_longer_plan_begins_as_a_shorter_one_and_what_is_taken_is_left_out(
    leagues: Leagues,
) -> None:
    few, more = plan(leagues, 40, (), 0), plan(leagues, 60, (), 0)
    assert list(few) == list(more)[:40] and few.items() <= more.items()
    assert all(slug == game.stem for slug, game in more.items())
    taken = list(more)[::3]
    rest = plan(leagues, 40, taken, 0)
    assert list(rest) == [slug for slug in more if slug not in taken][:40]
    assert plan(leagues, 0, (), 0) == {}
    later = plan(leagues, 40, (), 14 * DAY)
    for game, moved in zip(few.values(), later.values(), strict=True):
        assert (moved.start, moved.created, moved.opens) == (
            game.start + 14 * DAY,
            game.created + 14 * DAY,
            game.opens + 14 * DAY,
        )
        assert (moved.home, moved.away, moved.sets) == (game.home, game.away, game.sets)
        assert moved.stem.endswith(f"{day_of(moved)}")


def test_a_league_of_one_team_plays_nobody_and_an_odd_one_rests_somebody(
    leagues: Leagues, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Few:
        teams = [team for team in leagues.teams if team.league == "nba"][:3]

    games = list(plan(Few(), 30, (), 0).values())  # type: ignore[arg-type]
    assert len(games) == 30 and len({day_of(game) for game in games}) == 30
    Few.teams = Few.teams[:1]
    monkeypatch.setattr(season_plan, "_DAYS_MAX", 30)
    assert plan(Few(), 30, (), 0) == {}  # type: ignore[arg-type]
    Few.teams = [team for team in leagues.teams if team.league == "nba"][:2]
    monkeypatch.setattr(season_plan, "_DAYS_MAX", 8)
    assert len(plan(Few(), 30, (), 0)) == 8  # type: ignore[arg-type]


@pytest.mark.recorded
def test_what_is_planned_is_what_it_was(season: list[ScheduledGame]) -> None:
    """Who is at home and when a game was listed is drawn, and stays as it was drawn."""
    check_recorded(
        "season.txt",
        [
            f"{game.stem} home {game.home.display_abbreviation} {(game.start - game.created) // MINUTE}"
            f" {(game.start - game.opens) // MINUTE} {','.join(game.sets)}"
            for game in season[::2]
        ],
    )
