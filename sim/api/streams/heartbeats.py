"""Signs of life for every stream, and the end of those on which nothing moves, from one timer:
streams wait in slots by the instant of their next check.

While there is no stream there is no timer, and a stream between two checks costs nothing.
"""

from __future__ import annotations

from sim.api.streams.feed import OrderService, Stream
from sim.core.catalogue.assumptions import IDLE_TIMEOUT, STREAM_HEARTBEAT
from sim.core.model.refusals import Code
from sim.kernel.instants import NS_PER_S, Instant, format_span
from sim.kernel.timers import Timer, TimerHandlers

HEARTBEAT_TIMER = "stream.heartbeat"


class Heartbeats:
    """Streams by the instant of their next heartbeat, or of the end of the edge's patience where
    that comes first (rules S5, S13).
    """

    def __init__(self, order_service: OrderService) -> None:
        self._order_service = order_service
        self._slots: dict[Instant, dict[int, Stream]] = {}
        self._slot_of: dict[int, Instant] = {}
        self._timer = 0

    def join(self, stream: Stream) -> None:
        """A stream begins; its first heartbeat comes after an interval, up to a second early."""
        stream.moved = self._order_service.now
        every = self._order_service.period(STREAM_HEARTBEAT)
        due = self._order_service.now + every
        self._put(stream, due - due % NS_PER_S if every > NS_PER_S else due)
        if not self._timer:
            self._wait()

    def leave(self, stream: Stream) -> None:
        """A stream ended."""
        due = self._slot_of.pop(stream.id)
        slot = self._slots.get(due)
        if slot is not None:
            slot.pop(stream.id, None)
            if not slot:
                del self._slots[due]
        if not self._slots:
            self._timer = self._order_service.cancel(self._timer)

    @property
    def timers(self) -> TimerHandlers:
        """The kinds of timers that it owns."""
        return {HEARTBEAT_TIMER: self._check}

    def _check(self, timer: Timer) -> None:
        if timer.seq != self._timer:
            return
        self._timer = 0
        every, patience = (
            self._order_service.period(STREAM_HEARTBEAT),
            self._order_service.period(IDLE_TIMEOUT),
        )
        for stream in self._slots.pop(timer.due, {}).values():
            if timer.due >= stream.moved + patience:
                self._order_service.end(
                    stream,
                    Code.UNAVAILABLE,
                    f"idle timeout: nothing was sent for {format_span(patience)}",
                )
                continue
            beat = stream.beat
            if every and timer.due >= beat:
                self._order_service.outbox.send(stream, stream.feed.heartbeat(stream))
                beat = timer.due + every
            self._put(stream, beat)
        self._wait()

    def _put(self, stream: Stream, beat: Instant) -> None:
        """Wait for a stream's next heartbeat, if there are any, or for the edge, whichever comes
        first.
        """
        stream.beat = beat
        due = stream.moved + self._order_service.period(IDLE_TIMEOUT)
        due += -due % NS_PER_S  # few slots, however many streams
        if self._order_service.period(STREAM_HEARTBEAT):
            due = min(due, beat)
        slot = self._slots.get(due)
        if slot is None:
            slot = self._slots[due] = {}
        slot[stream.id] = stream
        self._slot_of[stream.id] = due

    def _wait(self) -> None:
        if self._slots:
            self._timer = self._order_service.schedule(
                min(self._slots) - self._order_service.now, HEARTBEAT_TIMER
            )
