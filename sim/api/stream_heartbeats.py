"""Signs of life for every stream from one timer: streams are kept in slots of a second, and a slot comes round every interval.

While there is no stream there is no timer, and a stream between two heartbeats costs nothing.
"""

from __future__ import annotations

from sim.api.stream_feed import Desk, Stream
from sim.api.stream_rules import HEARTBEAT_EVERY
from sim.kernel.instants import NS_PER_S, Instant
from sim.kernel.timers import Timer

HEARTBEAT_TIMER = "stream.heartbeat"


class Heartbeats:
    """Streams by the instant of their next heartbeat."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._slots: dict[Instant, dict[int, Stream]] = {}
        self._slot_of: dict[int, Instant] = {}
        self._timer = 0

    def join(self, stream: Stream) -> None:
        """A stream begins; its first heartbeat comes after an interval, up to a second early."""
        due = self._desk.now + HEARTBEAT_EVERY
        self._put(stream, due - due % NS_PER_S)
        if not self._timer:
            self._wait()

    def leave(self, stream: Stream) -> None:
        """A stream ended."""
        due = self._slot_of.pop(stream.id)
        slot = self._slots[due]
        del slot[stream.id]
        if not slot:
            del self._slots[due]
        if not self._slots:
            self._timer = self._desk.cancel(self._timer)

    def fire(self, timer: Timer) -> None:
        """Send what is due."""
        if timer.seq != self._timer:
            return
        send = self._desk.outbox.send
        for stream in self._slots.pop(timer.due, {}).values():
            send(stream, stream.feed.heartbeat(stream))
            self._put(stream, timer.due + HEARTBEAT_EVERY)
        self._wait()

    def _put(self, stream: Stream, due: Instant) -> None:
        slot = self._slots.get(due)
        if slot is None:
            slot = self._slots[due] = {}
        slot[stream.id] = stream
        self._slot_of[stream.id] = due

    def _wait(self) -> None:
        self._timer = self._desk.schedule(min(self._slots) - self._desk.now, HEARTBEAT_TIMER) if self._slots else 0
