"""Incentive programs and their earnings, on both hosts (§2.3, §4.2)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from itertools import chain
from operator import itemgetter
from typing import Any

from msgspec import convert

from sim.api.gateway.list_query import ascending
from sim.api.pipeline.account_access import visible_accounts
from sim.api.pipeline.authentication import Caller, account_of
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import page_length, page_of
from sim.api.rendering.retail_numbers import dollars
from sim.contract.messages import exchange_v1 as exchange_wire
from sim.contract.messages import retail_v1 as wire
from sim.core.catalogue.assumptions import INCENTIVE_ROWS
from sim.core.exchange import Exchange
from sim.core.incentives.incentives import PAID, PENDING, SKIPPED, Period, Reward
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import InvalidRequest, cut

PAGE_DEFAULT = 100
_KEYS: dict[str, Any] = {
    "created_at": lambda program: min(period.created_at for period in program.time_periods),
    "start": lambda program: min(period.start for period in program.time_periods),
    "reward_pool": lambda program: sum(period.reward_pool for period in program.time_periods),
    "market_slug": lambda program: program.market_slug,
    "event_start_time": lambda program: program.event_start_time or 0,
}
_STATUSES = ("active", "closed", "pending")
_STATE_PREFIX = "INSTRUMENT_STATE_"


@handles("RetailIncentivesAPI.ListIncentives")
def list_incentives(
    exchange: Exchange, request: wire.ListIncentivesRequest
) -> wire.ListIncentivesResponse:
    """List the programs by market, including past ones, newest first by default (§4.2).

    The page size counts markets.
    """
    return programs(exchange, request)


def programs(
    exchange: Exchange, request: wire.ListIncentivesRequest
) -> wire.ListIncentivesResponse:
    """Return one page of the programs that pass the request's filters."""
    order = request.order_by or "created_at"
    _check_query(order, request)
    programs = [
        _program(exchange, symbol, periods, request)
        for symbol, every in exchange.incentives.programs().items()
        for periods in _rows(exchange, every)
    ]
    rows = sorted(
        filter(None, programs), key=_KEYS[order], reverse=not ascending(request.order_direction)
    )
    page, token = page_of(rows, request.page_token, page_length(request.page_size, PAGE_DEFAULT))
    return wire.ListIncentivesResponse(programs=list(page), next_page_token=token)


def _rows(exchange: Exchange, periods: list[Period]) -> Iterable[list[Period]]:
    """Return the periods of each row: of the market, or of each program (`incentives.rows`)."""
    by_program: dict[str, list[Period]] = {}
    for period in periods:
        by_program.setdefault(period.program_id, []).append(period)
    return by_program.values() if _by_program(exchange) else [periods]


def _by_program(exchange: Exchange) -> bool:
    return exchange.ctx.assumptions.text(INCENTIVE_ROWS) == "program"


def _check_query(order: str, request: wire.ListIncentivesRequest) -> None:
    """Refuse an unknown sort key, direction, status or instrument state."""
    if order not in _KEYS:
        raise InvalidRequest(
            f"order_by must be one of {', '.join(_KEYS)}", remedy="omit it to sort by created_at"
        )
    ascending(request.order_direction, "order_direction")
    for status in request.statuses:
        if status not in _STATUSES:
            raise InvalidRequest(
                f"unknown status {cut(status)!r}", remedy="send active, closed or pending"
            )
    for state in request.instrument_states:
        if state.removeprefix(_STATE_PREFIX) not in InstrumentState.__members__:
            raise InvalidRequest(
                f"unknown instrument state {cut(state)!r}",
                remedy=f"{', '.join(InstrumentState.__members__)}, with or without {_STATE_PREFIX}",
            )


@handles("RetailIncentivesAPI.ListEarnings")
def list_earnings(
    exchange: Exchange, caller: Caller, request: wire.ListEarningsRequest
) -> wire.ListEarningsResponse:
    """List the caller's earnings, one entry per market and Eastern date, newest first (§4.2).

    The dates of the request are inclusive.
    """
    return wire.ListEarningsResponse(rewards=earned(exchange, (account_of(caller),), request))


def earned(
    exchange: Exchange, accounts: Iterable[str], request: wire.ListEarningsRequest
) -> list[wire.UserReward]:
    """Return the rewards of the accounts, added up, that pass the request's filters."""
    first, last = _date(request.start_date, "start_date"), _date(request.end_date, "end_date")
    if first and last and first > last:
        raise InvalidRequest("start_date must not be after end_date")
    entries: dict[tuple[str, str, int], list[Reward]] = {}
    each = _by_program(exchange)
    rewards = chain.from_iterable(map(exchange.incentives.rewards, accounts))
    for number, reward in enumerate(rewards):
        if _passes(reward, first, last, request):
            key = reward.date, reward.symbol, number if each else 0
            entries.setdefault(key, []).append(reward)
    newest_first = sorted(sorted(entries), key=itemgetter(0), reverse=True)
    return [_entry(entries[key]) for key in newest_first]


def _entry(rewards: list[Reward]) -> wire.UserReward:
    """Return one entry for all payouts of a market and date, whatever their programs (§2.3).

    Its status is PAID once all are paid, its type that of the program that pays most. Skipped
    rewards are reported only where there are no payouts.
    """
    payouts = [reward for reward in rewards if reward.status != SKIPPED] or rewards
    by_type: dict[str, int] = {}
    for reward in payouts:
        by_type[reward.program_type] = by_type.get(reward.program_type, 0) + reward.amount
    return wire.UserReward(
        reward=dollars(sum(by_type.values())),
        program_type=max(sorted(by_type), key=by_type.__getitem__),
        market_slug=payouts[0].symbol,
        date=payouts[0].date,
        status=min((reward.status for reward in payouts), key=(PENDING, PAID, SKIPPED).index),
    )


def _passes(reward: Reward, first: str, last: str, request: wire.ListEarningsRequest) -> bool:
    return (
        (not first or reward.date >= first)
        and (not last or reward.date <= last)
        and request.market_slug in ("", reward.symbol)
        and request.program_type in ("", reward.program_type)
    )


def _date(text: str, field: str) -> str:
    """Return an ISO date unchanged; refuse anything else."""
    if text:
        try:
            if date.fromisoformat(text).isoformat() == text:
                return text
        except ValueError:
            pass
        raise InvalidRequest(f"{field} must be a date, YYYY-MM-DD", remedy="send an Eastern date")
    return ""


def _program(
    exchange: Exchange, symbol: str, periods: list[Period], request: wire.ListIncentivesRequest
) -> wire.IncentiveProgram | None:
    """Return the program of a market with the periods that pass the request's filters.

    None if the market or all of its periods are filtered out.
    """
    instrument = exchange.instruments.get(symbol)
    if instrument is None:
        return None
    state = _STATE_PREFIX + exchange.trading.state(symbol).name
    states = {
        _STATE_PREFIX + name.removeprefix(_STATE_PREFIX) for name in request.instrument_states
    }
    if (
        (request.symbols and symbol not in request.symbols)
        or request.query.lower() not in symbol.lower()
        or (states and state not in states)
        or request.category not in ("", instrument.category)
        or request.subcategory not in ("", instrument.subcategory)
    ):
        return None
    periods = [
        period
        for period in periods
        if (not request.statuses or period.status(exchange.now) in request.statuses)
        and request.program_type in ("", period.program_type)
    ]
    if not periods:
        return None
    event = exchange.reference.event_of(symbol)
    return wire.IncentiveProgram(
        market_slug=symbol,
        time_periods=[_period(exchange, period) for period in periods],
        instrument_state=state,
        category=instrument.category,
        subcategory=instrument.subcategory,
        event_start_time=event.start_time if event is not None else None,
        instrument_product=instrument.market_type,
    )


def _period(exchange: Exchange, period: Period) -> wire.TimePeriod:
    discount, spread = period.discount_factor, period.max_spread
    return wire.TimePeriod(
        program_id=period.program_id,
        program_type=period.program_type,
        start=period.start,
        end=period.end,
        reward_pool=dollars(period.reward_pool),
        status=period.status(exchange.now),
        discount_factor=None if discount is None else float(discount),
        target_size=period.target_size,
        period=period.period,
        created_at=period.created,
        min_taker_notional=period.min_taker_notional,
        max_spread=None if spread is None else float(spread),
    )


# ---- on the exchange host


@handles("IncentivesAPI.GetIncentives")
def get_incentives(
    exchange: Exchange, request: exchange_wire.GetIncentivesRequest
) -> exchange_wire.GetIncentivesResponse:
    """List programs by market, newest first by default. Needs no credentials."""
    query = convert(request, wire.ListIncentivesRequest, from_attributes=True)
    return convert(
        programs(exchange, query), exchange_wire.GetIncentivesResponse, from_attributes=True
    )


@handles("IncentivesAPI.GetIncentiveEarnings")
def get_incentive_earnings(
    exchange: Exchange, caller: Caller, request: exchange_wire.GetIncentiveEarningsRequest
) -> exchange_wire.GetIncentiveEarningsResponse:
    """List the earnings of the participant the call names, or else of all the firm's accounts."""
    query = convert(request, wire.ListEarningsRequest, from_attributes=True)
    rewards = earned(exchange, visible_accounts(caller), query)
    return exchange_wire.GetIncentiveEarningsResponse(
        rewards=convert(rewards, list[exchange_wire.UserReward], from_attributes=True)
    )
