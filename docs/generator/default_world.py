"""Blocks of the default world: who is there, with how much money, and what is traded."""

from __future__ import annotations

from functools import cache

from sim.read.tables import as_markdown
from sim.run.actors.operator.views import view
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.server.ready_file import symbols

_SHOWN = 3  # symbols of a state


@cache
def _world() -> Simulation:
    return Simulation(load_scenario("quickstart"))


def _balances() -> dict[str, str]:
    return {row["account"]: row["balance"] for row in view(_world().engine, "accounts")["accounts"]}


def firms() -> str:
    """Firms, with what they may do."""
    parties = _world().world.parties.firms
    everything = max((set(firm.scopes) for firm in parties), key=len)
    return as_markdown(
        [
            {
                "firm": f"`{firm.name}`",
                "client id": f"`{firm.client_id}`" if firm.client_id else "",
                "scopes": _scopes(set(firm.scopes), everything),
            }
            for firm in parties
        ]
    )


def _scopes(scopes: set[str], everything: set[str]) -> str:
    if scopes == everything:
        return "all"
    return ", ".join(f"`{scope}`" for scope in sorted(scopes)) or "none"


def participants() -> str:
    """Participants of firms, with their accounts and dollars."""
    balances = _balances()
    return as_markdown(
        [
            {
                "participant": f"`{user.name}`",
                "account": f"`{user.account}`",
                "dollars": balances.get(user.account, ""),
            }
            for firm in _world().world.parties.firms
            for user in firm.users
        ]
    )


def api_keys() -> str:
    """Retail keys, with their accounts and dollars."""
    balances = _balances()
    return as_markdown(
        [
            {
                "key id": f"`{key.key_id}`",
                "account": f"`{key.account}`",
                "dollars": balances.get(key.account, ""),
            }
            for key in _world().world.parties.api_keys
        ]
    )


def instruments() -> str:
    """Instruments that are listed one by one, by state."""
    return as_markdown(
        [
            {
                "state": f"`{name}`",
                "how many": str(len(listed)),
                "such as": ", ".join(f"`{symbol}`" for symbol in listed[:_SHOWN]),
            }
            for name, listed in symbols(_world()).items()
        ]
    )
