"""What happens first at one instant, where several things are due: written here, so that it does
not depend on which of them was known first.

An order good till an instant is over when that comes, so it does not trade in an auction that ends
then; a trade day ends before the next session begins; then instruments move, by symbol, those that
nobody touched last. Everything else, orders that reach the engine and scripts among it, finds what
those left, in order of scheduling.
"""

from __future__ import annotations

EXPIRY_TIMER = "order.expiry"
ROLL_TIMER = "trade_day.roll"
EDGE_TIMER = "instrument.edge"
SHELF_TIMER = "instruments.edge"  # the next date at which something on the shelf moves

FIRST = (EXPIRY_TIMER, ROLL_TIMER, EDGE_TIMER, SHELF_TIMER)
BY_SUBJECT = (EDGE_TIMER,)
