"""What waits to be sent on one stream: frames in order, then perhaps an end. Bounded, so a client
that stops reading cannot fill the memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from sim.api.pipeline.inputs import Close


class Channel:
    """Outgoing side of one stream. The host pushes, the stream's own task takes; both live in one
    loop.

    `messages` and `size` (bytes) are how much may wait; from half of the messages on the reader is
    `behind`. A `sink` may take a frame at once while nothing waits: it says whether it did.
    """

    __slots__ = (
        "_end",
        "_frames",
        "_given_up",
        "_messages",
        "_relief",
        "_size",
        "_waiting",
        "_waker",
        "sink",
        "slow_since",
        "stream",
    )

    def __init__(self, stream: int, messages: int, size: int) -> None:
        self.stream = stream
        self.sink: Callable[[bytes], bool] | None = None
        self.slow_since = 0  # the host's: in which round of frames it was found to be slow
        self._frames: deque[bytes] = deque()
        self._messages = messages
        self._size = size
        self._waiting = 0
        self._end: Close | None = None
        self._waker: asyncio.Future[None] | None = None
        self._relief: asyncio.Future[None] | None = None
        self._given_up = False

    @property
    def ended(self) -> bool:
        """Whether nothing more will be pushed."""
        return self._end is not None

    @property
    def behind(self) -> bool:
        """Whether half of what may wait is waiting."""
        return 2 * len(self._frames) > self._messages

    @property
    def slow(self) -> bool:
        """Whether more messages are waiting than may wait."""
        return len(self._frames) > self._messages

    @property
    def full(self) -> bool:
        """Whether more bytes are waiting than there is memory for."""
        return self._waiting > self._size

    def push(self, frame: bytes) -> bool:
        """Send or queue a frame. False when the reader has fallen behind."""
        if self._end is not None:
            return True
        frames = self._frames
        if not frames and self.sink is not None and self.sink(frame):
            return True
        frames.append(frame)
        self._waiting += len(frame)
        self._wake()
        return 2 * len(frames) <= self._messages and self._waiting <= self._size

    @property
    def waiting(self) -> list[bytes]:
        """Frames that were not taken yet."""
        return list(self._frames)

    def skip(self, frames: list[bytes]) -> None:
        """Send these in the place of all that waits. They may be more than the limit: the next skip
        is due when as much again has come.
        """
        self._frames = deque(frames)
        self._waiting = sum(map(len, frames))
        self._messages = max(self._messages, 2 * len(frames))
        self._size = max(self._size, 2 * self._waiting)
        self._wake()
        self._relieve()

    def end(self, close: Close, *, at_once: bool = False) -> None:
        """The stream ends after the frames that wait, or at once without them."""
        if at_once:
            self._frames.clear()
            self._waiting = 0
        self._end = self._end or close
        self._wake()
        self._relieve()

    async def take(self) -> bytes | Close:
        """The next frame, or how the stream ended; waits for one of them."""
        while not self._frames:
            if self._end is not None:
                return self._end
            self._waker = asyncio.get_running_loop().create_future()
            await self._waker
        frame = self._frames.popleft()
        self._waiting -= len(frame)
        if self._relief is not None and not self.behind:
            self._relieve()
        return frame

    async def caught_up(self, patience: float) -> None:
        """Wait until the reader is no longer behind, or the stream has ended; not for one who takes
        nothing for so many seconds of real time.
        """
        while self.behind and not self.ended and not self._given_up:
            self._relief = self._relief or asyncio.get_running_loop().create_future()
            left = len(self._frames)
            done, _ = await asyncio.wait((self._relief,), timeout=patience)
            self._given_up = not done and len(self._frames) >= left

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    def _relieve(self) -> None:
        self._given_up = False
        if self._relief is not None and not self._relief.done():
            self._relief.set_result(None)
        self._relief = None
