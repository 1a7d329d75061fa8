"""The queue of frames of one stream, and its end. It is bounded, so that a client that stops
reading cannot fill the memory.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from sim.api.pipeline.inputs import Close, Reply
from sim.kernel.instants import Instant

LAST_FRAMES = 8


class StreamBuffer:
    """The outgoing side of one stream. The host pushes frames, the stream's own task takes them;
    both run in one event loop.

    At most `messages` frames and `size` bytes may wait; from half of the messages on the reader is
    `behind`. A `sink` may send a frame at once while nothing waits, and returns whether it did.
    """

    __slots__ = (
        "_abandoned",
        "_caught_up",
        "_end",
        "_frames",
        "_messages",
        "_size",
        "_waiting_bytes",
        "_waker",
        "admission",
        "last",
        "sink",
        "slow_since",
        "stream",
    )

    def __init__(self, stream: int, messages: int, size: int) -> None:
        self.stream = stream
        self.admission = Reply()  # when and how the client hears that the stream is open
        self.sink: Callable[[bytes], bool] | None = None
        # The last frames that were sent, with their input and instant, for the control room.
        self.last: deque[tuple[int, Instant, bytes]] = deque(maxlen=LAST_FRAMES)
        self.slow_since = 0  # the round of effects in which the host first noted that it is slow
        self._frames: deque[bytes] = deque()
        self._messages = messages
        self._size = size
        self._waiting_bytes = 0
        self._end: Close | None = None
        self._waker: asyncio.Future[None] | None = None
        self._caught_up: asyncio.Future[None] | None = None
        self._abandoned = False

    @property
    def ended_by(self) -> Close | None:
        """The end of the stream; None while frames may still be pushed."""
        return self._end

    @property
    def behind(self) -> bool:
        """Whether more than half of the permitted messages wait."""
        return 2 * len(self._frames) > self._messages

    @property
    def slow(self) -> bool:
        """Whether more messages wait than permitted."""
        return len(self._frames) > self._messages

    @property
    def full(self) -> bool:
        """Whether more bytes wait than permitted."""
        return self._waiting_bytes > self._size

    def push(self, frame: bytes) -> bool:
        """Send or queue a frame. False if the reader has fallen behind."""
        if self._end is not None:
            return True
        frames = self._frames
        if not frames and self.sink is not None and self.sink(frame):
            return True
        frames.append(frame)
        self._waiting_bytes += len(frame)
        self._wake()
        return 2 * len(frames) <= self._messages and self._waiting_bytes <= self._size

    @property
    def waiting(self) -> list[bytes]:
        """The frames that were not taken yet."""
        return list(self._frames)

    def replace(self, frames: list[bytes]) -> None:
        """Replace all waiting frames by these. They may exceed the limits, which grow so that the
        next replacement is due when as many again have been added.
        """
        self._frames = deque(frames)
        self._waiting_bytes = sum(map(len, frames))
        self._messages = max(self._messages, 2 * len(frames))
        self._size = max(self._size, 2 * self._waiting_bytes)
        self._wake()
        self._notify_caught_up()

    def end(self, close: Close, *, at_once: bool = False) -> None:
        """End the stream after the frames that wait; `at_once` discards them."""
        if at_once:
            self._frames.clear()
            self._waiting_bytes = 0
        self._end = self._end or close
        self._wake()
        self._notify_caught_up()

    async def take(self) -> bytes | Close:
        """Wait for the next frame or the end of the stream."""
        while not self._frames:
            if self._end is not None:
                return self._end
            self._waker = asyncio.get_running_loop().create_future()
            await self._waker
        frame = self._frames.popleft()
        self._waiting_bytes -= len(frame)
        if self._caught_up is not None and not self.behind:
            self._notify_caught_up()
        return frame

    async def wait_for_reader(self, patience_s: float) -> None:
        """Wait until the reader is no longer behind or the stream has ended. A reader that takes
        nothing for `patience_s` real seconds is not waited for again until it reads.
        """
        while self.behind and self._end is None and not self._abandoned:
            self._caught_up = self._caught_up or asyncio.get_running_loop().create_future()
            left = len(self._frames)
            done, _ = await asyncio.wait((self._caught_up,), timeout=patience_s)
            self._abandoned = not done and len(self._frames) >= left

    def _wake(self) -> None:
        if self._waker is not None and not self._waker.done():
            self._waker.set_result(None)

    def _notify_caught_up(self) -> None:
        self._abandoned = False
        if self._caught_up is not None and not self._caught_up.done():
            self._caught_up.set_result(None)
        self._caught_up = None
