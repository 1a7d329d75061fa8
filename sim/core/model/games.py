"""States of games, as scenarios and the control plane report them: score, period, clock.

The reference data knows only when games were planned; simulated games are in `reference/`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct, structs

from sim.core.model.context import Context
from sim.kernel.instants import Instant


class Goal(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A goal: the side that scored, and the minute; 45+2 is minute 45 and stoppage 2."""

    team: str
    minute: int
    stoppage: int = 0


class Game(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a game; None, or empty, where it is unknown.

    `periods` has points (home, away) by period, `players` statistics by player. `advances` is the
    side that advances. `result` is "no_result" or "abandoned" for a game without a winner. `at` is
    when somebody last reported the game, 0 for never.
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

    def summary(self) -> Game:
        """Score, period and clock only, without the details that a new report may contradict."""
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
    """Reported games by the slug of their event."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._games: dict[str, Game] = {}

    def get(self, slug: str) -> Game:
        """The state of a game."""
        return self._games.get(slug, UNKNOWN_GAME)

    def begin(self, slug: str, game: Game) -> None:
        """Set the state from which reports go on; this is not a report itself."""
        self._games[slug] = game

    def is_reported(self, slug: str) -> bool:
        """Whether somebody has reported a game."""
        return self.get(slug).at > 0

    def reported(self) -> Iterable[str]:
        """Slugs of the reported games."""
        return self._games

    def update(self, slug: str, **facts: Any) -> Game:
        """Report a game: change what `facts` names and keep the rest.

        Periods and players are added to those known. A game that ends is no longer live, unless
        the report says otherwise.
        """
        before = self.get(slug)
        changes = {name: value for name, value in facts.items() if value not in (None, "")}
        for name in ("periods", "players"):
            if name in changes:
                changes[name] = {**getattr(before, name), **changes[name]}
        if changes.get("ended"):
            changes.setdefault("live", False)
        game = self._games[slug] = structs.replace(before, at=self._ctx.now, **changes)
        return game

    def save(self) -> dict[str, Game]:
        """Games by slug."""
        return self._games

    def load(self, state: dict[str, Game]) -> None:
        """Take saved games."""
        self._games = dict(state)
