"""Closes connections whose clients do not read their answers.

| What a client may do | What bounds it |
|---|---|
| stop reading | `STALL_S` without progress: the connection is closed |
| do so on many connections | those of a listener share `HELD_MAX` bytes; beyond it those |
| | without progress for `SHORT_S` are closed, and heavy requests wait for room |
"""

from __future__ import annotations

import asyncio
from typing import Protocol

STALL_S, SHORT_S = 30.0, 1.0
HELD_MAX = 16 << 20

_LOOK_S = 0.25


class Writer(Protocol):
    """A connection: the number of bytes that wait for its client, and its end."""

    @property
    def unsent(self) -> int: ...

    def abort(self) -> None: ...


class UnreadAnswers:
    """The connections of a listener that wait for their clients to read."""

    def __init__(self) -> None:
        # The unsent bytes when they last became fewer, and when that was.
        self._progress: dict[Writer, tuple[int, float]] = {}
        self._look: asyncio.TimerHandle | None = None

    def add(self, writer: Writer) -> None:
        """A connection begins to wait."""
        loop = asyncio.get_running_loop()
        self._progress[writer] = writer.unsent, loop.time()
        if self._look is None:
            self._look = loop.call_later(_LOOK_S, self._check)

    def remove(self, writer: Writer) -> None:
        """A connection waits no more."""
        self._progress.pop(writer, None)

    @property
    def full(self) -> bool:
        """Whether more than `HELD_MAX` bytes wait."""
        return sum(size for size, _ in self._progress.values()) > HELD_MAX

    async def room(self) -> None:
        """Wait until no more than `HELD_MAX` bytes wait."""
        while self.full:
            await asyncio.sleep(_LOOK_S)

    def _check(self) -> None:
        loop = asyncio.get_running_loop()
        for writer, (size, since) in list(self._progress.items()):
            waited, unsent = loop.time() - since, writer.unsent
            if unsent < size:
                self._progress[writer] = unsent, loop.time()
            elif waited > STALL_S or (waited > SHORT_S and self.full):
                self.remove(writer)
                writer.abort()
        self._look = loop.call_later(_LOOK_S, self._check) if self._progress else None
