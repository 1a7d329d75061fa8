"""The canary: a bug made on purpose, in some episodes of every campaign.

A search that finds nothing may be a search that sees nothing. The canary is a small mistake of the
kind that the hunt is for: when the rest of a partly filled order leaves the book, one unit of what
it had reserved stays reserved. No answer to a call shows it; an invariant does, which counts the
reservations anew. Whoever does not find it was blind.
"""

from __future__ import annotations

from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import Qty
from sim.simulation import Simulation


def plant(simulation: Simulation) -> None:
    """Make the mistake in one simulation. It is in no snapshot, so no moment has it."""
    risk = simulation.exchange.trading.risk
    release = risk.release

    def release_less(order: Order, instrument: Instrument, qty: Qty) -> None:
        rest = order.cum_qty and qty == order.leaves_qty
        release(order, instrument, qty - 1 if rest else qty)

    risk.release = release_less  # type: ignore[method-assign]
