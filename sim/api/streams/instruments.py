"""CreateInstrumentStateChangeSubscription: matching instruments as they are, then each when its
state changes (§6.2, rule L28).

Never resumable: a token is declared and stays empty, and what a request sends as one has no effect.
No settlement result is carried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from sim.api.rendering.exchange import instrument_as_it_is, instrument_message
from sim.api.streams.feed import Feed, FeedContext, FollowersByKey, Stream
from sim.api.streams.limits import BATCH
from sim.api.streams.shared_frames import part
from sim.core.model.enums import InstrumentState
from sim.core.model.events import DormantInstrumentsMoved, Event, InstrumentListed, StateChanged
from sim.core.model.instrument import Instrument
from sim.kernel.instants import Instant
from sim.messages.exchange_v1 import CreateInstrumentStateChangeSubscriptionResponse

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted

# Stands for a symbol: streams that follow every instrument.
_EVERY = ""


class InstrumentStream(Stream):
    """A subscription to instruments, all when it names none."""

    __slots__ = ("symbols",)

    def __init__(self, feed: Feed, admitted: Admitted) -> None:
        super().__init__(feed, admitted)
        self.symbols = tuple(dict.fromkeys(admitted.request.symbols)) or (_EVERY,)
        self.skips = admitted.request.slow_consumer_skip_to_head


class InstrumentFeed(Feed):
    """Instrument state streams by symbol."""

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._followers: FollowersByKey[str, InstrumentStream] = FollowersByKey()

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {
            StateChanged: self._state_changed,
            InstrumentListed: self._state_changed,
            DormantInstrumentsMoved: self._shelf_moved,
        }

    def accept(self, admitted: Admitted) -> Stream:
        for symbol in admitted.request.symbols:
            self.context.exchange.instruments.require(symbol)
        return InstrumentStream(self, admitted)

    def begin(self, stream: Stream) -> None:
        mine = cast(InstrumentStream, stream)
        exchange = self.context.exchange
        if mine.symbols == (_EVERY,):
            exchange.recurring_feed.follow()
        for symbol in mine.symbols:
            exchange.recurring.materialise(symbol)
            self._followers.join(symbol, mine)
        for page in self._pages(mine):
            self.context.outbox.send(mine, page)

    def catch_up(self, stream: Stream, waiting: Sequence[bytes]) -> list[bytes]:
        """The followed instruments as they are now."""
        return list(self._pages(cast(InstrumentStream, stream)))

    def _pages(self, stream: InstrumentStream) -> Iterator[bytes]:
        exchange = self.context.exchange
        instruments = exchange.instruments
        found = (
            list(instruments)
            if stream.symbols == (_EVERY,)
            else [instruments.require(symbol) for symbol in stream.symbols]
        )
        for first in range(0, len(found), BATCH):
            page = [
                instrument_as_it_is(exchange, instrument)
                for instrument in found[first : first + BATCH]
            ]
            yield part(CreateInstrumentStateChangeSubscriptionResponse, instruments=page)

    def forget(self, stream: Stream) -> None:
        mine = cast(InstrumentStream, stream)
        for symbol in mine.symbols:
            self._followers.leave(symbol, mine)
        if mine.symbols == (_EVERY,):
            self.context.exchange.recurring_feed.leave()

    def heartbeat(self, stream: Stream) -> bytes:
        return b""  # an empty list of instruments

    def _state_changed(self, event: StateChanged | InstrumentListed) -> None:
        if self._followers:
            self._tell(
                self.context.exchange.instruments.require(event.symbol), event.state, event.at
            )

    def _shelf_moved(self, event: DormantInstrumentsMoved) -> None:
        """What nobody has touched moved all at once; who follows some of it hears of each by
        itself.
        """
        instruments, lifecycle = (
            self.context.exchange.instruments,
            self.context.exchange.trading.lifecycle,
        )
        for symbol in instruments.symbols() if _EVERY in self._followers else list(self._followers):
            if not lifecycle.is_materialised(symbol) and lifecycle.state(symbol) is event.state:
                self._tell(instruments.require(symbol), event.state, event.at)

    def _tell(self, instrument: Instrument, state: InstrumentState, at: Instant) -> None:
        topics = [
            topic
            for topic in (self._followers.get(instrument.symbol), self._followers.get(_EVERY))
            if topic is not None
        ]
        if topics:
            frame = part(
                CreateInstrumentStateChangeSubscriptionResponse,
                instruments=[instrument_message(instrument, state, at)],
            )
            for topic in topics:
                self.context.outbox.send_all(topic.values(), frame)
