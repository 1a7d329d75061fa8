"""Market data over gRPC: the server stream and the bidirectional stream (§4.4, rules S8-S13).

Every message holds a symbol's whole book to the requested depth and replaces the previous one. A
PENDING book is not sent until it opens. A TERMINATED book is sent once more and never again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any, ClassVar

from sim.api.codecs.codecs import BadInput, protobuf_decoder
from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.streams import limits
from sim.api.streams.book_subscriptions import Books, BookStream, heartbeat
from sim.api.streams.feed import SNAPSHOT_SENT, EventReaders, Feed, FeedContext, SingleTimer
from sim.api.streams.shared_frames import part
from sim.contract.messages import exchange_v1 as wire
from sim.core.catalogue.assumptions import (
    BIDI_IDLE_TIMEOUT,
    MARKET_DATA_REFRESH,
    MARKET_DATA_REFRESH_ALL,
)
from sim.core.lifecycle.states import DATA_STATES
from sim.core.model.enums import InstrumentState
from sim.core.model.events import (
    BookChanged,
    DormantInstrumentsMoved,
    InstrumentListed,
    StateChanged,
)
from sim.core.model.refusals import Code, InvalidRequest, Refusal
from sim.core.model.why import Why, because
from sim.kernel.instants import format_span
from sim.kernel.timers import Timer, TimerHandlers

_ClientFrame = wire.BiDirectionalStreamMarketDataRequest
_Reply = wire.BiDirectionalStreamMarketDataResponse

_UNREADABLE_FRAME = Why("S10")
REFRESH_TIMER = "stream.refresh"
IDLE_TIMER = "stream.idle"


class MarketDataFeed(Feed[BookStream]):
    """Both market data streams.

    `_by_last_frame` holds the bidirectional streams, ordered by the last frame of the client,
    oldest first. `_terminated` holds the books that ended during the current input and are
    sent once more.
    """

    state: ClassVar[tuple[str, ...]] = (
        "_books",
        "_streams",
        "_by_last_frame",
        "_refresh_timer",
        "_idle_timer",
    )

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._books = Books(context)
        self._streams = 0
        self._terminated: set[str] = set()
        self._by_last_frame: dict[int, BookStream] = {}
        self._refresh_timer = SingleTimer(context, REFRESH_TIMER)
        self._idle_timer = SingleTimer(context, IDLE_TIMER)

    def save(self) -> list[Any]:
        self._books.forget_outdated()
        return super().save()

    def load(self, values: list[Any]) -> None:
        super().load(values)
        self._books.follow_versions()

    def reads(self) -> EventReaders:
        return {
            StateChanged: self._state_changed,
            DormantInstrumentsMoved: self._dormant_moved,
            BookChanged: self._book_changed,
            InstrumentListed: self._book_changed,
        }

    @cached_property
    def _heartbeat(self) -> bytes:
        return heartbeat()

    def heartbeat(self, stream: BookStream) -> bytes:
        return self._heartbeat

    def catch_up(self, stream: BookStream, waiting: Sequence[bytes]) -> list[bytes]:
        """Return the waiting acknowledgements and errors, then every followed book as it is now."""
        replies = [frame for frame in waiting if frame[:1] in _reply_tags()]
        return replies + self._books.snapshot(stream, list(self._active(stream)))

    # ---- opening and ending

    def accept(self, admitted: AdmittedSubscription) -> BookStream:
        stream = BookStream(self, admitted)
        request = admitted.request
        if request is None:
            return stream
        if len(request.symbols) > limits.MARKET_DATA_SYMBOLS_MAX:
            raise InvalidRequest(
                f"at most {limits.MARKET_DATA_SYMBOLS_MAX} symbols per subscription",
                rule="S8",
                remedy="split the list, or omit it to follow all instruments",
            )
        for symbol in request.symbols:
            self.exchange.instruments.require(symbol)
        stream.configure(request)
        stream.everything = not request.symbols
        stream.symbols = dict.fromkeys(request.symbols)
        return stream

    def begin(self, stream: BookStream) -> None:
        self._streams += 1
        self._refresh_timer.start(self.context.period(MARKET_DATA_REFRESH))
        if not stream.configured:
            self._note_activity(stream)
            return
        if stream.everything:
            self._books.follow_everything(stream)
        else:
            self._books.follow(stream, list(stream.symbols))
        self._send_snapshots(stream, list(self._active(stream)))

    def forget(self, stream: BookStream) -> None:
        self._books.forget(stream)
        self._by_last_frame.pop(stream.id, None)
        self._streams -= 1
        if not self._streams:
            self._refresh_timer.stop()
        if not self._by_last_frame:
            self._idle_timer.stop()

    def _send_snapshots(self, stream: BookStream, symbols: list[str]) -> None:
        self._books.send_current(stream, symbols)
        if stream.snapshot_only:
            self.context.end(stream, Code.OK, "", SNAPSHOT_SENT)

    def _every_symbol(self) -> list[str]:
        return list(self.exchange.instruments.symbols())

    # ---- events and time

    def _state_changed(self, event: StateChanged) -> None:
        if event.state is InstrumentState.TERMINATED and self._streams:
            self._terminated.add(event.symbol)

    def _dormant_moved(self, event: DormantInstrumentsMoved) -> None:
        if not self._streams:
            return
        lifecycle = self.exchange.trading.lifecycle
        for symbol in self._books.followed_symbols(dormant=True):
            if not lifecycle.is_materialised(symbol) and lifecycle.state(symbol) is event.state:
                self._books.publish(symbol)

    def _book_changed(self, event: BookChanged | InstrumentListed) -> None:
        if not self._streams:
            return
        symbol = event.symbol
        if self.exchange.trading.state(symbol) in DATA_STATES or symbol in self._terminated:
            self._terminated.discard(symbol)
            self._books.publish(symbol)

    def flush(self) -> None:
        self._terminated.clear()

    @property
    def timers(self) -> TimerHandlers:
        return {REFRESH_TIMER: self._refresh_books, IDLE_TIMER: self._end_idle}

    def _refresh_books(self, timer: Timer) -> None:
        if not self._refresh_timer.fired(timer):
            return
        self._refresh_timer.start(self.context.period(MARKET_DATA_REFRESH))
        trading = self.exchange.trading
        everybody = self.exchange.ctx.assumptions.flag(MARKET_DATA_REFRESH_ALL)
        symbols = self._books.followed_symbols() if everybody else self._books.named_symbols()
        for symbol in symbols:
            if trading.state(symbol) in DATA_STATES:
                self._books.publish(symbol, include_everything=everybody)

    def _end_idle(self, timer: Timer) -> None:
        """End the streams whose client has been silent for too long."""
        if not self._idle_timer.fired(timer):
            return
        limit = self.context.period(BIDI_IDLE_TIMEOUT)
        text = f"idle timeout: no client frame for {format_span(limit)}"
        for stream in list(self._by_last_frame.values()):
            due = stream.last_received + limit
            if due > self.context.now:
                self._idle_timer.start(due - self.context.now)
                return
            why = because("S13", silent=format_span(limit))
            self.context.end(stream, Code.UNAVAILABLE, text, why)

    # ---- frames of the client

    def _note_activity(self, stream: BookStream) -> None:
        stream.last_received = self.context.now
        self._by_last_frame.pop(stream.id, None)
        self._by_last_frame[stream.id] = stream
        self._idle_timer.start(self.context.period(BIDI_IDLE_TIMEOUT))

    def frame(self, stream: BookStream, message: bytes) -> None:
        self._note_activity(stream)
        try:
            request = protobuf_decoder(_ClientFrame)(message)
            self._handle(stream, request)
        except BadInput as wrong:
            self.context.end(stream, Code.INVALID_ARGUMENT, str(wrong), _UNREADABLE_FRAME)
        except Refusal as refusal:
            self.context.end(stream, refusal.code, refusal.message, refusal.why)

    def _handle(self, stream: BookStream, request: _ClientFrame) -> None:
        if not stream.configured and (request.subscribe or request.unsubscribe):
            stream.configure(request)
        if request.subscribe is not None:
            self._subscribe(stream, request.subscribe.symbols)
        elif request.unsubscribe is not None:
            self._unsubscribe(stream, request.unsubscribe.symbols)
        elif request.keepalive is None or not limits.KEEPALIVE_READ.at(self.exchange.now):
            raise InvalidRequest(
                "a frame must hold subscribe, unsubscribe or keepalive", rule="S10"
            )
        elif not stream.configured:
            raise InvalidRequest(
                "keepalive before the first subscribe", rule="S10", remedy="subscribe first"
            )

    def _subscribe(self, stream: BookStream, requested: list[str]) -> None:
        instruments = self.exchange.instruments
        symbols = list(dict.fromkeys(requested))
        unknown = [symbol for symbol in symbols if symbol not in instruments]
        if unknown:
            self._send_error(stream, "INVALID_SYMBOL", "unknown symbol", unknown)
            return
        again = [symbol for symbol in symbols if stream.everything or symbol in stream.symbols]
        if again or (not symbols and stream.everything):
            self._send_error(stream, "ALREADY_SUBSCRIBED", "already subscribed", again)
            return
        if symbols:
            self._books.follow(stream, symbols)
        else:
            symbols = [symbol for symbol in self._every_symbol() if symbol not in stream.symbols]
            self._books.leave(stream, list(stream.symbols))
            self._books.follow_everything(stream)
        self._acknowledge(stream, added=symbols)
        self._send_snapshots(stream, symbols)

    def _unsubscribe(self, stream: BookStream, requested: list[str]) -> None:
        symbols = list(dict.fromkeys(requested))
        active = self._active(stream)
        missing = [symbol for symbol in symbols if symbol not in active]
        if missing:
            self._send_error(stream, "NOT_SUBSCRIBED", "not subscribed", missing)
            return
        if stream.everything and symbols:
            self._books.leave_everything(stream)
            self._books.follow(stream, active)
        self._books.leave(stream, symbols)
        self._acknowledge(stream, removed=symbols)

    def _active(self, stream: BookStream) -> dict[str, None]:
        return dict.fromkeys(self._every_symbol()) if stream.everything else stream.symbols

    def _send_error(self, stream: BookStream, code: str, text: str, symbols: list[str]) -> None:
        error = wire.SubscriptionError(error_code=code, message=text, symbols=symbols)
        self.exchange.ctx.apply(because("S10", error=code), f"stream/{stream.id}")
        self.outbox.send(stream, part(_Reply, subscription_error=error))

    def _acknowledge(
        self, stream: BookStream, *, added: Sequence[str] = (), removed: Sequence[str] = ()
    ) -> None:
        active = list(self._active(stream))
        most = limits.ACK_SYMBOLS_MAX
        many_added, many_removed = len(added) > most, len(removed) > most
        many_active = len(active) > most
        ack = wire.SubscriptionAck(
            symbols_added=[] if many_added else list(added),
            symbols_removed=[] if many_removed else list(removed),
            active_symbols=[] if many_active else active,
            symbol_scales=[] if many_added else [self._scales(symbol) for symbol in added],
            active_symbol_count=len(active),
            active_symbols_truncated=many_active,
            symbols_added_count=len(added),
            symbols_added_truncated=many_added,
            symbols_removed_count=len(removed),
            symbols_removed_truncated=many_removed,
        )
        self.outbox.send(stream, part(_Reply, subscription_ack=ack))

    def _scales(self, symbol: str) -> wire.SymbolScales:
        instrument = self.exchange.instruments.require(symbol)
        return wire.SymbolScales(
            symbol=symbol, price_scale=instrument.price_scale, quantity_scale=instrument.qty_scale
        )


@cache
def _reply_tags() -> frozenset[bytes]:
    """Return the first bytes of frames that answer a command of the client.

    They are computed on first use, because encoding loads the protobuf classes.
    """
    ack = part(_Reply, subscription_ack=wire.SubscriptionAck())
    error = part(_Reply, subscription_error=wire.SubscriptionError())
    return frozenset((ack[:1], error[:1]))
