"""Funding transactions: money moved into, out of and between the accounts a caller may see."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import date

from sim.api.exchange.funding import HOUSE_SOURCE, funding_accounts
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import paged
from sim.api.rendering.exchange_instruments import CLEARING_HOUSE
from sim.api.reports.trade_dates import in_order
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.funding_records import FundingState, FundingTransaction, SourceType
from sim.core.model.quantities import CURRENCY, cash_text
from sim.core.model.refusals import InvalidRequest, NotFound, PermissionDenied, cut
from sim.kernel.instants import trade_date

_UNDER_WAY = (FundingState.PENDING, FundingState.PROCESSING, FundingState.ACKNOWLEDGED)


@handles("FundingAPI.ListFundingTransactions")
def list_funding_transactions(
    exchange: Exchange, caller: Caller, request: wire.ListFundingTransactionsRequest
) -> wire.ListFundingTransactionsResponse:
    """List the transactions that pass every filter, ordered by last change.

    Oldest first unless `newest_first`.
    """
    visible = funding_accounts(exchange, caller)
    if request.account_id and request.account_id not in visible:
        raise PermissionDenied(
            rule="P24", remedy="GET /v1/funding/accounts lists the accounts this caller may see"
        )
    in_order(exchange, request.start_time, request.end_time)
    accounts = (request.account_id,) if request.account_id else visible
    rows = sorted(
        _matching(exchange.funding.of(accounts), request),
        key=lambda row: row.seq,
        reverse=request.newest_first,
    )
    page, following = paged(rows, request)
    return wire.ListFundingTransactionsResponse(
        transactions=[transaction_message(exchange, row) for row in page], **following
    )


def _matching(
    rows: Iterator[FundingTransaction], request: wire.ListFundingTransactionsRequest
) -> Iterator[FundingTransaction]:
    """Yield the transactions that pass every filter; empty filters match everything."""
    first, last = _day(request.start_date, "start_date"), _day(request.end_date, "end_date")
    if request.currency.upper() not in ("", CURRENCY):
        return
    reference = request.funding_transaction_id
    filters: tuple[tuple[Collection[object], Callable[[FundingTransaction], object]], ...] = (
        (request.transaction_ids, lambda row: row.id),
        (request.transaction_types, lambda row: row.type),
        (request.transaction_states, lambda row: row.state),
        (request.parent_transaction_ids, lambda row: row.parent),
        (request.review_statuses, lambda row: row.review),
        (request.funding_source_types, lambda row: row.source_type),
        ([reference] if reference else [], lambda row: row.reference),
    )
    used = [(frozenset(values), value_of) for values, value_of in filters if values]
    start, end = request.start_time, request.end_time
    for row in rows:
        day = trade_date(row.changed)
        if (
            (start is None or row.changed >= start)
            and (end is None or row.changed <= end)
            and (first is None or day >= first)
            and (last is None or day <= last)
            and all(value_of(row) in values for values, value_of in used)
        ):
            yield row


def _day(day: wire.FundingDate | None, name: str) -> date | None:
    if day is None:
        return None
    try:
        return date(day.year, day.month, day.day)
    except ValueError as error:
        raise InvalidRequest(
            f"{name}: {error}", remedy="send year, month and day of a date that exists"
        ) from None


@handles("FundingAPI.GetFundingTransaction")
def get_funding_transaction(
    exchange: Exchange, caller: Caller, request: wire.GetFundingTransactionRequest
) -> wire.GetFundingTransactionResponse:
    """Return a transaction of an account the caller may see; any other is not found."""
    transaction = exchange.funding.get(request.transaction_id)
    if transaction is None or transaction.account not in funding_accounts(exchange, caller):
        raise NotFound(
            f"unknown funding transaction: {cut(request.transaction_id)}",
            remedy="GET /v1/funding/transactions lists them",
        )
    message = transaction_message(exchange, transaction)
    return wire.GetFundingTransactionResponse(transaction=message)


def transaction_message(exchange: Exchange, row: FundingTransaction) -> wire.FundingTransaction:
    """Return a transaction in the state that the row recorded."""
    firm = exchange.firms.owner_of(row.account)
    direction = wire.FundingTransaction_FundingLedgerEntryType
    day = trade_date(row.changed)
    reserved = not row.credit and row.state in _UNDER_WAY
    return wire.FundingTransaction(
        transaction_id=row.id,
        amount=cash_text(row.amount),
        currency=CURRENCY,
        description=row.description,
        ledger_entry_type=(
            direction.LEDGER_ENTRY_TYPE_CREDIT if row.credit else direction.LEDGER_ENTRY_TYPE_DEBIT
        ),
        transaction_type=row.type,
        transaction_state=row.state,
        transact_time=row.changed,
        transact_date=wire.FundingDate(year=day.year, month=day.month, day=day.day),
        clearing_house_id=CLEARING_HOUSE,
        clearing_member_id=firm.clearing_firm if firm else "",
        account_id=row.account,
        funding_source_id=row.source,
        funding_transaction_id=row.reference,
        before_balance="" if row.before is None else cash_text(row.before),
        after_balance="" if row.after is None else cash_text(row.after),
        risk_account_id=row.account,
        risk_transaction_id=f"bl_{row.entry}" if row.entry else "",
        parent_transaction_id=row.parent,
        clearing_house_funding_source_id=HOUSE_SOURCE,
        create_time=row.created,
        balance_reservation=cash_text(row.amount) if reserved else "",
        funding_source_type=row.source_type,
        clearing_house_funding_source_type=SourceType.BANK_ACCOUNT,
        review_status=row.review,
        status_message=row.message,
    )
