"""Funding accounts, funding sources and transaction requirements of a firm.

A funding account is a ledger account under its own name: the firm's pool or the account of a
participant. A call with x-participant-id sees only that participant's account.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TypeVar

from msgspec.structs import replace

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles, require
from sim.api.pipeline.paging import paged
from sim.api.rendering.exchange_instruments import CLEARING_HOUSE
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import (
    FUNDING_PARTICIPANT_TYPE,
    FUNDING_REQUIREMENTS,
    FUNDING_UPDATE,
)
from sim.core.exchange import Exchange
from sim.core.funding.funding import sources_of
from sim.core.identity.firms import Firm
from sim.core.model.funding_records import FundingSource, FundingType, SourceType
from sim.core.model.quantities import CURRENCY, cash_text
from sim.core.model.refusals import InvalidRequest, PermissionDenied
from sim.kernel.instants import EASTERN, HOUR

C = TypeVar("C", wire.CheckoutCardPaymentMethodDetails, wire.CheckoutApplePayPaymentMethodDetails)

HOUSE_SOURCE = f"{CLEARING_HOUSE}-house"

# The fields of an account that a firm may change, with the names of the notes that hold them. A
# client may send any other field with its current value.
_CHANGEABLE = {
    "name": "name",
    "associated_funding_sources": "sources",
    "destination_funding_source": "destination",
    "aliases": "aliases",
}


# ---- accounts


@handles("FundingAPI.ListFundingAccounts")
def list_funding_accounts(
    exchange: Exchange, caller: Caller, request: wire.ListFundingAccountsRequest
) -> wire.ListFundingAccountsResponse:
    """List the accounts that pass every filter: the pool, then participants as they joined."""
    firm, names = firm_of(exchange, caller), funding_accounts(exchange, caller)
    accounts = (account_message(exchange, firm, name) for name in names)
    rows = [account for account in accounts if _passes(account, request)]
    page, following = paged(rows, request)
    return wire.ListFundingAccountsResponse(accounts=list(page), **following)


def _passes(account: wire.FundingAccount, request: wire.ListFundingAccountsRequest) -> bool:
    """Return whether an account passes every filter of a request.

    Empty filters match everything.
    """
    filters: tuple[tuple[list[str], list[str]], ...] = (
        (request.account_ids, [account.id]),
        (request.funding_source_ids, account.associated_funding_sources),
        (request.risk_account_ids, [account.risk_account_id]),
        (request.clearing_member_ids, [account.clearing_member_id]),
        (request.clearing_house_funding_source_ids, account.clearing_house_funding_sources),
        (request.clearing_house_ids, [account.clearing_house_id]),
    )
    return (
        request.account_type in (0, account.account_type)
        and all(not ids or set(ids).intersection(values) for ids, values in filters)
        and request.aliases.items() <= account.aliases.items()
    )


@handles("FundingAPI.UpdateFundingAccount")
def update_funding_account(
    exchange: Exchange, caller: Caller, request: wire.UpdateFundingAccountRequest
) -> wire.UpdateFundingAccountResponse:
    """Change an account's name, sources, destination or aliases.

    The other fields belong to the clearing house; a different value for one of them is refused.
    """
    firm = firm_of(exchange, caller)
    account = request.account or wire.FundingAccount()
    require(account.id, "account.id", remedy="GET /v1/funding/accounts lists them")
    if account.id not in funding_accounts(exchange, caller):
        raise PermissionDenied(
            rule="P24", remedy="GET /v1/funding/accounts lists the accounts this caller may change"
        )
    _check_update(account, account_message(exchange, firm, account.id), firm)
    replaces = exchange.ctx.assumptions.text(FUNDING_UPDATE) == "replace"
    values = {note: getattr(account, field) for field, note in _CHANGEABLE.items()}
    changes = {
        note: tuple(value) if isinstance(value, list) else value
        for note, value in values.items()
        if value or replaces
    }
    notes = exchange.funding.notes(account.id)
    exchange.funding.note(account.id, replace(notes, **changes))
    return wire.UpdateFundingAccountResponse(account=account_message(exchange, firm, account.id))


def _check_update(account: wire.FundingAccount, current: wire.FundingAccount, firm: Firm) -> None:
    """Refuse unknown sources and changes of fields that belong to the clearing house."""
    for name in current.__struct_fields__:
        value = getattr(account, name)
        if name not in _CHANGEABLE and value and value != getattr(current, name):
            raise InvalidRequest(
                f"account.{name} cannot be changed",
                remedy=f"only these can change: {', '.join(_CHANGEABLE)}",
            )
    sources = {source.id for source in sources_of(firm)}
    for name, allowed, ids in (
        ("associated_funding_sources", sources, account.associated_funding_sources),
        ("destination_funding_source", sources | {""}, [account.destination_funding_source]),
    ):
        if not allowed.issuperset(ids):
            raise InvalidRequest(
                f"account.{name}: no such funding source",
                remedy="GET /v1/funding/sources lists them",
            )


def funding_accounts(exchange: Exchange, caller: Caller) -> tuple[str, ...]:
    """Return the accounts a call may see: the participant's, or else the pool and all
    participants'.

    They are read from the firm and not from `caller.accounts`, because participants may join while
    a stream is open.
    """
    if caller.account is not None:
        return (caller.account,)
    firm = firm_of(exchange, caller)
    accounts, pool = exchange.firms.accounts_of(firm), firm.clearing_account
    return (pool, *accounts) if pool in exchange.trading.ledger else accounts


def account_message(exchange: Exchange, firm: Firm, account: str) -> wire.FundingAccount:
    """Return a funding account as a message.

    By default an account may use every source of the firm and pays out to the first of them.
    """
    notes = exchange.funding.notes(account)
    sources = [source.id for source in sources_of(firm)]
    holder = exchange.firms.holder(account)
    type = exchange.ctx.assumptions.text(FUNDING_PARTICIPANT_TYPE) if holder else "CLEARING"
    return wire.FundingAccount(
        id=account,
        name=(holder or firm).display_name if notes.name is None else notes.name,
        account_type=wire.FundingAccountType[f"ACCOUNT_TYPE_{type}"],
        clearing_house_id=CLEARING_HOUSE,
        clearing_member_id=firm.clearing_firm,
        associated_funding_sources=sources if notes.sources is None else list(notes.sources),
        risk_account_id=account,
        destination_funding_source=sources[0] if notes.destination is None else notes.destination,
        allowed_destination_funding_sources=sources,
        clearing_house_funding_sources=[HOUSE_SOURCE],
        aliases=dict(notes.aliases or {}),
        creation_time=exchange.trading.ledger.require(account).opened,
    )


# ---- sources


@handles("FundingAPI.ListFundingSources")
def list_funding_sources(
    exchange: Exchange, caller: Caller, request: wire.ListFundingSourcesRequest
) -> wire.ListFundingSourcesResponse:
    """List the firm's funding sources. Account numbers are masked."""
    firm = firm_of(exchange, caller)
    rows = [
        source_message(firm, source)
        for source in sources_of(firm)
        if request.funding_source_type in (0, source.type)
        and (not request.funding_source_ids or source.id in request.funding_source_ids)
    ]
    page, following = paged(rows, request)
    return wire.ListFundingSourcesResponse(funding_sources=list(page), **following)


def source_message(firm: Firm, source: FundingSource) -> wire.FundingSource:
    """Return a source with the details of its type. Names of people and banks are invented."""
    message = wire.FundingSource(id=source.id, type=source.type, disabled=source.disabled)
    if source.max_deposit:
        limits = wire.CurrencyTransactionLimits(
            currency=CURRENCY,
            max_deposit_request_amount=wire.StringValue(value=cash_text(source.max_deposit)),
        )
        message.transaction_limits = wire.TransactionLimits(currency_limits=[limits])
    match source.type:
        case SourceType.AEROPAY_BANK_ACCOUNT:
            message.aeropay_bank_account_details = wire.AeropayBankAccountDetails(
                user_id=firm.client_id,
                bank_account_id=source.id,
                name=firm.display_name,
                bank_name="Sandbox Bank",
                account_last_4="0000",
                account_type="checking",
            )
        case SourceType.CHECKOUT_CARD:
            card = wire.CheckoutCardPaymentMethodDetails()
            message.checkout_card_payment_method_details = _card(card, firm, source)
        case SourceType.APPLE_PAY:
            wallet = wire.CheckoutApplePayPaymentMethodDetails(display_last4="0000")
            message.checkout_apple_pay_payment_method_details = _card(wallet, firm, source)
        case _:
            message.bank_account_details = _bank_account(firm)
            message.business_schedule = _business_schedule()
    return message


def _card(details: C, firm: Firm, source: FundingSource) -> C:
    holder_types = wire.FundingCheckoutAccountHolderType
    details.user_id, details.instrument_id = firm.client_id, source.id
    details.company_name = firm.display_name
    details.last4, details.scheme, details.card_type = "0000", "SANDBOX", "DEBIT"
    details.account_holder_type = holder_types.FUNDING_CHECKOUT_ACCOUNT_HOLDER_TYPE_CORPORATE
    return details


def _bank_account(firm: Firm) -> wire.BankAccountDetails:
    return wire.BankAccountDetails(
        bank_id="000000000",
        bank_account_id="****0000",
        bank_id_type=wire.FundingBankIdType.BANK_ID_TYPE_FED,
        currency=CURRENCY,
        account_title=firm.display_name,
        bank_name="Sandbox Bank",
        bank_country_code="US",
        beneficiary_name=firm.display_name,
        beneficiary_country_code="US",
    )


def _business_schedule() -> wire.BusinessSchedule:
    """Return business hours: Monday to Friday, 9:00 to 17:00 Eastern."""
    day = wire.FundingDayOfWeek
    weekdays = range(day.DAY_OF_WEEK_MONDAY, day.DAY_OF_WEEK_FRIDAY + 1)
    opening = wire.FundingTimeOfDay(hour=9)
    hours = wire.BusinessHours(
        days_of_week=list(map(day, weekdays)), start_time=opening, duration=8 * HOUR
    )
    return wire.BusinessSchedule(business_hours=[hours], timezone=EASTERN.key)


# ---- requirements


@handles("FundingAPI.ListTransactionRequirements")
def list_transaction_requirements(
    exchange: Exchange, caller: Caller, request: wire.ListTransactionRequirementsRequest
) -> wire.ListTransactionRequirementsResponse:
    """Require a deposit for every account whose buying power is negative.

    A corrected settlement can cause this.
    """
    rows = list(_shortfalls(exchange, caller, request.account_ids))
    page, following = paged(rows, request)
    return wire.ListTransactionRequirementsResponse(
        transaction_requirements=list(page), **following
    )


def _shortfalls(
    exchange: Exchange, caller: Caller, ids: Collection[str]
) -> Iterator[wire.TransactionRequirement]:
    firm, accounts = firm_of(exchange, caller), funding_accounts(exchange, caller)
    if not exchange.ctx.assumptions.flag(FUNDING_REQUIREMENTS):
        return
    for account in accounts:
        missing = -exchange.trading.buying_power(account)
        if missing > 0 and (not ids or account in ids):
            yield wire.TransactionRequirement(
                id=f"{account}/requirements/buying-power",
                account_id=account,
                transaction_type=FundingType.DEPOSIT,
                funding_source_id=sources_of(firm)[0].id,
                amount=cash_text(missing),
                currency=CURRENCY,
                description="Buying power is below zero",
                triggers=["BUYING_POWER_BELOW_ZERO"],
            )
