"""Injected faults on the frames of streams: drop, duplicate, delay, reorder, revoke, reset.

Faults act on outgoing effects, and only while a fault is armed or a frame is delayed. A fault on
the plane "stream" matches by operation and caller, and by what a frame holds (`frame_content.py`).
A delayed frame delays the frames behind it, as on any connection; one that was selected by its
content is late alone. The end of a stream is never delayed: it first releases the delayed frames.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any

from msgspec import UNSET, structs

from sim.api.pipeline.inputs import Close, Effect, Send
from sim.api.streams.feed import FeedContext, FeedStream, Outbox
from sim.api.streams.frame_content import content_of, patched_frame
from sim.core.catalogue.quirks import STREAM_DUPLICATES
from sim.core.model.refusals import Code
from sim.core.model.why import Why, because
from sim.core.service.fault_spec import FaultAction
from sim.core.service.faults import FaultTarget
from sim.kernel.instants import Instant
from sim.kernel.timers import Timer

REVOKED = "Subscription manager revoked session"
RESET = "connection reset by peer"
CLOSED = "connection closed"
LATE_TIMER = "stream.late"

# Never sent in a close frame (RFC 6455 §7.4.1): it means that the connection broke without one.
ABNORMAL_CLOSURE = 1006


class StreamFaults:
    """Applies faults to frames. Holds delayed frames, and frames that the next one overtakes."""

    def __init__(
        self,
        context: FeedContext,
        streams: Mapping[int, FeedStream],
        end: Callable[[FeedStream, int, str, Why], None],
    ) -> None:
        self._context = context
        self._outbox: Outbox = context.outbox
        self._streams = streams
        self._end = end
        self._swapped: dict[int, Send] = {}
        self._late: dict[int, deque[tuple[Instant, Send]]] = {}
        self._alone: dict[int, list[tuple[Instant, Send]]] = {}

    def apply(self, effects: list[Effect], answering: int = 0) -> list[Effect]:
        """Return the effects after faults were applied.

        The frames of the stream `answering` are the answer to a subscription.
        """
        exchange = self._context.exchange
        possible = exchange.faults.armed or exchange.ctx.quirks.possible(STREAM_DUPLICATES)
        if not (possible or self._swapped or self._late or self._alone):
            return effects
        changed: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send):
                changed += self._apply_to_send(effect, answering == effect.stream)
            else:
                if isinstance(effect, Close):
                    changed += self._take_waiting(effect.stream)
                changed.append(effect)
        return changed

    def save(self) -> tuple[object, ...]:
        """Return the frames that are held."""
        return self._swapped, self._late, self._alone

    def load(self, state: tuple[Any, ...]) -> None:
        """Restore a saved state."""
        self._swapped, self._late, self._alone = state

    def release_late(self, timer: Timer) -> list[Effect]:
        """Return the delayed frames that are due."""
        stream, now = int(timer.subject), self._context.now
        released: list[Effect] = []
        if alone := self._alone.pop(stream, None):
            released += [send for due, send in alone if due <= now]
            if waiting := [held for held in alone if held[0] > now]:
                self._alone[stream] = waiting
        queue = self._late.get(stream)
        while queue and queue[0][0] <= now:
            released.append(queue.popleft()[1])
        if queue:
            self._schedule(stream, queue[0][0])
        else:
            self._late.pop(stream, None)
        return released

    def forget(self, stream: int) -> None:
        """Drop the held frames of a stream whose client disconnected."""
        for held in (self._swapped, self._late, self._alone):
            held.pop(stream, None)

    def _apply_to_send(self, send: Send, answers: bool) -> Iterable[Effect]:
        stream = self._streams.get(send.stream)
        if stream is None:
            # The stream ended during this input; its `Close` follows later in the list.
            return (send,)
        exchange = self._context.exchange
        target = FaultTarget("stream", stream.operation, stream.caller.names, f"stream/{stream.id}")
        action = exchange.faults.pick(
            *target[:3],
            subject=target.subject,
            can=partial(self._can, stream),
            content=cache(lambda: content_of(stream, send.frame, answers=answers)),
        )
        if action is not None and action.patch:
            frame = patched_frame(stream, send.frame, action.patch)
            exchange.faults.acted(action, target, frame is not None)
            send = send if frame is None else structs.replace(send, frame=frame)
        if action is None:
            duplicate, delay = exchange.ctx.quirks.applies(STREAM_DUPLICATES), 0
        elif action.status or action.effect in ("revoke", "reset", "close"):
            return self._end_stream(stream, action)
        elif action.effect == "drop":
            return ()
        elif action.effect == "reorder":
            self._swapped[send.stream] = send
            return ()
        else:
            duplicate, delay = action.effect == "duplicate", action.delay
        sends = (send, send) if duplicate else (send,)
        if delay and action is not None and action.alone:
            due = self._context.now + delay
            self._alone.setdefault(stream.id, []).extend((due, each) for each in sends)
            self._schedule(stream.id, due)
            return self._delayed(send.stream, self._take_overtaken(send.stream), 0)
        return self._delayed(send.stream, (*sends, *self._take_overtaken(send.stream)), delay)

    def _can(self, stream: FeedStream, action: FaultAction) -> bool:
        """Whether an act is possible: one frame at a time is overtaken, and only WebSockets have a
        connection of their own.
        """
        if action.effect == "close":
            return stream.web_socket
        return action.effect != "reorder" or stream.id not in self._swapped

    def _delayed(self, stream: int, sends: tuple[Send, ...], delay: int) -> Iterable[Effect]:
        """Return the frames to send now: none if they are delayed or queue behind a delayed one."""
        queue = self._late.get(stream)
        if not delay and queue is None:
            return sends
        due = self._context.now + delay
        if queue is None:
            queue = self._late[stream] = deque()
            self._schedule(stream, due)
        else:
            due = max(due, queue[-1][0])
        queue.extend((due, send) for send in sends)
        return ()

    def _schedule(self, stream: int, due: Instant) -> None:
        self._context.exchange.ctx.timers.schedule(due, LATE_TIMER, str(stream))

    def _end_stream(self, stream: FeedStream, action: FaultAction) -> Iterable[Effect]:
        waiting = self._take_waiting(stream.id)
        broken = {"reset": RESET, "close": CLOSED}.get(action.effect, "")
        revokes = not action.status and not broken
        why = because("T2", fault=action.fault, like="S6" if revokes else "")
        if action.status:
            self._end(stream, action.code, action.message, why)
        elif broken:
            self._end(stream, Code.UNAVAILABLE, broken, why)
        else:
            self._end(stream, Code.INTERNAL, REVOKED, why)
        for effect in self._outbox.take():
            if isinstance(effect, Close) and not revokes:
                code = ABNORMAL_CLOSURE if broken else _close_code(action.status)
                resets = action.effect == "reset" or UNSET
                effect = structs.replace(effect, web_socket_code=code, resets=resets)
            waiting.append(effect)
        return waiting

    def _take_overtaken(self, stream: int) -> tuple[Send, ...]:
        send = self._swapped.pop(stream, None)
        return () if send is None else (send,)

    def _take_waiting(self, stream: int) -> list[Effect]:
        late = [*self._alone.pop(stream, ()), *self._late.pop(stream, ())]
        late.sort(key=lambda held: held[0])
        return [*(send for _, send in late), *self._take_overtaken(stream)]


def _close_code(status: int) -> int:
    """The close code for an injected error: one that clients take as a failure."""
    return 1008 if status < 500 else 1013 if status == 503 else 1011
