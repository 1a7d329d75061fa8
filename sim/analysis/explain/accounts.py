"""Why an account has the money it has: its latest cash and position rows with their causes, and
what is held back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sim.analysis.explain.causes import Basis, Cause, JournalStep, cause_of, steps_back
from sim.core.catalogue.assumptions import BUYING_POWER_NET, CLEARING_DELAY, LEDGER_COMMISSION
from sim.core.model.enums import LedgerEntryType
from sim.core.model.quantities import cash_text, decimal_text
from sim.core.model.refusals import NotFound

if TYPE_CHECKING:
    from sim.simulation import Simulation

LINKS_MAX = 100
_REASONS = {
    LedgerEntryType.DEPOSIT: Basis("P25", "4.3"),
    LedgerEntryType.WITHDRAWAL: Basis("P25", "4.3"),
    LedgerEntryType.ORDER_EXECUTION: Basis("P21", "4.3", (LEDGER_COMMISSION.name,)),
    LedgerEntryType.COMMISSION: Basis("P21", "4.3", (LEDGER_COMMISSION.name,)),
    LedgerEntryType.RESOLUTION: Basis("P22", "3.1"),
    LedgerEntryType.CORRECTION: Basis("L27", "4.3", (CLEARING_DELAY.name,)),
    LedgerEntryType.MANUAL_ADJUSTMENT: Basis("P16", "2.3"),
}


def explain_account(sim: Simulation, name: str) -> dict[str, Any] | None:
    """The explanation of an account by its name, or that of a user or scripted participant; None
    when there is none.
    """
    try:
        account = sim.account_named(name)
    except NotFound:
        return None
    trading = sim.exchange.trading
    found = trading.ledger.require(account)
    power, reserve = trading.buying_power(account), trading.open_orders_reserve(account)
    chain = account_chain(sim, account, most=LINKS_MAX + 1)
    positions = [position for position in trading.positions.of(account) if position.net]
    shown = ", ".join(
        f"{decimal_text(position.net, sim.exchange.instruments.require(position.symbol).qty_scale)}"
        f" of {position.symbol}"
        for position in positions
    )
    return {
        "subject": account,
        "kind": "account",
        "state": found.kind,
        "balance": cash_text(found.balance),
        "buying_power": cash_text(power),
        "open_orders": cash_text(reserve),
        "assumptions": [
            {
                "name": BUYING_POWER_NET.name,
                "value": sim.exchange.ctx.assumptions.shown(BUYING_POWER_NET.name),
                "source": BUYING_POWER_NET.source,
            }
        ],
        "summary": (
            f"{cash_text(found.balance)} USD, {cash_text(power)} of it free; open orders in the"
            f" dearest instrument hold {cash_text(reserve)}; "
            + (f"it holds {shown}" if shown else "no position is open")
        ),
        "complete": len(chain) <= LINKS_MAX,
        "chain": chain[-LINKS_MAX:],
    }


def account_chain(
    sim: Simulation, account: str, until: int | None = None, *, most: int
) -> list[Cause]:
    """The latest cash and position rows of an account, at most so many, oldest first."""
    chain: list[Cause] = []
    for step in steps_back(sim, f'"account":"{account}"', until):
        for event in reversed(step.events):
            if event["event"] == "CashMoved" and event["account"] == account:
                chain.append(_cash(sim, step, event))
            elif event["event"] == "PositionChanged" and event["account"] == account:
                chain.append(_position(sim, step, event))
        if len(chain) >= most:
            break
    return chain[:most][::-1]


def _cash(sim: Simulation, step: JournalStep, event: dict[str, Any]) -> Cause:
    kind = LedgerEntryType(event["type"])
    change = event["after"] - event["before"]
    about = "".join(
        f" {word} {event[key]}"
        for word, key in (("in", "symbol"), ("for", "reference"))
        if event.get(key)
    )
    what = (
        f"{'+' if change >= 0 else ''}{cash_text(change)} USD {kind.name},"
        f" {event['description']}{about}: balance {cash_text(event['after'])}"
    )
    return cause_of(sim, step, what, _REASONS.get(kind, Basis("P17", "4.3")), event["at"])


def _position(sim: Simulation, step: JournalStep, event: dict[str, Any]) -> Cause:
    scale = sim.exchange.instruments.require(event["symbol"]).qty_scale
    change = event["qty_change"]
    what = (
        f"{'+' if change >= 0 else ''}{decimal_text(change, scale)} {event['symbol']},"
        f" {event['description']}: net {decimal_text(event['net'], scale)}"
    )
    return cause_of(
        sim,
        step,
        what,
        Basis("P22" if event.get("settlement") is not None else "P23", "4.3"),
        event["at"],
    )
