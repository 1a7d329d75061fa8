"""When a run without clients checks the invariants, and of how much of the exchange.

A check of everything walks all open orders, and most inputs concern one instrument. So a check
looks at the orders and books of the instruments that changed since the last one, at positions if
any changed, and at all balances. The first check, the last and every `WHOLE_EVERY`th in between
look at everything: what changes without being noted as changed is found then, and the report says
from which inputs on it may have been there.

A check that looks at positions walks all of them, so while more than `CHECK_EVERY_INPUT_BELOW`
orders are open a check runs after every few inputs only.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.core.invariants import CheckedPosition, Violation, changes, moment, violations
from sim.kernel.instants import format_instant
from sim.simulation import Simulation

CHECK_EVERY_INPUT_BELOW = 1_000  # open orders
ORDERS_PER_INPUT = 200  # above that, one input is left unchecked for so many open orders
WHOLE_EVERY = 64  # checks


class InvariantChecks:
    """Checks one run. Ends with the first check that finds something."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._pause = 0  # inputs until the next check
        self._checked = self._checked_whole = sim.seq
        self._narrow = 0  # checks since the last one of everything
        self._last: CheckedPosition | None = None  # the last check
        self._over = False

    def after_input(self) -> Iterator[str]:
        """Contradictions that are there now, if it is time for a check."""
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
        """What is broken now, and in how many inputs before it that may have come without having
        been looked at.
        """
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
