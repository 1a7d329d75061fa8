"""A group of tasks of an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from sim.server.logs import log_failure


class Tasks:
    """Tasks that are cancelled together. A task that fails is logged."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run a coroutine in the loop of the caller."""
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._done)
        return task

    def cancel(self) -> None:
        """Cancel those that still run."""
        for task in self._running:
            task.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log_failure(error, "a task of the host failed")
