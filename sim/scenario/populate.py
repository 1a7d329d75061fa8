"""The world as it is when a scenario begins: firms enrolled, accounts opened and funded, instruments listed, standing orders placed, switches set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import structs

from sim.core.exchange import Exchange
from sim.core.vocabulary import LedgerEntryType

if TYPE_CHECKING:
    from sim.scenario.model import Scenario
    from sim.scenario.parties import Parties
    from sim.scenario.world import World


def populate(exchange: Exchange, world: World, scenario: Scenario) -> None:
    """Make a bare exchange the world of a scenario. Draws no randomness but identifiers."""
    for name, value in scenario.assumptions.items():
        exchange.ctx.assumptions.change(name, value)
    for name, odds in scenario.quirks.items():
        exchange.ctx.quirks.change(name, odds)
    for name, limit in scenario.limits.items():
        exchange.rate_limits.replace(name, limit)
    exchange.reference = world.reference
    for asset in world.assets:
        exchange.assets.add(asset)
    for instrument in world.instruments:
        exchange.trading.list_instrument(instrument)
    exchange.instruments.settle_base()
    enrol(exchange, world.parties)
    for entry in scenario.faults:
        exchange.faults.add(entry)
    exchange.maintenance.start()


def enrol(exchange: Exchange, parties: Parties) -> None:
    """Register firms with their users and retail keys, and open every account with its opening balance."""
    for firm in parties.firms:
        exchange.firms.add_firm(structs.replace(firm, users=[structs.replace(user) for user in firm.users]))
        for name, count in firm.limits.items():
            exchange.rate_limits.raise_limit(firm.name, name, count)
    for key in parties.api_keys:
        exchange.firms.add_api_key(key)
        for name, count in key.limits.items():
            exchange.rate_limits.raise_limit(key.key_id, name, count)
    for account in parties.accounts:
        exchange.trading.open_account(account.name, kind="clearing" if account.clearing else "trading")
        if account.opening_balance:
            exchange.trading.move_cash(account.name, account.opening_balance, LedgerEntryType.DEPOSIT, "opening balance")
