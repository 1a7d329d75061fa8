"""Balances and balance changes as messages of the retail API."""

from __future__ import annotations

from typing import NamedTuple

from sim.api.rendering.retail_numbers import dollars
from sim.core.exchange import Exchange
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved
from sim.core.model.quantities import CURRENCY, Cash
from sim.kernel.instants import Instant
from sim.messages import retail_v1 as wire

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
    """A ledger entry type under its retail name; UNDEFINED for those retail has no name for."""
    return _ENTRY_TYPES.get(type, wire.LedgerEntryType.LEDGER_ENTRY_TYPE_UNDEFINED)


class Standing(NamedTuple):
    """Use of an account's money: dollars reserved for working orders and short positions, the cost
    of long positions; and when cash last moved.
    """

    open_orders: Cash
    margin: Cash
    assets: Cash
    at: Instant | None


def standing(exchange: Exchange, account: str) -> Standing:
    """Return an account's present standing."""
    trading = exchange.trading
    rows = trading.ledger.entries(account)
    return Standing(
        trading.open_orders_reserve(account),
        trading.margin_requirement(account),
        _asset_notional(exchange, account),
        rows[-1].at if rows else None,
    )


def balance_message(exchange: Exchange, account: str) -> wire.UserBalance:
    """Return an account's present balance. buying_power = current_balance + asset_available -
    open_orders - margin.
    """
    return _balance(exchange.trading.ledger.balance(account), standing(exchange, account))


def _balance(cash: Cash, stands: Standing) -> wire.UserBalance:
    free = cash - stands.open_orders - stands.margin
    return wire.UserBalance(
        current_balance=dollars(cash),
        currency=CURRENCY,
        buying_power=dollars(free),
        asset_notional=dollars(stands.assets),
        open_orders=dollars(stands.open_orders),
        margin_requirement=dollars(stands.margin),
        available_to_withdraw=dollars(max(free, 0)),
        balance_reservation=dollars(stands.open_orders),
        deposit_reservation=0.0,
        bonus_reservation=0.0,
        displayed_bonus=0.0,
        displayed_available_soon=0.0,
        displayed_cash=dollars(cash),
        bonus_hold=0.0,
    )


def _asset_notional(exchange: Exchange, account: str) -> Cash:
    """Return the cost of long holdings."""
    total = 0
    for position in exchange.trading.positions.of(account):
        if position.net > 0:
            total += position.cost * exchange.instruments.require(position.symbol).cash_per_notional
    return total


def balance_change(row: CashMoved, before: Standing, after: Standing) -> wire.BalanceChange:
    """Return a cash movement, with the account's balance before and after it."""
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
