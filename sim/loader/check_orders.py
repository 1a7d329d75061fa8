"""Checks of the orders of a world, which the exchange would otherwise refuse at the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.model.refusals import InvalidRequest
from sim.core.trading.order_checks import check_combination, check_shape
from sim.loader.check_prices import price_problems
from sim.loader.nodes import items_of
from sim.scenario.scenario import Scenario
from sim.scenario.struct_types import record
from sim.scenario.world_entries import OrderEntry
from sim.scenario.yaml_tree import Node, Problem, problem
from sim.world.orders import command_of
from sim.world.world import World

# Keys of an order entry by their names in refusals.
_KEYS = {
    "cash_order_qty": "cash",
    "order_qty": "qty",
    "good_till_time": "good_till",
    "participate_dont_initiate": "post_only",
}


def order_problems(node: Node, scenario: Scenario, world: World) -> Iterator[Problem]:
    """Orders of `world.orders` that the exchange would refuse as malformed, other than for their
    prices and quantities.
    """
    assumptions = Assumptions()
    for name, value in scenario.assumptions.items():
        with suppress(KeyError, ValueError):  # reported as a problem of the assumption
            assumptions.change(name, value)
    for item in items_of(node, "world", "orders"):
        entry = record(OrderEntry).read(item, [])
        if not isinstance(entry, OrderEntry):
            continue
        instrument, user = world.terms(entry.symbol), world.parties.user(entry.as_)
        if instrument is None or user is None or any(price_problems(item, world)):
            continue
        try:
            command = command_of(instrument, user, entry)
            check_shape(command)
            check_combination(command, scenario.clock.start, assumptions)
        except InvalidRequest as refused:
            text = refused.message
            for field, key in _KEYS.items():
                text = text.replace(field, key)
            yield problem(item.at, text)
