"""Drop copy and trade capture: the executions and trades of a firm, resumable (§6.2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from heapq import merge
from typing import NamedTuple

from sim.api.rendering.exchange_orders import execution_message, trade_message
from sim.api.rendering.retention import EXECUTION_RETENTION, purged_before
from sim.api.streams.feed import EventReaders
from sim.api.streams.resumable import ReplayFeed
from sim.api.streams.resume_tokens import ResumePoint
from sim.api.streams.shared_frames import encoded
from sim.contract.messages import exchange_v1 as wire
from sim.core.market_data.execution_log import ExecutionLog, SequencedLog
from sim.core.model.enums import TradeState
from sim.core.model.events import Executed, Traded
from sim.core.model.orders import Execution, Trade
from sim.kernel.instants import Instant


class DropCopyFeed(ReplayFeed[Execution]):
    """Execution reports of a firm."""

    response = wire.CreateDropCopySubscriptionResponse
    rows_field = "executions"

    def reads(self) -> EventReaders:
        return {Executed: self._executed}

    def _executed(self, event: Executed) -> None:
        firm = self.firm_of(event.execution.order.account)
        if firm is not None:
            self.add_row(firm, event.execution)

    def point(self) -> ResumePoint:
        return ResumePoint(len(self._record), self.context.now)

    def point_at(self, at: Instant) -> ResumePoint:
        return ResumePoint(_first_at(self._record, at), at)

    def rows_after(self, firm: str, point: ResumePoint) -> Iterator[tuple[ResumePoint, Execution]]:
        record = self._record
        oldest_kept = _first_at(record, purged_before(self.exchange, EXECUTION_RETENTION))
        for seq in _seqs(record, self.accounts_of(firm), max(point.seq, oldest_kept)):
            execution = record[seq]
            yield ResumePoint(seq + 1, execution.at), execution

    def symbol_of(self, row: Execution) -> str:
        return row.order.symbol

    def encode(self, firm: str, row: Execution) -> bytes:
        return encoded(execution_message(self.exchange, row))

    @property
    def _record(self) -> SequencedLog[Execution]:
        return self.exchange.trading.executions


class TradeReport(NamedTuple):
    """A trade in one of its clearing states."""

    trade: Trade
    state: TradeState


class TradeCaptureFeed(ReplayFeed[TradeReport]):
    """Trades of a firm, sent again under the same id at each change of state (rule M42)."""

    response = wire.CreateTradeCaptureReportSubscriptionResponse
    rows_field = "trade_capture_reports"

    def reads(self) -> EventReaders:
        return {Traded: self._traded}

    def _traded(self, event: Traded) -> None:
        trade, report = event.trade, TradeReport(event.trade, event.state)
        firms = map(self.firm_of, (trade.aggressor.order.account, trade.passive.order.account))
        for firm in dict.fromkeys(firms):
            if firm is not None:
                self.add_row(firm, report)

    def point(self) -> ResumePoint:
        return ResumePoint(len(self._execution_log.trade_updates), self.context.now)

    def point_at(self, at: Instant) -> ResumePoint:
        log = self._execution_log
        numbers = range(len(log.trade_updates))
        return ResumePoint(bisect_left(numbers, at, key=lambda n: log.trade_update(n)[2]), at)

    def rows_after(
        self, firm: str, point: ResumePoint
    ) -> Iterator[tuple[ResumePoint, TradeReport]]:
        log, accounts = self._execution_log, frozenset(self.accounts_of(firm))
        for number in range(point.seq, len(log.trade_updates)):
            trade, state, at = log.trade_update(number)
            if trade.aggressor.order.account in accounts or trade.passive.order.account in accounts:
                yield ResumePoint(number + 1, at), TradeReport(trade, state)

    def symbol_of(self, row: TradeReport) -> str:
        return row.trade.symbol

    def encode(self, firm: str, row: TradeReport) -> bytes:
        accounts = self.accounts_of(firm)
        return encoded(trade_message(self.exchange, row.trade, accounts, row.state))

    @property
    def _execution_log(self) -> ExecutionLog:
        return self.exchange.trading.execution_log


def _first_at(record: SequencedLog[Execution], at: Instant) -> int:
    """Return the seq of the first row at or after an instant."""
    return bisect_left(record.rows, at, key=lambda row: row.at)


def _seqs(record: SequencedLog[Execution], accounts: Iterable[str], start: int) -> Iterator[int]:
    """Return the seqs of the accounts' rows from `start` on, ascending."""
    groups = [record.of_account(account) for account in accounts]
    return merge(*[group[bisect_left(group, start) :] for group in groups])
