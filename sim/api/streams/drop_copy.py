"""Drop copy and trade capture: executions and trades of a firm, resumable (§6.2)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from heapq import merge
from typing import Any, NamedTuple

from sim.api.pipeline.retention import EXECUTIONS_KEPT, purged_before
from sim.api.rendering.exchange import execution_message, trade_message
from sim.api.streams.resumable import ReplayFeed
from sim.api.streams.resume_tokens import ResumePoint
from sim.api.streams.shared_frames import encoded
from sim.core.market_data.execution_log import ExecutionLog, Record
from sim.core.model.enums import TradeState
from sim.core.model.events import Event, Executed, Traded
from sim.core.model.orders import Execution, Trade
from sim.kernel.instants import Instant
from sim.messages import exchange_v1 as wire


class DropCopyFeed(ReplayFeed[Execution]):
    """Execution reports."""

    response = wire.CreateDropCopySubscriptionResponse
    rows_field = "executions"

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
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
        boundary = purged_before(self.context.exchange, EXECUTIONS_KEPT)
        for seq in _seqs(
            self._record, self.accounts_of(firm), max(point.seq, _first_at(self._record, boundary))
        ):
            execution = self._record[seq]
            yield ResumePoint(seq + 1, execution.at), execution

    def symbol_of(self, row: Execution) -> str:
        return row.order.symbol

    def encode(self, firm: str, row: Execution) -> bytes:
        return encoded(execution_message(self.context.exchange, row))

    @property
    def _record(self) -> Record[Execution]:
        return self.context.exchange.trading.executions


class TradeReport(NamedTuple):
    """A trade in one of its clearing states."""

    trade: Trade
    state: TradeState


class TradeCaptureFeed(ReplayFeed[TradeReport]):
    """Trades, again under the same id at each change of state (rule M42)."""

    response = wire.CreateTradeCaptureReportSubscriptionResponse
    rows_field = "trade_capture_reports"

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {Traded: self._traded}

    def _traded(self, event: Traded) -> None:
        report = TradeReport(event.trade, event.state)
        first = self.firm_of(event.trade.aggressor.order.account)
        second = self.firm_of(event.trade.passive.order.account)
        if first is not None:
            self.add_row(first, report)
        if second is not None and second != first:
            self.add_row(second, report)

    def point(self) -> ResumePoint:
        return ResumePoint(len(self._execution_log.trade_updates), self.context.now)

    def point_at(self, at: Instant) -> ResumePoint:
        execution_log = self._execution_log
        return ResumePoint(
            bisect_left(
                range(len(execution_log.trade_updates)),
                at,
                key=lambda number: execution_log.trade_update(number)[2],
            ),
            at,
        )

    def rows_after(
        self, firm: str, point: ResumePoint
    ) -> Iterator[tuple[ResumePoint, TradeReport]]:
        execution_log, accounts = self._execution_log, frozenset(self.accounts_of(firm))
        for number in range(point.seq, len(execution_log.trade_updates)):
            trade, state, at = execution_log.trade_update(number)
            if trade.aggressor.order.account in accounts or trade.passive.order.account in accounts:
                yield ResumePoint(number + 1, at), TradeReport(trade, state)

    def symbol_of(self, row: TradeReport) -> str:
        return row.trade.symbol

    def encode(self, firm: str, row: TradeReport) -> bytes:
        return encoded(
            trade_message(self.context.exchange, row.trade, self.accounts_of(firm), row.state)
        )

    @property
    def _execution_log(self) -> ExecutionLog:
        return self.context.exchange.trading.execution_log


def _first_at(record: Record[Execution], at: Instant) -> int:
    """Seq of the first row at or after an instant."""
    return bisect_left(record.rows, at, key=lambda row: row.at)


def _seqs(record: Record[Execution], accounts: Iterable[str], start: int) -> Iterator[int]:
    """Seqs of the rows of accounts from a seq on, ascending, each once."""
    groups = [record.of_account(account) for account in accounts]
    last = -1
    for seq in merge(*[group[bisect_left(group, start) :] for group in groups]):
        if seq != last:
            last = seq
            yield seq
