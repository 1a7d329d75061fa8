"""Why an account has its balance: its latest cash and position rows with their causes, and the
reservations of its open orders.
"""

from __future__ import annotations

from typing import Any

from sim.core.catalogue.assumptions import BUYING_POWER_NET
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.quantities import cash_text, decimal_text
from sim.core.model.refusals import NotFound
from sim.read.explain.causes import Cause, steps_back
from sim.read.explain.rules import Basis
from sim.run.simulation import Simulation

ROWS_MAX = 100
_MOVEMENTS: tuple[type[CashMoved | PositionChanged], ...] = (CashMoved, PositionChanged)


def explain_account(sim: Simulation, name: str) -> dict[str, Any] | None:
    """Explain the account of that name, user or scripted participant; None if there is none."""
    try:
        name = sim.account_named(name)
    except NotFound:
        return None
    trading = sim.exchange.trading
    account = trading.ledger.require(name)
    balance, free = cash_text(account.balance), cash_text(trading.buying_power(name))
    reserve = cash_text(trading.open_orders_reserve(name))
    positions = ", ".join(
        f"{_contracts(sim, position.symbol, position.net)} of {position.symbol}"
        for position in trading.positions.of(name)
        if position.net
    )
    chain = account_chain(sim, name, most=ROWS_MAX + 1)
    return {
        "subject": name,
        "kind": "account",
        "state": account.kind,
        "balance": balance,
        "buying_power": free,
        "open_orders": reserve,
        "summary": f"{balance} USD, {free} of it free; open orders in the most expensive "
        f"instrument reserve {reserve}; "
        f"{f'it holds {positions}' if positions else 'no position is open'}",
        "complete": len(chain) <= ROWS_MAX,
        "chain": chain[-ROWS_MAX:],
        **Basis("", BUYING_POWER_NET).document(sim),
    }


def account_chain(
    sim: Simulation, account: str, until: int | None = None, *, most: int
) -> list[Cause]:
    """Return the latest cash and position rows of an account, at most `most`, oldest first."""
    chain: list[Cause] = []
    for step in steps_back(sim, f'"account":"{account}"', until):
        events = list(step.events_of(*_MOVEMENTS, account=account))
        chain += (step.decision(_moved(sim, event), event) for event in reversed(events))
        if len(chain) >= most:
            break
    return chain[:most][::-1]


def _moved(sim: Simulation, event: CashMoved | PositionChanged) -> str:
    """Describe a row of cash, or a change of a position."""
    if isinstance(event, PositionChanged):
        change, net = (_contracts(sim, event.symbol, qty) for qty in (event.qty_change, event.net))
        sign = "+" if event.qty_change >= 0 else ""
        return f"{sign}{change} {event.symbol}, {event.description}: net {net}"
    amount = event.after - event.before
    sign = "+" if amount >= 0 else ""
    symbol = f" in {event.symbol}" if event.symbol else ""
    reference = f" for {event.reference}" if event.reference else ""
    return (
        f"{sign}{cash_text(amount)} USD {event.type.name}, {event.description}{symbol}{reference}:"
        f" balance {cash_text(event.after)}"
    )


def _contracts(sim: Simulation, symbol: str, qty: int) -> str:
    return decimal_text(qty, sim.exchange.instruments.require(symbol).qty_scale)
