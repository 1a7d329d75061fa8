"""Planned results of the default world's games and questions, if nobody reports them.

A result is drawn from the slug alone, so it is the same in every run. A game in progress when the
world begins continues from its score. Markets settle by the score on the gateway, so no market
contradicts another. Games that a scenario or a tester reports end as reported. `game_clock.py` has
the course of a game to its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache, cached_property, lru_cache

from msgspec.structs import replace

from sim.contract.messages.gateway_v1 import Event
from sim.core.lifecycle.outcomes import MarketOutcome, outcome_of
from sim.core.model.collateral import EventOutcome, Related
from sim.core.model.games import Game, Goal
from sim.core.model.instrument import Instrument
from sim.kernel.instants import Instant
from sim.world.reference.game_clock import UNITS, GameClock, GameInProgress, draw, duration, spread
from sim.world.reference.reference import Reference

Periods = dict[str, tuple[int, int]]
_KEPT = 1024  # cached game clocks

# points of a quarter: the smallest number, and the range above it
_POINTS = {"nba": (22, 13), "wnba": (15, 12)}
_SCORES: dict[str, Sequence[int]] = {
    "nfl": (0, 3, 6, 7, 10, 13, 14, 16, 17, 20, 21, 23, 24, 27, 28, 30, 31, 34, 38),
    "mlb": range(10),
    "nhl": range(7),
}
# The parts in which these sports score: name, number, and what breaks a tie, and when.
_PARTS = {"nfl": ("Q", 4, 3, "OT1"), "mlb": ("I", 9, 1, "X10"), "nhl": ("P", 3, 1, "OT1")}
_SETS = ((6, 0), (6, 1), (6, 2), (6, 3), (6, 4), (7, 5), (7, 6))
_BEST_OF = {"atp": ("S", 2), "wta": ("S", 2), "wtt": ("S", 3), "lol": ("M", 2), "cs2": ("M", 2)}
_STATS = {
    "points": (8, 30),
    "rebounds": (1, 14),
    "assists": (1, 12),
    "threes": (0, 7),
    "steals": (0, 4),
    "blocks": (0, 4),
}
_SOLO = frozenset(("ufc",))


class Results:
    """Results of the events that exist at the start. They follow from slugs and dates only."""

    def __init__(
        self, reference: Reference, instruments: tuple[Instrument, ...], now: Instant
    ) -> None:
        self._reference = reference
        self._instruments = instruments
        self._now = now
        self.final_game = cache(self._final_game)
        self.event_end = cache(self._event_end)
        self._clock = lru_cache(maxsize=_KEPT)(self._make_clock)
        self._ended = cache(self._make_ended)

    def _final_game(self, slug: str) -> Game | None:
        """Return the final facts of a game, or None if it is not a game of the world."""
        event = self._reference.game_event(slug)
        if event is None:
            return None
        players = self._reference.players_of(event.teams)
        return final(event, [player.display_name for player in players])

    def _event_end(self, slug: str) -> Instant:
        """Return when a game ends; 0 if it is not a game of the world."""
        event = self._reference.game_event(slug)
        if event is None or event.start_time is None:
            return 0
        clock = self._clock(slug) if event.live else None
        return event.start_time + duration(event.subcategory, slug) if clock is None else clock.ends

    def state_at(self, slug: str, now: Instant) -> Game | None:
        """Return the state of a game, or None before its start and if it is not a game
        of the world.
        """
        event = self._reference.game_event(slug)
        if event is None or event.start_time is None or now < event.start_time:
            return None
        if self.event_end(slug) <= now:  # the course of the game is no longer needed
            return self._ended(slug)
        clock = self._clock(slug)
        return None if clock is None else clock.at(now)

    def _make_ended(self, slug: str) -> Game | None:
        game = self.final_game(slug)
        return None if game is None else replace(game, at=self.event_end(slug))

    def _make_clock(self, slug: str) -> GameClock | None:
        event, result = self._reference.game_event(slug), self.final_game(slug)
        if event is None or result is None or event.start_time is None:
            return None
        joined = GameInProgress(event.period, self._now - event.start_time) if event.live else None
        return GameClock(event.subcategory, slug, event.start_time, result, joined)

    def outcome(self, instrument: Instrument) -> tuple[Fraction, str] | None:
        """Return the payment of a market, in dollars and as text, or None for an unknown market."""
        if instrument.game_condition is not None:
            game = self.final_game(instrument.event)
            result = outcome_of(instrument.game_condition, game) if game is not None else None
            return None if result is None else result.worth
        if instrument.related is None:
            return None
        group = self._groups.get(instrument.related.group, [])
        if all(other.symbol != instrument.symbol for other in group):
            return None
        came_true = _group_outcome(instrument, instrument.related, group)
        return (MarketOutcome.YES if came_true else MarketOutcome.NO).worth

    @cached_property
    def _groups(self) -> dict[str, list[Instrument]]:
        """Instruments with dependent outcomes, by group."""
        groups: dict[str, list[Instrument]] = {}
        for instrument in self._instruments:
            if instrument.related is not None:
                groups.setdefault(instrument.related.group, []).append(instrument)
        return groups


def _group_outcome(instrument: Instrument, related: Related, group: list[Instrument]) -> bool:
    """The outcome of a group: one of several, or the highest rank reached on a ladder."""
    if related.kind is EventOutcome.DIRECTIONAL:
        ranks = sorted(other.related.rank for other in group if other.related is not None)
        return ranks.index(related.rank) < draw(related.group, "rank", len(ranks) + 1)
    winner = draw(related.group, "winner", len(group))
    return group[winner].symbol == instrument.symbol


def final(event: Event, players: list[str]) -> Game:
    """Return the final state of an event's game."""
    score = event.score or {}
    before = int(score.get("home", 0)), int(score.get("away", 0))
    if event.ended and event.score:
        return Game(home_score=before[0], away_score=before[1], period="FT", live=False, ended=True)
    first = int("".join(filter(str.isdecimal, event.period)) or 1) if event.live else 1
    game = _final(event.subcategory, event.slug, before, first)
    home, away = _final_score(game)
    return replace(
        game,
        home_score=home,
        away_score=away,
        period="FT",
        live=False,
        ended=True,
        players={name: _stats(event.slug, name) for name in players},
    )


def _final(league: str, slug: str, before: tuple[int, int], first: int) -> Game:
    """The result of a game with the score `before` at the beginning of its part `first`."""
    if league in _POINTS:
        return Game(periods=_quarters(slug, *_POINTS[league]))
    if league in _BEST_OF:
        return Game(periods=_best_of(slug, league, *_BEST_OF[league]))
    if league in _SOLO:
        home = draw(slug, "winner", 2)
        return Game(home_score=home, away_score=1 - home)
    if league in _PARTS:
        return Game(periods=_parts(league, slug, before, first))
    goals = tuple(_goals(slug))
    home, away = (sum(goal.team == side for goal in goals) for side in ("home", "away"))
    winner = "home" if home > away or (home == away and draw(slug, "penalties", 2)) else "away"
    return Game(goals=goals, advances=winner)


def _final_score(game: Game) -> tuple[int, int]:
    """Return the score on the gateway: points, goals, or sets and maps won."""
    if game.goals is not None:
        teams = [goal.team for goal in game.goals]
        return teams.count("home"), teams.count("away")
    parts = list(game.periods.values())
    if not parts:
        return game.home_score or 0, game.away_score or 0
    if {"S1", "M1"}.intersection(game.periods):
        return sum(home > away for home, away in parts), sum(away > home for home, away in parts)
    return sum(home for home, _ in parts), sum(away for _, away in parts)


def _parts(league: str, slug: str, before: tuple[int, int], first: int) -> Periods:
    """Quarters, innings, thirds: earlier points are in those before `first`, drawn points in the
    others; a tie is broken after them.
    """
    mark, parts, more, extra = _PARTS[league]
    scores, first = _SCORES[league], min(first, parts)
    sides = []
    for index, side in enumerate(("home", "away")):
        total = scores[draw(slug, side, len(scores))]
        units = UNITS.get(league, (1,))
        early = spread(before[index], f"{slug}:{side}early", max(1, first - 1))
        late = spread(total, f"{slug}:{side}late", parts + 1 - first, units)
        sides.append([*early[: first - 1], *late])
    if league == "mlb":
        _end_when_home_leads(*sides)
    by_part = {f"{mark}{number}": score for number, score in enumerate(zip(*sides, strict=True), 1)}
    if sum(sides[0]) == sum(sides[1]):
        by_part[extra] = (more, 0) if draw(slug, "overtime", 2) else (0, more)
    return by_part


def _end_when_home_leads(home: list[int], away: list[int]) -> None:
    """Take away the runs of the home team in the last inning after it leads."""
    needed = sum(away) - sum(home[:-1]) + 1
    home[-1] = min(home[-1], max(0, needed))


def _quarters(slug: str, least: int, more: int) -> Periods:
    quarters = {
        f"Q{n}": (least + draw(slug, f"home{n}", more), least + draw(slug, f"away{n}", more))
        for n in (1, 2, 3, 4)
    }
    if sum(home - away for home, away in quarters.values()) == 0:
        quarters["OT1"] = (11, 8) if draw(slug, "overtime", 2) else (8, 11)
    return quarters


def _best_of(slug: str, league: str, mark: str, wins: int) -> Periods:
    """Sets or maps until one side has won enough of them."""
    unit: Callable[[str], tuple[int, int]] = {
        "lol": lambda purpose: (1, 0),
        "cs2": lambda purpose: (13, draw(slug, purpose, 12)),
        "wtt": lambda purpose: (11, draw(slug, purpose, 10)),
    }.get(league, lambda purpose: _SETS[draw(slug, purpose, len(_SETS))])
    periods: Periods = {}
    won = [0, 0]
    while max(won) < wins:
        number = len(periods) + 1
        winner, score = draw(slug, f"winner{number}", 2), unit(f"score{number}")
        won[winner] += 1
        periods[f"{mark}{number}"] = score if winner == 0 else (score[1], score[0])
    return periods


def _goals(slug: str) -> Iterator[Goal]:
    for half, first in (("1H", 1), ("2H", 46)):
        minutes = sorted(
            {first + draw(slug, f"{half}{number}", 45) for number in range(draw(slug, half, 4))}
        )
        yield from (
            Goal(team="home" if draw(slug, f"{half}scorer{minute}", 2) else "away", minute=minute)
            for minute in minutes
        )


def _stats(slug: str, player: str) -> dict[str, int]:
    return {
        name: least + draw(slug, f"{player}{name}", most - least + 1)
        for name, (least, most) in _STATS.items()
    }
