"""The open streams with the buffers of their frames, and the handling of slow
readers (rule S12).
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from sim.api.pipeline.inputs import Close, Send
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Code
from sim.kernel.instants import Instant
from sim.run.simulation import Simulation
from sim.server.stream_buffer import StreamBuffer

# Longest real time for which a move of the clock waits for a slow reader.
_READER_S = 1.0

TOO_SLOW = Close(0, Code.RESOURCE_EXHAUSTED, "slow consumer", 1013)


class StreamHost(Protocol):
    """The interface of the host of open streams."""

    simulation: Simulation
    settings: Settings

    def hangup(self, stream: StreamBuffer) -> None: ...


class OpenStreams:
    """Buffers of the open streams by number."""

    def __init__(self, host: StreamHost) -> None:
        self._host = host
        self._open: dict[int, StreamBuffer] = {}
        self._behind: dict[int, StreamBuffer] = {}
        self._rounds = 0  # number of inputs whose effects were applied

    def __contains__(self, stream: StreamBuffer) -> bool:
        return self._open.get(stream.stream) is stream

    def begin(self, number: int) -> StreamBuffer:
        """The buffer of a new stream."""
        messages, size = self._host.simulation.stream_buffer, self._host.settings.stream_buffer
        stream = self._open[number] = StreamBuffer(number, messages, size)
        return stream

    def leave(self, stream: StreamBuffer, close: Close) -> None:
        """End a stream whose client has disconnected."""
        del self._open[stream.stream]
        stream.end(close, at_once=True)

    def begin_round(self) -> None:
        """The effects of another input begin."""
        self._rounds += 1

    def send(self, effect: Send) -> None:
        """Send a frame. Does nothing if the stream has ended."""
        stream = self._open.get(effect.stream)
        if stream is not None:
            simulation = self._host.simulation
            stream.last.append((simulation.seq, simulation.now, effect.frame))
            if not stream.push(effect.frame):
                self._fell_behind(stream)

    def close(self, effect: Close) -> None:
        """End a stream after its waiting frames."""
        ended = self._open.pop(effect.stream, None)
        if ended is not None:
            ended.end(effect)

    def _fell_behind(self, stream: StreamBuffer) -> None:
        """Note that a reader is slow. If it stays slow, it loses the waiting frames or the stream.

        The frames of a single input, such as a large snapshot, do not make a reader slow: too
        many frames must still be waiting when the next input adds more. Only the byte limit
        applies at once.
        """
        self._behind[stream.stream] = stream
        stream.slow_since = (stream.slow_since or self._rounds) if stream.slow else 0
        if stream.slow_since in (0, self._rounds) and not stream.full:
            return
        head = self._host.simulation.skip_to_head(stream.stream, stream.waiting)
        if head is not None:
            stream.replace(head)
            return
        stream.end(TOO_SLOW, at_once=True)
        # As an input of its own, after the effects of the present one.
        asyncio.get_running_loop().call_soon(self._host.hangup, stream)

    async def wait_for_readers(self) -> None:
        """Wait for slow readers: time that is moved by command is faster than any reader."""
        if self._behind:
            behind, self._behind = self._behind, {}
            for stream in behind.values():
                await stream.wait_for_reader(_READER_S)

    def last_frames(self, number: int) -> list[tuple[int, Instant, bytes]] | None:
        """The last frames of an open stream, oldest first: (input, instant, frame). None if no
        stream of this number is open.
        """
        stream = self._open.get(number)
        return None if stream is None else list(stream.last)

    def end_all(self, close: Close) -> None:
        """End every stream."""
        for stream in self.take_all():
            stream.end(close)

    def take_all(self) -> list[StreamBuffer]:
        """Every open stream, for the caller to end; none is open afterwards."""
        streams, self._open = list(self._open.values()), {}
        return streams
