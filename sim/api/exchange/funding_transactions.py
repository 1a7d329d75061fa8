"""Funding transactions: what moved money into, out of and between the accounts a caller may see
(wire facts §1.10).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from datetime import date

from sim.api.exchange.funding import HOUSE_SOURCE, PAGE_DEFAULT, funding_accounts
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import page_length, page_of
from sim.api.rendering.exchange import CLEARING_HOUSE, CURRENCY
from sim.api.reports.trade_dates import in_order
from sim.core.exchange import Exchange
from sim.core.model.funding_records import FundingState, FundingTransaction, SourceType
from sim.core.model.quantities import cash_text
from sim.core.model.refusals import InvalidRequest, NotFound, PermissionDenied
from sim.kernel.instants import trade_date
from sim.messages import exchange_v1 as wire


@handles("FundingAPI.ListFundingTransactions")
def list_funding_transactions(
    exchange: Exchange, caller: Caller, request: wire.ListFundingTransactionsRequest
) -> wire.ListFundingTransactionsResponse:
    """Transactions that fit every filter given, in the order of their last changes; oldest first
    unless `newest_first`.
    """
    visible = funding_accounts(exchange, caller)
    if request.account_id and request.account_id not in visible:
        raise PermissionDenied(
            rule="P24", remedy="GET /v1/funding/accounts lists the accounts this caller may see"
        )
    in_order(exchange, request.start_time, request.end_time)
    rows = list(
        _wanted(
            exchange.funding.of((request.account_id,) if request.account_id else visible), request
        )
    )
    rows.sort(key=lambda found: found.seq, reverse=request.newest_first)
    page, token = page_of(rows, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    return wire.ListFundingTransactionsResponse(
        transactions=[transaction_message(exchange, found) for found in page],
        next_page_token=token,
        eof=not token,
    )


def _wanted(
    rows: Iterator[FundingTransaction], request: wire.ListFundingTransactionsRequest
) -> Iterator[FundingTransaction]:
    first, last = _day(request.start_date, "start_date"), _day(request.end_date, "end_date")
    if request.currency.upper() not in ("", CURRENCY):
        return
    filters: tuple[tuple[Collection[object], Callable[[FundingTransaction], object]], ...] = (
        (request.transaction_ids, lambda found: found.id),
        (request.transaction_types, lambda found: found.type),
        (request.transaction_states, lambda found: found.state),
        (request.parent_transaction_ids, lambda found: found.parent),
        (request.review_statuses, lambda found: found.review),
        (request.funding_source_types, lambda found: found.source_type),
        (
            [request.funding_transaction_id] if request.funding_transaction_id else (),
            lambda found: found.reference,
        ),
    )
    used = [(frozenset(values), of) for values, of in filters if values]
    for found in rows:
        if (request.start_time is not None and found.changed < request.start_time) or (
            request.end_time is not None and found.changed > request.end_time
        ):
            continue
        day = trade_date(found.changed)
        if (
            (first and day < first)
            or (last and day > last)
            or not all(of(found) in values for values, of in used)
        ):
            continue
        yield found


def _day(given: wire.FundingDate | None, name: str) -> date | None:
    if given is None:
        return None
    try:
        return date(given.year, given.month, given.day)
    except ValueError as wrong:
        raise InvalidRequest(
            f"{name}: {wrong}", remedy="send year, month and day of a date that exists"
        ) from None


@handles("FundingAPI.GetFundingTransaction")
def get_funding_transaction(
    exchange: Exchange, caller: Caller, request: wire.GetFundingTransactionRequest
) -> wire.GetFundingTransactionResponse:
    """A transaction of an account the caller may see; NotFound for any other."""
    found = exchange.funding.get(request.transaction_id)
    if found is None or found.account not in funding_accounts(exchange, caller):
        raise NotFound(
            f"unknown funding transaction: {request.transaction_id[:80]}",
            remedy="GET /v1/funding/transactions lists them",
        )
    return wire.GetFundingTransactionResponse(transaction=transaction_message(exchange, found))


def transaction_message(exchange: Exchange, found: FundingTransaction) -> wire.FundingTransaction:
    """A transaction as it stood when `found` was recorded."""
    firm = exchange.firms.owner_of(found.account)
    direction = wire.FundingTransaction_FundingLedgerEntryType
    day = trade_date(found.changed)
    reserved = not found.credit and found.state in (
        FundingState.PENDING,
        FundingState.PROCESSING,
        FundingState.ACKNOWLEDGED,
    )
    return wire.FundingTransaction(
        transaction_id=found.id,
        amount=cash_text(found.amount),
        currency=CURRENCY,
        description=found.description,
        ledger_entry_type=(
            direction.LEDGER_ENTRY_TYPE_CREDIT
            if found.credit
            else direction.LEDGER_ENTRY_TYPE_DEBIT
        ),
        transaction_type=found.type,
        transaction_state=found.state,
        transact_time=found.changed,
        transact_date=wire.FundingDate(year=day.year, month=day.month, day=day.day),
        clearing_house_id=CLEARING_HOUSE,
        clearing_member_id=firm.clearing_firm if firm else "",
        account_id=found.account,
        funding_source_id=found.source,
        funding_transaction_id=found.reference,
        before_balance="" if found.before is None else cash_text(found.before),
        after_balance="" if found.after is None else cash_text(found.after),
        risk_account_id=found.account,
        risk_transaction_id=f"bl_{found.entry}" if found.entry else "",
        parent_transaction_id=found.parent,
        clearing_house_funding_source_id=HOUSE_SOURCE,
        create_time=found.created,
        balance_reservation=cash_text(found.amount) if reserved else "",
        funding_source_type=found.source_type,
        clearing_house_funding_source_type=SourceType.BANK_ACCOUNT,
        review_status=found.review,
        status_message=found.message,
    )
