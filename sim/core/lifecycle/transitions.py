"""Carries out the effects of a change of state, in the order of `states.Effect`, all at one
instant: executions and payments first, then the change itself, then what continuous trading makes
of it (§3.1, §1.4 of the rules).
"""

from __future__ import annotations

from collections.abc import Callable

from sim.core.accounts.positions import Positions
from sim.core.catalogue.assumptions import AUCTION_TIEBREAK, COLLAPSE_TO_EXPIRED
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.schedule import Phase
from sim.core.lifecycle.settlement import Settlements
from sim.core.lifecycle.states import EDGES, ENTRY_STATES, EXPIRED_STATES, Effect
from sim.core.market_data.statistics import Statistics
from sim.core.matching.auction import Auction, equilibrium_price
from sim.core.matching.book import Book
from sim.core.matching.books import Books
from sim.core.matching.matching import Matching
from sim.core.model.context import Context
from sim.core.model.enums import DAY_ORDER, ExecutionType, InstrumentState, UnsolicitedReason
from sim.core.model.events import StateChanged
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import Price

_S = InstrumentState
# What an instrument passes through when its dates expire or terminate it (rule L9).
_DATE_PATH = (_S.CLOSED, _S.EXPIRED, _S.TERMINATED)


class Transitions:
    """Moves instruments along edges."""

    def __init__(
        self,
        ctx: Context,
        lifecycle: Lifecycle,
        *,
        books: Books,
        matching: Matching,
        auction: Auction,
        positions: Positions,
        settlements: Settlements,
        statistics: Statistics,
        resolution: Resolution,
    ) -> None:
        self._ctx = ctx
        self._lifecycle = lifecycle
        self._books = books
        self._matching = matching
        self._auction = auction
        self._positions = positions
        self._settlements = settlements
        self._statistics = statistics
        self._resolution = resolution

    def enter(self, instrument: Instrument, target: InstrumentState) -> None:
        """Take one edge with its effects; nothing happens where the state is the present one."""
        symbol = instrument.symbol
        was = self._lifecycle.state(symbol)
        if target is was:
            return
        effects = EDGES[was, target].effects
        if Effect.BEGIN_SESSION in effects:
            self._statistics.opened(symbol)
        if Effect.UNCROSS in effects:
            self._uncross(symbol)
        if Effect.EXPIRE_DAY_ORDERS in effects:
            self._statistics.closed(symbol, self._ctx.now)
            self.end_orders(symbol, ExecutionType.EXPIRED, lambda order: order.tif is DAY_ORDER)
        if Effect.EXPIRE_ORDERS in effects:
            self.end_orders(symbol, ExecutionType.EXPIRED)
        if Effect.CANCEL_ORDERS in effects:
            self.end_orders(symbol, ExecutionType.CANCELED)
        if Effect.RESOLVE_POSITIONS in effects:
            self._resolve_positions(instrument)
        self._lifecycle.enter(symbol, target)
        self._ctx.emit(StateChanged(symbol, was, target, self._ctx.now))
        self._books.state_changed(symbol)
        book = self._books.touched(symbol)
        if book is not None:
            self._matching.follow_up(book, release_stops=Effect.RELEASE_STOPS in effects)
        if Effect.AWAIT_SETTLEMENT in effects:
            self._settlements.closed(symbol, self._ctx.now)
        if Effect.POSTPONE_SETTLEMENT in effects:
            self._settlements.reopened(symbol)

    def follow(self, instrument: Instrument, *, edge: bool = False) -> None:
        """Do what dates ask for now, and what the schedule asks for unless an operator pinned the
        instrument (rules L5-L9).

        At an `edge`, a segment also does what it does when it begins. Whoever follows the schedule
        in the middle of a segment only takes its state.
        """
        symbol = instrument.symbol
        state = self._lifecycle.state(symbol)
        phase = self._lifecycle.scheduled(instrument)
        if phase.state in EXPIRED_STATES:
            if state is not _S.TERMINATED and state is not phase.state:
                self._enter_by_date(instrument, phase.state)
        elif state not in EXPIRED_STATES and not self._lifecycle.is_pinned(symbol):
            self._enter_by_schedule(instrument, phase, edge)
        self._lifecycle.await_edge(instrument)

    def end_orders(
        self, symbol: str, type: ExecutionType, which: Callable[[Order], bool] = lambda order: True
    ) -> int:
        """End working orders of an instrument, oldest first; returns how many. Clients see a cancel
        of this kind as unsolicited.
        """
        book = self._books.touched(symbol)
        if book is None:
            return 0
        ending = [order for order in book.working() if which(order)]
        unsolicited = UnsolicitedReason.UNDEFINED
        if type is ExecutionType.CANCELED:
            unsolicited = UnsolicitedReason.EXCHANGE_OPTION
        for order in ending:
            self._matching.remove(book, order, type, unsolicited=unsolicited)
        return len(ending)

    def indicative(self, symbol: str, book: Book) -> Price | None:
        """At what price an auction that ended now would trade."""
        expected = equilibrium_price(book, self._reference(symbol), self._tiebreak)
        return expected.price if expected is not None else None

    def _enter_by_date(self, instrument: Instrument, target: InstrumentState) -> None:
        """Become EXPIRED or TERMINATED through the states in between."""
        state = self._lifecycle.state(instrument.symbol)
        path = list(_DATE_PATH[: _DATE_PATH.index(target) + 1])
        if state in path:
            path = path[path.index(state) + 1 :]
        elif not self._ctx.assumptions.flag(COLLAPSE_TO_EXPIRED):
            path.remove(_S.CLOSED)
        for step in path:
            self.enter(instrument, step)

    def _enter_by_schedule(self, instrument: Instrument, phase: Phase, edge: bool) -> None:
        symbol = instrument.symbol
        target = phase.state
        if target is _S.PENDING and self._lifecycle.state(symbol) is not _S.PENDING:
            target = _S.CLOSED  # PENDING is never entered again
        if target in ENTRY_STATES and self._settlements.final(symbol):
            target = _S.CLOSED  # an instrument that has paid does not trade again
        if phase.expire_all and edge:
            self.end_orders(symbol, ExecutionType.EXPIRED)
        if phase.hide is not self._lifecycle.is_hidden(symbol):
            self._lifecycle.set_hidden(symbol, phase.hide)
            self._books.state_changed(symbol)
        self.enter(instrument, target)

    def _uncross(self, symbol: str) -> None:
        book = self._books.touched(symbol)
        if book is not None and book.crossed:
            self._auction.uncross(book, self._reference(symbol), self._tiebreak)

    @property
    def _tiebreak(self) -> str:
        return self._ctx.assumptions.text(AUCTION_TIEBREAK)

    def _reference(self, symbol: str) -> Price | None:
        """Reference price of an auction: the last trade, else the settlement (rule L17)."""
        last = self._statistics.last_price(symbol)
        if last is None and (settled := self._settlements.get(symbol)) is not None:
            return settled.price
        return last

    def _resolve_positions(self, instrument: Instrument) -> None:
        """Termination pays positions at the known outcome, else at the preliminary price, else at
        what `Resolution.in_the_end` says.

        Where nobody has a position nothing is recorded: the settlement is computed when somebody
        asks.
        """
        symbol = instrument.symbol
        if self._settlements.final(symbol):
            return
        known = self._settlements.outcome(symbol) or self._settlements.get(symbol)
        if known is not None:
            self._settlements.finalise(instrument, known.price, known.text)
        elif self._positions.open_interest.get(symbol):
            self._settlements.finalise(instrument, *self._resolution.in_the_end(instrument))
