"""Applies the effects of a change of state, in the order of `states.Effect`, all at one instant.

Executions and payments come first, then the change itself, then its consequences for continuous
trading (§3.1, §1.4 of the rules).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sim.core.accounts.positions import Positions
from sim.core.catalogue.assumptions import AUCTION_TIEBREAK, COLLAPSE_TO_EXPIRED
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.schedule import Phase
from sim.core.lifecycle.settlement import Settlements
from sim.core.lifecycle.states import AUCTION_STATES, EDGES, ENTRY_STATES, EXPIRED_STATES, Effect
from sim.core.market_data.statistics import Statistics
from sim.core.matching.auction import Auction, equilibrium_price
from sim.core.matching.book import Book
from sim.core.matching.books import OrderBooks
from sim.core.matching.matching import Matching
from sim.core.model.context import Context
from sim.core.model.enums import DAY_ORDER, ExecutionType, InstrumentState, UnsolicitedReason
from sim.core.model.events import StateChanged
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, decimal_text
from sim.core.model.why import Why, because

_S = InstrumentState
_DAY_ENDED, _COLLAPSED, _BY_DATE = because("L12", ended_by="close"), Why("L9"), Why("L8")
_EXPIRED, _TERMINATED = because("L8", state="EXPIRED"), because("L8", state="TERMINATED")
_SEGMENT, _STARTS, _SETTLED, _MAINTENANCE = Why("L3"), Why("L6"), Why("L25"), Why("W2")
# The states through which dates lead an instrument that expires or terminates (rule L9).
_DATE_PATH = (_S.CLOSED, _S.EXPIRED, _S.TERMINATED)


@dataclass(slots=True, eq=False)
class Transitions:
    """Moves instruments along edges."""

    ctx: Context
    lifecycle: Lifecycle
    books: OrderBooks
    matching: Matching
    auction: Auction
    positions: Positions
    settlements: Settlements
    statistics: Statistics
    resolution: Resolution

    def enter(self, instrument: Instrument, target: InstrumentState, why: Why) -> None:
        """Take one edge with its effects. `why` is what demanded the change.

        Does nothing if the instrument is already in the state.
        """
        symbol = instrument.symbol
        was = self.lifecycle.state(symbol)
        if target is was:
            return
        effects = EDGES[was, target].effects
        if Effect.BEGIN_SESSION in effects:
            self.statistics.opened(symbol)
        if Effect.UNCROSS in effects:
            self._uncross(symbol, was, target)
        elif was is _S.PREOPEN:
            self.ctx.apply(because("L20", state=target.name), symbol)
        if Effect.EXPIRE_DAY_ORDERS in effects:
            self.statistics.closed(symbol, self.ctx.now)
            self.end_orders(
                symbol, ExecutionType.EXPIRED, _DAY_ENDED, lambda order: order.tif is DAY_ORDER
            )
        if Effect.EXPIRE_ORDERS in effects:
            self.end_orders(symbol, ExecutionType.EXPIRED, _EXPIRED)
        if Effect.CANCEL_ORDERS in effects:
            self.end_orders(symbol, ExecutionType.CANCELED, _TERMINATED)
        if Effect.RESOLVE_POSITIONS in effects:
            self._resolve_positions(instrument)
        self.lifecycle.enter(symbol, target)
        self.ctx.emit(StateChanged(symbol, was, target, self.ctx.now, why.rule, why.facts))
        self.books.state_changed(symbol)
        book = self.books.touched(symbol)
        if book is not None:
            self.matching.follow_up(book, release_stops=Effect.RELEASE_STOPS in effects)
        if Effect.AWAIT_SETTLEMENT in effects:
            self.settlements.closed(symbol, self.ctx.now)
        if Effect.POSTPONE_SETTLEMENT in effects:
            self.settlements.reopened(symbol)

    def follow(self, instrument: Instrument, *, edge: bool = False, why: Why | None = None) -> None:
        """Do what dates demand, and what the schedule demands unless an operator pinned the state
        (L5-L9).

        At an `edge`, the effects of the beginning of a segment apply too. Otherwise only its state
        is taken. `why` replaces the rule of the schedule, for an operator who follows it again.
        """
        symbol = instrument.symbol
        state = self.lifecycle.state(symbol)
        phase = self.lifecycle.scheduled(instrument)
        if phase.state in EXPIRED_STATES:
            if state is not _S.TERMINATED and state is not phase.state:
                self._enter_by_date(instrument, phase.state)
        elif state not in EXPIRED_STATES and not self.lifecycle.is_pinned(symbol):
            self._enter_by_schedule(instrument, phase, edge, why or phase.why)
        self.lifecycle.await_edge(instrument)

    def end_orders(
        self,
        symbol: str,
        type: ExecutionType,
        why: Why,
        which: Callable[[Order], bool] = lambda order: True,
    ) -> int:
        """End working orders of an instrument, oldest first, and return how many.

        Clients see a cancel of this kind as unsolicited.
        """
        book = self.books.touched(symbol)
        if book is None:
            return 0
        ending = [order for order in book.working() if which(order)]
        unsolicited = UnsolicitedReason.UNDEFINED
        if type is ExecutionType.CANCELED:
            unsolicited = UnsolicitedReason.EXCHANGE_OPTION
        for order in ending:
            self.matching.remove(book, order, type, why, unsolicited=unsolicited)
        return len(ending)

    def indicative(self, symbol: str, book: Book) -> Price | None:
        """Return the price at which an auction would trade if it ended now."""
        expected = equilibrium_price(book, self._reference(symbol), self._tiebreak)
        return expected.price if expected is not None else None

    def _enter_by_date(self, instrument: Instrument, target: InstrumentState) -> None:
        """Become EXPIRED or TERMINATED through the states in between."""
        state = self.lifecycle.state(instrument.symbol)
        path = list(_DATE_PATH[: _DATE_PATH.index(target) + 1])
        if state in path:
            path = path[path.index(state) + 1 :]
        elif not self.ctx.assumptions.flag(COLLAPSE_TO_EXPIRED):
            path.remove(_S.CLOSED)
        for step in path:
            self.enter(instrument, step, _COLLAPSED if step is _S.CLOSED else _BY_DATE)

    def _enter_by_schedule(
        self, instrument: Instrument, phase: Phase, edge: bool, why: Why
    ) -> None:
        symbol = instrument.symbol
        target = phase.state
        if target is _S.PENDING and self.lifecycle.state(symbol) is not _S.PENDING:
            target = _S.CLOSED  # PENDING is never entered again
        if target is not _S.CLOSED and self.settlements.final(symbol):
            target, why = _S.CLOSED, _SETTLED  # a settled instrument follows no segment
        if phase.expire_all and edge:
            self.end_orders(symbol, ExecutionType.EXPIRED, _SEGMENT)
        if phase.hide is not self.lifecycle.is_hidden(symbol):
            self.lifecycle.set_hidden(symbol, phase.hide)
            self.books.state_changed(symbol)
        opens = target is _S.OPEN and self.lifecycle.state(symbol) is not _S.OPEN
        if self.lifecycle.state(symbol) is _S.PENDING and target in ENTRY_STATES:
            why = _STARTS
        self.enter(instrument, target, why)
        if opens and self.lifecycle.suspends_openings:
            self.enter(instrument, _S.SUSPENDED, _MAINTENANCE)
            self.lifecycle.open_after_maintenance(symbol)

    def _uncross(self, symbol: str, was: InstrumentState, target: InstrumentState) -> None:
        """Run the auction at the end of a collecting state, and report how it ended (L21, L22)."""
        book = self.books.touched(symbol)
        if book is None or not (book.crossed or was in AUCTION_STATES):
            return
        reference, ended = self._reference(symbol), None
        if book.crossed:
            ended = self.auction.uncross(book, reference, self._tiebreak)
        if ended is not None:
            scale = book.instrument.price_scale
            facts = {"price": decimal_text(ended.price, scale)}
            if reference is not None:
                facts["reference"] = decimal_text(reference, scale)
            qty = decimal_text(ended.qty, book.instrument.qty_scale)
            self.ctx.apply(Why("L17", {**facts, "volume": qty}), symbol)
        if was in AUCTION_STATES:
            rule = "L21" if was is _S.PREOPEN else "L22"
            self.ctx.apply(because(rule, state=target.name), symbol)

    @property
    def _tiebreak(self) -> str:
        return self.ctx.assumptions.text(AUCTION_TIEBREAK)

    def _reference(self, symbol: str) -> Price | None:
        """Return the reference price of an auction: the last trade, else the settlement (L17)."""
        last = self.statistics.last_price(symbol)
        if last is None and (settled := self.settlements.get(symbol)) is not None:
            return settled.price
        return last

    def _resolve_positions(self, instrument: Instrument) -> None:
        """Pay positions at termination: at the known outcome, else at the preliminary price, else
        at `Resolution.at_termination`.

        Without positions nothing is recorded; the settlement is then computed on demand. A combo
        waits for its legs, which terminate no later than it (rule L13).
        """
        symbol = instrument.symbol
        if self.settlements.final(symbol) or instrument.market_type == "combo":
            return
        outcome = self.settlements.outcome(symbol) or self.settlements.get(symbol)
        if outcome is not None:
            self.settlements.finalise(instrument, outcome.price, outcome.text)
        elif self.positions.open_interest.get(symbol):
            self.settlements.finalise(instrument, *self.resolution.at_termination(instrument))
