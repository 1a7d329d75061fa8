"""Market data over gRPC: CreateMarketDataSubscription and BiDirectionalStreamMarketData (§4.4,
rules S8-S13).

Every message is the whole book of its symbol to the asked depth; receivers replace. PENDING books
are silent until they open; a book that was TERMINATED is shown once more and then never again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, cast

from sim.api.codecs.codecs import BadInput, protobuf_decoder
from sim.api.streams import limits as rules
from sim.api.streams.book_subscriptions import Books, BookStream, heartbeat, shape_of
from sim.api.streams.feed import Feed, FeedContext, Stream
from sim.api.streams.shared_frames import part
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
    Event,
    InstrumentListed,
    StateChanged,
)
from sim.core.model.refusals import Code, InvalidRequest, Refusal
from sim.kernel.instants import format_span
from sim.kernel.timers import Timer, TimerHandlers
from sim.messages import exchange_v1 as wire

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted

REFRESH_TIMER = "stream.refresh"
IDLE_TIMER = "stream.idle"


class MarketDataFeed(Feed):
    """Both market data streams."""

    def __init__(self, context: FeedContext) -> None:
        super().__init__(context)
        self._books = Books(context)
        self._streams = 0
        self._refresh = 0
        self._last_words: dict[str, None] = {}
        self._quiet: dict[int, BookStream] = {}
        self._idle = 0

    def reads(self) -> Mapping[type[Event], Callable[[Any], None]]:
        return {
            StateChanged: self._state_changed,
            DormantInstrumentsMoved: self._shelf_moved,
            BookChanged: self._book_changed,
            InstrumentListed: self._book_changed,
        }

    @cached_property
    def _heartbeat(self) -> bytes:
        return heartbeat()

    def heartbeat(self, stream: Stream) -> bytes:
        return self._heartbeat

    def catch_up(self, stream: Stream, waiting: Sequence[bytes]) -> list[bytes]:
        """Acknowledgements and errors that wait, then every followed book as it is now."""
        mine = cast(BookStream, stream)
        symbols = self._every_symbol() if mine.everything else list(mine.symbols)
        return [frame for frame in waiting if frame[:1] in _replies()] + self._books.present(
            mine, symbols
        )

    # ---- opening and ending

    def accept(self, admitted: Admitted) -> Stream:
        stream = BookStream(self, admitted)
        request = admitted.request
        if request is None:
            return stream
        if len(request.symbols) > rules.MARKET_DATA_SYMBOLS_MAX:
            raise InvalidRequest(
                f"at most {rules.MARKET_DATA_SYMBOLS_MAX} symbols per subscription",
                rule="S8",
                remedy="split the list, or leave it empty for all instruments",
            )
        for symbol in request.symbols:
            self.context.exchange.instruments.require(symbol)
        stream.shape = shape_of(request.depth, request.unaggregated)
        stream.snapshot_only = request.snapshot_only
        stream.skips = request.slow_consumer_skip_to_head
        stream.everything = not request.symbols
        stream.symbols = dict.fromkeys(request.symbols)
        stream.started = True
        return stream

    def begin(self, stream: Stream) -> None:
        mine = cast(BookStream, stream)
        self._streams += 1
        if not self._refresh:
            self._refresh = self.context.schedule(
                self.context.period(MARKET_DATA_REFRESH), REFRESH_TIMER
            )
        if mine.started:
            symbols = list(mine.symbols)
            if mine.everything:
                self._books.follow_everything(mine)
                symbols = self._every_symbol()
            else:
                self._books.follow(mine, symbols)
            self._show_first(mine, symbols)
        else:
            self._hear(mine)

    def forget(self, stream: Stream) -> None:
        mine = cast(BookStream, stream)
        self._books.forget(mine)
        self._quiet.pop(mine.id, None)
        self._streams -= 1
        if not self._streams:
            self._refresh = self.context.cancel(self._refresh)
        if not self._quiet:
            self._idle = self.context.cancel(self._idle)

    def _show_first(self, stream: BookStream, symbols: list[str]) -> None:
        self._books.show(stream, symbols)
        if stream.snapshot_only:
            self.context.end(stream, Code.OK, "")

    def _every_symbol(self) -> list[str]:
        return list(self.context.exchange.instruments.symbols())

    # ---- events and time

    def _state_changed(self, event: StateChanged) -> None:
        if event.state is InstrumentState.TERMINATED and self._streams:
            self._last_words[event.symbol] = None

    def _shelf_moved(self, event: DormantInstrumentsMoved) -> None:
        if not self._streams:
            return
        lifecycle = self.context.exchange.trading.lifecycle
        for symbol in self._books.followed_symbols(shelf=True):
            if not lifecycle.is_materialised(symbol) and lifecycle.state(symbol) is event.state:
                self._books.publish(symbol)

    def _book_changed(self, event: BookChanged | InstrumentListed) -> None:
        if not self._streams:
            return
        symbol = event.symbol
        if self.context.exchange.trading.state(symbol) in DATA_STATES or symbol in self._last_words:
            self._last_words.pop(symbol, None)
            self._books.publish(symbol)

    def flush(self) -> None:
        self._last_words.clear()

    @property
    def timers(self) -> TimerHandlers:
        return {REFRESH_TIMER: self._refresh_books, IDLE_TIMER: self._end_idle}

    def _refresh_books(self, timer: Timer) -> None:
        if timer.seq != self._refresh:
            return
        self._refresh = self.context.schedule(
            self.context.period(MARKET_DATA_REFRESH), REFRESH_TIMER
        )
        trading = self.context.exchange.trading
        everybody = self.context.exchange.ctx.assumptions.flag(MARKET_DATA_REFRESH_ALL)
        for symbol in self._books.followed_symbols() if everybody else self._books.named():
            if trading.state(symbol) in DATA_STATES:
                self._books.publish(symbol, everybody=everybody)

    def _end_idle(self, timer: Timer) -> None:
        """End the streams whose client has been quiet too long; the quietest comes first."""
        if timer.seq != self._idle:
            return
        self._idle, limit = 0, self.context.period(BIDI_IDLE_TIMEOUT)
        for stream in list(self._quiet.values()):
            due = stream.heard + limit
            if due > self.context.now:
                self._idle = self.context.schedule(due - self.context.now, IDLE_TIMER)
                return
            self.context.end(
                stream, Code.UNAVAILABLE, f"idle timeout: no client frame for {format_span(limit)}"
            )

    # ---- frames of the client

    def _hear(self, stream: BookStream) -> None:
        stream.heard = self.context.now
        self._quiet.pop(stream.id, None)
        self._quiet[stream.id] = stream
        if not self._idle:
            self._idle = self.context.schedule(self.context.period(BIDI_IDLE_TIMEOUT), IDLE_TIMER)

    def frame(self, stream: Stream, message: bytes) -> None:
        mine = cast(BookStream, stream)
        self._hear(mine)
        try:
            request = protobuf_decoder(wire.BiDirectionalStreamMarketDataRequest)(message)
            self._obey(mine, request)
        except BadInput as wrong:
            self.context.end(stream, Code.INVALID_ARGUMENT, str(wrong))
        except Refusal as refusal:
            self.context.end(stream, refusal.code, refusal.message)

    def _obey(self, stream: BookStream, request: wire.BiDirectionalStreamMarketDataRequest) -> None:
        if not stream.started and (request.subscribe or request.unsubscribe):
            stream.shape = shape_of(request.depth, request.unaggregated)
            stream.snapshot_only = request.snapshot_only
            stream.skips = request.slow_consumer_skip_to_head
            stream.started = True
        if request.subscribe is not None:
            self._subscribe(stream, request.subscribe.symbols)
        elif request.unsubscribe is not None:
            self._unsubscribe(stream, request.unsubscribe.symbols)
        elif request.keepalive is None:
            raise InvalidRequest("a frame holds subscribe, unsubscribe or keepalive", rule="S10")
        elif not stream.started:
            raise InvalidRequest(
                "keepalive before the first subscribe", rule="S10", remedy="subscribe first"
            )

    def _subscribe(self, stream: BookStream, asked: list[str]) -> None:
        instruments = self.context.exchange.instruments
        symbols = list(dict.fromkeys(asked))
        unknown = [symbol for symbol in symbols if symbol not in instruments]
        if unknown:
            self._complain(stream, "INVALID_SYMBOL", "unknown symbol", unknown)
            return
        again = (
            symbols
            if stream.everything
            else [symbol for symbol in symbols if symbol in stream.symbols]
        )
        if again or (not symbols and stream.everything):
            self._complain(stream, "ALREADY_SUBSCRIBED", "already subscribed", again)
            return
        if symbols:
            self._books.follow(stream, symbols)
        else:
            symbols = [symbol for symbol in self._every_symbol() if symbol not in stream.symbols]
            self._books.leave(stream, list(stream.symbols))
            self._books.follow_everything(stream)
        self._acknowledge(stream, added=symbols)
        self._show_first(stream, symbols)

    def _unsubscribe(self, stream: BookStream, asked: list[str]) -> None:
        symbols = list(dict.fromkeys(asked))
        active = self._active(stream)
        missing = [symbol for symbol in symbols if symbol not in active]
        if missing:
            self._complain(stream, "NOT_SUBSCRIBED", "not subscribed", missing)
            return
        if stream.everything and symbols:
            self._books.leave_everything(stream)
            self._books.follow(stream, active)
        self._books.leave(stream, symbols)
        self._acknowledge(stream, removed=symbols)

    def _active(self, stream: BookStream) -> dict[str, None]:
        return dict.fromkeys(self._every_symbol()) if stream.everything else stream.symbols

    def _complain(self, stream: BookStream, code: str, text: str, symbols: list[str]) -> None:
        error = wire.SubscriptionError(error_code=code, message=text, symbols=symbols)
        self.context.outbox.send(
            stream, part(wire.BiDirectionalStreamMarketDataResponse, subscription_error=error)
        )

    def _acknowledge(
        self,
        stream: BookStream,
        *,
        added: list[str] | None = None,
        removed: list[str] | None = None,
    ) -> None:
        added, removed, active = added or [], removed or [], list(self._active(stream))
        most = rules.ACK_SYMBOLS_MAX
        many_added, many_removed, many_active = (
            len(added) > most,
            len(removed) > most,
            len(active) > most,
        )
        ack = wire.SubscriptionAck(
            symbols_added=[] if many_added else added,
            symbols_removed=[] if many_removed else removed,
            active_symbols=[] if many_active else active,
            symbol_scales=[] if many_added else [self._scales(symbol) for symbol in added],
            active_symbol_count=len(active),
            active_symbols_truncated=many_active,
            symbols_added_count=len(added),
            symbols_added_truncated=many_added,
            symbols_removed_count=len(removed),
            symbols_removed_truncated=many_removed,
        )
        self.context.outbox.send(
            stream, part(wire.BiDirectionalStreamMarketDataResponse, subscription_ack=ack)
        )

    def _scales(self, symbol: str) -> wire.SymbolScales:
        instrument = self.context.exchange.instruments.require(symbol)
        return wire.SymbolScales(
            symbol=symbol, price_scale=instrument.price_scale, quantity_scale=instrument.qty_scale
        )


@cache
def _replies() -> frozenset[bytes]:
    """How frames begin that answer a command of the client. Encoding takes protobuf's classes,
    which a start does not wait for.
    """
    answers = (
        {"subscription_ack": wire.SubscriptionAck()},
        {"subscription_error": wire.SubscriptionError()},
    )
    return frozenset(
        part(wire.BiDirectionalStreamMarketDataResponse, **answer)[:1] for answer in answers
    )
