"""Clearing of trades: NEW, CLEARED some time later, BUSTED when undone (rule M42).

Trades clear in the order they were made, so one timer, for the oldest that waits, is enough.
"""

from __future__ import annotations

from sim.core.accounts.ledger import Ledger
from sim.core.accounts.positions import Positions
from sim.core.accounts.risk import Risk
from sim.core.catalogue.assumptions import CLEARING_DELAY
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.model.context import Context
from sim.core.model.enums import BUY, TradeState
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Trade
from sim.core.model.refusals import Conflict

CLEARING_TIMER = "trade.clearing"


class Clearing:
    """Moves trades on. `next_seq` is the oldest trade that has not been looked at; `timer` is
    pending while one waits.
    """

    __slots__ = (
        "_ctx",
        "_execution_log",
        "_instruments",
        "_ledger",
        "_positions",
        "_risk",
        "next_seq",
        "timer",
    )

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        execution_log: ExecutionLog,
        positions: Positions,
        ledger: Ledger,
        risk: Risk,
    ) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._execution_log = execution_log
        self._positions = positions
        self._ledger = ledger
        self._risk = risk
        self.next_seq = 0
        self.timer = 0

    def wait(self) -> None:
        """See to it that the oldest waiting trade clears in time."""
        if not self.timer and self.next_seq < len(self._execution_log.trades):
            due = self._execution_log.trades[self.next_seq].at + self._ctx.assumptions.number(
                CLEARING_DELAY
            )
            self.timer = self._ctx.timers.schedule(max(due, self._ctx.now), CLEARING_TIMER)

    def clear(self) -> list[Trade]:
        """Clear what is due and wait for the next. Returns the trades that cleared."""
        self.timer = 0
        trades = self._execution_log.trades
        latest = self._ctx.now - self._ctx.assumptions.number(CLEARING_DELAY)
        cleared = []
        while self.next_seq < len(trades) and trades[self.next_seq].at <= latest:
            trade = trades[self.next_seq]
            self.next_seq += 1
            if trade.state is TradeState.NEW:
                cleared.append(self._execution_log.advance(trade, TradeState.CLEARED))
        self.wait()
        return cleared

    def bust(self, trade_id: str) -> Trade:
        """Undo a trade: positions and cash of both sides go back, fees included. The orders stay as
        they are.
        """
        trade = self._execution_log.require_trade(trade_id)
        if trade.state is TradeState.BUSTED:
            raise Conflict(f"trade {trade_id} is busted already", rule="M42")
        instrument = self._instruments.require(trade.symbol)
        trade = self._execution_log.advance(trade, TradeState.BUSTED)
        value = trade.price * trade.qty * instrument.cash_per_notional
        for execution in (trade.aggressor, trade.passive):
            order = execution.order
            signed = trade.qty if order.side is BUY else -trade.qty
            undone = self._positions.reverse(
                order.account, trade.symbol, signed, trade.price, trade_id, execution.commission
            )
            self._risk.moved(order.account, instrument, undone)
            commission = execution.commission * instrument.cash_per_notional
            self._ledger.reverse(
                order.account,
                -value if order.side is BUY else value,
                commission,
                trade.symbol,
                trade_id,
            )
        return trade
