"""How games stand: score, period, clock, live or over, as scenarios and the control plane report them. Reference data knows only when they were planned."""

from __future__ import annotations

from msgspec import Struct, structs

from sim.core.context import Context
from sim.kernel.instants import Instant


class Game(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a game; None where nobody has said."""

    home_score: int | None = None
    away_score: int | None = None
    period: str | None = None
    elapsed: str | None = None
    live: bool | None = None
    ended: bool | None = None
    at: Instant = 0


NOTHING = Game()


class Games:
    """Games by the slug of their event."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._games: dict[str, Game] = {}

    def get(self, slug: str) -> Game:
        """How a game stands."""
        return self._games.get(slug, NOTHING)

    def update(self, slug: str, **facts: int | str | bool | None) -> Game:
        """Change what is said and keep the rest. A game that ends is no longer live unless told so."""
        said = {name: value for name, value in facts.items() if value is not None}
        if said.get("ended") and "live" not in said:
            said["live"] = False
        game = self._games[slug] = structs.replace(self.get(slug), at=self._ctx.now, **said)
        return game

    def save(self) -> dict[str, Game]:
        """Games by slug."""
        return self._games

    def load(self, state: dict[str, Game]) -> None:
        """Take saved games."""
        self._games = dict(state)
