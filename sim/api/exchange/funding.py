"""Funding accounts, their sources and transactions (wire facts §1.10, §2.8).

A funding account is an account of the ledger under its own name: the firm's pool and the accounts
of its participants. With x-participant-id a call sees that participant's account and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeVar

from sim.api.pipeline.account_access import firm_of
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import page_length, page_of
from sim.api.rendering.exchange import CLEARING_HOUSE, CURRENCY
from sim.core.catalogue.assumptions import (
    FUNDING_PARTICIPANT_TYPE,
    FUNDING_REQUIREMENTS,
    FUNDING_UPDATE,
)
from sim.core.exchange import Exchange
from sim.core.funding.funding import sources_of
from sim.core.identity.firms import Firm
from sim.core.model.funding_records import AccountNotes, FundingSource, FundingType, SourceType
from sim.core.model.quantities import cash_text
from sim.core.model.refusals import InvalidRequest, PermissionDenied
from sim.kernel.instants import EASTERN, HOUR
from sim.messages import exchange_v1 as wire

C = TypeVar("C", wire.CheckoutCardPaymentMethodDetails, wire.CheckoutApplePayPaymentMethodDetails)

PAGE_DEFAULT = 100
HOUSE_SOURCE = f"{CLEARING_HOUSE}-house"

# What of an account a firm may change; everything else may be sent as it is.
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
    """Accounts that fit every filter given: the pool first, then participants in the order in which
    they joined.
    """
    firm = firm_of(exchange, caller)
    filters: tuple[
        tuple[Collection[str], Callable[[wire.FundingAccount], Collection[str]]], ...
    ] = (
        (request.account_ids, lambda found: (found.id,)),
        (request.funding_source_ids, lambda found: found.associated_funding_sources),
        (request.risk_account_ids, lambda found: (found.risk_account_id,)),
        (request.clearing_member_ids, lambda found: (found.clearing_member_id,)),
        (
            request.clearing_house_funding_source_ids,
            lambda found: found.clearing_house_funding_sources,
        ),
        (request.clearing_house_ids, lambda found: (found.clearing_house_id,)),
    )
    rows = [
        found
        for found in (
            account_message(exchange, firm, account)
            for account in funding_accounts(exchange, caller)
        )
        if request.account_type in (0, found.account_type)
        and all(not wanted or set(wanted).intersection(of(found)) for wanted, of in filters)
        and request.aliases.items() <= found.aliases.items()
    ]
    page, token = page_of(rows, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    return wire.ListFundingAccountsResponse(
        accounts=list(page), next_page_token=token, eof=not token
    )


@handles("FundingAPI.UpdateFundingAccount")
def update_funding_account(
    exchange: Exchange, caller: Caller, request: wire.UpdateFundingAccountRequest
) -> wire.UpdateFundingAccountResponse:
    """Change an account's name, sources, destination or aliases. The rest is the clearing house's:
    sending another value for it is refused.
    """
    firm = firm_of(exchange, caller)
    asked = request.account or wire.FundingAccount()
    if not asked.id:
        raise InvalidRequest("account.id is required", remedy="GET /v1/funding/accounts lists them")
    if asked.id not in funding_accounts(exchange, caller):
        raise PermissionDenied(
            rule="P24", remedy="GET /v1/funding/accounts lists the accounts this caller may change"
        )
    known = account_message(exchange, firm, asked.id)
    for name in known.__struct_fields__:
        value = getattr(asked, name)
        if name not in _CHANGEABLE and value and value != getattr(known, name):
            raise InvalidRequest(
                f"account.{name} cannot be changed", remedy=f"changeable: {', '.join(_CHANGEABLE)}"
            )
    sources = {source.id for source in sources_of(firm)}
    for name, values in (
        ("associated_funding_sources", asked.associated_funding_sources),
        ("destination_funding_source", [asked.destination_funding_source]),
    ):
        unknown = [value for value in values if value and value not in sources]
        if unknown or (name == "associated_funding_sources" and "" in values):
            raise InvalidRequest(
                f"account.{name}: no such funding source",
                remedy="GET /v1/funding/sources lists them",
            )
    replaces = exchange.ctx.assumptions.text(FUNDING_UPDATE) == "replace"
    given = {
        ours: tuple(value) if isinstance(value, list) else value
        for theirs, ours in _CHANGEABLE.items()
        if (value := getattr(asked, theirs)) or replaces
    }
    notes = exchange.funding.notes(asked.id)
    exchange.funding.note(
        asked.id,
        AccountNotes(
            **{name: given.get(name, getattr(notes, name)) for name in _CHANGEABLE.values()}
        ),
    )
    return wire.UpdateFundingAccountResponse(account=account_message(exchange, firm, asked.id))


def funding_accounts(exchange: Exchange, caller: Caller) -> tuple[str, ...]:
    """Accounts a call is about: the participant's own, else the firm's pool and all of its
    participants'.
    """
    if caller.account is not None:
        return (caller.account,)
    firm = firm_of(exchange, caller)
    # not `caller.accounts`: a stream outlives the joining of participants
    accounts = exchange.firms.accounts_of(firm)
    return (
        (firm.clearing_account, *accounts)
        if firm.clearing_account in exchange.trading.ledger
        else accounts
    )


def account_message(exchange: Exchange, firm: Firm, account: str) -> wire.FundingAccount:
    """A funding account. Every source of the firm may be used with it until the firm says
    otherwise; money goes out to the first.
    """
    notes = exchange.funding.notes(account)
    sources = [source.id for source in sources_of(firm)]
    holder = exchange.firms.holder(account)
    kind = wire.FundingAccountType
    participants = kind[f"ACCOUNT_TYPE_{exchange.ctx.assumptions.text(FUNDING_PARTICIPANT_TYPE)}"]
    return wire.FundingAccount(
        id=account,
        name=(
            (holder.display_name if holder else firm.display_name)
            if notes.name is None
            else notes.name
        ),
        account_type=participants if holder else kind.ACCOUNT_TYPE_CLEARING,
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
    """The firm's sources, as the scenario has them. Account numbers are masked."""
    firm = firm_of(exchange, caller)
    rows = [
        source_message(firm, source)
        for source in sources_of(firm)
        if request.funding_source_type in (0, source.type)
        and (not request.funding_source_ids or source.id in request.funding_source_ids)
    ]
    page, token = page_of(rows, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    return wire.ListFundingSourcesResponse(
        funding_sources=list(page), next_page_token=token, eof=not token
    )


def source_message(firm: Firm, source: FundingSource) -> wire.FundingSource:
    """A source with the details its type has; the people and banks behind it are made up."""
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
            message.checkout_card_payment_method_details = _card(
                wire.CheckoutCardPaymentMethodDetails(), firm, source
            )
        case SourceType.APPLE_PAY:
            message.checkout_apple_pay_payment_method_details = _card(
                wire.CheckoutApplePayPaymentMethodDetails(display_last4="0000"), firm, source
            )
        case _:
            message.bank_account_details = wire.BankAccountDetails(
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
            weekdays = [
                day
                for day in wire.FundingDayOfWeek
                if wire.FundingDayOfWeek.DAY_OF_WEEK_MONDAY
                <= day
                <= wire.FundingDayOfWeek.DAY_OF_WEEK_FRIDAY
            ]
            hours = wire.BusinessHours(
                days_of_week=list(weekdays),
                start_time=wire.FundingTimeOfDay(hour=9),
                duration=8 * HOUR,
            )
            message.business_schedule = wire.BusinessSchedule(
                business_hours=[hours], timezone=EASTERN.key
            )
    return message


def _card(details: C, firm: Firm, source: FundingSource) -> C:
    details.user_id, details.instrument_id, details.company_name = (
        firm.client_id,
        source.id,
        firm.display_name,
    )
    details.last4, details.scheme, details.card_type = "0000", "SANDBOX", "DEBIT"
    details.account_holder_type = (
        wire.FundingCheckoutAccountHolderType.FUNDING_CHECKOUT_ACCOUNT_HOLDER_TYPE_CORPORATE
    )
    return details


# ---- requirements


@handles("FundingAPI.ListTransactionRequirements")
def list_transaction_requirements(
    exchange: Exchange, caller: Caller, request: wire.ListTransactionRequirementsRequest
) -> wire.ListTransactionRequirementsResponse:
    """A deposit for every account whose buying power is below zero, as corrections of a settlement
    can leave it.
    """
    firm = firm_of(exchange, caller)
    rows = list(
        _shortfalls(exchange, firm, funding_accounts(exchange, caller), request.account_ids)
    )
    page, token = page_of(rows, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    return wire.ListTransactionRequirementsResponse(
        transaction_requirements=list(page), next_page_token=token, eof=not token
    )


def _shortfalls(
    exchange: Exchange, firm: Firm, accounts: Sequence[str], asked: Collection[str]
) -> Iterator[wire.TransactionRequirement]:
    if not exchange.ctx.assumptions.flag(FUNDING_REQUIREMENTS):
        return
    for account in accounts:
        missing = -exchange.trading.buying_power(account)
        if missing > 0 and (not asked or account in asked):
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
