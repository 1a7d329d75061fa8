"""Checks of the orders of a world, which the exchange would otherwise refuse at the start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from sim.core.catalogue.assumption_values import Assumptions
from sim.core.model.refusals import InvalidRequest
from sim.core.trading.order_checks import check_combination, check_shape
from sim.run.loader.check_prices import price_problems
from sim.run.loader.nodes import items_of
from sim.world.format.scenario import Scenario
from sim.world.format.struct_types import record
from sim.world.format.world_entries import OrderEntry
from sim.world.format.yaml_tree import Node, Problem, problem
from sim.world.start.orders import command_of
from sim.world.start.world import World

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
