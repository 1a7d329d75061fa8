"""The canary: a bug planted in some episodes of every campaign.

A search that finds nothing may be a search that sees nothing. The canary is a small mistake of the
kind that the hunt looks for: when the rest of a partly filled order leaves the book, one unit of
its reservation stays. No answer to a call shows this, but an invariant does, which recomputes the
reservations. A campaign that did not find it was blind.
"""

from __future__ import annotations

from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import Qty
from sim.run.simulation import Simulation


def plant(simulation: Simulation) -> None:
    """Plant the bug in one simulation. It is not part of any snapshot, so no moment contains it."""
    risk = simulation.exchange.trading.risk
    release = risk.release

    def release_less(order: Order, instrument: Instrument, qty: Qty) -> None:
        rest = order.cum_qty and qty == order.leaves_qty
        release(order, instrument, qty - 1 if rest else qty)

    risk.release = release_less  # type: ignore[method-assign]
