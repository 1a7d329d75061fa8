"""The view of a move in a hunt: the exchange as it is now, and the values that answers named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sim.core.identity.firms import User
from sim.core.lifecycle.states import EDGES, ENTRY_STATES
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE
from sim.kernel.entropy import Choices
from sim.kernel.instants import Instant
from sim.run.simulation import Simulation
from sim.search.hunt.vocabulary import Vocabulary
from sim.search.moves.view import STATES, Terms, View

OWN = "hunt-"  # how the symbols of the hunt's own markets begin


class LiveView(View):
    """The view of one episode. `tokens` has the last resume token of each stream by name."""

    def __init__(self, simulation: Simulation, vocabulary: Vocabulary) -> None:
        firms = simulation.exchange.firms
        super().__init__(firms.all(), firms.api_keys(), (), 0)
        self.simulation = simulation
        self.vocabulary = vocabulary
        self.tokens: dict[str, str] = {}
        self._terms: dict[str, Terms] = {}

    @property
    def now(self) -> Instant:
        return self.simulation.now

    def markets(self) -> Sequence[Terms]:
        """Return instruments that were recently read or traded, and a few others."""
        symbols = self.vocabulary.values("symbol")
        listed = (self._terms_of(symbol) for symbol in symbols if isinstance(symbol, str))
        return [terms for terms in listed if terms is not None]

    def market(self, choices: Choices) -> Terms:
        """Return a market in which to place an order, usually one of few that accept orders."""
        markets, state = self.markets(), self.simulation.exchange.trading.state
        open_ = [terms for terms in markets if state(terms.symbol) in ENTRY_STATES]
        if open_ and choices.chance(7, 8):
            return choices.choice(open_[-4:])
        return choices.choice(markets)

    def symbol(self, choices: Choices) -> str:
        """Return a symbol, usually a known one, and often one of the hunt's own."""
        own = [symbol for symbol in self.vocabulary.values("symbol") if str(symbol).startswith(OWN)]
        if own and choices.chance(1, 2):
            return str(choices.choice(own))
        return str(self.vocabulary.draw(choices, "symbol", ""))

    def state(self, choices: Choices, symbol: str) -> str:
        """Return a state to ask for, usually one that can follow (rule L10)."""
        if symbol not in self.simulation.exchange.instruments or choices.chance(1, 6):
            return choices.choice(STATES)
        current = self.simulation.exchange.trading.state(symbol)
        return choices.choice([*(end.name for start, end in EDGES if start is current), "SCHEDULE"])

    def account(self, choices: Choices) -> str:
        return str(self.vocabulary.draw(choices, "account", ""))

    def related(self) -> Sequence[Terms]:
        instruments = self.simulation.exchange.instruments
        related = [each for each in instruments if each.related is not None]
        return [_terms(each) for each in related[:3]]

    def dollars(self, user: User) -> int:
        return self.simulation.exchange.trading.ledger.balance(user.account) // CASH_SCALE

    def resume_token(self, stream: str) -> str:
        return self.tokens.get(stream, "")

    def recent(self, choices: Choices, values: Iterable[object]) -> str:
        """Return one of the last six values, or an unknown one if there is none."""
        return str(choices.choice([*values][-6:] or ["nope"]))

    def _terms_of(self, symbol: str) -> Terms | None:
        """Return cached terms: those of a recurring market take long to compute."""
        if symbol not in self._terms:
            instrument = self.simulation.exchange.instruments.get(symbol)
            if instrument is None:
                return None
            self._terms[symbol] = _terms(instrument)
        return self._terms[symbol]


def _terms(instrument: Instrument) -> Terms:
    return Terms(
        instrument.symbol,
        instrument.tick,
        instrument.price_scale,
        instrument.qty_scale,
        instrument.min_qty,
        instrument.price_low,
        instrument.price_high,
    )
