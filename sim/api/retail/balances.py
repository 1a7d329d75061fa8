"""Balances of a retail account (§4.2)."""

from __future__ import annotations

from typing import NamedTuple

from sim.api.pipeline.authentication import Caller, account_of
from sim.api.pipeline.handler import handles
from sim.api.rendering.retail_numbers import dollars
from sim.contract.messages import retail_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved
from sim.core.model.quantities import CURRENCY, Cash
from sim.kernel.instants import Instant


@handles("RetailAccountAPI.GetBalances")
def get_balances(
    exchange: Exchange, caller: Caller, request: wire.GetBalancesRequest
) -> wire.GetBalancesResponse:
    """Return the account's only balance, in dollars."""
    return wire.GetBalancesResponse(balances=[balance_message(exchange, account_of(caller))])


_ENTRY_TYPES = {
    LedgerEntryType.DEPOSIT: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_DEPOSIT,
    LedgerEntryType.WITHDRAWAL: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_WITHDRAWAL,
    LedgerEntryType.ORDER_EXECUTION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_ORDER_EXECUTION,
    LedgerEntryType.CORRECTION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CORRECTION,
    LedgerEntryType.NETTING: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_NETTING,
    LedgerEntryType.RESOLUTION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_RESOLUTION,
    LedgerEntryType.MANUAL_ADJUSTMENT: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_MANUAL_ADJUSTMENT,
    LedgerEntryType.MANUAL_TRANSFER: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_MANUAL_ADJUSTMENT,
    LedgerEntryType.COMMISSION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_COMMISSION,
    LedgerEntryType.CONTRACT_EXPIRATION: wire.LedgerEntryType.LEDGER_ENTRY_TYPE_CONTRACT_EXPIRATION,
}


def entry_type(type: LedgerEntryType) -> wire.LedgerEntryType:
    """Return the retail name of a ledger entry type; UNDEFINED for types without one."""
    return _ENTRY_TYPES.get(type, wire.LedgerEntryType.LEDGER_ENTRY_TYPE_UNDEFINED)


class FundsInUse(NamedTuple):
    """How much of an account's money is in use, in cash units.

    `open_orders` is reserved for working orders, `margin` for short positions, and `assets` is the
    cost of long positions. `at` is the instant of the last cash movement, or None.
    """

    open_orders: Cash
    margin: Cash
    assets: Cash
    at: Instant | None


def funds_in_use(exchange: Exchange, account: str) -> FundsInUse:
    """Return how much of an account's money is in use now."""
    trading = exchange.trading
    rows = trading.ledger.entries(account)
    return FundsInUse(
        trading.open_orders_reserve(account),
        trading.margin_requirement(account),
        _asset_notional(exchange, account),
        rows[-1].at if rows else None,
    )


def balance_message(exchange: Exchange, account: str) -> wire.UserBalance:
    """Return an account's balance as it is now (§4.2).

    buying_power = current_balance + asset_available - open_orders - margin. Nothing is reserved
    but by open orders, so balance_reservation = bonus_reservation + deposit_reservation is 0.
    """
    return _balance(exchange.trading.ledger.balance(account), funds_in_use(exchange, account))


def _balance(cash: Cash, used: FundsInUse) -> wire.UserBalance:
    free = cash - used.open_orders - used.margin
    return wire.UserBalance(
        current_balance=dollars(cash),
        currency=CURRENCY,
        buying_power=dollars(free),
        asset_notional=dollars(used.assets),
        open_orders=dollars(used.open_orders),
        margin_requirement=dollars(used.margin),
        available_to_withdraw=dollars(cash - used.margin),
        balance_reservation=0.0,
        deposit_reservation=0.0,
        bonus_reservation=0.0,
        displayed_bonus=0.0,
        displayed_available_soon=0.0,
        displayed_cash=dollars(free),
        bonus_hold=0.0,
    )


def _asset_notional(exchange: Exchange, account: str) -> Cash:
    """Return the total cost of an account's long positions."""
    total = 0
    for position in exchange.trading.positions.of(account):
        if position.net > 0:
            total += position.cost * exchange.instruments.require(position.symbol).cash_per_notional
    return total


def balance_change(row: CashMoved, before: FundsInUse, after: FundsInUse) -> wire.BalanceChange:
    """Return a cash movement with the account's balance before and after it."""
    return wire.BalanceChange(
        before_balance=_balance(row.before, before),
        after_balance=_balance(row.after, after._replace(at=row.at)),
        description=row.description,
        update_time=row.at,
        modified_security_id=row.symbol,
        entry_type=entry_type(row.type),
        account_name=row.account,
        id=row.id,
    )
