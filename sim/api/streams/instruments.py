"""CreateInstrumentStateChangeSubscription: an instrument at each change of its state (§6.2, L28).

The stream cannot be resumed: the token that the interface declares stays empty, and the exchange
ignores one in a request. Frames carry no settlement results.
"""

from __future__ import annotations

from collections.abc import Sequence

from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.rendering.exchange_instruments import current_instrument_message, instrument_message
from sim.api.streams.feed import EventReaders, Feed, KeyedFeed, KeyedStream, pages
from sim.api.streams.shared_frames import part
from sim.contract.messages.exchange_v1 import (
    CreateInstrumentStateChangeSubscriptionResponse as _Response,
)
from sim.core.model.enums import InstrumentState
from sim.core.model.events import DormantInstrumentsMoved, InstrumentListed, StateChanged
from sim.core.model.instrument import Instrument
from sim.kernel.instants import Instant

# The key of streams that follow every instrument; other keys are symbols.
_EVERY = ""


class InstrumentStream(KeyedStream):
    """A subscription to instruments. One that names none follows all of them."""

    def __init__(self, feed: Feed[InstrumentStream], admitted: AdmittedSubscription) -> None:
        request = admitted.request
        super().__init__(feed, admitted, dict.fromkeys(request.symbols or (_EVERY,)))
        self.skips = request.slow_consumer_skip_to_head

    @property
    def follows_all(self) -> bool:
        """Whether the stream follows every instrument."""
        return self.keys == (_EVERY,)


class InstrumentFeed(KeyedFeed[InstrumentStream]):
    """Instrument state streams, by symbol."""

    def reads(self) -> EventReaders:
        return {
            StateChanged: self._state_changed,
            InstrumentListed: self._state_changed,
            DormantInstrumentsMoved: self._dormant_moved,
        }

    def accept(self, admitted: AdmittedSubscription) -> InstrumentStream:
        for symbol in admitted.request.symbols:
            self.exchange.instruments.require(symbol)
        return InstrumentStream(self, admitted)

    def begin(self, stream: InstrumentStream) -> None:
        if stream.follows_all:
            self.exchange.recurring_feed.follow()
        for symbol in stream.keys:
            self.exchange.recurring.materialise(symbol)
        self.join(stream)
        for frame in self._snapshot(stream):
            self.outbox.send(stream, frame)

    def catch_up(self, stream: InstrumentStream, waiting: Sequence[bytes]) -> list[bytes]:
        """Return the followed instruments as they are now."""
        return self._snapshot(stream)

    def _snapshot(self, stream: InstrumentStream) -> list[bytes]:
        exchange, instruments = self.exchange, self.exchange.instruments
        if stream.follows_all:
            followed = list(instruments)
        else:
            followed = [instruments.require(symbol) for symbol in stream.keys]
        frames = []
        for page in pages(followed) if followed else ():
            messages = [current_instrument_message(exchange, instrument) for instrument in page]
            frames.append(part(_Response, instruments=messages))
        return frames

    def forget(self, stream: InstrumentStream) -> None:
        super().forget(stream)
        if stream.follows_all:
            self.exchange.recurring_feed.leave()

    def heartbeat(self, stream: InstrumentStream) -> bytes:
        return b""  # encodes an empty list of instruments

    def _state_changed(self, event: StateChanged | InstrumentListed) -> None:
        if self._followers:
            instrument = self.exchange.instruments.require(event.symbol)
            self._publish(instrument, event.state, event.at)

    def _dormant_moved(self, event: DormantInstrumentsMoved) -> None:
        """Send the followed ones of many dormant instruments that changed state at once."""
        instruments, lifecycle = self.exchange.instruments, self.exchange.trading.lifecycle
        for symbol in instruments.symbols() if _EVERY in self._followers else list(self._followers):
            if not lifecycle.is_materialised(symbol) and lifecycle.state(symbol) is event.state:
                self._publish(instruments.require(symbol), event.state, event.at)

    def _publish(self, instrument: Instrument, state: InstrumentState, at: Instant) -> None:
        keys = [key for key in (instrument.symbol, _EVERY) if key in self._followers]
        if keys:
            frame = part(
                _Response, instruments=[instrument_message(self.exchange, instrument, state, at)]
            )
            for key in keys:
                self.outbox.send_all(self._followers[key].values(), frame)
