"""Positions and balances of trading accounts (rules P1-P10, P26)."""

from __future__ import annotations

from datetime import date
from itertools import takewhile

from sim.api.pipeline.account_access import balance_account
from sim.api.pipeline.authentication import Caller
from sim.api.pipeline.handler import handles
from sim.api.pipeline.paging import paged
from sim.api.rendering.exchange_positions import position_message
from sim.contract.messages import exchange_v1 as wire
from sim.core.accounts.positions import Position, position_after
from sim.core.catalogue.assumptions import BUYING_POWER_NET
from sim.core.exchange import Exchange
from sim.core.model.quantities import CURRENCY, Cash, cash_text
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import TRADE_DAY_ROLL_HOUR, Instant, eastern

# ---- balances


@handles("PositionAPI.GetAccountBalance")
def get_account_balance(
    exchange: Exchange, caller: Caller, request: wire.GetAccountBalanceRequest
) -> wire.GetAccountBalanceResponse:
    """Return an account's balance in one currency, USD by default.

    A clearing account is refused as "invalid account" (rule P26).
    """
    account = balance_account(exchange, caller, request.name or request.account)
    if request.currency.upper() not in ("", CURRENCY):
        raise InvalidRequest(
            f"currency must be {CURRENCY}", rule="P26", remedy=f"send currency={CURRENCY}"
        )
    return _balance(exchange, account)


@handles("PositionAPI.ListAccountBalances")
def list_account_balances(
    exchange: Exchange, caller: Caller, request: wire.ListAccountBalancesRequest
) -> wire.ListAccountBalancesResponse:
    """List an account's balances by currency. There is only one."""
    return wire.ListAccountBalancesResponse(
        balances={CURRENCY: _balance(exchange, balance_account(exchange, caller, request.name))}
    )


def _balance(exchange: Exchange, account: str) -> wire.GetAccountBalanceResponse:
    """Return the amounts of rules P2 and P6.

    Contracts are fully collateralised, so the margin of short positions is the
    whole capital requirement.
    """
    trading = exchange.trading
    margin = trading.margin_requirement(account)
    power = trading.buying_power(account)
    rows = trading.ledger.entries(account)
    return wire.GetAccountBalanceResponse(
        balance=_text(trading.ledger.balance(account)),
        capital_requirement=_text(margin),
        excess_capital=_text(power),
        buying_power=_text(_spendable(exchange, account, power)),
        total_security_notional_value=_text(0),
        total_security_available_value=_text(0),
        open_orders=_text(trading.open_orders_reserve(account)),
        alternate_capital_requirement_currency=CURRENCY,
        alternate_capital_requirement=_text(margin),
        unsettled_funds=_text(0),
        margin_requirement=_text(margin),
        update_time=rows[-1].at if rows else None,
    )


def _text(cash: Cash) -> str:
    return cash_text(cash, places=0)


def _spendable(exchange: Exchange, account: str, power: Cash) -> Cash:
    """Return buying power as balances show it, with or without deduction of open orders (U10).

    The assumption `balances.buying_power_net` decides.
    """
    net = exchange.ctx.assumptions.flag(BUYING_POWER_NET)
    return exchange.trading.withdrawable(account) if net else power


# ---- positions


@handles("PositionAPI.ListAccountPositions")
def list_account_positions(
    exchange: Exchange, caller: Caller, request: wire.ListAccountPositionsRequest
) -> wire.ListAccountPositionsResponse:
    """List an account's positions in order of first trade, now or as of an instant or trade date.

    Flat and expired positions are included unless filtered out.
    """
    account = balance_account(exchange, caller, request.name)
    at = _as_of(exchange, request)
    now = at >= exchange.now
    positions = (
        exchange.trading.positions.of(account) if now else _positions_at(exchange, account, at)
    )
    rows = [
        position
        for position in positions
        if request.symbol in ("", position.symbol)
        and not (request.active_only and _expired(exchange, position, at))
        and (position.net or not request.non_zero_only)
    ]
    page, following = paged(rows, request)
    return wire.ListAccountPositionsResponse(
        positions=[
            position_message(position, at, expired=_expired(exchange, position, at))
            for position in page
        ],
        available_position=[exchange.trading.risk.closable(position) for position in page],
        **following,
    )


def _as_of(exchange: Exchange, request: wire.ListAccountPositionsRequest) -> Instant:
    if request.as_of_date is None:
        return exchange.now if request.as_of_time is None else request.as_of_time
    if request.as_of_time is not None:
        raise InvalidRequest(
            "as_of_time and as_of_date are mutually exclusive", remedy="send one of them"
        )
    day = request.as_of_date
    try:
        return eastern(date(day.year, day.month, day.day), TRADE_DAY_ROLL_HOUR) - 1
    except ValueError:
        raise InvalidRequest(
            "as_of_date is not a valid date", remedy="send year, month and day"
        ) from None


def _positions_at(exchange: Exchange, account: str, at: Instant) -> list[Position]:
    """Return an account's positions at an instant, reconstructed from its ledger (rule P23)."""
    rows = takewhile(lambda row: row.at <= at, exchange.trading.positions.rows(account))
    last = {row.symbol: row for row in rows}
    return [position_after(row) for row in last.values()]


def _expired(exchange: Exchange, position: Position, at: Instant) -> bool:
    """Return whether a position was expired at an instant: settled, or past expiration."""
    if at >= exchange.now:
        return exchange.trading.is_over(position.symbol)
    return bool(position.settled) or exchange.instruments.require(position.symbol).expiration <= at
