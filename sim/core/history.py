"""Splits the state of trading into what may still change and what never will.

Executions, trades, ledger rows, position rows and done orders never change (rule M41), and they are
most of a state. A snapshot encodes the changing part and only refers to the rows of the other,
which it shares with the exchange. So the cost of a snapshot follows what is open, not how long a
run was.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from sim.core.market_data.execution_log import ExecutionLogState
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.orders import Execution, Order, Trade, live_of
from sim.core.trading.trading import TradingState


class History(NamedTuple):
    """Rows up to a moment, in order. A snapshot owns the lists and shares the rows. An order that
    was live at that moment only keeps its place here: the changing part of the state has it.
    """

    orders: list[Order]
    executions: list[Execution]
    trades: list[Trade]
    cash: list[CashMoved]
    positions: list[PositionChanged]
    trade_updates: list[int]


def split_history(state: TradingState) -> tuple[TradingState, History]:
    """The changing part of a state, and its history."""
    execution_log, cash, positions = state.execution_log, state.ledger.rows, state.positions.rows
    history = History(
        state.orders,
        execution_log.executions[:],
        execution_log.trades[:],
        cash[:],
        positions[:],
        execution_log.trade_updates[:],
    )
    present = replace(
        state,
        orders=live_of(state.orders),
        execution_log=ExecutionLogState([], []),
        positions=replace(state.positions, rows=[]),
        ledger=replace(state.ledger, rows=[]),
    )
    return present, history


def join_history(present: TradingState, history: History) -> TradingState:
    """The state that `split_history` took apart."""
    orders = history.orders[:]
    for order in present.orders:
        orders[order.seq - 1] = order
    return replace(
        present,
        orders=orders,
        execution_log=ExecutionLogState(history.executions, history.trades, history.trade_updates),
        positions=replace(present.positions, rows=history.positions),
        ledger=replace(present.ledger, rows=history.cash),
    )
