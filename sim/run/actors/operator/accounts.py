"""Operator actions on accounts: payments, and decisions about funding
transactions and verifications.
"""

from __future__ import annotations

from sim.core.exchange import Exchange
from sim.core.funding.funding import sources_of
from sim.core.incentives.incentives import LIQUIDITY_REFERENCE, REBATE_REFERENCE, REFERRAL_REFERENCE
from sim.core.model.enums import LedgerEntryType
from sim.core.model.funding_records import (
    FundingSource,
    FundingState,
    FundingTransaction,
    FundingType,
    Purpose,
)
from sim.core.model.quantities import CASH_SCALE, CENT, Cash, cash_text
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound
from sim.core.model.why import Why
from sim.run.actors.operator.action import operator_action
from sim.run.actors.operator.answers import Answer, case_answer, funding_answer
from sim.run.engine.engine import Engine
from sim.world.format.steps import FundingStep, FundStep, KycStep
from sim.world.start.orders import in_units

_BY_TESTER = Why("T1")
_INCENTIVE = FundingType.INCENTIVE, LedgerEntryType.MANUAL_ADJUSTMENT
# How a payment is booked, by purpose: type, ledger entry, reference of the activity.
_BOOKED_AS = {
    Purpose.TRANSFER: (FundingType.TRANSFER, LedgerEntryType.MANUAL_TRANSFER, ""),
    Purpose.REFERRAL_BONUS: (*_INCENTIVE, REFERRAL_REFERENCE),
    Purpose.TAKER_FEE_REBATE: (*_INCENTIVE, REBATE_REFERENCE),
    Purpose.LIQUIDITY_PROGRAM: (*_INCENTIVE, LIQUIDITY_REFERENCE),
}


@operator_action("account.fund", "POST /accounts/{account*}/fund", step="fund")
def fund(engine: Engine, entry: FundStep) -> Answer:
    """Pay dollars into an account, or with a negative amount out of it (§8).

    Through a funding source this begins a transaction that takes time; otherwise the money
    moves at once.
    """
    exchange = engine.exchange
    account, amount = engine.account_named(entry.account), _cents(entry.amount)
    if entry.source and entry.purpose:
        message = "`purpose` is possible only without `source`: remove one of them"
        raise InvalidRequest(message, rule="T1")
    if entry.source:
        source = _source(exchange, account, entry.source)
        transaction = exchange.funding.begin(account, amount, source, entry.script)
    else:
        transaction = _move_at_once(exchange, account, amount, entry.purpose)
    return _with_balance(exchange, transaction)


def _move_at_once(
    exchange: Exchange, account: str, amount: Cash, purpose: Purpose
) -> FundingTransaction:
    available = exchange.trading.buying_power(account)
    if amount < 0 and available < -amount:
        raise Conflict(f"{account} has only {cash_text(available)} available", rule="P6")
    exchange.funding.check_room(amount)
    move = exchange.funding.move
    if purpose:
        type, entry, reference = _BOOKED_AS[purpose]
        note = purpose.name.lower().replace("_", " ")
        return move(account, amount, type, entry, note, reference=reference, why=_BY_TESTER)
    type, entry = FundingType.DEPOSIT, LedgerEntryType.DEPOSIT
    if amount < 0:
        type, entry = FundingType.WITHDRAWAL, LedgerEntryType.WITHDRAWAL
    return move(account, amount, type, entry, "by hand", why=_BY_TESTER)


def _with_balance(exchange: Exchange, transaction: FundingTransaction) -> Answer:
    balance = exchange.trading.ledger.balance(transaction.account)
    return {**funding_answer(transaction), "balance": cash_text(balance)}


@operator_action("funding.decide", "POST /funding/{transaction}")
def decide_funding(engine: Engine, entry: FundingStep) -> Answer:
    """Complete, cancel or refund a transaction through a funding source."""
    funding = engine.exchange.funding
    if entry.state is FundingState.REFUNDED:
        amount = None if entry.amount is None else _cents(entry.amount)
        transaction = funding.refund(entry.transaction, amount)
    elif entry.amount is not None:
        raise InvalidRequest("`amount` is possible only with the state refunded", rule="T1")
    else:
        transaction = funding.decide(entry.transaction, entry.state)
    return _with_balance(engine.exchange, transaction)


def _source(exchange: Exchange, account: str, name: str) -> FundingSource:
    firm = exchange.firms.owner_of(account)
    sources = {source.id: source for source in sources_of(firm)} if firm else {}
    if name not in sources:
        names = ", ".join(sources) or "none, because it belongs to no firm"
        message = f"{account} has no funding source {name!r}"
        raise NotFound(message, rule="T1", remedy=f"its sources: {names}")
    return sources[name]


def _cents(text: str) -> Cash:
    amount = in_units(text, CASH_SCALE, "amount")
    if amount % CENT:
        raise InvalidRequest("an amount has at most 2 decimals", rule="S8-6")
    return amount


@operator_action("kyc.document", "POST /kyc/{external_id}/document", step="kyc")
@operator_action("kyc.decide", "POST /kyc/{external_id}/decision", step="kyc")
def decide_verification(engine: Engine, entry: KycStep) -> Answer:
    """Decide a verification, or report the result of a document upload."""
    kyc = engine.exchange.kyc
    if entry.document:
        return case_answer(kyc.document(entry.external_id, entry.document))
    return case_answer(kyc.decide(entry.external_id, entry.decision))
