"""Injected faults on stream messages (design D6): a frame may be lost, doubled, overtaken by the next one, or be the stream's last.

Works on the effects on their way out, and only while some fault is armed. A fault on the plane "stream" matches by operation and caller.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sim.api.stream_feed import Outbox, Stream
from sim.api.traffic import Close, Effect, Send
from sim.core.faults import FaultAction, Faults
from sim.core.refusals import Code

REVOKED = "Subscription manager revoked session"


class Disturbance:
    """Lets faults befall frames. `end` ends a stream for good."""

    def __init__(self, faults: Callable[[], Faults], streams: Mapping[int, Stream], outbox: Outbox, end: Callable[[Stream, int, str], None]) -> None:
        self._faults = faults
        self._streams = streams
        self._outbox = outbox
        self._end = end
        self._held: dict[int, Send] = {}

    def apply(self, effects: list[Effect]) -> list[Effect]:
        """Effects as they leave."""
        if not self._held and not self._faults().armed:
            return effects
        found: list[Effect] = []
        for effect in effects:
            if isinstance(effect, Send):
                found += self._sent(effect)
            elif isinstance(effect, Close):
                found += (*self._late(effect.stream), effect)
            else:
                found.append(effect)
        return found

    def forget(self, stream: int) -> None:
        """The stream's client is gone; so is what was held back for it."""
        self._held.pop(stream, None)

    def _sent(self, send: Send) -> Iterable[Effect]:
        stream = self._streams.get(send.stream)
        if stream is None:
            # Its end is further down the list.
            return (send,)
        action = self._faults().pick("stream", stream.operation, stream.caller.names)
        if action is None:
            return (send, *self._late(send.stream))
        if action.status or action.effect == "revoke":
            return self._ended(stream, action)
        if action.effect == "drop":
            return ()
        if action.effect == "duplicate":
            return (send, send, *self._late(send.stream))
        if action.effect == "reorder" and send.stream not in self._held:
            self._held[send.stream] = send
            return ()
        return (send, *self._late(send.stream))

    def _ended(self, stream: Stream, action: FaultAction) -> Iterable[Effect]:
        late = self._late(stream.id)
        if action.status:
            self._end(stream, action.code, action.message)
        else:
            self._end(stream, Code.INTERNAL, REVOKED)
        return (*late, *self._outbox.take())

    def _late(self, stream: int) -> tuple[Send, ...]:
        held = self._held.pop(stream, None)
        return () if held is None else (held,)
