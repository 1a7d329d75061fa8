"""The execution log: append-only records of executions and trades, with their indexes.

Rows are found by seq (their index in the record), by id, by account and by symbol; executions also
by order. Nothing is ever removed here; readers apply retention. Writing a row also emits its event,
so the log and the event stream cannot disagree.
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
from sim.core.model.refusals import NotFound, cut
from sim.core.model.why import Why
from sim.kernel.identifiers import Sequence
from sim.kernel.indexes.indexed_log import IndexedLog
from sim.kernel.indexes.restore_rows import shared
from sim.kernel.instants import Instant

R = TypeVar("R")
_NEW = TradeState.NEW
_CLEARING_RULE = "M42"


class SequencedLog(IndexedLog[R]):
    """A log whose nth row has the nth identifier of a sequence, so that it needs no index by id."""

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
        """Return the seq of the row with an id, or None."""
        number = self._ids.number(row_id)
        return number - 1 if 0 < number <= len(self.rows) else None

    def get(self, row_id: str) -> R | None:
        """Return the row with an id, or None."""
        seq = self.seq(row_id)
        return None if seq is None else self.rows[seq]


class ExecutionChain:
    """Executions by order, as linked lists in two arrays that are updated when they are read.

    `_before` holds, for each execution, the seq of the order's previous execution (-1: none).
    `_newest` holds the newest execution for each order's seq. This takes two numbers per execution;
    a list for each of a million orders would take ten times the memory.
    """

    def __init__(self, rows: list[Execution]) -> None:
        self._rows = rows
        self._before = array("q")
        self._newest = array("q")

    def _update(self) -> None:
        rows, before, newest = self._rows, self._before, self._newest
        for seq in range(len(before), len(rows)):
            number = rows[seq].order.seq
            if number >= len(newest):
                newest.extend([-1] * (number + 1 - len(newest)))
            before.append(newest[number])
            newest[number] = seq

    def become(self, rows: list[Execution], count: int) -> None:
        """Take over a list of executions whose first `count` rows are those already indexed."""
        before, newest = self._before, self._newest
        while len(before) > count:
            number = self._rows[len(before) - 1].order.seq
            newest[number] = before.pop()
        self._rows = rows

    def back(self, order: Order) -> Iterator[int]:
        """Yield the seqs of an order's executions, newest first."""
        if len(self._before) < len(self._rows):
            self._update()
        seq = self._newest[order.seq] if order.seq < len(self._newest) else -1
        while seq >= 0:
            yield seq
            seq = self._before[seq]


class ExecutionLogState(Struct):
    """The saved state of the log."""

    executions: list[Execution]
    trades: list[Trade]
    trade_updates: list[int] = []


class ExecutionLog:
    """Executions and trades. `trade_updates` lists every change of a trade's state, in order."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._execution_ids = ctx.ids.sequence("execution")
        self._trade_ids = ctx.ids.sequence("trade")
        self.executions: SequencedLog[Execution] = SequencedLog(
            self._execution_ids,
            attrgetter("at"),
            attrgetter("order.symbol"),
            lambda row: (row.order.account,),
        )
        sides = attrgetter("aggressor.order.account", "passive.order.account")
        self.trades: SequencedLog[Trade] = SequencedLog(
            self._trade_ids, attrgetter("at"), attrgetter("symbol"), sides
        )
        # seq << 4 | state in one small number, because there are twice as many entries as trades.
        self.trade_updates: list[int] = []
        self._chain = ExecutionChain(self.executions.rows)

    def next_trade_id(self) -> str:
        """Draw the id of the trade that is about to be written."""
        return self._trade_ids.next()

    def report(
        self,
        order: Order,
        type: ExecutionType,
        why: Why,
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
        """Report what just happened to an order, and why (rule M41).

        A live order is copied in its current state. A finished one never changes again and
        is not copied.
        """
        ctx, rows = self._ctx, self.executions.rows
        # Positional arguments, because a Struct looks up each keyword.
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
        ctx.events.append(Executed(execution, why.rule, why.facts))
        return execution

    def trade(
        self,
        trade_id: str,
        price: Price,
        qty: Qty,
        aggressor: Execution,
        passive: Execution,
        type: TradeType,
        why: Why,
    ) -> Trade:
        """Record the trade of the two orders that were just reported."""
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
        ctx.events.append(Traded(trade, _NEW, why.rule, why.facts))
        return trade

    def advance(self, trade: Trade, state: TradeState) -> Trade:
        """Change a trade's clearing state (rule M42). An event reports the same id again.

        The row is replaced, because snapshots still refer to the old one.
        """
        now = self._ctx.now
        cleared_at = now if state is TradeState.CLEARED else trade.cleared_at
        moved = self.trades.rows[trade.seq] = replace(
            trade, state=state, state_at=now, cleared_at=cleared_at
        )
        self.trade_updates.append(trade.seq << 4 | state)
        self._ctx.emit(Traded(moved, state, _CLEARING_RULE))
        return moved

    def require_trade(self, trade_id: str) -> Trade:
        """Return a trade. Refuses an unknown id as not found."""
        trade = self.trades.get(trade_id)
        if trade is None:
            raise NotFound(f"unknown trade: {cut(trade_id)}")
        return trade

    def of_order(self, order: Order) -> Iterator[int]:
        """Yield the seqs of an order's executions, newest first."""
        return self._chain.back(order)

    def last_reported(self, order: Order) -> Order | None:
        """Return an order as in its last report, or None if it was never reported."""
        seq = next(self._chain.back(order), None)
        return None if seq is None else self.executions.rows[seq].order

    def last_reported_state(self, order: Order) -> OrderState:
        """Return the order's state in its last report."""
        return self.executions.rows[next(self._chain.back(order))].order.state

    def as_of_now(self) -> Callable[[Order], Order]:
        """Return a function that later shows orders as they are at this moment.

        For an order that has changed since, it returns the copy in the last execution before.
        """
        rows, length, chain = self.executions.rows, len(self.executions), self._chain

        def as_it_was(order: Order) -> Order:
            last = next(chain.back(order), -1)
            if last < length:
                return order
            return next((rows[seq].order for seq in chain.back(order) if seq < length), order)

        return as_it_was

    def trade_update(self, row: int) -> tuple[Trade, TradeState, Instant]:
        """Return a row of `trade_updates`: the trade, its new state, and when it changed."""
        packed = self.trade_updates[row]
        trade, state = self.trades[packed >> 4], TradeState(packed & 15)
        if state is _NEW:
            return trade, state, trade.at
        return trade, state, trade.cleared_at if state is TradeState.CLEARED else trade.state_at

    def between(self, symbol: str, start: Instant, end: Instant) -> Iterator[Trade]:
        """Yield the trades of a symbol in [start, end), in order."""
        seqs = self.trades.of_symbol(symbol)
        rows = self.trades.rows
        for index in range(bisect_left(seqs, start, key=lambda seq: rows[seq].at), len(seqs)):
            trade = rows[seqs[index]]
            if trade.at >= end:
                return
            yield trade

    def save(self) -> ExecutionLogState:
        """Return the rows themselves."""
        return ExecutionLogState(self.executions.rows, self.trades.rows, self.trade_updates)

    def load(self, state: ExecutionLogState) -> None:
        """Restore saved rows, at a cost proportional to the difference.

        Clearing replaces the row of a trade, but keeps its executions as the same objects.
        """
        same = shared(self.executions.rows, state.executions)
        self._chain.become(state.executions, same)
        self.executions.become(state.executions, same)
        same = shared(self.trades.rows, state.trades, attrgetter("aggressor"))
        self.trades.become(state.trades, same)
        self.trade_updates = state.trade_updates
