"""An answer that depends on an input still to come, such as a webhook registration that waits for
its test delivery.
"""

from __future__ import annotations

from msgspec import Struct

from sim.kernel.instants import Instant


class Pending(Struct, frozen=True):
    """Returned by a handler instead of a response: `awaits` names what will bring it; by `until`
    the clock brings it (0: somebody outside has to).
    """

    awaits: str
    until: Instant = 0
