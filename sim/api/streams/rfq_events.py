"""StreamRFQEvents: requests for quotes, the participant's own quotes, and fills of quotes.

The stream sends new events only and replays nothing. Each message holds exactly one event. The
published contract defines no heartbeat, so a message without an event keeps the connection open, at
the usual interval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from sim.api.rfq.events import change_frame, concerns, trade_frame
from sim.api.streams.feed import EventReaders, Feed, FeedStream
from sim.api.streams.shared_frames import encoded
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.events import RfqChanged, Traded

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import AdmittedSubscription
    from sim.api.streams.feed import FeedContext


class RfqFeed(Feed[FeedStream]):
    """Streams of requests and quotes, by stream id."""

    state: ClassVar[tuple[str, ...]] = ("_streams",)

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._streams: dict[int, FeedStream] = {}

    def reads(self) -> EventReaders:
        return {RfqChanged: self._changed, Traded: self._traded}

    def accept(self, admitted: AdmittedSubscription) -> FeedStream:
        return FeedStream(self, admitted)

    def begin(self, stream: FeedStream) -> None:
        self._streams[stream.id] = stream

    def forget(self, stream: FeedStream) -> None:
        del self._streams[stream.id]

    def heartbeat(self, stream: FeedStream) -> bytes:
        return encoded(wire.StreamRFQEventsResponse())

    def _changed(self, event: RfqChanged) -> None:
        for stream in self._streams.values():
            account = stream.caller.account
            if concerns(event, account):
                self.outbox.send(stream, encoded(change_frame(self.exchange, event, account)))

    def _traded(self, event: Traded) -> None:
        if self._streams:
            frame = trade_frame(self.exchange, event)
            if frame is not None:
                self.outbox.send_all(self._streams.values(), encoded(frame))
