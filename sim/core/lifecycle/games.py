"""How games stand and how they end.

Two sources determine the state of a game:

- The world plans a final result for each of its games and simulates the course of the game by the
  clock (`EventPlan`). Nothing is stored: score, period and end follow from the plan and virtual
  now.
- A scenario or a tester reports the state of a game. From the first report on, only reports count:
  the game keeps the state it had reached, except where reports change it, and it ends when a report
  says so.

`Games` answers questions. `GameReports` takes reports and applies them to the markets of the game.
`outcomes.py` computes what a market pays, given the facts of its game.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from msgspec import structs

from sim.core.catalogue.assumptions import GAMES_ARE_PLAYED
from sim.core.lifecycle.dates import GAME_OVER
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.listings import Listings
from sim.core.lifecycle.outcomes import outcome_of
from sim.core.lifecycle.settlement import Settlements
from sim.core.lifecycle.states import OVER_STATES, SESSION_STATES
from sim.core.matching.books import OrderBooks
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState
from sim.core.model.games import UNKNOWN_GAME, Game
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.quantities import Price
from sim.kernel.instants import Instant

# A report of one of these replaces the simulated facts from which scores are computed. Periods do
# so in the first report of a game only.
_SCORES = ("home_score", "away_score", "goals", "result")
_RESULTS = (*_SCORES, "periods")


class EventPlan(Protocol):
    """How the games and questions of the world end unless somebody reports otherwise."""

    def event_end(self, slug: str) -> Instant:
        """Return when a game ends; 0 for a game that is not the world's."""

    def state_at(self, slug: str, now: Instant) -> Game | None:
        """Return the state of a game at an instant; None before its start."""

    def final_game(self, slug: str) -> Game | None:
        """Return the final facts of a game."""

    def outcome(self, instrument: Instrument) -> tuple[Fraction, str] | None:
        """Return what a market pays: dollars, and the reason in words."""


class _NoPlan:
    """The plan of a world without games."""

    def event_end(self, slug: str) -> Instant:
        return 0

    def state_at(self, slug: str, now: Instant) -> Game | None:
        return None

    def final_game(self, slug: str) -> Game | None:
        return None

    def outcome(self, instrument: Instrument) -> tuple[Fraction, str] | None:
        return None


class Games:
    """Reported games by the slug of their event, and the world's plan for the others."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._games: dict[str, Game] = {}
        self.plan: EventPlan = _NoPlan()

    def begin(self, plan: EventPlan) -> None:
        """Use the plan of a world."""
        self.plan = plan

    # ---- reports

    def get(self, slug: str) -> Game:
        """Return a game as reported, or as set at the beginning of the world."""
        return self._games.get(slug, UNKNOWN_GAME)

    def set_start(self, slug: str, game: Game) -> None:
        """Set the state of a game that has not been reported yet."""
        self._games[slug] = game

    def is_reported(self, slug: str) -> bool:
        """Return whether somebody has reported the state of a game."""
        return self.get(slug).at > 0

    def reported(self) -> Iterable[str]:
        """Return the slugs of games with a report or an initial state."""
        return self._games

    def update(self, slug: str, **facts: Any) -> Game:
        """Change some reported facts of a game and keep the others; periods and players are merged.

        A score or goals replace the periods and goals that the clock had simulated; periods without
        a score are merged into them. A game that ends is no longer live unless the report says so.
        """
        former = self.get(slug)
        facts = {name: value for name, value in facts.items() if value is not None and value != ""}
        if former.simulated and not facts.keys().isdisjoint(_SCORES):
            former = structs.replace(former, periods={}, goals=None, simulated=False)
        for name, before in (("periods", former.periods), ("players", former.players)):
            if name in facts:
                facts[name] = {**before, **facts[name]}
        if not facts.keys().isdisjoint(("periods", "goals")):
            facts["score_is_last"] = False
        elif facts.keys() >= {"home_score", "away_score"}:
            facts["score_is_last"] = True
        if facts.get("ended") and "live" not in facts:
            facts["live"] = False
        game = self._games[slug] = structs.replace(former, at=self._ctx.now, **facts)
        return game

    # ---- the plan, unless a report replaces it

    def _simulates(self, slug: str) -> bool:
        return not self.is_reported(slug) and self._ctx.assumptions.flag(GAMES_ARE_PLAYED)

    def simulated_game(self, slug: str) -> Game | None:
        """Return the simulated state of a game at virtual now.

        None before its start, once it is reported, and where games are not simulated.
        """
        return self.plan.state_at(slug, self._ctx.now) if self._simulates(slug) else None

    def event_end(self, slug: str) -> Instant:
        """Return when a game ends by its plan; 0 if it is reported or games are not simulated."""
        # not `_simulates`, because lists ask this several times per market
        game = self._games.get(slug)
        if (game is not None and game.at > 0) or not self._ctx.assumptions.flag(GAMES_ARE_PLAYED):
            return 0
        return self.plan.event_end(slug)

    def instrument_end(self, instrument: Instrument) -> Instant:
        """Return when the game that decides an instrument ends by its plan; 0 if there is none."""
        return 0 if instrument.game_condition is None else self.event_end(instrument.event)

    def planned_final(self, slug: str) -> Game | None:
        """Return the planned final facts of a game; None once it is reported."""
        return None if self.is_reported(slug) else self.plan.final_game(slug)

    def planned_worth(self, instrument: Instrument) -> tuple[Fraction, str] | None:
        """Return what an unsettled market pays: by the reports of its game, else by the plan."""
        if instrument.game_condition is not None and self.is_reported(instrument.event):
            outcome = outcome_of(instrument.game_condition, self.get(instrument.event))
            return None if outcome is None else outcome.worth
        return self.plan.outcome(instrument)

    def save(self) -> dict[str, Game]:
        """Return games by slug."""
        return self._games

    def load(self, state: dict[str, Game]) -> None:
        """Restore saved games."""
        self._games = dict(state)


@dataclass(slots=True, eq=False)
class GameReports:
    """Takes reports about games and applies them to their markets.

    `on_abandoned` is called with the symbol of each market of an abandoned game.
    """

    games: Games
    instruments: Instruments
    listings: Listings
    lifecycle: Lifecycle
    settlements: Settlements
    books: OrderBooks
    on_abandoned: Callable[[str], None]

    def report_game(self, slug: str, **facts: Any) -> Game:
        """Set facts of a game. From now on, reports replace the simulation.

        What the simulation has already decided for its markets stays: their settlements, and their
        close unless the report says that the game is not over.
        """
        games, instruments = self.games, self.instruments
        simulated = games.simulated_game(slug)
        for instrument in instruments.of_event(slug):
            if self.lifecycle.state(instrument.symbol) in OVER_STATES:
                self.lifecycle.materialise(instrument.symbol)
        if simulated is not None and not games.is_reported(slug):
            replaced = any(facts.get(name) not in (None, "") for name in _RESULTS)
            start = simulated.summary() if replaced else structs.replace(simulated, simulated=True)
            games.set_start(slug, start)
        game = games.update(slug, **facts)
        self.books.game_reported(slug)
        if simulated is not None and simulated.ended and not game.ended:
            for instrument in instruments.of_event(slug):
                self.listings.follow(instrument.symbol)
        return game

    def end_game(self, slug: str) -> dict[str, str]:
        """Close the markets that the facts of a game decide; they settle some time later (§2.10,
        rule L25).

        Returns the outcome by symbol. Markets of an abandoned game settle at their last fair price.
        A market that the facts do not decide stays as it is until somebody settles it.
        """
        game, outcomes = self.games.get(slug), {}
        for instrument in self.instruments.of_event(slug):
            symbol = instrument.symbol
            if instrument.game_condition is None or self.settlements.final(symbol):
                continue
            decided = self._decide(instrument, game)
            if decided is None:
                continue
            if self.lifecycle.state(symbol) in SESSION_STATES:
                self.listings.change_state(symbol, InstrumentState.CLOSED, why=GAME_OVER)
            self.listings.record_outcome(symbol, *decided, decided_by="L29")
            outcomes[symbol] = decided[1]
        return outcomes

    def _decide(self, instrument: Instrument, game: Game) -> tuple[Price, str] | None:
        """Return price and reason of a market's outcome; None if the facts do not decide it."""
        if game.result == "abandoned":
            self.on_abandoned(instrument.symbol)
            return self.listings.fair_price(instrument.symbol), "abandoned: last fair price"
        condition = instrument.game_condition
        outcome = None if condition is None else outcome_of(condition, game)
        if outcome is None:
            return None
        return int(outcome.value * instrument.price_scale), outcome.name.title()
