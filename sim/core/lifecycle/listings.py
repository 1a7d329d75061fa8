"""What operators, the clock and recorded outcomes do to an instrument from listing to settlement.

`transitions.py` takes the edges between states.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.core.catalogue.assumptions import SETTLEMENT_AUTO_EXPIRE
from sim.core.lifecycle.lifecycle import Lifecycle
from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.settlement import SETTLEMENT_TIMER, Settlement, Settlements
from sim.core.lifecycle.states import ENTRY_STATES, OVER_STATES, check_move
from sim.core.lifecycle.transitions import Transitions
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.market_data.statistics import Statistics
from sim.core.matching.books import OrderBooks
from sim.core.matching.clearing import Clearing
from sim.core.model.context import Context
from sim.core.model.dormant import DormantInstruments
from sim.core.model.enums import ExecutionType, InstrumentState, Side
from sim.core.model.events import InstrumentListed, Settled
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Trade
from sim.core.model.quantities import Price, decimal_text
from sim.core.model.refusals import AlreadyExists, Conflict, IllegalTransition, InvalidRequest
from sim.core.model.timer_priority import DORMANT_TIMER, EDGE_TIMER
from sim.core.model.why import Why, because
from sim.kernel.timers import Timer, TimerHandlers

_BY_OPERATOR, _MAINTENANCE, _SETTLEMENT = Why("L5"), Why("W2"), Why("L25")
_LISTED = Why("T1")


@dataclass(slots=True, eq=False)
class Listings:
    """Lists, opens, halts, closes and settles instruments."""

    ctx: Context
    instruments: Instruments
    lifecycle: Lifecycle
    transitions: Transitions
    settlements: Settlements
    clearing: Clearing
    statistics: Statistics
    books: OrderBooks
    execution_log: ExecutionLog
    resolution: Resolution

    # ---- listing and states

    def list_instrument(self, instrument: Instrument, *, announce: bool = False) -> None:
        """List an instrument and wait for its next edge.

        With `announce`, streams that follow every instrument receive an event. Refuses invalid
        terms and a symbol that is already listed.
        """
        symbol = instrument.symbol
        if problems := instrument.problems():
            raise InvalidRequest(f"{symbol}: " + "; ".join(problems), rule="M3")
        if self.lifecycle.listed(symbol):
            raise AlreadyExists(f"instrument {symbol} already exists")
        self.instruments.add(instrument)
        if instrument.opening_state is None:
            self.settle_unlisted(instrument)
        self.lifecycle.list_instrument(instrument)
        self.books.event_changed(instrument)
        if announce:
            state = self.lifecycle.state(symbol)
            self.ctx.emit(InstrumentListed(symbol, state, self.ctx.now, _LISTED.rule))

    def set_world_start(self, dormant: DormantInstruments) -> None:
        """Fix the initial world: the instruments listed so far and the dormant ones."""
        self.instruments.set_world_start(dormant)
        self.lifecycle.await_dormant()

    def change_state(
        self,
        symbol: str,
        state: InstrumentState | None,
        *,
        pin: bool = True,
        why: Why = _BY_OPERATOR,
    ) -> InstrumentState:
        """Move an instrument by hand and pin it there; None unpins it (rule L5). Return its former
        state.

        Maintenance moves without `pin`, so that the schedule stays in charge. Refuses edges that an
        operator may not take, and reopening an instrument that has settled (rule L10).
        """
        instrument = self.instruments.require(symbol)
        was = self.lifecycle.state(symbol)
        if state is None:
            self.lifecycle.unpin(symbol)
            self._follow(instrument, why=_BY_OPERATOR)
            return was
        if state is not was:
            check_move(symbol, was, state)
            if state in ENTRY_STATES and self.settlements.final(symbol):
                raise IllegalTransition(f"{symbol} is settled and cannot trade again", rule="L10")
            self._enter(instrument, state, why)
        if pin:
            self.lifecycle.pin(symbol)
        else:
            self.lifecycle.await_edge(instrument)
        return was

    def reopen(self, symbol: str, why: Why) -> None:
        """Open an instrument that an operator opened, or move it to where its schedule has it."""
        if self.lifecycle.is_pinned(symbol):
            self.change_state(symbol, InstrumentState.OPEN, pin=False, why=why)
        else:
            self._follow(self.instruments.require(symbol), why=why)

    def follow(self, symbol: str) -> None:
        """Move an instrument to the state that its dates demand, after they have changed."""
        self._follow(self.instruments.require(symbol))

    def _enter(self, instrument: Instrument, state: InstrumentState, why: Why) -> None:
        """Change a state. Trades of an auction that this ends will clear."""
        self.transitions.enter(instrument, state, why)
        self.clearing.wait()

    def _follow(
        self, instrument: Instrument, *, edge: bool = False, why: Why | None = None
    ) -> None:
        """Follow dates and schedule. Trades of an auction that this ends will clear."""
        self.transitions.follow(instrument, edge=edge, why=why)
        self.clearing.wait()

    def cancel_all(self, symbols: tuple[str, ...] = ()) -> int:
        """Cancel every open order, or those of some symbols, and return how many (rule W2).

        Clients see the cancels as unsolicited. The state of the instrument does not matter.
        """
        return sum(
            self.transitions.end_orders(symbol, ExecutionType.CANCELED, _MAINTENANCE)
            for symbol in symbols or self.books.among(self.lifecycle.symbols())
        )

    # ---- settlement

    def settle(
        self, symbol: str, price: Price, *, text: str = "", preliminary: bool = False
    ) -> int:
        """Set the settlement price now, and pay unless it is preliminary.

        An open instrument is closed first. Returns how many accounts were resolved. Settling again
        at another price is a correction (rule L27).
        """
        instrument = self.instruments.require(symbol)
        self.settlements.check(instrument, price, preliminary)
        if self.lifecycle.state(symbol) not in OVER_STATES:
            self._enter(instrument, InstrumentState.CLOSED, _SETTLEMENT)
            self.lifecycle.pin(symbol)
        paid = 0
        if preliminary:
            self.settlements.announce(instrument, price, text)
        else:
            paid = self.settlements.finalise(instrument, price, text)
            self._expire_settled(instrument)
        self.books.state_changed(symbol)
        return paid

    def fair_price(self, symbol: str) -> Price:
        """Return the last fair price, rounded to the tick.

        That is the price of the last trade, else the midpoint of the book, else half a dollar.
        """
        instrument = self.instruments.require(symbol)
        last = self.statistics.last_price(symbol)
        if last is not None:
            return last
        book = self.books.get(symbol)
        bids, offers = book.levels(Side.BUY, 1), book.levels(Side.SELL, 1)
        total = bids[0][0] + offers[0][0] if bids and offers else instrument.price_scale
        return total // 2 // instrument.tick * instrument.tick

    def record_outcome(
        self, symbol: str, price: Price, text: str = "", *, decided_by: str = "L25"
    ) -> None:
        """Announce an outcome. It becomes the settlement some time after the close (rule L25).

        `decided_by` is the rule that found the outcome: L29 for the facts of a game.
        """
        instrument = self.instruments.require(symbol)
        closed_at = self.lifecycle.closed_at(symbol)
        if closed_at is None and self.lifecycle.state(symbol) in OVER_STATES:
            closed_at = self.ctx.now
        self.settlements.record(instrument, price, text, closed_at)
        worth = decimal_text(price, instrument.price_scale)
        self.ctx.apply(because(decided_by, price=worth, outcome=text), symbol)

    def settle_leg(self, symbol: str) -> None:
        """Settle a terminated leg of a combo that nobody holds, since the combo depends on it."""
        if self.settlements.newest_record(symbol) is None:
            price, text = self.resolution.at_termination(self.instruments.require(symbol))
            now = self.ctx.now
            self.settlements.record_computed(symbol, Settlement(price, False, text, now))
            self.ctx.emit(Settled(symbol, price, False, text, now, _SETTLEMENT.rule))

    def settle_unlisted(self, instrument: Instrument) -> None:
        """Prepare the settlement of an instrument that is about to be listed or materialised.

        Records a settlement that it has reached by itself, or waits for one if trading is over.
        """
        symbol = instrument.symbol
        settled = self.settlements.get(symbol)
        if settled is not None:
            self.settlements.record_computed(symbol, settled)
        closes = self.lifecycle.dates.closes(instrument)
        if not closes or self.settlements.get(symbol) is not None:
            return
        if self.lifecycle.dormant_state(instrument) in OVER_STATES:
            outcome = self.resolution.decided(instrument)
            if outcome is not None:
                closed_at = self.lifecycle.dates.defer_past_maintenance(closes)
                self.settlements.record(instrument, *outcome, closed_at)

    def _conclude(self, instrument: Instrument) -> None:
        """Record the outcome once the deciding index or game is over, unless already settled."""
        symbol, measures = instrument.symbol, instrument.index_condition
        over = self.lifecycle.dates.event_end(instrument) if measures is None else measures.ends
        if not over or self.ctx.now < over:
            return
        if self.settlements.outcome(symbol) or self.settlements.get(symbol):
            return
        outcome = self.resolution.decided(instrument)
        if outcome is not None:
            rule = "L29" if measures is None else "L25"
            self.record_outcome(symbol, *outcome, decided_by=rule)

    def _expire_settled(self, instrument: Instrument) -> None:
        if self.ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE):
            if self.lifecycle.state(instrument.symbol) is InstrumentState.CLOSED:
                self.transitions.enter(instrument, InstrumentState.EXPIRED, _SETTLEMENT)

    def bust(self, trade_id: str) -> Trade:
        """Undo a trade (rule M42). Refused once its instrument has settled."""
        trade = self.execution_log.require_trade(trade_id)
        symbol = trade.symbol
        if self.settlements.final(symbol):
            raise Conflict(f"{symbol} is settled; correct its price instead", rule="M42")
        self.clearing.bust(trade_id)
        trades = self.execution_log.trades
        self.statistics.busted(symbol, (trades[seq] for seq in trades.of_symbol(symbol)))
        self.books.state_changed(symbol)
        return trade

    # ---- time

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {
            EDGE_TIMER: self._take_edge,
            DORMANT_TIMER: self._take_dormant_edges,
            SETTLEMENT_TIMER: self._step_settlement,
        }

    def _take_edge(self, timer: Timer) -> None:
        instrument = self.instruments.require(timer.subject)
        self._follow(instrument, edge=True)
        self._conclude(instrument)

    def _take_dormant_edges(self, _timer: Timer) -> None:
        for instrument in self.lifecycle.materialise_due():
            self._follow(instrument)
            self._conclude(instrument)
        self.lifecycle.await_dormant()

    def _step_settlement(self, timer: Timer) -> None:
        instrument = self.instruments.require(timer.subject)
        if self.settlements.step(instrument):
            self._expire_settled(instrument)
        self.books.state_changed(timer.subject)
