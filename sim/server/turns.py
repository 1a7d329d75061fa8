"""Turns in the event loop: heavy requests are handled one after the other, and everybody else is
served between two of them.

A call on the simulation cannot be interrupted. Sixteen calls of 10 ms that arrive at once would
keep a seventeenth caller waiting for all of them. What a target cost last is what its next request
is expected to cost: light ones are handled at once, the others wait in a queue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_LIGHT_S = 0.002
_TARGETS_MAX = 4096  # limited, because clients can send any target


class Turns:
    """The queue of heavy requests, and what targets cost."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._costs: dict[str, tuple[float, float]] = {}  # the last two

    def must_wait(self, target: str, *, new: bool = False) -> bool:
        """Whether a request for a target has to wait for a turn. One for a target without a known
        cost has to if `new` is set, and while somebody has a turn.
        """
        costs = self._costs.get(target)
        # The smaller, because a call may be slow by chance.
        return min(costs) > _LIGHT_S if costs is not None else new or self._turn.locked()

    def note(self, target: str, began: float) -> None:
        """Note that a request, handled since `began`, is complete. `began` is `time.thread_time`,
        which other processes do not prolong.
        """
        if len(self._costs) >= _TARGETS_MAX:
            self._costs.clear()
        cost = time.thread_time() - began
        _, before = self._costs.get(target, (cost, cost))
        self._costs[target] = before, cost

    def is_heavy(self, target: str) -> bool:
        """Whether a target is known to be heavy."""
        return min(self._costs.get(target, (0.0,))) > _LIGHT_S

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn."""
        async with self._turn:
            yield
            await asyncio.sleep(0)
