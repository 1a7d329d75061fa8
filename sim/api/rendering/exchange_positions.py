"""Positions and ledger entries as messages of the exchange contract, for handlers and streams.

Money of accounts is written as decimal text.
"""

from __future__ import annotations

from sim.contract.messages import exchange_v1 as wire
from sim.core.accounts.positions import Position
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.quantities import CURRENCY, cash_text
from sim.kernel.instants import Instant, trade_date


def position_message(position: Position, now: Instant, *, expired: bool = False) -> wire.Position:
    """Return an account's position in one instrument; `expired` means past its expiration."""
    return wire.Position(
        account=position.account,
        symbol=position.symbol,
        net_position=position.net,
        qty_bought=position.qty_bought,
        qty_sold=position.qty_sold,
        cost=position.cost,
        realized=position.realized,
        bod_position=position.bod(now),
        expired=expired,
        update_time=position.changed,
    )


def ledger_entry_message(moved: CashMoved) -> wire.BalanceLedgerEntry:
    """Return one change of a cash balance (rule P20)."""
    return wire.BalanceLedgerEntry(
        id=f"bl_{moved.id}",
        account=moved.account,
        currency=CURRENCY,
        before_balance=cash_text(moved.before),
        after_balance=cash_text(moved.after),
        description=moved.description,
        update_time=moved.at,
        modified_security_id=moved.symbol,
        entry_type=moved.type,
        symbol=moved.symbol,
        update_business_date=trade_date(moved.at).isoformat(),
    )


def position_entry_message(changed: PositionChanged) -> wire.PositionLedgerEntry:
    """Return one change of a position, with the position right after it (rule P23)."""
    return wire.PositionLedgerEntry(
        id=f"pl_{changed.id}",
        account=changed.account,
        symbol=changed.symbol,
        quantity_change=changed.qty_change,
        cost_change=changed.cost_change,
        realized_change=changed.realized_change,
        net_position=changed.net,
        cost=changed.cost,
        realized=changed.realized,
        update_time=changed.at,
        update_business_date=trade_date(changed.at).isoformat(),
        description=changed.description,
    )
