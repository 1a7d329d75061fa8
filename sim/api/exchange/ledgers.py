"""The cash ledger and the position ledger, in pages and as CSV (§4.3, rules P17-P24).

Both ledgers begin at 2026-05-01T00:00:00Z; an earlier start is raised to that instant. A row never
changes once it is written, so pages in ascending order are stable.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from sim.api.pipeline.account_access import ledger_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import paged
from sim.api.rendering.exchange_positions import ledger_entry_message, position_entry_message
from sim.api.reports.csv_writer import csv_chunks
from sim.api.reports.trade_dates import in_order
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.quantities import CURRENCY
from sim.core.model.refusals import EntryTypeSuppressed, InvalidRequest
from sim.kernel.dated import Dated
from sim.kernel.indexes.indexed_log import slice_by_time
from sim.kernel.instants import Instant

LEDGER_ROWS = Dated(
    False,
    ("2026-05-01T00:00:00Z", True),
    name="ledgers.rows",
    section="§4.3",
    title="rows of ledgers are served",
)
FLOOR: Instant = LEDGER_ROWS.starts[0]
DESCRIPTION_MAX = 200

_T = LedgerEntryType
SUPPRESSED = frozenset(
    {
        _T.NETTING,
        _T.SECURITY_BALANCE_ADJUSTMENT,
        _T.SECURITY_MARK_TO_MARKET,
        _T.CONTRACT_EXPIRATION,
        _T.PENDING_CREDIT_ADJUSTMENT,
        _T.BEGINNING_OF_DAY,
        _T.SECURITY_WITHDRAWAL,
        _T.AVERAGE_PRICE_TRANSFER,
        _T.GIVE_UP,
        _T.SYNCHRONIZATION,
        _T.INTEREST,
        _T.SETTLEMENT_FEE,
    }
)

CashQuery: TypeAlias = wire.GetAccountBalanceLedgerRequest | wire.DownloadBalanceLedgerRequest
PositionQuery: TypeAlias = wire.GetPositionLedgerRequest | wire.DownloadPositionLedgerRequest

D = TypeVar("D", CashMoved, PositionChanged)


@handles("FundingAPI.GetAccountBalanceLedger", "PositionAPI.GetPositionLedger")
def get_ledger(
    exchange: Exchange,
    caller: Caller,
    request: wire.GetAccountBalanceLedgerRequest | wire.GetPositionLedgerRequest,
) -> wire.GetAccountBalanceLedgerResponse | wire.GetPositionLedgerResponse:
    """List changes of an account's cash, each with the balance before and after it (rule P20), or
    of its positions, each with the position after it (rule P23).
    """
    page, following = paged(_entries(exchange, caller, request), request, refuse=True)
    of_cash = isinstance(request, wire.GetAccountBalanceLedgerRequest)
    answer = wire.GetAccountBalanceLedgerResponse if of_cash else wire.GetPositionLedgerResponse
    return answer(entries=list(page), **following)


@handles("FundingAPI.DownloadBalanceLedger", "PositionAPI.DownloadPositionLedger")
def download_ledger(
    exchange: Exchange,
    caller: Caller,
    request: wire.DownloadBalanceLedgerRequest | wire.DownloadPositionLedgerRequest,
) -> Iterator[wire.DownloadBalanceLedgerResponse | wire.DownloadPositionLedgerResponse]:
    """Return the same rows as CSV; the file is empty, without a header, if there are none (P24)."""
    of_cash = isinstance(request, wire.DownloadBalanceLedgerRequest)
    entry = wire.BalanceLedgerEntry if of_cash else wire.PositionLedgerEntry
    part = wire.DownloadBalanceLedgerResponse if of_cash else wire.DownloadPositionLedgerResponse
    rows = _entries(exchange, caller, request)
    return (part(data=chunk) for chunk in csv_chunks(entry, rows, header_alone=False))


def _entries(
    exchange: Exchange, caller: Caller, request: CashQuery | PositionQuery
) -> Iterator[Any]:
    """Return the rows of a request as messages, of the type of its ledger."""
    if isinstance(request, CashQuery):
        return map(ledger_entry_message, _cash_rows(exchange, caller, request))
    return map(position_entry_message, _position_rows(exchange, caller, request))


def _cash_rows(exchange: Exchange, caller: Caller, request: CashQuery) -> Iterator[CashMoved]:
    account = ledger_account(exchange, caller, request.account)
    types = public_types(request.entry_types)
    if len(request.description) > DESCRIPTION_MAX:
        raise InvalidRequest(f"description: at most {DESCRIPTION_MAX} characters", rule="P24")
    if request.currency.upper() not in ("", CURRENCY):
        return iter(())
    in_order(exchange, request.start_time, request.end_time)

    def passes(row: CashMoved) -> bool:
        return (
            (row.type in types if types else row.type not in SUPPRESSED)
            and request.symbol in ("", row.symbol)
            and request.description in row.description
        )

    return filter(passes, _in_time(exchange.trading.ledger.entries(account), request))


def public_types(requested: Sequence[int]) -> frozenset[int]:
    """Return the entry types to show; an empty set means every public type.

    Refuses a request for an internal type as ABORTED (rule P18).
    """
    if not SUPPRESSED.isdisjoint(requested):
        raise EntryTypeSuppressed(rule="P18", remedy="leave entry_types empty for all public types")
    return frozenset(requested) - {_T.UNDEFINED}


def _position_rows(
    exchange: Exchange, caller: Caller, request: PositionQuery
) -> Iterator[PositionChanged]:
    account = ledger_account(exchange, caller, request.account)
    in_order(exchange, request.start_time, request.end_time)
    rows = _in_time(exchange.trading.positions.rows(account), request)
    return (row for row in rows if row.symbol == request.symbol) if request.symbol else rows


def _in_time(rows: Sequence[D], request: CashQuery | PositionQuery) -> Iterator[D]:
    """Return the rows from start (never before the floor) to end, both inclusive.

    Rows that are added during iteration are not included.
    """
    places = slice_by_time(rows, max(request.start_time or FLOOR, FLOOR), request.end_time)
    return map(rows.__getitem__, reversed(places) if request.newest_first else places)
