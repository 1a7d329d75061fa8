"""What was reported and what was traded, in order: append-only records of executions and trades
with their indexes.

Rows are found by seq (their place in the record), by id, by account and by symbol, executions by
their order too. Nothing is ever taken out here; retention is applied by whoever reads.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sim.core.model.context import Context
from sim.core.model.enums import (
    ExecutionType,
    OrderState,
    RejectReason,
    TradeState,
    TradeType,
    UnsolicitedReason,
)
from sim.core.model.events import Executed, Traded
from sim.core.model.orders import Execution, Order, Trade
from sim.core.model.quantities import Notional, Price, Qty
from sim.core.model.refusals import NotFound
from sim.indexes.indexed_log import IndexedLog
from sim.kernel.identifiers import Sequence
from sim.kernel.instants import Instant

R = TypeVar("R")
_NEW = TradeState.NEW


class Record(IndexedLog[R]):
    """Rows by id too. The nth row has the nth identifier of the sequence, so no index by id is
    needed.
    """

    __slots__ = ("_ids",)

    def __init__(
        self,
        ids: Sequence,
        at: Callable[[R], Instant],
        symbol: Callable[[R], str],
        owners: Callable[[R], tuple[str, ...]],
    ) -> None:
        super().__init__(at, symbol, owners)
        self._ids = ids

    def seq(self, row_id: str) -> int | None:
        """The place of the row of an id, or None."""
        number = self._ids.number(row_id)
        return number - 1 if 0 < number <= len(self.rows) else None

    def get(self, row_id: str) -> R | None:
        """The row of an id, or None."""
        seq = self.seq(row_id)
        return None if seq is None else self.rows[seq]


class Chain:
    """Executions order by order: for each the one before it, by seq, and for each order, by its
    seq, the newest. Replaced, never emptied, as rows are.
    """

    __slots__ = ("_before", "_newest")

    def __init__(self) -> None:
        self._before = array("q")
        self._newest = array("q")

    def add(self, order: Order) -> None:
        """The next execution is one of an order."""
        newest, number = self._newest, order.seq
        if number >= len(newest):
            newest.extend([-1] * (number + 1 - len(newest)))
        self._before.append(newest[number])
        newest[number] = len(self._before) - 1

    def cut(self, removed: list[Execution]) -> None:
        """Forget these executions, the last ones."""
        for execution in reversed(removed):
            self._newest[execution.order.seq] = self._before.pop()

    def back(self, order: Order) -> Iterator[int]:
        """Seqs of an order's executions, newest first."""
        seq = self._newest[order.seq] if order.seq < len(self._newest) else -1
        while seq >= 0:
            yield seq
            seq = self._before[seq]


class ExecutionLogState(Struct):
    """What a tape saves."""

    executions: list[Execution]
    trades: list[Trade]
    trade_updates: list[int] = []


class ExecutionLog:
    """Executions and trades. Writing a row also tells it as an event. `told` lists the states of
    trades in the order in which they came about.
    """

    __slots__ = (
        "_chain",
        "_ctx",
        "_execution_ids",
        "_trade_ids",
        "executions",
        "trade_updates",
        "trades",
    )

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._execution_ids = ctx.ids.sequence("execution")
        self._trade_ids = ctx.ids.sequence("trade")
        self.executions: Record[Execution] = Record(
            self._execution_ids,
            attrgetter("at"),
            attrgetter("order.symbol"),
            lambda row: (row.order.account,),
        )
        sides = attrgetter("aggressor.order.account", "passive.order.account")
        self.trades: Record[Trade] = Record(
            self._trade_ids, attrgetter("at"), attrgetter("symbol"), sides
        )
        # seq << 4 | state: one small number each, as they are as many as trades, twice
        self.trade_updates: list[int] = []
        self._chain = Chain()

    def next_trade_id(self) -> str:
        """Id of the trade that is about to be written."""
        return self._trade_ids.next()

    def report(
        self,
        order: Order,
        type: ExecutionType,
        qty: Qty = 0,
        price: Price = 0,
        trade_id: str = "",
        aggressor: bool = False,
        commission: Notional = 0,
        *,
        text: str = "",
        reason: RejectReason = RejectReason.EXCHANGE_OPTION,
        unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED,
    ) -> Execution:
        """Report what just happened to an order. A live order is copied as it is now; a done one
        never changes again and is kept itself (rule M41).
        """
        ctx = self._ctx
        rows = self.executions.rows
        # by position, as every order's reports are made here: a Struct searches for each keyword
        execution = Execution(
            self._execution_ids.next(),
            len(rows),
            type,
            replace(order) if order.leaves_qty else order,
            ctx.now,
            qty,
            price,
            trade_id,
            aggressor,
            commission,
            text,
            reason,
            unsolicited,
            ctx.trace_id,
        )
        rows.append(execution)
        self._chain.add(order)
        ctx.events.append(Executed(execution))
        return execution

    def trade(
        self,
        trade_id: str,
        price: Price,
        qty: Qty,
        aggressor: Execution,
        passive: Execution,
        type: TradeType,
    ) -> Trade:
        """Write down a match of the two orders that were just reported."""
        ctx = self._ctx
        rows = self.trades.rows
        trade = Trade(
            trade_id,
            len(rows),
            passive.order.symbol,
            price,
            qty,
            ctx.now,
            aggressor,
            passive,
            type,
            _NEW,
            ctx.now,
        )
        rows.append(trade)
        self.trade_updates.append(trade.seq << 4 | _NEW)
        ctx.events.append(Traded(trade, _NEW))
        return trade

    def advance(self, trade: Trade, state: TradeState) -> Trade:
        """A trade's clearing state moves on (rule M42): the same id is told again. Its row is
        another one from now on; snapshots keep the former.
        """
        now = self._ctx.now
        cleared_at = now if state is TradeState.CLEARED else trade.cleared_at
        moved = self.trades.rows[trade.seq] = replace(
            trade, state=state, state_at=now, cleared_at=cleared_at
        )
        self.trade_updates.append(trade.seq << 4 | state)
        self._ctx.emit(Traded(moved, state))
        return moved

    def require_trade(self, trade_id: str) -> Trade:
        """The trade; NotFound when there is none."""
        found = self.trades.get(trade_id)
        if found is None:
            raise NotFound(f"unknown trade: {trade_id[:80]}")
        return found

    def of_order(self, order: Order) -> Iterator[int]:
        """Seqs of an order's executions, newest first."""
        return self._chain.back(order)

    def last_reported_state(self, order: Order) -> OrderState:
        """The state that an order's last report told."""
        return self.executions.rows[next(self._chain.back(order))].order.state

    def past(self) -> Callable[[Order], Order]:
        """A function that gives orders as they are now, later too: an order that moved on is read
        from its last execution until now.
        """
        rows, length, chain = self.executions.rows, len(self.executions), self._chain

        def then(order: Order) -> Order:
            last = next(chain.back(order), -1)
            if last < length:
                return order
            return next((rows[seq].order for seq in chain.back(order) if seq < length), order)

        return then

    def trade_update(self, place: int) -> tuple[Trade, TradeState, Instant]:
        """What is listed at a place of `told`: a trade, a state of it, and since when it had that."""
        told = self.trade_updates[place]
        trade, state = self.trades[told >> 4], TradeState(told & 15)
        return (
            trade,
            state,
            (
                trade.at
                if state is _NEW
                else trade.cleared_at
                if state is TradeState.CLEARED
                else trade.state_at
            ),
        )

    def between(self, symbol: str, start: Instant, end: Instant) -> Iterator[Trade]:
        """Trades of a symbol at start or later and before end, in order."""
        seqs = self.trades.of_symbol(symbol)
        rows = self.trades.rows
        for index in range(bisect_left(seqs, start, key=lambda seq: rows[seq].at), len(seqs)):
            trade = rows[seqs[index]]
            if trade.at >= end:
                return
            yield trade

    def save(self) -> ExecutionLogState:
        """The rows themselves."""
        return ExecutionLogState(self.executions.rows, self.trades.rows, self.trade_updates)

    def load(self, state: ExecutionLogState) -> None:
        """Take saved rows and rebuild what is not there already.

        An execution never changes, and is in one place of one history only: where the last saved
        one stands in its place, so do all before it, trades too.
        """
        executions, trades = self.executions, self.trades
        count = len(state.executions)
        same = 0 < count <= len(executions) and executions[count - 1] is state.executions[-1]
        self._chain.cut(executions.rows[count if same else 0 :])
        executions.cut(count if same else 0)
        trades.cut(len(state.trades) if same else 0)
        trades.rows[:] = state.trades[: len(trades)]
        for execution in state.executions[len(executions) :]:
            self._chain.add(execution.order)
        executions.rows += state.executions[len(executions) :]
        trades.rows += state.trades[len(trades) :]
        self.trade_updates[:] = state.trade_updates
