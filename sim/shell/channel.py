"""What waits to be sent on one stream: frames in order, then perhaps an end. Bounded, so a client that stops reading cannot fill the memory."""

from __future__ import annotations

import asyncio
from collections import deque

from sim.api.traffic import Close


class Channel:
    """Outgoing side of one stream. The host pushes, the stream's own task takes; both live in one loop."""

    __slots__ = ("_end", "_frames", "_limit", "_waiting", "_waker", "stream")

    def __init__(self, stream: int, limit: int) -> None:
        self.stream = stream
        self._frames: deque[bytes] = deque()
        self._limit = limit
        self._waiting = 0
        self._end: Close | None = None
        self._waker: asyncio.Future[None] | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing more will be pushed."""
        return self._end is not None

    def push(self, frame: bytes) -> bool:
        """Queue a frame. False when more than the limit is waiting: the reader is too slow."""
        if self._end is not None:
            return True
        self._frames.append(frame)
        self._waiting += len(frame)
        self._wake()
        return self._waiting <= self._limit

    @property
    def waiting(self) -> list[bytes]:
        """Frames that were not taken yet."""
        return list(self._frames)

    def skip(self, frames: list[bytes]) -> None:
        """Send these in the place of all that waits. They may be more than the limit: the next skip is due when as much again has come."""
        self._frames = deque(frames)
        self._waiting = sum(map(len, frames))
        self._limit = max(self._limit, 2 * self._waiting)
        self._wake()

    def end(self, close: Close, *, at_once: bool = False) -> None:
        """The stream ends after the frames that wait, or at once without them."""
        if at_once:
            self._frames.clear()
        self._end = self._end or close
        self._wake()

    async def take(self) -> bytes | Close:
        """The next frame, or how the stream ended; waits for one of them."""
        while not self._frames:
            if self._end is not None:
                return self._end
            self._waker = asyncio.get_running_loop().create_future()
            await self._waker
        frame = self._frames.popleft()
        self._waiting -= len(frame)
        return frame

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)
