"""What was reported and what was traded, in order: append-only records of executions and trades with their indexes.

Rows are found by seq (their place in the record), by id, by account and by symbol. Nothing is ever taken out here; retention is applied by whoever reads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from collections.abc import Sequence as Rows
from typing import Generic, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from sim.core.context import Context
from sim.core.events import Executed, Traded
from sim.core.orders import Execution, Order, Trade
from sim.core.quantities import Notional, Price, Qty
from sim.core.refusals import NotFound
from sim.core.vocabulary import ExecutionType, RejectReason, TradeState, TradeType, UnsolicitedReason
from sim.kernel.identifiers import Sequence
from sim.kernel.instants import Instant


class _Row(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def seq(self) -> int: ...


R = TypeVar("R", bound=_Row)
_NONE: tuple[int, ...] = ()
_NEW = TradeState.NEW


class Record(Generic[R]):
    """Rows in order of happening; `record[seq]` is one of them. The nth row has the nth identifier of the sequence, so no index by id is needed."""

    __slots__ = ("_by_account", "_by_symbol", "_ids", "rows")

    def __init__(self, ids: Sequence) -> None:
        self._ids = ids
        self.rows: list[R] = []
        self._by_account: dict[str, list[int]] = {}
        self._by_symbol: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, seq: int) -> R:
        return self.rows[seq]

    def __iter__(self) -> Iterator[R]:
        return iter(self.rows)

    def append(self, row: R, symbol: str, account: str, other: str = "") -> None:
        """Add a row of a symbol and of one or two accounts."""
        seq = len(self.rows)
        self.rows.append(row)
        found = self._by_symbol.get(symbol)
        if found is None:
            found = self._by_symbol[symbol] = []
        found.append(seq)
        found = self._by_account.get(account)
        if found is None:
            found = self._by_account[account] = []
        found.append(seq)
        if other and other != account:
            self._by_account.setdefault(other, []).append(seq)

    def get(self, row_id: str) -> R | None:
        """The row of an id, or None."""
        number = self._ids.number(row_id)
        return self.rows[number - 1] if 0 < number <= len(self.rows) else None

    def of_account(self, account: str) -> Rows[int]:
        """Seqs of an account's rows, ascending."""
        return self._by_account.get(account, _NONE)

    def of_symbol(self, symbol: str) -> Rows[int]:
        """Seqs of a symbol's rows, ascending."""
        return self._by_symbol.get(symbol, _NONE)

    def cut(self, count: int) -> None:
        """Forget the rows from the one with this seq on."""
        del self.rows[count:]
        for index in (self._by_account, self._by_symbol):
            if not count:
                index.clear()
            for seqs in index.values():
                if seqs and seqs[-1] >= count:
                    del seqs[bisect_left(seqs, count) :]


class TapeState(Struct):
    """What a tape saves."""

    executions: list[Execution]
    trades: list[Trade]


class Tape:
    """Executions and trades. Writing a row also tells it as an event."""

    __slots__ = ("_ctx", "_execution_ids", "_trade_ids", "executions", "trades")

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._execution_ids = ctx.ids.sequence("execution")
        self._trade_ids = ctx.ids.sequence("trade")
        self.executions: Record[Execution] = Record(self._execution_ids)
        self.trades: Record[Trade] = Record(self._trade_ids)

    def next_trade_id(self) -> str:
        """Id of the trade that is about to be written."""
        return self._trade_ids.next()

    def report(
        self,
        order: Order,
        type: ExecutionType,
        *,
        qty: Qty = 0,
        price: Price = 0,
        trade_id: str = "",
        aggressor: bool = False,
        commission: Notional = 0,
        text: str = "",
        reason: RejectReason = RejectReason.EXCHANGE_OPTION,
        unsolicited: UnsolicitedReason = UnsolicitedReason.UNDEFINED,
    ) -> Execution:
        """Report what just happened to an order. A live order is copied as it is now; a done one never changes again and is kept itself (rule M41)."""
        ctx = self._ctx
        executions = self.executions
        execution = Execution(
            id=self._execution_ids.next(),
            seq=len(executions.rows),
            type=type,
            order=replace(order) if order.leaves_qty else order,
            at=ctx.now,
            last_qty=qty,
            last_px=price,
            trade_id=trade_id,
            aggressor=aggressor,
            commission=commission,
            text=text,
            reject_reason=reason,
            unsolicited=unsolicited,
            trace_id=ctx.trace_id,
        )
        executions.append(execution, order.symbol, order.account)
        ctx.events.append(Executed(execution))
        return execution

    def trade(self, trade_id: str, price: Price, qty: Qty, aggressor: Execution, passive: Execution, type: TradeType) -> Trade:
        """Write down a match of the two orders that were just reported."""
        ctx = self._ctx
        trades = self.trades
        symbol = passive.order.symbol
        trade = Trade(
            id=trade_id,
            seq=len(trades.rows),
            symbol=symbol,
            price=price,
            qty=qty,
            at=ctx.now,
            aggressor=aggressor,
            passive=passive,
            type=type,
            state_at=ctx.now,
        )
        trades.append(trade, symbol, aggressor.order.account, passive.order.account)
        ctx.events.append(Traded(trade, _NEW))
        return trade

    def advance(self, trade: Trade, state: TradeState) -> Trade:
        """A trade's clearing state moves on (rule M42): the same id is told again. Its row is another one from now on; snapshots keep the former."""
        moved = self.trades.rows[trade.seq] = replace(trade, state=state, state_at=self._ctx.now)
        self._ctx.emit(Traded(moved, state))
        return moved

    def require_trade(self, trade_id: str) -> Trade:
        """The trade; NotFound when there is none."""
        found = self.trades.get(trade_id)
        if found is None:
            raise NotFound(f"unknown trade: {trade_id[:80]}")
        return found

    def between(self, symbol: str, start: Instant, end: Instant) -> Iterator[Trade]:
        """Trades of a symbol at start or later and before end, in order."""
        seqs = self.trades.of_symbol(symbol)
        rows = self.trades.rows
        for index in range(bisect_left(seqs, start, key=lambda seq: rows[seq].at), len(seqs)):
            trade = rows[seqs[index]]
            if trade.at >= end:
                return
            yield trade

    def save(self) -> TapeState:
        """The rows themselves."""
        return TapeState(self.executions.rows, self.trades.rows)

    def load(self, state: TapeState) -> None:
        """Take saved rows and rebuild what is not there already.

        An execution never changes, and is in one place of one history only: where the last saved one stands in its place, so do all before it, trades too.
        """
        executions, trades = self.executions, self.trades
        count = len(state.executions)
        same = 0 < count <= len(executions) and executions[count - 1] is state.executions[-1]
        executions.cut(count if same else 0)
        trades.cut(len(state.trades) if same else 0)
        trades.rows[:] = state.trades[: len(trades)]
        for execution in state.executions[len(executions) :]:
            executions.append(execution, execution.order.symbol, execution.order.account)
        for trade in state.trades[len(trades) :]:
            trades.append(trade, trade.symbol, trade.aggressor.order.account, trade.passive.order.account)
