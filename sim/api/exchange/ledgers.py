"""The cash and the position ledger, in pages and as CSV (§4.3, rules P17-P24).

Both begin at 2026-05-01T00:00:00Z: an earlier start is raised to it. Rows are sealed once written,
so oldest-first pages never drift.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias, TypeVar

from sim.api.pipeline.account_access import ledger_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import page_length, page_of
from sim.api.rendering.exchange import CURRENCY, ledger_entry_message, position_entry_message
from sim.api.reports.csv_writer import csv_chunks
from sim.api.reports.trade_dates import in_order
from sim.core.exchange import Exchange
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.refusals import EntryTypeSuppressed, InvalidRequest
from sim.indexes.indexed_log import slice_by_time
from sim.kernel.dated import Dated
from sim.kernel.instants import Instant
from sim.messages import exchange_v1 as wire

LEDGER_ROWS = Dated(
    False,
    ("2026-05-01T00:00:00Z", True),
    name="ledgers.rows",
    section="§4.3",
    title="rows of ledgers are served",
)
FLOOR: Instant = LEDGER_ROWS.starts[0]
PAGE_DEFAULT = 100
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


# ---- cash


@handles("FundingAPI.GetAccountBalanceLedger")
def get_account_balance_ledger(
    exchange: Exchange, caller: Caller, request: wire.GetAccountBalanceLedgerRequest
) -> wire.GetAccountBalanceLedgerResponse:
    """Changes of an account's cash; each says the balance before and after (rule P20)."""
    rows = _cash_rows(exchange, caller, request)
    page, token = page_of(
        rows, request.page_token, page_length(request.page_size, PAGE_DEFAULT, refuse=True)
    )
    return wire.GetAccountBalanceLedgerResponse(
        entries=[ledger_entry_message(row) for row in page], next_page_token=token, eof=not token
    )


@handles("FundingAPI.DownloadBalanceLedger")
def download_balance_ledger(
    exchange: Exchange, caller: Caller, request: wire.DownloadBalanceLedgerRequest
) -> Iterator[wire.DownloadBalanceLedgerResponse]:
    """The same as CSV; nothing at all when there is no row (rule P24)."""
    rows = _cash_rows(exchange, caller, request)
    messages = (ledger_entry_message(row) for row in rows)
    return (
        wire.DownloadBalanceLedgerResponse(data=chunk)
        for chunk in csv_chunks(wire.BalanceLedgerEntry, messages, header_alone=False)
    )


def _cash_rows(exchange: Exchange, caller: Caller, request: CashQuery) -> Iterator[CashMoved]:
    account = ledger_account(exchange, caller, request.account)
    types = public_types(request.entry_types)
    if len(request.description) > DESCRIPTION_MAX:
        raise InvalidRequest(f"description: at most {DESCRIPTION_MAX} characters", rule="P24")
    if request.currency.upper() not in ("", CURRENCY):
        return iter(())
    in_order(exchange, request.start_time, request.end_time)
    rows = _window(
        exchange.trading.ledger.entries(account),
        request.start_time,
        request.end_time,
        request.newest_first,
    )
    rows = (
        (row for row in rows if row.type in types)
        if types
        else (row for row in rows if row.type not in SUPPRESSED)
    )
    if request.symbol:
        rows = (row for row in rows if row.symbol == request.symbol)
    if request.description:
        rows = (row for row in rows if request.description in row.description)
    return rows


def public_types(asked: Sequence[int]) -> frozenset[int]:
    """Entry types to show; empty means every public one. Asking for an internal one is ABORTED
    (rule P18).
    """
    for number in asked:
        if number in SUPPRESSED:
            raise EntryTypeSuppressed(
                rule="P18", remedy="leave entry_types empty for every type that may be seen"
            )
    return frozenset(asked) - {_T.UNDEFINED}


# ---- positions


@handles("PositionAPI.GetPositionLedger")
def get_position_ledger(
    exchange: Exchange, caller: Caller, request: wire.GetPositionLedgerRequest
) -> wire.GetPositionLedgerResponse:
    """Changes of an account's positions, each with the state right after it (rule P23)."""
    rows = _position_rows(exchange, caller, request)
    page, token = page_of(
        rows, request.page_token, page_length(request.page_size, PAGE_DEFAULT, refuse=True)
    )
    return wire.GetPositionLedgerResponse(
        entries=[position_entry_message(row) for row in page], next_page_token=token, eof=not token
    )


@handles("PositionAPI.DownloadPositionLedger")
def download_position_ledger(
    exchange: Exchange, caller: Caller, request: wire.DownloadPositionLedgerRequest
) -> Iterator[wire.DownloadPositionLedgerResponse]:
    """The same as CSV; nothing at all when there is no row (rule P24)."""
    rows = _position_rows(exchange, caller, request)
    messages = (position_entry_message(row) for row in rows)
    return (
        wire.DownloadPositionLedgerResponse(data=chunk)
        for chunk in csv_chunks(wire.PositionLedgerEntry, messages, header_alone=False)
    )


def _position_rows(
    exchange: Exchange, caller: Caller, request: PositionQuery
) -> Iterator[PositionChanged]:
    account = ledger_account(exchange, caller, request.account)
    in_order(exchange, request.start_time, request.end_time)
    rows = _window(
        exchange.trading.positions.rows(account),
        request.start_time,
        request.end_time,
        request.newest_first,
    )
    return (row for row in rows if row.symbol == request.symbol) if request.symbol else rows


def _window(
    rows: Sequence[D], start: Instant | None, end: Instant | None, newest_first: bool
) -> Iterator[D]:
    """Rows from start (never before the floor) to end, both inclusive. Rows that are added later
    are not among them.
    """
    places = slice_by_time(rows, max(start or FLOOR, FLOOR), end)
    return map(rows.__getitem__, reversed(places) if newest_first else places)
