"""Splits the state of trading into a part that may still change and a part that never will.

Executions, trades, ledger rows, position rows and finished orders never change (rule M41), and they
are most of the state. A snapshot encodes the changing part and only refers to the other rows, which
it shares with the exchange: it holds the exchange's own list and the length the list had. Rows are
only ever appended to such a list; code that removes rows replaces the list (`FirstRows`). Live
orders are stored as in their last report; one that differs from it is copied, which is cheaper than
encoding it. The cost of a snapshot therefore depends on the number of live orders, not on the
length of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from sim.core.market_data.execution_log import ExecutionLogState
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.orders import Execution, Order, Trade
from sim.core.trading.trading import TradingState

T = TypeVar("T")

ORDER_BYTES = 512  # the approximate size of a copy of an order


class FirstRows(NamedTuple, Generic[T]):
    """The first `number` rows of a list to which rows are only appended."""

    rows: list[T]
    number: int

    def own(self) -> list[T]:
        """Return these rows as a new list."""
        return self.rows[: self.number]


def _now(rows: list[T]) -> FirstRows[T]:
    return FirstRows(rows, len(rows))


class ExchangeHistory(NamedTuple):
    """The rows up to a moment, in order.

    An order that was live at that moment leaves only its place in `orders`; `live` holds an
    immutable copy of it, by its `seq`. Clearing replaces rows in the list of trades, so that list
    is the history's own.
    """

    orders: FirstRows[Order]
    executions: FirstRows[Execution]
    trades: list[Trade]
    cash: FirstRows[CashMoved]
    positions: FirstRows[PositionChanged]
    trade_updates: FirstRows[int]
    live: dict[int, Order]

    @property
    def live_bytes(self) -> int:
        """Return the approximate memory that the copies of live orders need, in bytes."""
        return ORDER_BYTES * len(self.live)


_NO_COPIES: Mapping[int, Order] = {}


def split_history(
    state: TradingState,
    live: Iterable[Order],
    reported: Callable[[Order], Order | None],
    copies: Mapping[int, Order] = _NO_COPIES,
) -> tuple[TradingState, ExchangeHistory]:
    """Return the changing part of a state, and its history.

    `live` are the live orders, and `reported` returns the copy of an order in its last report.
    `copies` are the copies of live orders that another history holds; equal ones are shared.
    """

    def copy_of(order: Order) -> Order:
        copied = copies.get(order.seq)
        if copied is not None and copied == order:
            return copied
        copied = reported(order)
        if copied is not None and copied is not order and copied == order:
            return copied
        return replace(order)

    execution_log, cash, positions = state.execution_log, state.ledger.rows, state.positions.rows
    history = ExchangeHistory(
        _now(state.orders),
        _now(execution_log.executions),
        execution_log.trades[:],
        _now(cash),
        _now(positions),
        _now(execution_log.trade_updates),
        {order.seq: copy_of(order) for order in live},
    )
    present = replace(
        state,
        orders=[],
        execution_log=ExecutionLogState([], []),
        positions=replace(state.positions, rows=[]),
        ledger=replace(state.ledger, rows=[]),
    )
    return present, history


def join_history(
    present: TradingState, history: ExchangeHistory, here: Sequence[Order] = ()
) -> TradingState:
    """Rebuild the state that `split_history` split, for an exchange whose orders are `here` now."""
    orders, copied = history.orders.own(), len(here)
    for order in history.live.values():
        row = order.seq - 1
        if row < copied and (mine := here[row]) == order:
            orders[row] = mine
        else:
            orders[row] = replace(order)
    return replace(
        present,
        orders=orders,
        execution_log=ExecutionLogState(
            history.executions.own(), history.trades[:], history.trade_updates.own()
        ),
        positions=replace(present.positions, rows=history.positions.own()),
        ledger=replace(present.ledger, rows=history.cash.own()),
    )
