"""When a run without clients checks the invariants, and for how much of the exchange.

A complete check visits all open orders, while most inputs concern one instrument. So a check
examines the orders and books of the instruments that changed since the last one, positions if any
changed, and all balances. The first check, the last one and every `WHOLE_EVERY`th in between are
complete. They find changes that were not noted as such, and the report says from which input on
these may have existed.

A check of positions visits all of them, so while more than `CHECK_EVERY_INPUT_BELOW` orders are
open, a check runs after every few inputs only.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.invariants import CheckedPosition, Violation, changes, moment, violations
from sim.kernel.instants import format_instant
from sim.run.simulation import Simulation

CHECK_EVERY_INPUT_BELOW = 1_000  # open orders
ORDERS_PER_INPUT = 200  # above that, one input is skipped for every so many open orders
WHOLE_EVERY = 64  # checks


class InvariantChecks:
    """Checks one run. Ends with the first check that finds a violation."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._pause = 0  # inputs until the next check
        self._checked = self._checked_whole = sim.seq
        self._narrow = 0  # checks since the last complete one
        self._last: CheckedPosition | None = None  # the last check
        self._over = False

    def after_input(self) -> Iterator[str]:
        """Yield the current violations, if a check is due."""
        sim = self._sim
        if self._over or (sim.seq <= self._checked + self._pause and not sim.script.done):
            return
        broken_now, unseen = self._check_now()
        self._over = bool(broken_now)
        between = f" or up to {unseen} before it" if unseen else ""
        for contradiction in broken_now:
            yield f"{contradiction} (after input {sim.seq}{between}, {format_instant(sim.now)})"
        many = sim.exchange.trading.orders.open_count - CHECK_EVERY_INPUT_BELOW
        self._checked, self._pause = sim.seq, max(0, many) // ORDERS_PER_INPUT

    def _check_now(self) -> tuple[list[Violation], int]:
        """Return the current violations, and in how many unchecked inputs they may have begun."""
        trading, seq = self._sim.exchange.trading, self._sim.seq
        last, self._last = self._last, moment(trading)
        unseen = self._pause
        if last is not None and (changed := changes(trading, last)) is not None:
            broken_now = violations(trading, changed)
            self._narrow += 1
            if broken_now or (self._narrow < WHOLE_EVERY and not self._sim.script.done):
                return broken_now, unseen
            unseen = max(unseen, self._checked - self._checked_whole)
        self._checked_whole, self._narrow = seq, 0
        return violations(trading), unseen
