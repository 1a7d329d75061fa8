"""Money in the shape of the retail API: balances, and moves of them."""

from __future__ import annotations

from sim.api.retail_numbers import CURRENCY, dollars
from sim.core.events import CashMoved
from sim.core.exchange import Exchange
from sim.core.quantities import Cash
from sim.core.vocabulary import LedgerEntryType
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


def balance_message(exchange: Exchange, account: str, *, cash: Cash | None = None, at: Instant | None = None) -> wire.UserBalance:
    """Money of an account; with `cash` and `at`, as it was around a move of it. buying_power = current_balance + asset_available - open_orders - margin."""
    trading = exchange.trading
    current = trading.ledger.balance(account) if cash is None else cash
    open_orders = trading.open_orders_reserve(account)
    margin = trading.margin_requirement(account)
    if at is None:
        rows = trading.ledger.entries(account)
        at = rows[-1].at if rows else None
    return wire.UserBalance(
        current_balance=dollars(current),
        currency=CURRENCY,
        last_updated=at,
        buying_power=dollars(current - open_orders - margin),
        asset_notional=dollars(_asset_notional(exchange, account)),
        open_orders=dollars(open_orders),
        margin_requirement=dollars(margin),
        available_to_withdraw=dollars(max(current - open_orders - margin, 0)),
    )


def _asset_notional(exchange: Exchange, account: str) -> Cash:
    """What the long holdings cost."""
    total = 0
    for position in exchange.trading.positions.of(account):
        if position.net > 0:
            total += position.cost * exchange.instruments.require(position.symbol).cash_per_notional
    return total


def balance_change(exchange: Exchange, row: CashMoved) -> wire.BalanceChange:
    """One move of cash with the balance before and after it."""
    return wire.BalanceChange(
        before_balance=balance_message(exchange, row.account, cash=row.before, at=row.at),
        after_balance=balance_message(exchange, row.account, cash=row.after, at=row.at),
        description=row.description,
        update_time=row.at,
        modified_security_id=row.symbol,
        entry_type=entry_type(row.type),
        account_name=row.account,
        id=row.id,
    )

