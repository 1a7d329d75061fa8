"""The course of a game of the default world: its end, and its state at any instant between its
start and the planned result (`results.py`).

Games are not simulated step by step. The points of the result are distributed once over the periods
of the sport, each at an instant drawn from the slug; the state at an instant has the points scored
by then. So a score never falls, ends as planned, and depends neither on the caller nor on the steps
in which time moves.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import groupby
from typing import NamedTuple

from sim.core.model.games import Game
from sim.kernel.instants import MINUTE, NS_PER_S, Instant, Span

Score = tuple[int, int]  # home, away


class Sport(NamedTuple):
    """How a league plays, in minutes: the duration of a period, the duration on its clock (0: no
    clock), the pause after it, the break at half time, and the usual duration of a game.

    `periods` is the number of periods in regular time.
    """

    period: str
    periods: int
    minutes: int
    clock: int
    pause: int
    half_time: int
    usual: int


_SOCCER = Sport("H", 2, 45, 45, 0, 15, 109)
_SPORTS = {
    "nfl": Sport("Q", 4, 42, 15, 2, 13, 190),
    "nba": Sport("Q", 4, 30, 12, 2, 15, 140),
    "wnba": Sport("Q", 4, 26, 10, 2, 15, 124),
    "nhl": Sport("P", 3, 38, 20, 17, 0, 150),
    "mlb": Sport("I", 9, 18, 0, 2, 0, 175),
    "atp": Sport("S", 3, 45, 0, 2, 0, 130),
    "wta": Sport("S", 3, 42, 0, 2, 0, 115),
    "lol": Sport("M", 3, 33, 0, 9, 0, 100),
    "cs2": Sport("M", 3, 45, 0, 6, 0, 125),
    "wtt": Sport("S", 5, 8, 0, 1, 0, 40),
    "ufc": Sport("R", 3, 5, 5, 1, 0, 17),
}
# The points of one play, the usual number first; one in all other sports.
UNITS = {"nfl": (7, 3), "nba": (2, 3, 1), "wnba": (2, 3, 1)}


def duration(league: str, slug: str) -> Span:
    """Return the duration of a game: that of its sport, a tenth more or less."""
    if league not in _SPORTS:
        return (_SOCCER.usual + draw(slug, "stoppage", 5)) * MINUTE
    return _SPORTS[league].usual * 60 * (90 + draw(slug, "length", 21)) // 100 * NS_PER_S


def draw(slug: str, purpose: str, choices: int) -> int:
    """Return a number below `choices` that is derived from a slug.

    The numbers of one slug are independent of each other. A checksum such as CRC-32 would not do:
    if two purposes differ in a digit only, so does the parity of their checksums, always or never.
    """
    return int.from_bytes(blake2b(f"{slug}:{purpose}".encode(), digest_size=8).digest()) % choices


class GamePart(NamedTuple):
    """A part of a game with a name. Its points count for `part`.

    Durations count from the start of the game.
    """

    period: str
    part: str
    begins: Span
    ends: Span
    clock: Span = 0
    from_minute: int = 0


class ScoredPoint(NamedTuple):
    """Points that are scored at once, and when, counted from the start of the game."""

    at: Span
    part: str
    home: int
    away: int


class GameInProgress(NamedTuple):
    """A game that is under way when the world begins: its present period, and its delay."""

    period: str
    after: Span


class GameClock:
    """The course of one game from its start to its result."""

    def __init__(
        self,
        league: str,
        slug: str,
        start: Instant,
        final: Game,
        joined: GameInProgress | None = None,
    ) -> None:
        self._start = start
        self._final = final
        self._counts_parts = _counts_parts(league)
        length, legs = duration(league, slug), list(_legs(league, final, slug))
        names = [leg.period for leg in legs]
        now = names.index(joined.period) if joined is not None and joined.period in names else 0
        if joined is not None and now:
            left = max(length - joined.after, length * (len(legs) - now) // len(legs))
            length = joined.after + left
            played = _stretched(legs[:now], 0, joined.after)
            self._legs = [*played, *_stretched(legs[now:], joined.after, length)]
        else:
            self._legs = _stretched(legs, 0, length)
        self.ends = start + length
        self._begins = [leg.begins for leg in self._legs]
        self._points = sorted(_points(league, slug, final, self._legs))
        self._times = [point.at for point in self._points]

    def at(self, now: Instant) -> Game | None:
        """Return the state of the game, or None before its start and after its end.

        `at` in the state is the instant of its last change other than that of the clock.
        """
        since = now - self._start
        if since < 0 or now >= self.ends:
            return None
        begun = self._legs[: bisect_right(self._begins, since)]
        leg, final = begun[-1], self._final
        scored = bisect_right(self._times, since)
        parts = {past_leg.part: (0, 0) for past_leg in begun if past_leg.part}
        for point in self._points[:scored]:
            home, away = parts[point.part]
            parts[point.part] = home + point.home, away + point.away
        ended = [past_leg for past_leg in begun if past_leg.ends <= since]
        scores = list(parts.values())
        changes = [leg.begins, *self._times[:scored][-1:]]
        if self._counts_parts:
            won = (parts[past_leg.part] for past_leg in ended)
            scores = [(int(home > away), int(away > home)) for home, away in won]
            changes += [past_leg.ends for past_leg in ended]
        return Game(
            home_score=sum(home for home, _ in scores),
            away_score=sum(away for _, away in scores),
            period=leg.period,
            elapsed=_elapsed(leg, since),
            live=True,
            ended=False,
            periods=parts if final.periods or final.goals is not None else {},
            goals=None if final.goals is None else final.goals[:scored],
            at=self._start + max(changes),
        )


def _counts_parts(league: str) -> bool:
    """Return whether a score is the number of sets or maps won."""
    return _SPORTS.get(league, _SOCCER).period in ("S", "M")


# ---- legs


def _legs(league: str, final: Game, slug: str) -> Iterator[GamePart]:
    """Yield the legs of a game in minutes; pauses between them are gaps."""
    sport, at = _SPORTS.get(league, _SOCCER), 0
    if league not in _SPORTS:
        first = draw(slug, "first stoppage", 3)
        yield GamePart("1H", "1H", 0, 45 + first, 45)
        yield GamePart("HT", "", 45 + first, 60 + first)
        yield GamePart("2H", "2H", 60 + first, duration(league, slug) // MINUTE, 45, 45)
        return
    rounds = 1 + draw(slug, "rounds", sport.periods)
    names = list(final.periods) or [f"{sport.period}{number + 1}" for number in range(rounds)]
    home_leads = (final.home_score or 0) > (final.away_score or 0)
    for number, name in enumerate(names, 1):
        if sport.period == "I":
            # The home team does not bat in the last inning if it leads already.
            last = number == sport.periods == len(names)
            decided = last and home_leads and not final.periods.get(name, (0, 0))[0]
            for half in "T" if decided else "TB":
                yield GamePart(f"{half}{number}", name, at, at + sport.minutes // 2)
                at += sport.minutes // 2 + 1
            continue
        share = 1 if name.startswith(sport.period) else 2  # overtime is half as long
        yield GamePart(name, name, at, at + sport.minutes // share, sport.clock // share)
        at += sport.minutes // share
        if sport.half_time and number * 2 == sport.periods:
            yield GamePart("HT", "", at, at + sport.half_time)
            at += sport.half_time
        else:
            at += sport.pause


def _stretched(legs: Sequence[GamePart], begins: Span, ends: Span) -> list[GamePart]:
    """Return legs stretched to a begin and end, with clocks in spans."""
    first, length = legs[0].begins, legs[-1].ends - legs[0].begins

    def moved(minutes: int) -> Span:
        return begins + (ends - begins) * (minutes - first) // length

    return [
        leg._replace(begins=moved(leg.begins), ends=moved(leg.ends), clock=leg.clock * MINUTE)
        for leg in legs
    ]


def _elapsed(leg: GamePart, since: Span) -> str:
    """Return the text of the clock of a leg.

    Minutes of soccer, with stoppage time after a plus; minutes and seconds if there is a
    clock; else nothing.
    """
    if not leg.clock:
        return ""
    played = min(since, leg.ends) - leg.begins
    if leg.part in ("1H", "2H"):
        minute, regular = played // MINUTE + 1, leg.clock // MINUTE
        if minute > regular:
            return f"{leg.from_minute + regular}+{minute - regular}"
        return str(leg.from_minute + minute)
    seconds = leg.clock * played // (leg.ends - leg.begins) // NS_PER_S
    return f"{seconds // 60:02d}:{seconds % 60:02d}"


# ---- points


def _points(league: str, slug: str, final: Game, legs: Sequence[GamePart]) -> Iterator[ScoredPoint]:
    """Yield all points: for each part those of the result."""
    for goal in final.goals or ():
        leg = legs[0] if goal.minute <= 45 else legs[-1]
        second = draw(slug, f"goal{goal.minute}", 60)
        at = leg.begins + (goal.minute - leg.from_minute - 1) * MINUTE + second * NS_PER_S
        yield ScoredPoint(at, leg.part, int(goal.team == "home"), int(goal.team == "away"))
    if final.goals is not None:
        return
    by_part = {part: list(group) for part, group in groupby(legs, lambda leg: leg.part) if part}
    for part, score in final.periods.items():
        mine = by_part[part]
        if _counts_parts(league):
            yield from _in_turn(slug, mine[0], score)
            continue
        units = UNITS.get(league, (1,))
        # in baseball the away team bats first
        yield from _apart(slug, mine[-1], score[0], home=True, units=units)
        yield from _apart(slug, mine[0], score[1], home=False, units=units)


def _apart(
    slug: str, leg: GamePart, total: int, *, home: bool, units: Sequence[int]
) -> Iterator[ScoredPoint]:
    """Yield the points of one side in a part, each play at its own instant."""
    purpose = f"{leg.period}{'home' if home else 'away'}"
    seconds = max(1, (leg.ends - leg.begins) // NS_PER_S - 1)
    for number, worth in enumerate(_plays(slug, purpose, total, units)):
        at = leg.begins + (draw(slug, f"{purpose}at{number}", seconds) + 1) * NS_PER_S
        yield ScoredPoint(at, leg.part, worth if home else 0, 0 if home else worth)


def _plays(slug: str, purpose: str, total: int, units: Sequence[int]) -> Iterator[int]:
    """Yield a total as points of single plays; a rest is scored in ones."""
    left = total
    while left:
        fits = [unit for unit in units if unit <= left and _reachable(left - unit, units)] or [1]
        worth = fits[draw(slug, f"{purpose}{left}", len(fits) + 1) % len(fits)]
        yield worth
        left -= worth


def _reachable(total: int, units: Sequence[int]) -> bool:
    """Return whether the points of plays can add up to a total."""
    firsts = range(total // units[0] + 1)
    return 1 in units or any((total - units[0] * first) % units[1] == 0 for first in firsts)


def _in_turn(slug: str, leg: GamePart, score: Score) -> Iterator[ScoredPoint]:
    """Yield a set or map: its games one after the other, the last one won by its winner."""
    home_won = score[0] > score[1]
    order = list(_order(slug, leg.part, max(score), min(score)))
    step = (leg.ends - leg.begins) // len(order)
    for number, winners in enumerate(order, 1):
        home = winners is home_won
        at = leg.ends if number == len(order) else leg.begins + number * step
        yield ScoredPoint(at, leg.part, int(home), int(not home))


def _order(slug: str, part: str, most: int, least: int) -> Iterator[bool]:
    """Yield the winners of the games of a set: True for the winner of the set.

    Nobody reaches the score that ends the set before its end.
    """
    level = 5 if most == 7 else 0  # 7-5 and 7-6 come after 5-5
    ahead = [True] * (level or most - 1) + [False] * (level or least)
    marks = [draw(slug, f"{part}game{number}", 1 << 20) for number in range(len(ahead))]
    yield from (ahead[number] for number in sorted(range(len(ahead)), key=marks.__getitem__))
    if level:
        yield from (True, False) * (least - level)
    yield from [True] * (most - least if level else 1)


def spread(total: int, purpose: str, parts: int, units: Sequence[int] = (1,)) -> list[int]:
    """Return a total spread over a number of parts, play by play, as drawn."""
    scores = [0] * parts
    for number, worth in enumerate(_plays(purpose, "", total, units)):
        scores[draw(purpose, f"part{number}", parts)] += worth
    return scores
