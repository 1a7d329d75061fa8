"""Instruments from their listing to their settlement, as operators, the clock and recorded outcomes
move them, with everything an edge brings about.
"""

from __future__ import annotations

from sim.core.catalogue.assumptions import SETTLEMENT_AUTO_EXPIRE
from sim.core.lifecycle.resolution import Resolution
from sim.core.lifecycle.settlement import SETTLEMENT_TIMER, Settlements
from sim.core.lifecycle.states import ENTRY_STATES, SETTLED_STATES, Lifecycle, check_listing
from sim.core.lifecycle.transitions import Transitions
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.market_data.statistics import Statistics
from sim.core.matching.books import Books
from sim.core.matching.clearing import Clearing
from sim.core.model.context import Context
from sim.core.model.dormant import DormantInstruments
from sim.core.model.enums import ExecutionType, InstrumentState, Side
from sim.core.model.events import InstrumentListed, Settled
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Trade
from sim.core.model.quantities import Price
from sim.core.model.refusals import AlreadyExists, Conflict, IllegalTransition
from sim.core.model.timer_priority import EDGE_TIMER, SHELF_TIMER
from sim.kernel.timers import Timer, TimerHandlers


class Listings:
    """Lists, opens, halts, closes and settles instruments."""

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        lifecycle: Lifecycle,
        transitions: Transitions,
        settlements: Settlements,
        clearing: Clearing,
        statistics: Statistics,
        books: Books,
        execution_log: ExecutionLog,
        resolution: Resolution,
    ) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._lifecycle = lifecycle
        self._transitions = transitions
        self._settlements = settlements
        self._clearing = clearing
        self._statistics = statistics
        self._books = books
        self._execution_log = execution_log
        self._resolution = resolution

    def list_instrument(self, instrument: Instrument, *, tell: bool = False) -> None:
        """List an instrument and wait for its next edge; `tell` those who follow everything.
        Refuses unsound terms and a symbol that is listed.
        """
        check_listing(instrument)
        if self._lifecycle.listed(instrument.symbol):
            raise AlreadyExists(f"instrument {instrument.symbol} exists")
        self._instruments.add(instrument)
        self._lifecycle.list_instrument(instrument)
        self._books.event_changed(instrument)
        if tell:
            self._ctx.emit(
                InstrumentListed(
                    instrument.symbol, self._lifecycle.state(instrument.symbol), self._ctx.now
                )
            )

    def stock(self, shelf: DormantInstruments) -> None:
        """Everything listed so far is the beginning of the world, and so is what is on the shelf."""
        self._instruments.set_world_start(shelf)
        self._lifecycle.await_dormant()

    def change_state(
        self, symbol: str, state: InstrumentState | None, *, pin: bool = True
    ) -> InstrumentState:
        """Move an instrument by hand and hold it there, or, with None, let it follow its schedule
        again (rule L5). Returns the former state.

        Without `hold` the schedule keeps its say, as for maintenance. Refuses edges that do not
        exist (rule L10) and re-opening what has paid.
        """
        instrument = self._instruments.require(symbol)
        was = self._lifecycle.state(symbol)
        if state is None:
            self._lifecycle.unpin(symbol)
            self._transitions.follow(instrument)
            return was
        if state is not was:
            self._lifecycle.check_move(symbol, state)
            if state in ENTRY_STATES and self._settlements.final(symbol):
                raise IllegalTransition(f"{symbol} is settled and does not trade again", rule="L10")
            self._transitions.enter(instrument, state)
            self._clearing.wait()
        if pin:
            self._lifecycle.pin(symbol)
        else:
            self._lifecycle.await_edge(instrument)
        return was

    def follow(self, symbol: str) -> None:
        """Do what dates ask for now, after they have become others."""
        self._transitions.follow(self._instruments.require(symbol))

    def cancel_all(self, symbols: tuple[str, ...] = ()) -> int:
        """Cancel every open order, or those of some symbols, unsolicited, whatever the state (rule
        W2). Returns how many.
        """
        wanted = symbols or self._books.among(self._lifecycle.symbols())
        return sum(
            self._transitions.end_orders(symbol, ExecutionType.CANCELED) for symbol in wanted
        )

    # ---- settlement and clearing

    def settle(
        self, symbol: str, price: Price, *, text: str = "", preliminary: bool = False
    ) -> int:
        """Set the settlement price now, closing first where still open; pay unless preliminary.
        Returns how many accounts were resolved.

        Settling again at another price is a correction (rule L27).
        """
        instrument = self._instruments.require(symbol)
        self._settlements.check(instrument, price, preliminary)
        if self._lifecycle.state(symbol) not in SETTLED_STATES:
            self._transitions.enter(instrument, InstrumentState.CLOSED)
            self._lifecycle.pin(symbol)
        if preliminary:
            self._settlements.announce(instrument, price, text)
            paid = 0
        else:
            paid = self._settlements.finalise(instrument, price, text)
            self._finalised(instrument)
        self._books.state_changed(symbol)
        return paid

    def fair_price(self, symbol: str) -> Price:
        """The last fair price: the last trade's, else the middle of the book, else half a dollar;
        on the tick.
        """
        instrument = self._instruments.require(symbol)
        last = self._statistics.last_price(symbol)
        if last is not None:
            return last
        book = self._books.get(symbol)
        sides = [book.levels(side, 1) for side in (Side.BUY, Side.SELL)]
        middle = (
            (sides[0][0][0] + sides[1][0][0]) // 2 if all(sides) else instrument.price_scale // 2
        )
        return middle // instrument.tick * instrument.tick

    def record_outcome(self, symbol: str, price: Price, text: str = "") -> None:
        """Make an outcome known: it settles some time after the close (rule L25)."""
        instrument = self._instruments.require(symbol)
        closed_at = self._lifecycle.closed_at(symbol)
        if closed_at is None and self._lifecycle.state(symbol) in SETTLED_STATES:
            closed_at = self._ctx.now
        self._settlements.record(instrument, price, text, closed_at)

    def leaves_shelf(self, instrument: Instrument) -> None:
        """What has settled by itself is written down, and what has closed waits for its settlement."""
        symbol = instrument.symbol
        self.write_down(symbol)
        closes = self._lifecycle.closes(instrument)
        if (
            closes
            and self._settlements.get(symbol) is None
            and self._lifecycle.dormant_state(instrument) in SETTLED_STATES
        ):
            known = self._resolution.known(instrument)
            if known is not None:
                self._settlements.record(
                    instrument, *known, self._lifecycle.defer_past_maintenance(closes)
                )

    def write_down(self, symbol: str, *, tell: bool = False) -> None:
        """Keep the settlement that an instrument came to by itself, if it has one; with `tell` as
        an event.
        """
        settled = self._settlements.get(symbol)
        if settled is not None:
            self._settlements.keep(symbol, settled)
            if tell:
                self._ctx.emit(
                    Settled(symbol, settled.price, settled.preliminary, settled.text, self._ctx.now)
                )

    def _conclude(self, instrument: Instrument) -> None:
        """Once what a market asks of its index or of its game is over, its outcome is known, unless
        somebody has settled it already.
        """
        symbol = instrument.symbol
        over = (
            self._lifecycle.event_end(instrument)
            if instrument.index_condition is None
            else instrument.index_condition.ends
        )
        if (
            not over
            or self._ctx.now < over
            or self._settlements.outcome(symbol)
            or self._settlements.get(symbol)
        ):
            return
        known = self._resolution.known(instrument)
        if known is not None:
            self.record_outcome(symbol, *known)

    def bust(self, trade_id: str) -> Trade:
        """Undo a trade (rule M42). Refused once its instrument has paid."""
        trade = self._execution_log.require_trade(trade_id)
        if self._settlements.final(trade.symbol):
            raise Conflict(f"{trade.symbol} is settled; correct its price instead", rule="M42")
        self._clearing.bust(trade_id)
        trades = self._execution_log.trades
        self._statistics.busted(
            trade.symbol, (trades[seq] for seq in trades.of_symbol(trade.symbol))
        )
        self._books.state_changed(trade.symbol)
        return trade

    # ---- time

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {
            EDGE_TIMER: self._follow_schedule,
            SHELF_TIMER: self._follow_dormant,
            SETTLEMENT_TIMER: self._go_on_settling,
        }

    def _follow_schedule(self, timer: Timer) -> None:
        instrument = self._instruments.require(timer.subject)
        self._transitions.follow(instrument, edge=True)
        self._conclude(instrument)
        self._clearing.wait()

    def _follow_dormant(self, _timer: Timer) -> None:
        for instrument in self._lifecycle.materialise_due():
            self._transitions.follow(instrument)
            self._conclude(instrument)
        self._lifecycle.await_dormant()
        self._clearing.wait()

    def _go_on_settling(self, timer: Timer) -> None:
        instrument = self._instruments.require(timer.subject)
        if self._settlements.step(instrument):
            self._finalised(instrument)
        self._books.state_changed(timer.subject)

    def _finalised(self, instrument: Instrument) -> None:
        if (
            self._ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE)
            and self._lifecycle.state(instrument.symbol) is InstrumentState.CLOSED
        ):
            self._transitions.enter(instrument, InstrumentState.EXPIRED)
