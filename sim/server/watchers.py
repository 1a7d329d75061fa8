"""Who wants to hear of every input: pages that show the run, and calls that wait for a change."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager


class Watchers:
    """Events of those who watch."""

    def __init__(self) -> None:
        self._events: dict[asyncio.Event, None] = {}

    def wake(self) -> None:
        """Have those who watch look again."""
        for event in self._events:
            event.set()

    @contextmanager
    def watch(self) -> Iterator[asyncio.Event]:
        """An event that every later input sets; whoever waits for it clears it."""
        event = asyncio.Event()
        self._events[event] = None
        try:
            yield event
        finally:
            del self._events[event]
