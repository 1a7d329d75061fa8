"""Splits the state of trading into what may still change and what never will.

Executions, trades, ledger rows, position rows and done orders never change (rule M41), and they are
most of a state. A snapshot encodes the changing part and only refers to the rows of the other,
which it shares with the exchange. Live orders are copied, which costs less than to encode and
decode them, and an exchange that has an equal one already keeps it. So the cost of a snapshot
follows what is open, not how long a run was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from sim.core.market_data.execution_log import ExecutionLogState
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.orders import Execution, Order, Trade, live_of
from sim.core.trading.trading import TradingState


class History(NamedTuple):
    """Rows up to a moment, in order. A snapshot owns the lists and shares the rows. An order that
    was live at that moment only keeps its place in `orders`; `live` has copies of those, which
    nobody else has and nothing changes.
    """

    orders: list[Order]
    executions: list[Execution]
    trades: list[Trade]
    cash: list[CashMoved]
    positions: list[PositionChanged]
    trade_updates: list[int]
    live: list[Order]

    @property
    def live_bytes(self) -> int:
        """About how much the copies of live orders take."""
        return _ORDER_BYTES * len(self.live)


NO_ROWS = History([], [], [], [], [], [], [])
_ORDER_BYTES = 512
_NO_COPIES: Mapping[int, Order] = {}


def split_history(
    state: TradingState, copies: Mapping[int, Order] = _NO_COPIES
) -> tuple[TradingState, History]:
    """The changing part of a state, and its history. Copies of live orders that another history has
    may be passed, by the order's `seq`: what is equal is shared.
    """
    execution_log, cash, positions = state.execution_log, state.ledger.rows, state.positions.rows
    history = History(
        state.orders,
        execution_log.executions[:],
        execution_log.trades[:],
        cash[:],
        positions[:],
        execution_log.trade_updates[:],
        [
            kept if (kept := copies.get(order.seq)) == order else replace(order)
            for order in live_of(state.orders)
        ],
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
    orders, known = history.orders[:], len(here)
    for order in history.live:
        place = order.seq - 1
        if place < known and (mine := here[place]) == order:
            orders[place] = mine
        else:
            orders[place] = replace(order)
    return replace(
        present,
        orders=orders,
        execution_log=ExecutionLogState(history.executions, history.trades, history.trade_updates),
        positions=replace(present.positions, rows=history.positions),
        ledger=replace(present.ledger, rows=history.cash),
    )
