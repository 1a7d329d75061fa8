"""What an edge of the lifecycle does to orders, trades and money, and in which order it is told
(§3.1, §1.4 of the rules).

First the effects as executions and pay-outs, then the state change, then whatever continuous
trading makes of it; all at one instant.
"""

from __future__ import annotations

from collections.abc import Callable

from sim.core.accounts.positions import Positions
from sim.core.catalogue.assumptions import AUCTION_TIEBREAK, COLLAPSE_TO_EXPIRED
from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.schedule import Phase
from sim.core.lifecycle.settlement import Settlements
from sim.core.lifecycle.states import ENTRY_STATES, GONE_STATES, SETTLED_STATES, Lifecycle
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
_SESSION_BEGINS_FROM = frozenset({_S.PENDING, _S.PREOPEN, _S.CLOSED})


class Transitions:
    """Moves instruments along edges."""

    __slots__ = (
        "_auction",
        "_books",
        "_ctx",
        "_lifecycle",
        "_matching",
        "_positions",
        "_resolution",
        "_settlements",
        "_statistics",
    )

    def __init__(
        self,
        ctx: Context,
        lifecycle: Lifecycle,
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
        """Take one edge with its effects. Entering the present state is nothing."""
        symbol = instrument.symbol
        was = self._lifecycle.state(symbol)
        if target is was:
            return
        if target is _S.OPEN and was in _SESSION_BEGINS_FROM:
            self._statistics.opened(symbol)
        if was is _S.MATCH_AND_CLOSE_AUCTION or target is _S.OPEN:
            self._uncross(symbol)
        if target is _S.CLOSED:
            self._statistics.closed(symbol, self._ctx.now)
            self.end_orders(symbol, ExecutionType.EXPIRED, lambda order: order.tif is DAY_ORDER)
        elif target is _S.EXPIRED:
            self.end_orders(symbol, ExecutionType.EXPIRED)
        elif target is _S.TERMINATED:
            self.end_orders(symbol, ExecutionType.CANCELED)
            self._close_positions(instrument)
        self._lifecycle.enter(symbol, target)
        self._ctx.emit(StateChanged(symbol, was, target, self._ctx.now))
        self._books.state_changed(symbol)
        self._after(instrument, was, target)

    def enter_date_state(self, instrument: Instrument, target: InstrumentState) -> None:
        """EXPIRED or TERMINATED by date: the states in between are passed in the same instant (rule
        L9).
        """
        path = (
            [_S.CLOSED, _S.EXPIRED]
            if target is _S.EXPIRED
            else [_S.CLOSED, _S.EXPIRED, _S.TERMINATED]
        )
        state = self._lifecycle.state(instrument.symbol)
        if state in path:
            path = path[path.index(state) + 1 :]
        elif not self._ctx.assumptions.flag(COLLAPSE_TO_EXPIRED):
            path = path[1:]
        for step in path:
            self.enter(instrument, step)

    def follow(self, instrument: Instrument, *, edge: bool = False) -> None:
        """Do what dates ask for now, and what the schedule asks for unless an operator holds the
        instrument (rules L5-L9).

        At an `edge` a segment does what it does as it begins; who comes to follow the schedule in
        its middle only takes its state.
        """
        symbol = instrument.symbol
        state = self._lifecycle.state(symbol)
        phase = self._lifecycle.scheduled(instrument)
        if phase.state in GONE_STATES:
            if state is not _S.TERMINATED and state is not phase.state:
                self.enter_date_state(instrument, phase.state)
        elif state not in GONE_STATES and not self._lifecycle.is_pinned(symbol):
            self._apply(instrument, phase, edge)
        self._lifecycle.await_edge(instrument)

    def end_orders(
        self, symbol: str, type: ExecutionType, which: Callable[[Order], bool] = lambda order: True
    ) -> int:
        """End working orders of an instrument, oldest first. A cancel of this kind is the
        exchange's own doing. Returns how many ended.
        """
        book = self._books.touched(symbol)
        if book is None:
            return 0
        ending = [order for order in book.working() if which(order)]
        unsolicited = (
            UnsolicitedReason.EXCHANGE_OPTION
            if type is ExecutionType.CANCELED
            else UnsolicitedReason.UNDEFINED
        )
        for order in ending:
            self._matching.remove(book, order, type, unsolicited=unsolicited)
        return len(ending)

    def _apply(self, instrument: Instrument, phase: Phase, edge: bool) -> None:
        symbol = instrument.symbol
        target = phase.state
        if target is _S.PENDING and self._lifecycle.state(symbol) is not _S.PENDING:
            target = _S.CLOSED  # PENDING is never entered again
        if target in ENTRY_STATES and self._settlements.final(symbol):
            target = _S.CLOSED  # what has paid does not trade again
        if phase.expire_all and edge:
            self.end_orders(symbol, ExecutionType.EXPIRED)
        if phase.hide is not self._lifecycle.is_hidden(symbol):
            self._lifecycle.set_hidden(symbol, phase.hide)
            self._books.state_changed(symbol)
        self.enter(instrument, target)

    def _uncross(self, symbol: str) -> None:
        book = self._books.touched(symbol)
        if book is not None and book.crossed:
            self._auction.uncross(
                book, self._reference(symbol), self._ctx.assumptions.text(AUCTION_TIEBREAK)
            )

    def indicative(self, symbol: str, book: Book) -> Price | None:
        """At what price an auction that ended now would trade."""
        expected = equilibrium_price(
            book, self._reference(symbol), self._ctx.assumptions.text(AUCTION_TIEBREAK)
        )
        return expected.price if expected is not None else None

    def _reference(self, symbol: str) -> Price | None:
        """Reference price of an auction: the last trade, else the settlement (rule L17)."""
        last = self._statistics.last_price(symbol)
        if last is None:
            settled = self._settlements.get(symbol)
            return settled.price if settled is not None else None
        return last

    def _after(self, instrument: Instrument, was: InstrumentState, target: InstrumentState) -> None:
        symbol = instrument.symbol
        book = self._books.touched(symbol)
        if book is not None:
            self._matching.follow_up(book, release_stops=target is _S.OPEN)
        if target is _S.CLOSED:
            self._settlements.closed(symbol, self._ctx.now)
        elif was is _S.CLOSED and target not in SETTLED_STATES:
            self._settlements.reopened(symbol)

    def _close_positions(self, instrument: Instrument) -> None:
        """Termination closes positions: at the known outcome, else at the preliminary price, else
        at what the market is worth in the end.

        Where nobody has a position nothing is written down: the settlement is read when somebody
        asks.
        """
        symbol = instrument.symbol
        if self._settlements.final(symbol):
            return
        outcome = self._settlements.outcome(symbol)
        preliminary = self._settlements.get(symbol)
        if outcome is not None:
            self._settlements.finalise(instrument, outcome.price, outcome.text)
        elif preliminary is not None:
            self._settlements.finalise(instrument, preliminary.price, preliminary.text)
        elif self._positions.open_interest.get(symbol):
            self._settlements.finalise(instrument, *self._resolution.in_the_end(instrument))
