"""Two orders that have nothing to do with each other: which comes first makes no difference.

They are of different accounts and markets, and neither touches an account that the other touches.
Both sequences are tried in forks, and must end with the same books, balances and positions. Order
ids differ, because they are drawn one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sim.api.pipeline.inputs import Input, Outcome, RestCall, RpcCall
from sim.core.model.events import Executed, RuleApplied
from sim.kernel.instants import format_instant
from sim.run.actors.operator.views import views
from sim.run.simulation import Simulation
from sim.search.hunt.troubles import Trouble

ENTRIES = ("OrderEntryAPI.InsertOrder", "RetailOrdersAPI.CreateOrder")
_VIEWS = ("accounts", "books")


def order_troubles(
    simulation: Simulation, first: Input | None, second: Input | None
) -> Iterator[Trouble]:
    """Yield the difference that the order of two calls of `ENTRIES` makes, which come next."""
    if not (isinstance(first, RestCall | RpcCall) and isinstance(second, RestCall | RpcCall)):
        return
    ends = []
    for pair in ((first, second), (second, first)):
        fork = simulation.fork()
        outcomes = [fork.enter(call) for call in pair]
        if not _are_apart(*outcomes):
            return
        ends.append(views(fork.engine, _VIEWS))
    for view, (one_way, other_way) in zip(_VIEWS, _pairs(ends), strict=True):
        if one_way != other_way:
            at = format_instant(simulation.now)
            text = f"two orders at {at} in different markets: {view} depend on which comes first"
            yield Trouble("agreement", f"order of calls {view}", text)
            return


def _are_apart(first: Outcome, second: Outcome) -> bool:
    """Return whether two orders were entered, undisturbed, and touch other accounts and markets."""
    for outcome in (first, second):
        reply = outcome.reply
        if reply is None or reply.pending_on or reply.status != 200 or reply.code:
            return False
        if outcome.injections or any(isinstance(each, RuleApplied) for each in outcome.events):
            return False
    touched = [_touched(outcome) for outcome in (first, second)]
    return all(touched) and not touched[0] & touched[1]


def _touched(outcome: Outcome) -> set[str]:
    orders = [event.execution.order for event in outcome.events if isinstance(event, Executed)]
    return {name for order in orders for name in (order.account, order.symbol)}


def _pairs(ends: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    return [(ends[0][view], ends[1][view]) for view in _VIEWS]
