"""Sends the heartbeats of all streams, and ends streams on which nothing is sent.

One timer serves all streams. Streams are grouped into slots by the instant of their next check, and
each time the timer fires, only the earliest slot is visited. Ten thousand idle streams thus cost
one timer and a few slots. Without streams there is no timer.
"""

from __future__ import annotations

from typing import Any

from sim.api.streams.feed import FeedContext, FeedStream, SingleTimer
from sim.core.catalogue.assumptions import IDLE_TIMEOUT, STREAM_HEARTBEAT
from sim.core.model.refusals import Code
from sim.core.model.why import because
from sim.kernel.instants import NS_PER_S, Instant, format_span
from sim.kernel.timers import Timer, TimerHandlers

HEARTBEAT_TIMER = "stream.heartbeat"


class Heartbeats:
    """Streams by the instant of their next check (rules S5, S13).

    A check is due at the next heartbeat, or at the edge's idle timeout if that is earlier.
    """

    def __init__(self, context: FeedContext) -> None:
        self._context = context
        self._slots: dict[Instant, dict[int, FeedStream]] = {}
        self._slot_of: dict[int, Instant] = {}
        self._timer = SingleTimer(context, HEARTBEAT_TIMER)

    def join(self, stream: FeedStream) -> None:
        """Start watching a stream. Its first heartbeat is due at a full second."""
        stream.last_sent = self._context.now
        interval = self._context.period(STREAM_HEARTBEAT)
        due = self._context.now + interval
        self._put(stream, due - due % NS_PER_S if interval > NS_PER_S else due)
        self._set_timer()

    def leave(self, stream: FeedStream) -> None:
        """Stop watching a stream."""
        due = self._slot_of.pop(stream.id)
        slot = self._slots.get(due)
        if slot is not None:
            slot.pop(stream.id, None)
            if not slot:
                del self._slots[due]
        if not self._slots:
            self._timer.stop()

    def save(self) -> tuple[object, ...]:
        """Return the state that changes while streams are open."""
        return self._slots, self._slot_of, self._timer

    def load(self, state: tuple[Any, ...]) -> None:
        """Restore a saved state."""
        self._slots, self._slot_of, self._timer = state

    @property
    def timers(self) -> TimerHandlers:
        """The timer kinds that this class owns."""
        return {HEARTBEAT_TIMER: self._check}

    def _check(self, timer: Timer) -> None:
        if not self._timer.fired(timer):
            return
        interval = self._context.period(STREAM_HEARTBEAT)
        idle_timeout = self._context.period(IDLE_TIMEOUT)
        for stream in self._slots.pop(timer.due, {}).values():
            if timer.due >= stream.last_sent + idle_timeout:
                text = f"idle timeout: nothing was sent for {format_span(idle_timeout)}"
                why = because("S13", silent=format_span(idle_timeout))
                self._context.end(stream, Code.UNAVAILABLE, text, why)
                continue
            heartbeat_due = stream.heartbeat_due
            if interval and timer.due >= heartbeat_due:
                self._context.outbox.send(stream, stream.feed.heartbeat(stream))
                heartbeat_due = timer.due + interval
            self._put(stream, heartbeat_due)
        self._set_timer()

    def _put(self, stream: FeedStream, heartbeat_due: Instant) -> None:
        """Put a stream into the slot of its next check: heartbeat or idle timeout."""
        stream.heartbeat_due = heartbeat_due
        due = stream.last_sent + self._context.period(IDLE_TIMEOUT)
        due += -due % NS_PER_S  # full seconds limit the number of slots
        if self._context.period(STREAM_HEARTBEAT):
            due = min(due, heartbeat_due)
        self._slots.setdefault(due, {})[stream.id] = stream
        self._slot_of[stream.id] = due

    def _set_timer(self) -> None:
        if self._slots:
            self._timer.start_by(min(self._slots))
