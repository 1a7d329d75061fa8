"""Checks of a scenario's world: books, orders and programs of instruments that do not exist, and
names of users and accounts that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.loader.check_prices import price_problems
from sim.loader.nodes import items_of, text_at, unknown
from sim.scenario.yaml_tree import Node, Problem, problem
from sim.world.world import World

SECTIONS = ("books", "orders", "incentives")


def world_problems(node: Node, world: World) -> Iterator[Problem]:
    """Problems of the entries that this file itself states."""
    terms = {instrument.symbol: instrument for instrument in world.instruments}
    symbols = list(terms)
    for order in items_of(node, "world", "orders"):
        yield from price_problems(order, terms)
    for item in (each for section in SECTIONS for each in items_of(node, "world", section)):
        symbol, user = (text_at(item, key, empty=True) for key in ("symbol", "as"))
        if symbol is not None and not world.has(symbol.text):
            yield unknown("unknown symbol", symbol, symbols)
        if user is not None and world.parties.user(user.text) is None:
            users = "maker, taker, noise, or firms/<firm>/users/<user>"
            yield problem(user.at, f"nobody is called {user.text!r}: {users}")
        for reward in items_of(item, "rewards"):
            account = text_at(reward, "account", empty=True)
            if account is not None and world.parties.account(account.text) is None:
                yield problem(account.at, f"no account is called {account.text!r}")
