"""Order of timers that are due at the same instant.

The order is fixed here, so that it does not depend on which timer was scheduled first:

1. Orders expire. An order that is good till an instant does not trade in an auction that ends then.
2. The trade day ends, before the next session begins.
3. Instruments change state, by symbol; dormant ones last.
4. Everything else, in order of scheduling: orders that reach the engine, scripts and so on.
"""

from __future__ import annotations

EXPIRY_TIMER = "order.expiry"
ROLL_TIMER = "trade_day.roll"
EDGE_TIMER = "instrument.edge"
DORMANT_TIMER = "instruments.edge"  # the next date of a dormant instrument

FIRST = (EXPIRY_TIMER, ROLL_TIMER, EDGE_TIMER, DORMANT_TIMER)
BY_SUBJECT = (EDGE_TIMER,)
