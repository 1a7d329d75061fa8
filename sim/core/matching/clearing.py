"""Clearing of trades: NEW, then CLEARED some time later, or BUSTED when undone (rule M42).

Trades clear in the order in which they were made, so one timer for the oldest uncleared
trade is enough.
"""

from __future__ import annotations

from sim.core.accounts.account_state import AccountState
from sim.core.catalogue.assumptions import CLEARING_DELAY
from sim.core.market_data.execution_log import ExecutionLog
from sim.core.model.context import Context
from sim.core.model.enums import BUY, TradeState
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Trade
from sim.core.model.refusals import Conflict

CLEARING_TIMER = "trade.clearing"


class Clearing:
    """Moves trades from state to state.

    `next_seq` is the first trade not processed yet; `timer` is pending while any
    trade is uncleared.
    """

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        execution_log: ExecutionLog,
        accounts: AccountState,
    ) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._execution_log = execution_log
        self._accounts = accounts
        self.next_seq = 0
        self.timer = 0

    def wait(self) -> None:
        """Schedule the clearing of the oldest uncleared trade, unless it is scheduled already."""
        trades = self._execution_log.trades.rows
        if not self.timer and self.next_seq < len(trades):
            due = trades[self.next_seq].at + self._ctx.assumptions.number(CLEARING_DELAY)
            self.timer = self._ctx.timers.schedule(max(due, self._ctx.now), CLEARING_TIMER)

    def clear(self) -> list[Trade]:
        """Clear the trades that are due, and schedule the next. Return those that cleared."""
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
        """Undo a trade: reverse positions, cash and fees of both sides. Orders are not affected."""
        trade = self._execution_log.require_trade(trade_id)
        if trade.state is TradeState.BUSTED:
            raise Conflict(f"trade {trade_id} is already busted", rule="M42")
        instrument, symbol = self._instruments.require(trade.symbol), trade.symbol
        accounts, price = self._accounts, trade.price
        value = price * trade.qty * instrument.cash_per_notional
        accounts.ledger.check_debts(value)
        trade = self._execution_log.advance(trade, TradeState.BUSTED)
        for execution in (trade.aggressor, trade.passive):
            account, buying = execution.order.account, execution.order.side is BUY
            signed = trade.qty if buying else -trade.qty
            nets = accounts.positions.reverse(
                account, symbol, signed, price, trade_id, execution.commission
            )
            accounts.risk.position_changed(account, instrument, nets)
            commission = execution.commission * instrument.cash_per_notional
            principal = -value if buying else value
            accounts.ledger.reverse(account, principal, commission, symbol, trade_id)
        return trade
