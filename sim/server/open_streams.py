"""The streams that are open, each with the buffer of its frames, and what becomes of a reader that
falls behind (rule S12).
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from sim.api.pipeline.inputs import Close, Send
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Code
from sim.kernel.instants import Instant
from sim.server.stream_buffer import StreamBuffer
from sim.simulation import Simulation

# Longest real time that moving the clock by command waits for a reader that does not read.
_READER_S = 1.0

TOO_SLOW = Close(0, Code.RESOURCE_EXHAUSTED, "slow consumer", 1013)


class StreamHost(Protocol):
    """What open streams need of the host."""

    simulation: Simulation
    settings: Settings

    def hangup(self, stream: StreamBuffer) -> None: ...


class OpenStreams:
    """Buffers of the open streams by number."""

    def __init__(self, host: StreamHost) -> None:
        self._host = host
        self._open: dict[int, StreamBuffer] = {}
        self._behind: dict[int, StreamBuffer] = {}
        self._rounds = 0  # of effects applied so far

    def __contains__(self, stream: StreamBuffer) -> bool:
        return self._open.get(stream.stream) is stream

    def begin(self, number: int) -> StreamBuffer:
        """The buffer of a stream that begins."""
        messages, size = self._host.simulation.stream_buffer, self._host.settings.stream_buffer
        stream = self._open[number] = StreamBuffer(number, messages, size)
        return stream

    def leave(self, stream: StreamBuffer, close: Close) -> None:
        """End a stream whose client is gone."""
        del self._open[stream.stream]
        stream.end(close, at_once=True)

    def begin_round(self) -> None:
        """The effects of another input begin."""
        self._rounds += 1

    def send(self, effect: Send) -> None:
        """Hand a frame on; nothing happens when the stream has ended."""
        stream = self._open.get(effect.stream)
        if stream is not None:
            simulation = self._host.simulation
            stream.last.append((simulation.seq, simulation.now, effect.frame))
            if not stream.push(effect.frame):
                self._fell_behind(stream)

    def close(self, effect: Close) -> None:
        """End a stream behind the frames that wait."""
        ended = self._open.pop(effect.stream, None)
        if ended is not None:
            ended.end(effect)

    def _fell_behind(self, stream: StreamBuffer) -> None:
        """Note a reader that has fallen behind. One that stays slow loses the waiting frames or the
        stream.

        What a single input brings, such as a snapshot of everything, makes no reader slow: too much
        has to be waiting when the next input brings more. Only the byte limit acts at once.
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
        # As an input of its own, after the present one has been applied.
        asyncio.get_running_loop().call_soon(self._host.hangup, stream)

    async def wait_for_readers(self) -> None:
        """Let slow readers catch up: time moved by command runs faster than anybody can read."""
        if self._behind:
            behind, self._behind = self._behind, {}
            for stream in behind.values():
                await stream.wait_for_reader(_READER_S)

    def last_frames(self, number: int) -> list[tuple[int, Instant, bytes]] | None:
        """What was sent last on an open stream, oldest first: (input, instant, frame); None when no
        stream of this number is open.
        """
        stream = self._open.get(number)
        return None if stream is None else list(stream.last)

    def end_all(self, close: Close) -> None:
        """End every stream."""
        for stream in self.take_all():
            stream.end(close)

    def take_all(self) -> list[StreamBuffer]:
        """Every stream that is open, for somebody else to end; none is open from here on."""
        streams, self._open = list(self._open.values()), {}
        return streams
