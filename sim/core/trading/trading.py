"""The trading half of the exchange, composed: everything between an order and its money.

Callers use the components directly: `order_service` for requests about orders, `listings` for
whatever moves instruments, and the others for reading. Timers are handled here. Each operation
emits its events in the order in which things happen; `flush` then reports which symbols
changed, once each.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from sim.core.accounts.account_state import AccountState
from sim.core.accounts.fees import Fees
from sim.core.accounts.ledger import HOUSE_FUNDING, TRADING, Account, Ledger, LedgerState
from sim.core.accounts.positions import Positions, PositionsState
from sim.core.accounts.risk import Risk
from sim.core.catalogue.assumptions import COLLATERAL_RETURN, DAY_ROLL_EXPIRES
from sim.core.lifecycle.lifecycle import Lifecycle, LifecycleState
from sim.core.lifecycle.listings import Listings
from sim.core.lifecycle.resolution import PlannedWorth, Resolution
from sim.core.lifecycle.settlement import METHOD, Settlements, SettlementState
from sim.core.lifecycle.states import AUCTION_STATES, EXPIRED_STATES, OVER_STATES
from sim.core.lifecycle.transitions import Transitions
from sim.core.market_data.assets import Assets
from sim.core.market_data.execution_log import ExecutionLog, ExecutionLogState, SequencedLog
from sim.core.market_data.statistics import Statistics, SymbolStats
from sim.core.matching.auction import Auction
from sim.core.matching.book import Book
from sim.core.matching.books import OrderBooks
from sim.core.matching.clearing import CLEARING_TIMER, Clearing
from sim.core.matching.fills import Fills
from sim.core.matching.market_state import MarketState
from sim.core.matching.matching import Matching
from sim.core.model.context import Context
from sim.core.model.enums import InstrumentState, LedgerEntryType
from sim.core.model.events import CashMoved
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Execution, Order, Orders, Trade
from sim.core.model.quantities import Cash
from sim.core.model.timer_priority import EXPIRY_TIMER, ROLL_TIMER
from sim.core.model.why import Why
from sim.core.trading.admission import OrderAdmission
from sim.core.trading.cancel_replace import CancelReplace
from sim.core.trading.crosses import CrossOrders
from sim.core.trading.engine_queue import ENGINE_TIMER, Delay, EngineQueue, EngineQueueState
from sim.core.trading.order_service import OrderListener, OrderService, OrderStages
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant
from sim.kernel.timers import Timer, TimerHandlers, merge_owners

DAY_ROLL = Dated(
    True,
    ("2026-09-13", False),
    name="orders.day_roll",
    section="rule L12",
    title="DAY orders expire at the 17:00 Eastern roll",
)


class TradingState(Struct):
    """The saved state of trading.

    It consists of the live objects, so encode it before anything changes.
    """

    orders: list[Order]
    execution_log: ExecutionLogState
    positions: PositionsState
    ledger: LedgerState
    statistics: dict[str, SymbolStats]
    lifecycle: LifecycleState
    settlement: SettlementState
    priority: int
    roll_timer: int
    clearing_seq: int
    clearing_timer: int
    engine_queue: EngineQueueState


class Trading:
    """Orders go in; executions, trades, positions and cash come out.

    `delay` is the additional delay of the engine, for faults. Listeners are notified when the
    engine has processed an order, or the orders of a quote, from its queue (`order_service.py`).
    For the other functions see `Lifecycle` and `Resolution`.
    """

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        delay: Delay = lambda kind, names, symbol: 0,
        assets: Assets | None = None,
        *,
        defer_past_maintenance: Callable[[Instant], Instant] = lambda at: at,
        event_end: Callable[[Instrument], Instant] = lambda instrument: 0,
        planned_worth: PlannedWorth = lambda instrument: None,
        on_order_taken: tuple[OrderListener, ...] = (),
    ) -> None:
        self.ctx = ctx
        self.instruments = instruments
        lifecycle = self.lifecycle = Lifecycle(
            ctx,
            instruments,
            defer_past_maintenance=defer_past_maintenance,
            event_end=event_end,
            on_materialise=lambda instrument: self.listings.settle_unlisted(instrument),
        )
        self.ledger = Ledger(ctx)
        self.positions = Positions(ctx)
        self.risk = Risk(self.ledger, self.positions, instruments)
        self.fees = Fees(ctx)
        accounts = AccountState(self.positions, self.ledger, self.risk, self.fees)
        self.orders = Orders()
        self.books = OrderBooks(ctx, instruments, lifecycle.is_hidden, lifecycle.materialise)
        self.execution_log = ExecutionLog(ctx)
        self.statistics = Statistics()
        market = MarketState(self.orders, self.books, self.execution_log, self.statistics)

        fills = Fills(ctx, market, accounts)
        self._matching = Matching(ctx, market, self.risk, fills)
        self._clearing = Clearing(ctx, instruments, self.execution_log, accounts)
        self._engine_queue = EngineQueue(ctx, delay)
        self.order_service = OrderService(
            ctx, market, self._stages(market, accounts, fills), on_order_taken=on_order_taken
        )
        self.resolution = Resolution(
            ctx,
            instruments,
            lifecycle,
            self.statistics,
            Assets(ctx) if assets is None else assets,
            planned_worth,
        )
        self._compose_listings(Auction(self.orders, self._matching, fills))

    def _stages(self, market: MarketState, accounts: AccountState, fills: Fills) -> OrderStages:
        """Build the components that an order passes."""
        ctx, lifecycle, matching = self.ctx, self.lifecycle, self._matching
        admission = OrderAdmission(ctx, self.instruments, lifecycle, market, accounts)
        crosses = CrossOrders(
            ctx, lifecycle, market, self.risk, admission=admission, matching=matching, fills=fills
        )
        cancel_replace = CancelReplace(
            ctx, lifecycle, market, self.risk, admission=admission, matching=matching
        )
        return OrderStages(
            self._engine_queue, admission, matching, crosses, cancel_replace, self._clearing
        )

    def _compose_listings(self, auction: Auction) -> None:
        """Build the components that move instruments."""
        ctx, instruments, lifecycle = self.ctx, self.instruments, self.lifecycle
        self.settlements = Settlements(
            ctx, self.positions, self.ledger, self.risk, self.resolution.by_itself
        )
        self._transitions = Transitions(
            ctx,
            lifecycle,
            books=self.books,
            matching=self._matching,
            auction=auction,
            positions=self.positions,
            settlements=self.settlements,
            statistics=self.statistics,
            resolution=self.resolution,
        )
        self.listings = Listings(
            ctx,
            instruments,
            lifecycle,
            transitions=self._transitions,
            settlements=self.settlements,
            clearing=self._clearing,
            statistics=self.statistics,
            books=self.books,
            execution_log=self.execution_log,
            resolution=self.resolution,
        )

    # ---- accounts and cash

    def open_account(
        self, account: str, *, kind: str = TRADING, collateral_return: bool | None = None
    ) -> Account:
        """Open an account: "trading", "clearing" or "house".

        `collateral_return` (rule P8) defaults to the value of the assumption for trading accounts.
        """
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
        why: Why | None = None,
    ) -> CashMoved:
        """Credit an account (debit when negative) against a house account.

        The caller checks whether the account can afford it (`withdrawable`).
        """
        return self.ledger.move(
            account,
            amount,
            type,
            description,
            contra=contra,
            symbol=symbol,
            reference=reference,
            why=why,
        )

    def buying_power(self, account: str) -> Cash:
        """Return the balance less margin, without deduction of open orders (rule P2)."""
        return self.risk.buying_power(account)

    def margin_requirement(self, account: str) -> Cash:
        """Return one dollar for every short contract, less collateral returns (rules P2, P8)."""
        return self.risk.margin_requirement(account)

    def open_orders_reserve(self, account: str) -> Cash:
        """Return the largest reservation of any instrument (rule P6)."""
        return self.risk.open_orders(account)

    def withdrawable(self, account: str) -> Cash:
        """Return what may be withdrawn: buying power less the largest reservation (rule P6)."""
        return self.risk.buying_power(account) - self.risk.open_orders(account)

    # ---- time

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that trading and its components own."""
        own: TimerHandlers = {
            EXPIRY_TIMER: lambda timer: self._matching.expire(timer.subject),
            ENGINE_TIMER: lambda timer: self.order_service.take(timer.subject),
            CLEARING_TIMER: lambda timer: self.clear(),
            ROLL_TIMER: self._roll,
        }
        return merge_owners((own, self.listings.timers))

    @property
    def cleared(self) -> int:
        """How many of the trades were due to be cleared so far."""
        return self._clearing.next_seq

    def clear(self) -> None:
        """Clear the trades that are due."""
        self._clearing.clear()

    def _roll(self, _timer: Timer) -> None:
        choice = self.ctx.assumptions.text(DAY_ROLL_EXPIRES)
        self._matching.roll(
            expire=DAY_ROLL.at(self.ctx.now) if choice == "auto" else choice == "always"
        )

    def flush(self) -> None:
        """Report which symbols changed during this input. Called at its end."""
        self.books.flush()

    # ---- reads

    @property
    def executions(self) -> SequencedLog[Execution]:
        """Every execution."""
        return self.execution_log.executions

    @property
    def trades(self) -> SequencedLog[Trade]:
        """Every trade."""
        return self.execution_log.trades

    @property
    def queued_orders(self) -> set[str]:
        """The ids of the orders with a command that the engine has not taken yet (rule M36)."""
        return self._engine_queue.order_ids

    def state(self, symbol: str) -> InstrumentState:
        """Return the lifecycle state of an instrument. Refuses an unknown symbol as not found."""
        return self.lifecycle.state(symbol)

    def book(self, symbol: str) -> Book:
        """Return the book of an instrument. Refuses an unknown symbol as not found."""
        return self.books.get(symbol)

    def stats(self, symbol: str) -> SymbolStats:
        """Return all statistics of a symbol now.

        The settlement is included only while CLOSED, EXPIRED or TERMINATED (rule L25), the
        indicative price only before an auction.
        """
        stats = self.statistics.view(symbol)
        stats.open_interest = self.positions.open_interest.get(symbol, 0)
        state = self.lifecycle.state(symbol)
        settled = self.settlements.get(symbol) if state in OVER_STATES else None
        if settled is not None:
            stats.settlement_px = settled.price
            stats.settlement_preliminary = settled.preliminary
            stats.settlement_method = METHOD
            stats.settlement_text = settled.text
            stats.settlement_set_time = settled.set_at
        book = self.books.touched(symbol)
        if book is not None and state in AUCTION_STATES:
            stats.indicative_open_px = self._transitions.indicative(symbol, book)
        return stats

    def is_over(self, symbol: str) -> bool:
        """Return whether positions in a symbol are expired, or closed and settled."""
        state = self.lifecycle.state(symbol)
        return state in EXPIRED_STATES or (state in OVER_STATES and self.settlements.final(symbol))

    # ---- state

    def save(self) -> TradingState:
        """Return the whole state, not copied."""
        return TradingState(
            self.orders.save(),
            self.execution_log.save(),
            self.positions.save(),
            self.ledger.save(),
            self.statistics.save(),
            self.lifecycle.save(),
            self.settlements.save(),
            self._matching.priority,
            self._matching.roll_timer,
            self._clearing.next_seq,
            self._clearing.timer,
            self._engine_queue.save(),
        )

    def load(self, state: TradingState) -> None:
        """Restore a saved state and take ownership of its objects.

        Books and reservations are rebuilt from orders, margins from positions.
        """
        self.orders.load(state.orders)
        self.execution_log.load(state.execution_log)
        self.positions.load(state.positions)
        self.ledger.load(state.ledger)
        self.statistics.load(state.statistics)
        self.lifecycle.load(state.lifecycle)
        self.settlements.load(state.settlement)
        self._matching.priority = state.priority
        self._matching.roll_timer = state.roll_timer
        self._clearing.next_seq = state.clearing_seq
        self._clearing.timer = state.clearing_timer
        self._engine_queue.load(state.engine_queue, self.orders.require)
        working = self.orders.working()
        self.books.load(working)
        self.risk.load(working)
        for position in self.positions.all():
            self.risk.position_changed(
                position.account, self.instruments.require(position.symbol), (0, position.net)
            )
