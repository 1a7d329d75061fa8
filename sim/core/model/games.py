"""How games stand: score, period, clock, live or over, as scenarios and the control plane report
them. Reference data knows only when they were planned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, structs

from sim.core.model.context import Context
from sim.kernel.instants import Instant


class Goal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A goal: the side that scored, the minute as the clock shows it, and the minute of stoppage
    time (45+2 is 45 and 2).
    """

    team: str
    minute: int
    stoppage: int = 0


class Game(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a game; None, or nothing, where nobody has said.

    `periods` has points (home, away) by period, `players` statistics by player, `advances` the side
    that goes on, `result` is "no_result" or "abandoned" where there is none.
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

    def bare(self) -> Game:
        """Score, period and clock without what they are made of: somebody says something else."""
        return Game(
            home_score=self.home_score,
            away_score=self.away_score,
            period=self.period,
            elapsed=self.elapsed,
            live=self.live,
            ended=self.ended,
        )


UNKNOWN_GAME = Game()


class Games:
    """Games by the slug of their event."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._games: dict[str, Game] = {}

    def get(self, slug: str) -> Game:
        """How a game stands."""
        return self._games.get(slug, UNKNOWN_GAME)

    def begin(self, slug: str, game: Game) -> None:
        """How a game stands at the start of the world; nobody has told of it."""
        self._games[slug] = game

    def is_reported(self, slug: str) -> bool:
        """Whether somebody has told of a game."""
        return self.get(slug).at > 0

    def reported(self) -> Iterable[str]:
        """Slugs of the games somebody has told of."""
        return self._games

    def update(self, slug: str, **facts: Any) -> Game:
        """Change what is said and keep the rest; periods and players are added to those known. A
        game that ends is no longer live unless told so.
        """
        known = self.get(slug)
        said = {name: value for name, value in facts.items() if value is not None and value != ""}
        for name, before in (("periods", known.periods), ("players", known.players)):
            if name in said:
                said[name] = {**before, **said[name]}
        if said.get("ended") and "live" not in said:
            said["live"] = False
        game = self._games[slug] = structs.replace(known, at=self._ctx.now, **said)
        return game

    def save(self) -> dict[str, Game]:
        """Games by slug."""
        return self._games

    def load(self, state: dict[str, Game]) -> None:
        """Take saved games."""
        self._games = dict(state)
