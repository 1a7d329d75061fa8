"""Injected faults on stream messages (design D6): a frame may be lost, doubled, late, overtaken by
the next one, or be the stream's last.

Works on the effects on their way out, and only while some fault is armed or some frame waits. A
fault on the plane "stream" matches by operation and caller. A late frame holds up those behind it,
as on any connection; how a stream ends is never late.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping

from msgspec import structs

from sim.api.pipeline.inputs import Close, Effect, Send
from sim.api.streams.feed import OrderService, Outbox, Stream
from sim.core.catalogue.quirks import STREAM_DUPLICATES
from sim.core.model.refusals import Code
from sim.core.service.fault_spec import FaultAction
from sim.kernel.instants import Instant
from sim.kernel.timers import Timer

REVOKED = "Subscription manager revoked session"
RESET = "connection reset by peer"
LATE_TIMER = "stream.late"

# Never sent in a close frame (RFC 6455 §7.4.1): says that the connection goes without one.
ABNORMAL_CLOSURE = 1006


class Disturbance:
    """Lets faults befall frames."""

    def __init__(
        self,
        order_service: OrderService,
        streams: Mapping[int, Stream],
        end: Callable[[Stream, int, str], None],
    ) -> None:
        self._order_service = order_service
        self._outbox: Outbox = order_service.outbox
        self._streams = streams
        self._end = end
        self._swapped: dict[int, Send] = {}
        self._late: dict[int, deque[tuple[Instant, Send]]] = {}

    def apply(self, effects: list[Effect]) -> list[Effect]:
        """Effects as they leave."""
        exchange = self._order_service.exchange
        if not (
            self._swapped
            or self._late
            or exchange.faults.armed
            or exchange.ctx.quirks.possible(STREAM_DUPLICATES)
        ):
            return effects
        found: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send):
                found += self._sent(effect)
            elif isinstance(effect, Close):
                found += (*self._waiting(effect.stream), effect)
            else:
                found.append(effect)
        return found

    def release_late(self, timer: Timer) -> list[Effect]:
        """Late frames whose time has come."""
        stream, now = int(timer.subject), self._order_service.now
        queue = self._late.get(stream)
        found: list[Effect] = []
        while queue and queue[0][0] <= now:
            found.append(queue.popleft()[1])
        if queue:
            self._wait(stream, queue[0][0])
        else:
            self._late.pop(stream, None)
        return found

    def forget(self, stream: int) -> None:
        """The stream's client is gone; so is what was held back for it."""
        self._swapped.pop(stream, None)
        self._late.pop(stream, None)

    def _sent(self, send: Send) -> Iterable[Effect]:
        stream = self._streams.get(send.stream)
        if stream is None:
            # Its end is further down the list.
            return (send,)
        exchange = self._order_service.exchange
        sends: tuple[Send, ...] = (send,)
        action = exchange.faults.pick("stream", stream.operation, stream.caller.names)
        if action is None:
            if exchange.ctx.quirks.strikes(STREAM_DUPLICATES):
                sends = (send, send)
            return self._timed(send.stream, (*sends, *self._overtaken(send.stream)), 0)
        if action.status or action.effect in ("revoke", "reset"):
            return self._ended(stream, action)
        if action.effect == "drop":
            return ()
        if action.effect == "duplicate":
            sends = (send, send)
        elif action.effect == "reorder" and send.stream not in self._swapped:
            self._swapped[send.stream] = send
            return ()
        return self._timed(send.stream, (*sends, *self._overtaken(send.stream)), action.delay)

    def _timed(self, stream: int, sends: tuple[Send, ...], delay: int) -> Iterable[Effect]:
        """Frames that leave now: none of these if they are late, or behind one that is."""
        queue = self._late.get(stream)
        if not delay and queue is None:
            return sends
        due = self._order_service.now + delay
        if queue is None:
            queue = self._late[stream] = deque()
            self._wait(stream, due)
        else:
            due = max(due, queue[-1][0])
        queue.extend((due, send) for send in sends)
        return ()

    def _wait(self, stream: int, due: Instant) -> None:
        self._order_service.exchange.ctx.timers.schedule(due, LATE_TIMER, str(stream))

    def _ended(self, stream: Stream, action: FaultAction) -> Iterable[Effect]:
        waiting = self._waiting(stream.id)
        if action.status:
            self._end(stream, action.code, action.message)
        else:
            self._end(
                stream,
                *(
                    (Code.UNAVAILABLE, RESET)
                    if action.effect == "reset"
                    else (Code.INTERNAL, REVOKED)
                ),
            )
        ends = self._outbox.take()
        if action.effect == "reset":
            ends = [
                (
                    structs.replace(end, web_socket_code=ABNORMAL_CLOSURE)
                    if isinstance(end, Close)
                    else end
                )
                for end in ends
            ]
        return (*waiting, *ends)

    def _overtaken(self, stream: int) -> tuple[Send, ...]:
        held = self._swapped.pop(stream, None)
        return () if held is None else (held,)

    def _waiting(self, stream: int) -> tuple[Send, ...]:
        return (*(send for _, send in self._late.pop(stream, ())), *self._overtaken(stream))
