"""The trading half of the exchange: everything between an order and its money, composed.

Operations come in here, timers too; reads go to the components, which are public. Each operation emits its events in order of happening; `flush`
then tells which symbols changed, once each.
"""

from __future__ import annotations

from msgspec import Struct

from sim.core.assumptions import COLLATERAL_RETURN, DAY_ROLL_EXPIRES, RETAIL_FUNDS, SETTLEMENT_AUTO_EXPIRE
from sim.core.auction import Auction
from sim.core.book import Book
from sim.core.books import Books
from sim.core.clearing import CLEARING_TIMER, Clearing
from sim.core.commands import CancelOrder, PlaceOrder, ReplaceOrder
from sim.core.context import Context
from sim.core.crossing import Crossing, check_pair
from sim.core.entry import Entry
from sim.core.events import CashMoved
from sim.core.fees import Fees
from sim.core.fills import Fills
from sim.core.gate import GATE_TIMER, STOPGAP_TEXT, Delay, Gate, GateState
from sim.core.instruments import Instrument, Instruments
from sim.core.ledger import HOUSE_FUNDING, TRADING, Account, Ledger, LedgerState
from sim.core.lifecycle import AUCTION_STATES, EDGE_TIMER, ENTRY_STATES, SETTLED_STATES, Lifecycle, LifecycleState, check_listing
from sim.core.matching import EXPIRY_TIMER, ROLL_TIMER, Matching
from sim.core.orders import Execution, Order, Orders, Trade
from sim.core.positions import Positions, PositionsState
from sim.core.quantities import Cash, Price
from sim.core.refusals import AlreadyExists, Conflict, DuplicateOrder, IllegalTransition, InsufficientFunds, InvalidRequest, OrderRefused, Refusal
from sim.core.replacing import Replacing
from sim.core.risk import Risk
from sim.core.settlement import METHOD, SETTLEMENT_TIMER, Settlements, SettlementState
from sim.core.shelf import SHELF_TIMER, Shelf
from sim.core.statistics import Statistics, SymbolStats
from sim.core.tape import Record, Tape, TapeState
from sim.core.transitions import Transitions
from sim.core.vocabulary import OPEN, RETAIL, ExecutionType, InstrumentState, LedgerEntryType, OrderState, RejectReason, Side, TradeType, UnsolicitedReason
from sim.kernel.dated import Dated
from sim.kernel.instants import Span
from sim.kernel.timers import Timer

DAY_ROLL = Dated(True, ("2026-09-13", False))
POSTPONABLE = frozenset({EXPIRY_TIMER, EDGE_TIMER, SHELF_TIMER, SETTLEMENT_TIMER})  # what waits for the end of maintenance (rule W7)


class TradingState(Struct):
    """What trading saves: the live objects themselves, so encode it before anything goes on."""

    orders: list[Order]
    tape: TapeState
    positions: PositionsState
    ledger: LedgerState
    statistics: dict[str, SymbolStats]
    lifecycle: LifecycleState
    settlement: SettlementState
    priority: int
    roll_timer: int
    clearing_seq: int
    clearing_timer: int
    gate: GateState


class Trading:
    """Orders in, executions, trades, positions and cash out."""

    def __init__(self, ctx: Context, instruments: Instruments, delay: Delay = lambda kind, names, symbol: 0) -> None:
        self.ctx = ctx
        self._gate = Gate(ctx, delay)
        self.instruments = instruments
        self.orders = Orders()
        self.tape = Tape(ctx)
        self.positions = Positions(ctx)
        self.ledger = Ledger(ctx)
        self.statistics = Statistics()
        self.fees = Fees(ctx)
        self.lifecycle = Lifecycle(ctx, instruments)
        self.books = Books(ctx, instruments, self.lifecycle.hidden, self.lifecycle.own)
        self.risk = Risk(self.ledger, self.positions)
        self.settlements = Settlements(ctx, self.positions, self.ledger, self.risk)
        fills = Fills(ctx, self.orders, self.tape, self.positions, self.ledger, self.risk, self.fees, self.statistics)
        self._matching = Matching(ctx, self.books, self.orders, self.tape, self.risk, fills)
        self._entry = Entry(ctx, instruments, self.lifecycle, self.ledger, self.orders, self.books, self.risk, self.fees, self.statistics)
        self._crossing = Crossing(ctx, self._entry, self.books, self.lifecycle, self._matching, fills, self.orders, self.risk)
        self._replacing = Replacing(ctx, self.orders, self.books, self.lifecycle, self.risk, self.tape, self._entry, self._matching)
        self._clearing = Clearing(ctx, instruments, self.tape, self.positions, self.ledger, self.risk)
        self._transitions = Transitions(
            ctx,
            self.lifecycle,
            self.books,
            self._matching,
            Auction(self.orders, self._matching, fills),
            self.positions,
            self.settlements,
            self.statistics,
        )

    # ---- orders

    def place(self, command: PlaceOrder) -> Order:
        """Take a new order and run it. A business reject is raised, or, for a deferred command, an order in state REJECTED with its execution (rule M7)."""
        order = self._entry.draft(command)
        try:
            if after := self._gate.latency("place", order):
                self._entry.check_clord_id(order)
                return self._receive(command, order, after)
            self._entry.admit(command, order)
        except (OrderRefused, DuplicateOrder) as refusal:
            if not command.deferred:
                raise
            if isinstance(refusal, InsufficientFunds) and command.channel is RETAIL and self.ctx.assumptions.text(RETAIL_FUNDS) == "400":
                raise InvalidRequest("You don't have enough funds", rule="P4", remedy=refusal.remedy) from refusal
            order.id = self.ctx.ids.next("order")
            self._rejected(order, refusal.message, refusal.reason)
            return order
        self._accept(order)
        return order

    def _receive(self, command: PlaceOrder, order: Order, after: Span) -> Order:
        """Let an order wait for the engine."""
        order.id = self.ctx.ids.next("order")
        self._gate.hold(order, after, place=command)
        self.orders.add(order)
        self.orders.opened(order)
        return order

    def _accept(self, order: Order) -> None:
        self._matching.accept(self.books.get(order.symbol), order, continuous=self.lifecycle.state(order.symbol) is OPEN)
        self._clearing.wait()

    def _rejected(self, order: Order, text: str, reason: RejectReason) -> None:
        _reject(order)
        self.orders.add(order)
        self.tape.report(order, ExecutionType.REJECTED, text=text, reason=reason)

    def cross(self, commands: tuple[PlaceOrder, PlaceOrder], *, cross_id: str, priority: Side) -> tuple[Order, Order]:
        """Enter two orders that trade with each other, wholly or not at all; a slow engine does not hold them. Business rejects as for `place`, of both."""
        check_pair(commands)
        orders = self._entry.draft(commands[0]), self._entry.draft(commands[1])
        try:
            self._crossing.admit(commands, orders, priority)
        except (OrderRefused, DuplicateOrder) as refusal:
            if not commands[0].deferred:
                raise
            for order in orders:
                order.id = self.ctx.ids.next("order")
                order.cross_id = cross_id
                self._rejected(order, refusal.message, refusal.reason)
            return orders
        self._crossing.run(orders, cross_id, priority)
        self._clearing.wait()
        return orders

    def trade_quote(self, quoted: PlaceOrder, asked: PlaceOrder) -> tuple[Order, Order]:
        """Trade an accepted quote: who quoted is the maker. Orders of maker and taker; a refusal of either changes nothing."""
        commands = quoted, asked
        orders = self._entry.draft(quoted), self._entry.draft(asked)
        self._crossing.admit(commands, orders, quoted.side, anywhere=True)
        self._crossing.run(orders, "", quoted.side, TradeType.REQUEST_FOR_QUOTE)
        self._clearing.wait()
        return orders

    def preview(self, command: PlaceOrder) -> Order:
        """The order a command would make, checked the same way; nothing changes and it has no id. Deferred: a refused one comes back REJECTED."""
        order = self._entry.draft(command)
        try:
            self._entry.admit(command, order)
        except (OrderRefused, DuplicateOrder):
            if not command.deferred:
                raise
            _reject(order)
        return order

    def cancel(self, command: CancelOrder) -> Order:
        """Take an order out (rule M34): UnknownOrder, OrderDone or InstrumentNotTradable, the latter two also told as CancelRejected."""
        order = self._replacing.find(command)
        after = self._gate.latency("cancel", order) if order.live else 0
        if after:
            self._gate.hold(order, after, cancel=command)
            return order
        return self._replacing.cancel(command)

    def replace(self, command: ReplaceOrder) -> Order:
        """Change an order in place (rules M31-M33)."""
        order = self._replacing.find(command)
        after = self._gate.latency("replace", order) if order.live else 0
        if after:
            self._gate.hold(order, after, replace=command)
            return order
        order = self._replacing.replace(command)
        self._clearing.wait()
        return order

    def _take(self, number: str) -> None:
        """The engine takes what waited at the gate. Nobody waits for an answer any more, so a refusal is told as a rejection (rules M36, M37)."""
        held = self._gate.take(number)
        order = self.orders.require(held.order_id)
        late = self._gate.late(held, order)
        if held.place is not None:
            self._take_order(held.place, order, late=late)
            return
        if order.state in (OrderState.PENDING_REPLACE, OrderState.PENDING_CANCEL):
            order.state = OrderState.PARTIALLY_FILLED if order.cum_qty else OrderState.NEW
        try:
            if held.cancel is not None:
                self._replacing.cancel(held.cancel)
            elif late:
                self._replacing.refuse(order, OrderRefused(STOPGAP_TEXT, rule="M37"), is_replace=True)
            elif held.replace is not None:
                self._replacing.replace(held.replace)
                self._clearing.wait()
        except Refusal:
            return  # told as a cancel reject

    def _take_order(self, command: PlaceOrder, order: Order, *, late: bool) -> None:
        self.orders.closed(order)
        order.state = OrderState.NEW
        if late:
            self._rejected(order, STOPGAP_TEXT, RejectReason.EXCHANGE_OPTION)
            return
        try:
            self._entry.admit(command, order)
        except Refusal as refusal:
            self._rejected(order, refusal.message, refusal.reason)
            return
        self._accept(order)

    def cancel_all(self, symbols: tuple[str, ...] = ()) -> int:
        """Cancel every open order, or those of some symbols, unsolicited, whatever the state (rule W2). Returns how many."""
        wanted = symbols or self.lifecycle.symbols()
        return sum(self._transitions.end_orders(symbol, ExecutionType.CANCELED) for symbol in wanted)

    def bound_to(self, session_id: str) -> list[Order]:
        """Open orders that were entered under the session of an order stream, by priority."""
        return [order for order in self.orders.open() if order.session_id == session_id]

    def cancel_session(self, session_id: str) -> None:
        """Cancel what is bound to a session, unsolicited; what the engine has not taken yet is left to it."""
        for order in self.bound_to(session_id):
            if not order.received:
                self._matching.remove(self.books.get(order.symbol), order, ExecutionType.CANCELED, unsolicited=UnsolicitedReason.CONNECTION_LOSS)

    # ---- instruments

    def list_instrument(self, instrument: Instrument) -> None:
        """List an instrument and wait for its next edge. Refuses unsound terms and a symbol that is listed."""
        check_listing(instrument)
        if self.lifecycle.listed(instrument.symbol):
            raise AlreadyExists(f"instrument {instrument.symbol} exists")
        self.instruments.add(instrument)
        self.lifecycle.begin(instrument)

    def stock(self, shelf: Shelf) -> None:
        """Everything listed so far is the beginning of the world, and so is what is on the shelf."""
        self.instruments.settle_base(shelf)
        self.lifecycle.watch_shelf()

    def state(self, symbol: str) -> InstrumentState:
        """Lifecycle state; NotFound for an unknown symbol."""
        return self.lifecycle.state(symbol)

    def change_state(self, symbol: str, state: InstrumentState | None, *, hold: bool = True) -> InstrumentState:
        """Move an instrument by hand and hold it there, or, with None, let it follow its schedule again (rule L5). Returns the former state.

        Without `hold` the schedule keeps its say, as for maintenance. Refuses edges that do not exist (rule L10) and re-opening what has paid.
        """
        instrument = self.instruments.require(symbol)
        was = self.lifecycle.state(symbol)
        if state is None:
            self.lifecycle.release(symbol)
            self._transitions.follow(instrument)
            return was
        if state is not was:
            self.lifecycle.check_move(symbol, state)
            if state in ENTRY_STATES and self.settlements.final(symbol):
                raise IllegalTransition(f"{symbol} is settled and does not trade again", rule="L10")
            self._transitions.enter(instrument, state)
            self._clearing.wait()
        if hold:
            self.lifecycle.hold(symbol)
        else:
            self.lifecycle.wait(instrument)
        return was

    # ---- settlement and clearing

    def settle(self, symbol: str, price: Price, *, text: str = "", preliminary: bool = False) -> int:
        """Set the settlement price now, closing first where still open; pay unless preliminary. Returns how many accounts were resolved.

        Settling again at another price is a correction (rule L27).
        """
        instrument = self.instruments.require(symbol)
        self.settlements.check(instrument, price, preliminary)
        if self.lifecycle.state(symbol) not in SETTLED_STATES:
            self._transitions.enter(instrument, InstrumentState.CLOSED)
            self.lifecycle.hold(symbol)
        if preliminary:
            self.settlements.announce(instrument, price, text)
            paid = 0
        else:
            paid = self.settlements.finalise(instrument, price, text)
            self._finalised(instrument)
        self.books.state_changed(symbol)
        return paid

    def fair_price(self, symbol: str) -> Price:
        """The last fair price: the last trade's, else the middle of the book, else half a dollar; on the tick."""
        instrument = self.instruments.require(symbol)
        last = self.statistics.last_price(symbol)
        if last is not None:
            return last
        book = self.book(symbol)
        sides = [book.levels(side, 1) for side in (Side.BUY, Side.SELL)]
        middle = (sides[0][0][0] + sides[1][0][0]) // 2 if all(sides) else instrument.price_scale // 2
        return middle // instrument.tick * instrument.tick

    def record_outcome(self, symbol: str, price: Price, text: str = "") -> None:
        """Make an outcome known: it settles some time after the close (rule L25)."""
        instrument = self.instruments.require(symbol)
        closed_at = self.lifecycle.closed_at(symbol)
        if closed_at is None and self.lifecycle.state(symbol) in SETTLED_STATES:
            closed_at = self.ctx.now
        self.settlements.record(instrument, price, text, closed_at)

    def bust(self, trade_id: str) -> Trade:
        """Undo a trade (rule M42). Refused once its instrument has paid."""
        trade = self.tape.require_trade(trade_id)
        if self.settlements.final(trade.symbol):
            raise Conflict(f"{trade.symbol} is settled; correct its price instead", rule="M42")
        self._clearing.bust(trade_id)
        self.books.state_changed(trade.symbol)
        return trade

    # ---- accounts and cash

    def open_account(self, account: str, *, kind: str = TRADING, collateral_return: bool | None = None) -> Account:
        """Open an account: "trading", "clearing" or "house"; with collateral return as asked, or as `collateral_return.enabled` says (rule P8)."""
        if collateral_return is None:
            collateral_return = kind == TRADING and self.ctx.assumptions.flag(COLLATERAL_RETURN)
        return self.ledger.open(account, kind, collateral_return=collateral_return)

    def move_cash(
        self,
        account: str,
        amount: Cash,
        type: LedgerEntryType,
        description: str,
        *,
        symbol: str = "",
        reference: str = "",
        contra: str = HOUSE_FUNDING,
    ) -> CashMoved:
        """Credit an account (debit when negative) against a house account. Whether it can afford it is the caller's question (`withdrawable`)."""
        return self.ledger.move(account, amount, type, description, contra=contra, symbol=symbol, reference=reference)

    def buying_power(self, account: str) -> Cash:
        """Balance less margin, gross of open orders (rule P2)."""
        return self.risk.buying_power(account)

    def margin_requirement(self, account: str) -> Cash:
        """One dollar for every short contract, less collateral returns (rules P2, P8)."""
        return self.risk.margin_requirement(account)

    def open_orders_reserve(self, account: str) -> Cash:
        """Largest reservation of a single instrument (rule P6)."""
        return self.risk.open_orders(account)

    def withdrawable(self, account: str) -> Cash:
        """What may be withdrawn: buying power less the largest reservation (rule P6)."""
        return self.risk.buying_power(account) - self.risk.open_orders(account)

    # ---- time

    def fire(self, timer: Timer) -> bool:
        """Do what a timer says; False when its kind is not trading's."""
        kind, subject = timer.kind, timer.subject
        if kind == EXPIRY_TIMER:
            self._matching.expire(subject)
        elif kind == GATE_TIMER:
            self._take(subject)
        elif kind == EDGE_TIMER:
            self._transitions.follow(self.instruments.require(subject))
            self._clearing.wait()
        elif kind == SHELF_TIMER:
            for instrument in self.lifecycle.moving():
                self._transitions.follow(instrument)
            self.lifecycle.watch_shelf()
            self._clearing.wait()
        elif kind == CLEARING_TIMER:
            self._clearing.clear()
        elif kind == ROLL_TIMER:
            choice = self.ctx.assumptions.text(DAY_ROLL_EXPIRES)
            self._matching.roll(expire=DAY_ROLL.at(self.ctx.now) if choice == "auto" else choice == "always")
        elif kind == SETTLEMENT_TIMER:
            instrument = self.instruments.require(subject)
            if self.settlements.step(instrument):
                self._finalised(instrument)
            self.books.state_changed(subject)
        else:
            return False
        return True

    def flush(self) -> None:
        """Tell which symbols changed during this input; called when it is handled to the end."""
        self.books.flush()

    # ---- reads

    @property
    def executions(self) -> Record[Execution]:
        """Every execution."""
        return self.tape.executions

    @property
    def trades(self) -> Record[Trade]:
        """Every trade."""
        return self.tape.trades

    def book(self, symbol: str) -> Book:
        """The book of a symbol; NotFound for an unknown one."""
        return self.books.get(symbol)

    def stats(self, symbol: str) -> SymbolStats:
        """All statistics of a symbol now. Settlement shows only while CLOSED, EXPIRED or TERMINATED (rule L25), the indicative price only before an auction."""
        found = self.statistics.view(symbol)
        found.open_interest = self.positions.open_interest.get(symbol, 0)
        state = self.lifecycle.state(symbol)
        settled = self.settlements.get(symbol)
        if settled is not None and state in SETTLED_STATES:
            found.settlement_px = settled.price
            found.settlement_preliminary = settled.preliminary
            found.settlement_method = METHOD
            found.settlement_text = settled.text
            found.settlement_set_time = settled.set_at
        book = self.books.touched(symbol)
        if book is not None and state in AUCTION_STATES:
            found.indicative_open_px = self._transitions.indicative(symbol, book)
        return found

    # ---- state

    def save(self) -> TradingState:
        """The whole state, without copying."""
        return TradingState(
            self.orders.save(),
            self.tape.save(),
            self.positions.save(),
            self.ledger.save(),
            self.statistics.save(),
            self.lifecycle.save(),
            self.settlements.save(),
            self._matching.priority,
            self._matching.roll_timer,
            self._clearing.next_seq,
            self._clearing.timer,
            self._gate.save(),
        )

    def load(self, state: TradingState) -> None:
        """Take a saved state, whose objects become this one's. Books and reservations follow from orders, margins from positions."""
        self.orders.load(state.orders)
        self.tape.load(state.tape)
        self.positions.load(state.positions)
        self.ledger.load(state.ledger)
        self.statistics.load(state.statistics)
        self.lifecycle.load(state.lifecycle)
        self.settlements.load(state.settlement)
        self._matching.priority = state.priority
        self._matching.roll_timer = state.roll_timer
        self._clearing.next_seq = state.clearing_seq
        self._clearing.timer = state.clearing_timer
        self._gate.load(state.gate)
        self.books.clear()
        self.risk.clear()
        for position in self.positions.all():
            self.risk.moved(position.account, self.instruments.require(position.symbol), (0, position.net))
        self._matching.restore()

    def _finalised(self, instrument: Instrument) -> None:
        if self.ctx.assumptions.flag(SETTLEMENT_AUTO_EXPIRE) and self.lifecycle.state(instrument.symbol) is InstrumentState.CLOSED:
            self._transitions.enter(instrument, InstrumentState.EXPIRED)


def _reject(order: Order) -> None:
    order.state = OrderState.REJECTED
    order.leaves_qty = 0
