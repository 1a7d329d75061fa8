"""What has happened and never changes again, apart from what may: so that a snapshot shares the one
with the exchange and copies the other only.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from sim.core.market_data.execution_log import ExecutionLogState
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.orders import Execution, Order, Trade
from sim.core.trading.trading import TradingState


class History(NamedTuple):
    """Rows up to a moment, in order. The lists are a snapshot's own, the rows are shared. Of orders
    that were live then only the id counts.
    """

    orders: list[Order]
    executions: list[Execution]
    trades: list[Trade]
    cash: list[CashMoved]
    positions: list[PositionChanged]
    trade_updates: list[int]


def parted(state: TradingState) -> tuple[TradingState, History]:
    """A state without its history, and the history. Done orders and written rows never change (rule
    M41).
    """
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
        orders=[order for order in state.orders if order.live],
        execution_log=ExecutionLogState([], []),
        positions=replace(state.positions, rows=[]),
        ledger=replace(state.ledger, rows=[]),
    )
    return present, history


def joined(present: TradingState, history: History) -> TradingState:
    """The state that was parted."""
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
