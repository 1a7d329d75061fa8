"""Names in a scenario's world that nobody bears: books, orders and programs of instruments, and
people, that do not exist.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.loader.check_steps import items_of, node_at
from sim.scenario.value_types import suggestion
from sim.scenario.yaml_tree import Mapping, Node, Problem, Scalar, problem
from sim.world.world import World

SECTIONS = ("books", "orders", "incentives")


def world_problems(node: Node, world: World) -> Iterator[Problem]:
    """Problems of the entries that this file itself states. A name with a parameter in it is left
    to the run.
    """
    known = [instrument.symbol for instrument in world.instruments]
    for section in SECTIONS:
        for item in items_of(node, "world", section):
            symbol, who = _text(item, "symbol"), _text(item, "as")
            if symbol is not None and not world.has(symbol.text):
                yield problem(
                    symbol.at, f"unknown symbol {symbol.text!r}{suggestion(symbol.text, known)}"
                )
            if who is not None and world.parties.user(who.text) is None:
                yield problem(
                    who.at,
                    f"nobody is called {who.text!r}: maker, taker, noise, or"
                    " firms/<firm>/users/<user>",
                )
            for reward in items_of(item, "rewards"):
                account = _text(reward, "account")
                if account is not None and world.parties.account(account.text) is None:
                    yield problem(account.at, f"no account is called {account.text!r}")


def _text(node: Node | None, key: str) -> Scalar | None:
    found = node_at(node, key) if isinstance(node, Mapping) else None
    return found if isinstance(found, Scalar) and "${" not in found.text else None
