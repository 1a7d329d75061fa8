"""What a move draws from in a hunt: the exchange as it is now, and a vocabulary of the values of
which requests are made: what exists, what answers named, and what is just wrong.

A value is found by the name of the field that needs it. Names with the same meaning share their
values (`_SAME`), and the `id` of an operation about quotes is found as a `quote_id`. Every answer
and frame adds values under the names of its fields.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

from sim.core.identity.firms import User
from sim.core.lifecycle.states import EDGES, ENTRY_STATES
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CASH_SCALE
from sim.kernel.entropy import Choices
from sim.kernel.instants import Instant
from sim.run.simulation import Simulation
from sim.search.moves.view import STATES, Terms, View

OWN = "hunt-"  # how the symbols of the hunt's own markets begin
KEPT = 12  # values kept for a name
_LEAVES_MAX = 60  # values read from one answer
_SAME = {
    "market_slug": "symbol",
    "market_slugs": "symbol",
    "symbols": "symbol",
    "slugs": "symbol",
    "instrument": "symbol",
    "participant_account_id": "account",
    "account_id": "account",
    "accounts": "account",
    "participant_id": "user",
    "user_id": "user",
    "order_ids": "order_id",
    "orig_order_id": "order_id",
    "execution_id": "exec_id",
    "combo_id": "symbol",
    "next_page_token": "page_token",
    "next_cursor": "cursor",
    "eof_cursor": "cursor",
}
_WRONG = ("", "nope", "0", "-1", "firms/nobody/accounts/x", "ünï", "x" * 300, "NaN", "null")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_VERB = re.compile(
    r"^(Get|List|Create|Delete|Accept|Confirm|Cancel|Update|Search|Download|Modify|Check|Submit)"
)


class Vocabulary:
    """Values by the names of fields."""

    def __init__(self, simulation: Simulation) -> None:
        self._values: dict[str, deque[Any]] = {}
        exchange, parties = simulation.exchange, simulation.world.parties
        for instrument, _ in zip(exchange.instruments, range(KEPT), strict=False):
            self.add("symbol", instrument.symbol)
        for firm in exchange.firms.all():
            for user in firm.users[:3]:
                self.add("account", user.account)
                self.add("user", user.name)
        for key in parties.api_keys:
            self.add("account", key.account)

    def add(self, name: str, value: Any) -> None:
        """Add a value of a name."""
        values = self._values.setdefault(name, deque(maxlen=KEPT))
        if value not in values:
            values.append(value)

    def learn(self, answer: Any, operation: str) -> None:
        """Add the values of an answer, which is JSON."""
        for name, value in _leaves(answer, _subject(operation)):
            self.add(_SAME.get(name, name), value)

    def values(self, name: str) -> list[Any]:
        """Return the values of a name, oldest first."""
        return list(self._values.get(_SAME.get(name, name), ()))

    def draw(self, choices: Choices, name: str, operation: str) -> Any:
        """Return a value for a text field, usually one that exists, newer ones more often."""
        subject = _subject(operation)
        names = [f"{subject}_{name}", name] if name in ("id", "slug", "name") else [name]
        if name.endswith("_id") and not self.values(name):
            names.append("id")
        for each in names:
            values = self.values(each)
            if values and choices.chance(11, 12):
                return values[-choices.log_between(1, len(values))]
        return choices.choice(_WRONG)


@cache
def _subject(operation: str) -> str:
    """Return the subject of an operation in one word: "quote" for RFQAPI.GetQuotes."""
    rpc = _VERB.sub("", operation.rpartition(".")[2]).partition("By")[0]
    return snake(rpc).removesuffix("s")


@cache
def snake(name: str) -> str:
    """Return a JSON name in the spelling of the contract."""
    return _CAMEL.sub("_", name).replace("RFQ", "rfq").lower()


def _leaves(answer: Any, subject: str) -> Iterator[tuple[str, Any]]:
    """Yield (name, value) for texts in an answer; an id also under the name of its object."""
    waiting, left = [(subject, answer)], _LEAVES_MAX
    while waiting and left:
        parent, value = waiting.pop()
        if isinstance(value, list):
            waiting += [(parent.removesuffix("s"), item) for item in value[:4]]
        elif isinstance(value, dict):
            for key, inner in value.items():
                name = snake(key)
                if isinstance(inner, dict | list):
                    waiting.append((name, inner))
                    if isinstance(inner, list) and inner and isinstance(inner[0], str):
                        yield name, inner[0]
                elif _is_value(inner):
                    left -= 1
                    if name in ("id", "slug", "name"):
                        yield f"{parent.removesuffix('s')}_{name}", inner
                    yield name, inner
                    if not left:
                        return


def _is_value(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= 1_000
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


# ---- the view


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
