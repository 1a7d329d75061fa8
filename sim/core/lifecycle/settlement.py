"""Settlement: an outcome becomes a price, the price becomes final, and final prices pay (rules P22,
L25-L27).

| Step | When |
|---|---|
| an outcome is recorded | at any time |
| it becomes the price | `settlement.delay_after_close` after the close |
| the price is preliminary | for `settlement.preliminary_for` |
| it is final and pays | at the end of that |

A later price is a correction: everybody who was paid gets the difference. A settlement that an
instrument reaches by itself and that pays nobody is not recorded; `resolution.py` computes it.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from sim.core.accounts.ledger import Ledger
from sim.core.accounts.positions import Positions
from sim.core.accounts.risk import Risk
from sim.core.catalogue.assumptions import SETTLEMENT_DELAY, SETTLEMENT_PRELIMINARY
from sim.core.model.context import Context
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import Settled
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import Price, Qty, decimal_text
from sim.core.model.refusals import Conflict, InvalidRequest
from sim.kernel.instants import Instant

SETTLEMENT_TIMER = "settlement.due"
_SETTLEMENT, _CORRECTION = "L25", "L27"
METHOD = "SETTLEMENT_PRICE_CALCULATION_METHOD_EVENT_TIER_1"


class Settlement(Struct):
    """The newest settlement record of an instrument (rule L27).

    `resolved` holds the net position for which each account was paid, once final.
    """

    price: Price
    preliminary: bool
    text: str
    set_at: Instant
    resolved: dict[str, Qty] = field(default_factory=dict)


class KnownOutcome(Struct):
    """A known outcome that waits to become the settlement."""

    price: Price
    text: str


class SettlementState(Struct):
    """The saved state of settlement. `timers` holds the seq of the next step by symbol."""

    settlements: dict[str, Settlement] = field(default_factory=dict)
    outcomes: dict[str, KnownOutcome] = field(default_factory=dict)
    timers: dict[str, int] = field(default_factory=dict)


class Settlements:
    """Outcomes and settlement records by symbol."""

    __slots__ = ("_by_itself", "_ctx", "_ledger", "_now", "_positions", "_risk")

    def __init__(
        self,
        ctx: Context,
        positions: Positions,
        ledger: Ledger,
        risk: Risk,
        by_itself: Callable[[str], Settlement | None],
    ) -> None:
        """Construct without records.

        `by_itself` computes the settlement of a symbol without a record.
        """
        self._ctx = ctx
        self._by_itself = by_itself
        self._positions = positions
        self._ledger = ledger
        self._risk = risk
        self._now = SettlementState()

    def get(self, symbol: str) -> Settlement | None:
        """Return the newest settlement, recorded or computed, or None."""
        return self._now.settlements.get(symbol) or self._by_itself(symbol)

    def newest_record(self, symbol: str) -> Settlement | None:
        """Return the newest record; None for a settlement that was only computed."""
        return self._now.settlements.get(symbol)

    def final(self, symbol: str) -> bool:
        """Return whether the instrument has settled for good."""
        settlement = self.get(symbol)
        return settlement is not None and not settlement.preliminary

    def record(
        self, instrument: Instrument, price: Price, text: str, closed_at: Instant | None
    ) -> None:
        """Record an outcome. Refused once the instrument has settled.

        `closed_at` is the instant at which the instrument closed; None while it trades, in which
        case the delay starts at the close.
        """
        check_price(instrument, price)
        if self.final(instrument.symbol):
            problem = f"{instrument.symbol} is settled"
            raise Conflict(problem, rule="L25", remedy="settle again to correct")
        self._now.outcomes[instrument.symbol] = KnownOutcome(price, text)
        if closed_at is not None:
            self.closed(instrument.symbol, closed_at)

    def check(self, instrument: Instrument, price: Price, preliminary: bool) -> None:
        """Refuse an invalid price, and a preliminary one once the instrument has settled."""
        check_price(instrument, price)
        if preliminary and self.final(instrument.symbol):
            remedy = "settle again with a final price to correct"
            raise Conflict(f"{instrument.symbol} is settled", rule="L27", remedy=remedy)

    def record_computed(self, symbol: str, settlement: Settlement) -> None:
        """Record a computed settlement. A preliminary one becomes final after its period."""
        self._now.settlements[symbol] = settlement
        if settlement.preliminary:
            wait = self._ctx.assumptions.number(SETTLEMENT_PRELIMINARY)
            self._schedule_step(symbol, settlement.set_at + wait)

    def outcome(self, symbol: str) -> KnownOutcome | None:
        """Return the outcome that waits to become the settlement, or None."""
        return self._now.outcomes.get(symbol)

    def closed(self, symbol: str, at: Instant) -> None:
        """Note that the instrument closed: a known outcome becomes its price after a delay."""
        if symbol in self._now.outcomes:
            due = at + self._ctx.assumptions.number(SETTLEMENT_DELAY)
            self._schedule_step(symbol, max(self._ctx.now, due))

    def reopened(self, symbol: str) -> None:
        """Note that the instrument trades again: its settlement waits for the next close.

        A preliminary price becomes an outcome again.
        """
        self._cancel(symbol)
        settlement = self._now.settlements.get(symbol)
        if settlement is not None and settlement.preliminary:
            self._now.outcomes.setdefault(symbol, KnownOutcome(settlement.price, settlement.text))
            del self._now.settlements[symbol]

    def step(self, instrument: Instrument) -> bool:
        """Take the step that is due: an outcome becomes a price, or a preliminary price becomes
        final.

        Returns True if it paid.
        """
        symbol = instrument.symbol
        self._now.timers.pop(symbol, None)
        outcome = self._now.outcomes.get(symbol)
        if outcome is None:
            settlement = self._now.settlements[symbol]
            self.finalise(instrument, settlement.price, settlement.text)
            return True
        wait = self._ctx.assumptions.number(SETTLEMENT_PRELIMINARY)
        if wait > 0:
            self.announce(instrument, outcome.price, outcome.text)
            self._schedule_step(symbol, self._ctx.now + wait)
            return False
        self.finalise(instrument, outcome.price, outcome.text)
        return True

    def announce(self, instrument: Instrument, price: Price, text: str) -> None:
        """Set a preliminary price, which pays nothing yet."""
        symbol = instrument.symbol
        self._cancel(symbol)
        self._now.outcomes.pop(symbol, None)
        self._now.settlements[symbol] = Settlement(price, True, text, self._ctx.now)
        self._ctx.emit(Settled(symbol, price, True, text, self._ctx.now, _SETTLEMENT))

    def finalise(self, instrument: Instrument, price: Price, text: str) -> int:
        """Make a price final and pay; if another one was final before, pay the difference (rule
        L27).

        Returns how many accounts were resolved.
        """
        symbol = instrument.symbol
        former = self.get(symbol)
        if former is not None and not former.preliminary:
            paid = sum(abs(net) for net in former.resolved.values()) // 2
            change = abs(price - former.price)
            self._ledger.check_debts(paid * change * instrument.cash_per_notional)
        self._cancel(symbol)
        self._now.outcomes.pop(symbol, None)
        self._now.settlements[symbol] = settlement = Settlement(price, False, text, self._ctx.now)
        corrects = former is not None and not former.preliminary
        rule = _CORRECTION if corrects else _SETTLEMENT
        self._ctx.emit(Settled(symbol, price, False, text, self._ctx.now, rule))
        if former is not None and not former.preliminary:
            settlement.resolved = former.resolved
            self._correct(instrument, former, price)
        self._resolve(instrument, settlement)
        return len(settlement.resolved)

    def save(self) -> SettlementState:
        """Return outcomes, records and timers."""
        return self._now

    def load(self, state: SettlementState) -> None:
        """Take a saved state."""
        self._now = state

    def _resolve(self, instrument: Instrument, settlement: Settlement) -> None:
        """Close every position at the price (P22): longs are paid, shorts pay."""
        symbol, price = instrument.symbol, settlement.price
        resolved = settlement.resolved
        for position in self._positions.in_symbol(symbol):
            account, net = position.account, position.net
            if net:
                resolved[account] = resolved.get(account, 0) + net
                nets = self._positions.resolve(position, price)
                self._risk.position_changed(account, instrument, nets)
                amount = net * price * instrument.cash_per_notional
                self._ledger.pay_out(account, amount, LedgerEntryType.RESOLUTION, symbol)

    def _correct(self, instrument: Instrument, former: Settlement, price: Price) -> None:
        """Pay everyone who was resolved the difference between two prices."""
        symbol, difference = instrument.symbol, price - former.price
        if difference:
            for account, net in former.resolved.items():
                self._positions.correct(account, symbol, net * difference, price)
                amount = net * difference * instrument.cash_per_notional
                self._ledger.pay_out(account, amount, LedgerEntryType.CORRECTION, symbol)

    def _schedule_step(self, symbol: str, due: Instant) -> None:
        self._cancel(symbol)
        self._now.timers[symbol] = self._ctx.timers.schedule(due, SETTLEMENT_TIMER, symbol)

    def _cancel(self, symbol: str) -> None:
        pending = self._now.timers.pop(symbol, 0)
        if pending:
            self._ctx.timers.cancel(pending)


def check_price(instrument: Instrument, price: Price) -> None:
    """Refuse a settlement price outside [0, 1] dollar; zero is a valid price (rule L26)."""
    if not 0 <= price <= instrument.price_scale:
        wrong = decimal_text(price, instrument.price_scale)
        problem = f"settlement price must be between 0 and 1, not {wrong}"
        raise InvalidRequest(problem, rule="L26")
