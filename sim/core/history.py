"""Splits the state of trading into what may still change and what never will.

Executions, trades, ledger rows, position rows and done orders never change (rule M41), and they are
most of a state. A snapshot encodes the changing part and only refers to the rows of the other,
which it shares with the exchange: it holds the exchange's own list of them and how long that was.
Such a list is only added to, and whoever takes rows away makes another (`FirstRows`). Live orders
are kept as their last report shows them; one that differs from it is copied, which costs less than
to encode and decode it. So the cost of a snapshot follows what is open, not how long a run was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from sim.core.market_data.execution_log import ExecutionLogState
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.orders import Execution, Order, Trade, live_of
from sim.core.trading.trading import TradingState

T = TypeVar("T")


class FirstRows(NamedTuple, Generic[T]):
    """The first `number` rows of a list that is only added to."""

    rows: list[T]
    number: int

    def own(self) -> list[T]:
        """A list of these rows."""
        return self.rows[: self.number]


def _now(rows: list[T]) -> FirstRows[T]:
    return FirstRows(rows, len(rows))


class History(NamedTuple):
    """Rows up to a moment, in order. An order that was live at that moment only keeps its place in
    `orders`; `live` has copies of those, which nothing changes. Clearing puts a new row in the
    place of a trade, so the list of trades is the history's own.
    """

    orders: FirstRows[Order]
    executions: FirstRows[Execution]
    trades: list[Trade]
    cash: FirstRows[CashMoved]
    positions: FirstRows[PositionChanged]
    trade_updates: FirstRows[int]
    live: list[Order]

    @property
    def live_bytes(self) -> int:
        """About how much the copies of live orders take."""
        return _ORDER_BYTES * len(self.live)


_ORDER_BYTES = 512
_NO_COPIES: Mapping[int, Order] = {}


def split_history(
    state: TradingState,
    reported: Callable[[Order], Order | None],
    copies: Mapping[int, Order] = _NO_COPIES,
) -> tuple[TradingState, History]:
    """The changing part of a state, and its history.

    `reported` gives the copy of an order in its last report, `copies` are those of live orders that
    another history has, by the order's `seq`: what is equal is shared.
    """

    def copy_of(order: Order) -> Order:
        for copied in (reported(order), copies.get(order.seq)):
            if copied is not order and copied == order:
                return copied
        return replace(order)

    execution_log, cash, positions = state.execution_log, state.ledger.rows, state.positions.rows
    history = History(
        _now(state.orders),
        _now(execution_log.executions),
        execution_log.trades[:],
        _now(cash),
        _now(positions),
        _now(execution_log.trade_updates),
        [copy_of(order) for order in live_of(state.orders)],
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
    present: TradingState, history: History, here: Sequence[Order] = ()
) -> TradingState:
    """The state that `split_history` took apart, for an exchange whose orders are `here` now."""
    orders, copied = history.orders.own(), len(here)
    for order in history.live:
        place = order.seq - 1
        if place < copied and (mine := here[place]) == order:
            orders[place] = mine
        else:
            orders[place] = replace(order)
    return replace(
        present,
        orders=orders,
        execution_log=ExecutionLogState(
            history.executions.own(), history.trades[:], history.trade_updates.own()
        ),
        positions=replace(present.positions, rows=history.positions.own()),
        ledger=replace(present.ledger, rows=history.cash.own()),
    )
