"""CreateInstrumentStateChangeSubscription: every instrument as it stands, then each that changes state; the declared token is never filled (§6.2, rule L28)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from sim.api.exchange_messages import instrument_message
from sim.api.stream_feed import Desk, Feed, Stream, Topic
from sim.api.stream_rules import BATCH
from sim.api.stream_wire import encoded
from sim.core.events import Event, StateChanged
from sim.core.refusals import NotFound
from sim.messages import exchange_v1 as wire

if TYPE_CHECKING:
    from sim.api.pipeline import Admitted


class InstrumentStream(Stream):
    """A subscription; `symbols` filters unless empty."""

    __slots__ = ("symbols",)

    def __init__(self, feed: Feed, admitted: Admitted) -> None:
        super().__init__(feed, admitted)
        self.symbols = frozenset(admitted.request.symbols)


class InstrumentFeed(Feed):
    """State changes of instruments."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk)
        self._followers: Topic[InstrumentStream] = Topic()

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {StateChanged: self._state_changed}

    def accept(self, admitted: Admitted) -> Stream:
        stream = InstrumentStream(self, admitted)
        for symbol in sorted(stream.symbols):
            if symbol not in self.desk.exchange.instruments:
                raise NotFound(f"unknown symbol: {symbol[:80]}", rule="M2")
        return stream

    def begin(self, stream: Stream) -> None:
        mine = cast(InstrumentStream, stream)
        self._followers[mine.id] = mine
        trading = self.desk.exchange.trading
        found = [terms for terms in self.desk.exchange.instruments if not mine.symbols or terms.symbol in mine.symbols]
        for first in range(0, len(found), BATCH):
            rows = [instrument_message(terms, trading.state(terms.symbol)) for terms in found[first : first + BATCH]]
            self.desk.outbox.send(mine, encoded(wire.CreateInstrumentStateChangeSubscriptionResponse(instruments=rows)))

    def forget(self, stream: Stream) -> None:
        del self._followers[stream.id]

    def heartbeat(self, stream: Stream) -> bytes:
        return b""  # an empty list of instruments

    def _state_changed(self, event: StateChanged) -> None:
        followers = [stream for stream in self._followers.values() if not stream.symbols or event.symbol in stream.symbols]
        if followers:
            row = instrument_message(self.desk.exchange.instruments.require(event.symbol), event.state)
            self.desk.outbox.send_all(followers, encoded(wire.CreateInstrumentStateChangeSubscriptionResponse(instruments=[row])))
