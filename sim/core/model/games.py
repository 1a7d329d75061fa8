"""States of games, as scenarios and the control plane report them: score, period, clock.

Reference data has only the planned times of games; `lifecycle/games.py` has their state.
"""

from __future__ import annotations

from msgspec import Struct

from sim.kernel.instants import Instant


class Goal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A goal: the side that scored, and the minute; 45+2 is minute 45 and stoppage 2."""

    team: str
    minute: int
    stoppage: int = 0


class Game(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a game. None or empty means unknown.

    `periods` holds points (home, away) by period, `players` holds statistics by player. `advances`
    is the side that advances. `result` is "no_result" or "abandoned" for a game without a winner.
    `at` is the instant of the last report, 0 for never. `simulated` is true while the score and its
    details are those that the game clock had reached: no report has given a score. `score_is_last`
    is true if a later report than that of the periods and goals gave both scores.
    """

    home_score: int | None = None
    away_score: int | None = None
    period: str | None = None
    elapsed: str | None = None
    live: bool | None = None
    ended: bool | None = None
    periods: dict[str, tuple[int, int]] = {}
    goals: tuple[Goal, ...] | None = None
    players: dict[str, dict[str, int]] = {}
    advances: str = ""
    result: str = ""
    at: Instant = 0
    simulated: bool = False
    score_is_last: bool = False

    def summary(self) -> Game:
        """Return score, period and clock only, without details that a new report may contradict."""
        return Game(
            home_score=self.home_score,
            away_score=self.away_score,
            period=self.period,
            elapsed=self.elapsed,
            live=self.live,
            ended=self.ended,
        )


UNKNOWN_GAME = Game()
