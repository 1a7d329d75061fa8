"""The watchers of a run, which want to know about every input: pages that show the run, and calls
that wait for a change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Watchers:
    """The events of the watchers."""

    def __init__(self) -> None:
        self._events: dict[asyncio.Event, None] = {}

    def wake(self) -> None:
        """Wake all watchers."""
        for event in self._events:
            event.set()

    @contextmanager
    def watch(self) -> Iterator[asyncio.Event]:
        """An event that every later input sets; the watcher clears it."""
        event = asyncio.Event()
        self._events[event] = None
        try:
            yield event
        finally:
            del self._events[event]
