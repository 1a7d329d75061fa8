"""Serialises the reads of a run's past, and prepares moments nearby in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from sim.read.history.work import Work
from sim.server.slices import in_slices

T = TypeVar("T")
# Idle real time after which moments nearby are prepared.
_QUIET_S = 0.1


class HistoryAccess:
    """Lets one caller at a time read the past."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self._making: asyncio.Task[None] | None = None

    async def read(self, work: Work[T], nearby: Callable[[], Work[None]]) -> T:
        """The result of the work. Afterwards, while there is no other caller, `nearby` is done."""
        self.stop()
        async with self.lock:
            answer = await in_slices(work)
        self.stop()
        self._making = asyncio.create_task(self._make_ready(nearby))
        return answer

    def stop(self) -> None:
        """Stop the preparation of moments."""
        if self._making is not None:
            self._making.cancel()
            self._making = None

    async def _make_ready(self, nearby: Callable[[], Work[None]]) -> None:
        await asyncio.sleep(_QUIET_S)
        async with self.lock:
            await in_slices(nearby())
