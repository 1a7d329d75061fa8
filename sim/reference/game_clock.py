"""How a game of the default world is played: when it ends, and how it stands at any instant between
its start and the planned result (`results.py`).

Nothing is walked to. The points of the result are laid out once over the periods of the sport, each
at an instant drawn from the slug; how a game stands is what has been scored by then. So a score
never falls, ends at the plan, and is the same whoever asks and however time came there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zlib import crc32

from sim.core.model.games import Game
from sim.kernel.instants import MINUTE, NS_PER_S, Instant, Span

Score = tuple[int, int]  # home, away


class Sport(NamedTuple):
    """How a league plays. Minutes: of a part as it takes place, of its clock (0: none is shown), of
    a pause after it, of the break at half time.

    `parts` is how many there are in regular time, `most` how long the whole usually takes.
    """

    part: str
    parts: int
    minutes: int
    clock: int
    pause: int
    half: int
    most: int


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
# what one play scores, the usual first; one everywhere else
UNITS = {"nfl": (7, 3), "nba": (2, 3, 1), "wnba": (2, 3, 1)}


def duration(league: str, slug: str) -> Span:
    """How long a game takes: as long as its sport usually does, a tenth more or less. Whole
    seconds.
    """
    minutes = _SPORTS.get(league, _SOCCER).most
    if league not in _SPORTS:
        return (minutes + draw(slug, "stoppage", 5)) * MINUTE
    return minutes * 60 * (90 + draw(slug, "length", 21)) // 100 * NS_PER_S


def draw(slug: str, purpose: str, choices: int) -> int:
    """A number below `choices` that follows from a slug."""
    return (crc32(f"{slug}:{purpose}".encode()) >> 3) % choices


def _mixed(slug: str, purpose: str, choices: int) -> int:
    """The same for draws that are made in rows: what differs in a digit alone is as different as
    anything else.
    """
    return (crc32(f"{slug}:{purpose}".encode()) * 0x9E3779B97F4A7C15 >> 35 & 0x1FFFFFFF) % choices


class Leg(NamedTuple):
    """A stretch of a game under one name: whose points count for `part` and are scored while it is
    played. Spans since the start of the game.
    """

    period: str
    part: str
    begins: Span
    ends: Span
    clock: Span = 0
    from_minute: int = 0


class Point(NamedTuple):
    """What is scored at once, so long after the start."""

    at: Span
    part: str
    home: int
    away: int


class Joined(NamedTuple):
    """A game that is under way when the world begins: the period that begins at that moment, and
    how long after the start that is.
    """

    period: str
    after: Span


class GameClock:
    """The course of one game from its start to its result."""

    def __init__(
        self, league: str, slug: str, start: Instant, final: Game, joined: Joined | None = None
    ) -> None:
        self._start = start
        self._facts = final
        self._counts_parts = _counts_parts(league)
        length = duration(league, slug)
        legs = list(_legs(league, final, slug))
        now = next(
            (
                number
                for number, leg in enumerate(legs)
                if joined is not None and leg.period == joined.period
            ),
            0,
        )
        if joined is not None and now:
            length = joined.after + max(
                length - joined.after, length * (len(legs) - now) // len(legs)
            )
            self._legs = [
                *_stretched(legs[:now], 0, joined.after),
                *_stretched(legs[now:], joined.after, length),
            ]
        else:
            self._legs = _stretched(legs, 0, length)
        self.ends = start + length
        self._begins = [leg.begins for leg in self._legs]
        self._points = sorted(_points(league, slug, final, self._legs))
        self._times = [point.at for point in self._points]

    def at(self, now: Instant) -> Game | None:
        """How the game stands; None before its start and after its end. `at` is when anything but
        the clock last changed.
        """
        since = now - self._start
        if since < 0 or now >= self.ends:
            return None
        number = bisect_right(self._begins, since) - 1
        leg = self._legs[number]
        scored = bisect_right(self._times, since)
        parts = {found.part: (0, 0) for found in self._legs[: number + 1] if found.part}
        for point in self._points[:scored]:
            home, away = parts[point.part]
            parts[point.part] = home + point.home, away + point.away
        home, away = self._score(parts, since)
        changed = max(leg.begins, self._times[scored - 1] if scored else 0)
        if self._counts_parts:
            changed = max(
                changed,
                *(found.ends for found in self._legs[: number + 1] if found.ends <= since),
                0,
            )
        return Game(
            home_score=home,
            away_score=away,
            period=leg.period,
            elapsed=_elapsed(leg, since),
            live=True,
            ended=False,
            periods=parts if self._facts.periods or self._facts.goals is not None else {},
            goals=None if self._facts.goals is None else self._facts.goals[:scored],
            at=self._start + changed,
        )

    def _score(self, parts: dict[str, Score], since: Span) -> Score:
        """Points, or the parts that are over and won."""
        if self._counts_parts:
            parts = {
                leg.part: (int(home > away), int(away > home))
                for leg in self._legs
                if leg.ends <= since
                for home, away in (parts[leg.part],)
            }
        return sum(home for home, _ in parts.values()), sum(away for _, away in parts.values())


def _counts_parts(league: str) -> bool:
    """Whether a score counts the sets or maps won."""
    return _SPORTS.get(league, _SOCCER).part in ("S", "M")


# ---- legs


def _legs(league: str, final: Game, slug: str) -> Iterator[Leg]:
    """The legs of a game in minutes of their own, in order; pauses between them are gaps."""
    sport, at = _SPORTS.get(league, _SOCCER), 0
    if league not in _SPORTS:
        first = draw(slug, "first stoppage", 3)
        yield Leg("1H", "1H", 0, 45 + first, 45)
        yield Leg("HT", "", 45 + first, 60 + first)
        yield Leg("2H", "2H", 60 + first, duration(league, slug) // MINUTE, 45, 45)
        return
    names = list(final.periods) or [
        f"{sport.part}{number + 1}" for number in range(1 + draw(slug, "rounds", sport.parts))
    ]
    for number, name in enumerate(names, 1):
        over = not name.startswith(sport.part)
        if sport.part == "I":
            yield Leg(f"T{number}", name, at, at + sport.minutes // 2)
            at += sport.minutes // 2 + 1
            if not (
                number == sport.parts
                and len(names) == number
                and (final.home_score or 0) > (final.away_score or 0)
            ):
                yield Leg(f"B{number}", name, at, at + sport.minutes // 2)
                at += sport.minutes // 2 + 1
            continue
        played = sport.minutes // 2 if over else sport.minutes
        yield Leg(name, name, at, at + played, sport.clock // 2 if over else sport.clock)
        at += played
        if sport.half and number * 2 == sport.parts:
            yield Leg("HT", "", at, at + sport.half)
            at += sport.half
        else:
            at += sport.pause


def _stretched(legs: Sequence[Leg], begins: Span, ends: Span) -> list[Leg]:
    """Legs so that the first begins and the last ends when told, clocks in spans."""
    first, whole = legs[0].begins, legs[-1].ends - legs[0].begins

    def place(minutes: int) -> Span:
        return begins + (ends - begins) * (minutes - first) // whole

    return [
        leg._replace(begins=place(leg.begins), ends=place(leg.ends), clock=leg.clock * MINUTE)
        for leg in legs
    ]


def _elapsed(leg: Leg, since: Span) -> str:
    """The clock of a leg: minutes of soccer, stoppage with a plus; minutes and seconds where a
    clock runs; nothing where none does.
    """
    if not leg.clock:
        return ""
    played = min(since, leg.ends) - leg.begins
    if leg.part in ("1H", "2H"):
        minute = played // MINUTE + 1
        regular = leg.clock // MINUTE
        return (
            str(leg.from_minute + minute)
            if minute <= regular
            else f"{leg.from_minute + regular}+{minute - regular}"
        )
    seconds = leg.clock * played // (leg.ends - leg.begins) // NS_PER_S
    return f"{seconds // 60:02d}:{seconds % 60:02d}"


# ---- points


def _points(league: str, slug: str, final: Game, legs: Sequence[Leg]) -> Iterator[Point]:
    """Everything that is scored: per part just what the result says of it."""
    if final.goals is not None:
        for goal in final.goals:
            leg = legs[0] if goal.minute <= 45 else legs[-1]
            at = (
                leg.begins
                + (goal.minute - leg.from_minute - 1) * MINUTE
                + _mixed(slug, f"goal{goal.minute}", 60) * NS_PER_S
            )
            yield Point(at, leg.part, int(goal.team == "home"), int(goal.team == "away"))
        return
    by_part: dict[str, list[Leg]] = {}
    for leg in legs:
        by_part.setdefault(leg.part, []).append(leg)
    for part, score in final.periods.items():
        mine = by_part[part]
        if _counts_parts(league):
            yield from _in_turn(slug, mine[0], score)
            continue
        for home in (True, False):
            leg = mine[-1 if home else 0]  # in baseball the guests bat first
            yield from _apart(
                slug, leg, score[0] if home else score[1], home=home, units=UNITS.get(league, (1,))
            )


def _apart(slug: str, leg: Leg, total: int, *, home: bool, units: Sequence[int]) -> Iterator[Point]:
    """What one side scores in a part, each play at an instant of its own."""
    side = "home" if home else "away"
    for number, worth in enumerate(_plays(slug, f"{leg.period}{side}", total, units)):
        second = (
            _mixed(
                slug,
                f"{leg.period}{side}at{number}",
                max(1, (leg.ends - leg.begins) // NS_PER_S - 1),
            )
            + 1
        )
        yield Point(
            leg.begins + second * NS_PER_S, leg.part, worth if home else 0, 0 if home else worth
        )


def _plays(slug: str, purpose: str, total: int, units: Sequence[int]) -> Iterator[int]:
    """A total as what single plays score; what no play adds up to comes in ones."""
    left = total
    while left:
        fits = [unit for unit in units if unit <= left and _reachable(left - unit, units)] or [1]
        worth = fits[_mixed(slug, f"{purpose}{left}", len(fits) + 1) % len(fits)]
        yield worth
        left -= worth


def _reachable(total: int, units: Sequence[int]) -> bool:
    """Whether plays can add up to a total."""
    return 1 in units or any(
        (total - units[0] * first) % units[1] == 0 for first in range(total // units[0] + 1)
    )


def _in_turn(slug: str, leg: Leg, score: Score) -> Iterator[Point]:
    """A set or a map: its games or rounds one after the other, the last one won by whoever won it
    all.
    """
    won = score[0] > score[1]
    order = list(_order(slug, leg.part, max(score), min(score)))
    step = (leg.ends - leg.begins) // len(order)
    for number, winners in enumerate(order, 1):
        home = winners is won
        yield Point(
            leg.ends if number == len(order) else leg.begins + number * step,
            leg.part,
            int(home),
            int(not home),
        )


def _order(slug: str, part: str, most: int, least: int) -> Iterator[bool]:
    """Who takes each game of a set: True for its winner. Nobody gets to where the set would have
    been over before it was.
    """
    level = 5 if most == 7 else 0  # 7-5 and 7-6 come after 5-5
    ahead = [True] * (level or most - 1) + [False] * (level or least)
    marks = [_mixed(slug, f"{part}game{number}", 1 << 20) for number in range(len(ahead))]
    yield from (ahead[place] for place in sorted(range(len(ahead)), key=marks.__getitem__))
    if level:
        yield from (True, False) * (least - level)
    yield from [True] * (most - least if level else 1)


def spread(total: int, purpose: str, parts: int, units: Sequence[int] = (1,)) -> list[int]:
    """A total over so many parts, play by play where the draw puts it."""
    found = [0] * parts
    for number, worth in enumerate(_plays(purpose, "", total, units)):
        found[_mixed(purpose, f"part{number}", parts)] += worth
    return found
