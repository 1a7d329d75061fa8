"""What a tester can do about money, prices, games and people: other people's activity, and
compliance, by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import to_builtins

from sim.actors.operator.bodies import Answer
from sim.actors.participants.recurring_fair_price import UNIT
from sim.core.exchange import Exchange
from sim.core.funding.funding import sources_of
from sim.core.identity.kyc import KycCase
from sim.core.incentives.incentives import LIQUIDITY_REFERENCE, REBATE_REFERENCE, REFERRAL_REFERENCE
from sim.core.model.enums import LedgerEntryType
from sim.core.model.funding_records import (
    FundingSource,
    FundingState,
    FundingTransaction,
    FundingType,
    Purpose,
)
from sim.core.model.games import Goal
from sim.core.model.quantities import CASH_SCALE, CENT, Cash, cash_text
from sim.core.model.refusals import Conflict, InvalidRequest, NotFound
from sim.scenario.steps import (
    EventStep,
    FairPriceStep,
    FundingStep,
    FundStep,
    KycStep,
    ParticipantStep,
    PriceStep,
)
from sim.world.orders import in_units

if TYPE_CHECKING:
    from sim.simulation import Simulation


_PURPOSES = {
    Purpose.TRANSFER: (FundingType.TRANSFER, LedgerEntryType.MANUAL_TRANSFER, ""),
    Purpose.REFERRAL_BONUS: (
        FundingType.INCENTIVE,
        LedgerEntryType.MANUAL_ADJUSTMENT,
        REFERRAL_REFERENCE,
    ),
    Purpose.TAKER_FEE_REBATE: (
        FundingType.INCENTIVE,
        LedgerEntryType.MANUAL_ADJUSTMENT,
        REBATE_REFERENCE,
    ),
    Purpose.LIQUIDITY_PROGRAM: (
        FundingType.INCENTIVE,
        LedgerEntryType.MANUAL_ADJUSTMENT,
        LIQUIDITY_REFERENCE,
    ),
}


def fund(sim: Simulation, step: FundStep) -> Answer:
    """Pay dollars into an account, or out of it with a minus sign; at most two decimals (§8).
    Through a funding source it takes its course.
    """
    account = sim.account_named(step.account)
    amount = _cents(step.amount)
    funding, trading = sim.exchange.funding, sim.exchange.trading
    if step.source and step.purpose:
        raise InvalidRequest(
            "money through a source is a deposit or a withdrawal: leave purpose out", rule="control"
        )
    if step.source:
        made = funding.begin(
            account, amount, _source(sim.exchange, account, step.source), step.course
        )
    elif amount < 0 and trading.buying_power(account) < -amount:
        raise Conflict(
            f"{account} has only {cash_text(trading.buying_power(account))} to pay out", rule="P6"
        )
    elif step.purpose:
        type, entry, reference = _PURPOSES[step.purpose]
        made = funding.move(
            account,
            amount,
            type,
            entry,
            step.purpose.name.lower().replace("_", " "),
            reference=reference,
        )
    elif amount >= 0:
        made = funding.move(
            account, amount, FundingType.DEPOSIT, LedgerEntryType.DEPOSIT, "by hand"
        )
    else:
        made = funding.move(
            account, amount, FundingType.WITHDRAWAL, LedgerEntryType.WITHDRAWAL, "by hand"
        )
    return {**shown_funding(made), "balance": cash_text(trading.ledger.balance(account))}


def shown_funding(found: FundingTransaction) -> Answer:
    """A funding transaction as the control plane shows it; a withdrawal has a minus sign."""
    return {
        "transaction": found.id,
        "account": found.account,
        "amount": cash_text(found.amount if found.credit else -found.amount),
        "state": found.state.name,
        "review": found.review.name,
        "source": found.source,
    }


def decide_funding(sim: Simulation, step: FundingStep) -> Answer:
    """Complete, cancel or refund a transaction through a source."""
    funding = sim.exchange.funding
    if step.state is FundingState.REFUNDED:
        found = funding.refund(
            step.transaction, None if step.amount is None else _cents(step.amount)
        )
    elif step.amount is not None:
        raise InvalidRequest("amount belongs to a refund", rule="control")
    else:
        found = funding.decide(step.transaction, step.state)
    return {
        **shown_funding(found),
        "balance": cash_text(sim.exchange.trading.ledger.balance(found.account)),
    }


def _source(exchange: Exchange, account: str, name: str) -> FundingSource:
    firm = exchange.firms.owner_of(account)
    sources = {source.id: source for source in sources_of(firm)} if firm else {}
    if name not in sources:
        known = ", ".join(sources) or "none: it belongs to no firm"
        raise NotFound(
            f"{account} has no funding source {name!r}",
            rule="control",
            remedy=f"its sources: {known}",
        )
    return sources[name]


def _cents(text: str) -> Cash:
    amount = in_units(text, CASH_SCALE, "amount")
    if amount % CENT:
        raise InvalidRequest("transfers have at most 2 decimal places", rule="S8-6")
    return amount


def tick(sim: Simulation, step: PriceStep) -> Answer:
    """An index tick of an asset now; an asset never seen before is created."""
    sim.exchange.assets.tick(step.asset, step.price)
    return {}


def set_fair_price(sim: Simulation, step: FairPriceStep) -> Answer:
    """What scripted participants think an instrument worth, from now on."""
    price = in_units(step.price, UNIT, "price")
    if not 0 < price < UNIT:
        raise InvalidRequest(
            f"a fair price lies between 0 and 1 dollar, not {step.price}", rule="control"
        )
    sim.exchange.instruments.require(step.symbol)
    sim.participants.news(step.symbol, price)
    return {}


def switch_participant(sim: Simulation, step: ParticipantStep) -> Answer:
    """Stop a scripted participant, or let it go on."""
    sim.participants.switch(step.name, step.active)
    return {"name": step.name, "active": step.active}


def update_event(sim: Simulation, step: EventStep) -> Answer:
    """How a game stands."""
    event = sim.world.reference.event_called(step.slug)
    if event is None:
        raise NotFound(
            f"no event is called {step.slug}",
            rule="control",
            remedy="the slug or number of an event: GET /v1/events of the gateway lists them",
        )
    slug = event.slug
    facts: dict[str, Any] = {
        name: getattr(step, name)
        for name in (
            "home_score",
            "away_score",
            "period",
            "elapsed",
            "live",
            "ended",
            "advances",
            "result",
        )
    }
    facts |= {
        name: found
        for name, found in (("periods", step.periods), ("players", step.players))
        if found
    }
    if step.goals is not None:
        facts["goals"] = tuple(
            Goal(team=goal.team, minute=goal.minute, stoppage=goal.stoppage) for goal in step.goals
        )
    game = sim.exchange.report_game(slug, **facts)
    answer = {
        "slug": slug,
        **{
            name: to_builtins(value) for name in facts if (value := getattr(game, name)) is not None
        },
    }
    return answer | {"settles": sim.exchange.end_game(slug)} if game.ended else answer


def decide_verification(sim: Simulation, step: KycStep) -> Answer:
    """A compliance decision or a document upload by hand."""
    kyc = sim.exchange.kyc
    case = (
        kyc.document(step.external_id, step.document)
        if step.document
        else kyc.decide(step.external_id, step.decision)
    )
    return shown_case(case)


def shown_case(case: KycCase) -> Answer:
    """A verification as the control plane shows it."""
    return {
        "external_id": case.external_id,
        "decision": case.decision,
        "status": case.status,
        "sub_status": case.sub_status,
        "participant_id": case.participant,
        "provisioned_account": case.provisioned_account,
    }
