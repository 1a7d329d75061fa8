"""Followers of books and the encoded books that they share (rules S8-S10).

Both market data streams use them. Their responses carry updates and heartbeats in the same fields,
so one frame serves both. A book is encoded once per shape and version, and kept until it changes:
refreshes and snapshots of a quiet book cost no encoding.

An instrument that nobody has touched is dormant: it has no book, and its frame shows an empty one.
A stream that follows everything gets these frames from `_dormant_frames`, which encodes an empty
book once for all symbols with the same state and scales.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from sim.api.rendering.exchange_books import book_message, unmade_book_message
from sim.api.rendering.retention import kept_stats
from sim.api.streams.feed import Feed, FeedContext, Followers, FollowersByKey, Stream
from sim.api.streams.limits import MARKET_DATA_DEPTH
from sim.api.streams.shared_frames import encoded, nesting, part
from sim.core.lifecycle.states import DATA_STATES, OVER_STATES
from sim.core.matching.book import Book
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import Instant
from sim.messages.exchange_v1 import (
    CreateMarketDataSubscriptionResponse,
    Heartbeat,
    MarketDataUpdate,
)

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import AdmittedSubscription


class BookOptions(NamedTuple):
    """The options of a subscription that change the bytes of a book.

    `depth` is in entries per side; `unaggregated` books have orders instead of levels.
    """

    depth: int = MARKET_DATA_DEPTH
    unaggregated: bool = False
    scales: bool = False


def shape_of(depth: int, unaggregated: bool) -> BookOptions:
    """Return the shape that a request asks for. InvalidRequest for a negative depth."""
    if depth < 0:
        raise InvalidRequest(
            "depth must not be negative",
            rule="S8",
            remedy=f"leave depth unset for {MARKET_DATA_DEPTH} levels",
        )
    return BookOptions(depth or MARKET_DATA_DEPTH, unaggregated)


class BookStream(Stream):
    """A subscription to books.

    `everything` covers instruments that are listed later too; `symbols`, an ordered set, is empty
    then. A bidirectional stream is `configured` by the client's first frame.
    """

    __slots__ = ("configured", "everything", "last_received", "shape", "snapshot_only", "symbols")

    def __init__(self, feed: Feed[BookStream], admitted: AdmittedSubscription) -> None:
        super().__init__(feed, admitted)
        self.shape = BookOptions()
        self.snapshot_only = False
        self.everything = False
        self.symbols: dict[str, None] = {}
        self.configured = False
        self.last_received: Instant = 0

    def configure(self, request: Any) -> None:
        """Take over the options of a request. InvalidRequest for a negative depth."""
        self.shape = shape_of(request.depth, request.unaggregated)
        self.snapshot_only = request.snapshot_only
        self.skips = request.slow_consumer_skip_to_head
        self.configured = True


class Books:
    """Followers of books by symbol and shape."""

    def __init__(self, context: FeedContext) -> None:
        self._context = context
        self._exchange = context.exchange
        self._followers: dict[str, FollowersByKey[BookOptions, BookStream]] = {}
        self._everything: FollowersByKey[BookOptions, BookStream] = FollowersByKey()
        self._encoded: dict[str, tuple[int, dict[BookOptions, bytes]]] = {}

    def follow(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Add symbols to a stream."""
        for symbol in symbols:
            self._exchange.recurring.materialise(symbol)
            stream.symbols[symbol] = None
            self._followers.setdefault(symbol, FollowersByKey()).join(stream.shape, stream)

    def follow_everything(self, stream: BookStream) -> None:
        """Make a stream follow every book, with scales."""
        stream.everything = True
        stream.shape = stream.shape._replace(scales=True)
        self._everything.join(stream.shape, stream)
        self._exchange.recurring_feed.follow()

    def leave(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Remove symbols from a stream."""
        for symbol in symbols:
            del stream.symbols[symbol]
            shapes = self._followers[symbol]
            shapes.leave(stream.shape, stream)
            if not shapes:
                del self._followers[symbol]

    def leave_everything(self, stream: BookStream) -> None:
        """Make a stream follow only the books that it names."""
        stream.everything = False
        self._everything.leave(stream.shape, stream)
        self._exchange.recurring_feed.leave()
        stream.shape = stream.shape._replace(scales=False)

    def forget(self, stream: BookStream) -> None:
        """Forget a stream that has ended."""
        self.leave(stream, list(stream.symbols))
        if stream.everything:
            self.leave_everything(stream)
        if not self._followers and not self._everything:
            self._encoded.clear()

    def forget_outdated(self) -> None:
        """Forget encoded books that have changed since."""
        kept = self._encoded.items()
        self._encoded = {
            symbol: encoded for symbol, encoded in kept if encoded[0] == self._version(symbol)
        }

    def follow_versions(self) -> None:
        """Take encoded books as present, whatever the versions of books are now: a frame shows when
        its book was first sent as it is, and a loaded exchange counts versions anew.
        """
        kept = self._encoded.items()
        self._encoded = {symbol: (self._version(symbol), frames) for symbol, (_, frames) in kept}

    def followed_symbols(self, *, dormant: bool = False) -> list[str]:
        """Return the symbols that somebody follows.

        Dormant ones that no stream names are included only on request: nothing happens to them.
        """
        if not self._everything:
            return list(self._followers)
        if dormant:
            return list(self._exchange.instruments.symbols())
        return list(dict.fromkeys((*self._exchange.trading.lifecycle.symbols(), *self._followers)))

    def named_symbols(self) -> list[str]:
        """Return the symbols that somebody follows by name."""
        return list(self._followers)

    def send_present(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Send the present books of symbols, except those not begun or gone (§3.1)."""
        dormant = self._dormant_frames(stream)
        for symbol in symbols:
            frame = dormant.get(symbol)
            if frame is None and self._has_data(symbol):
                frame = self._frame(symbol, stream.shape)
            if frame:
                self._context.outbox.send(stream, frame)

    def snapshot(self, stream: BookStream, symbols: Iterable[str]) -> list[bytes]:
        """Return the present books of symbols, as `send_present` sends them.

        The caller is not part of an input, so nothing is added to the encoded books.
        """
        frames = []
        dormant = self._dormant_frames(stream)
        for symbol in symbols:
            frame = dormant.get(symbol)
            if frame is None and self._has_data(symbol):
                version, by_shape = self._encoded.get(symbol, (None, {}))
                if version == self._version(symbol):
                    frame = by_shape.get(stream.shape)
                frame = frame or self._encode(symbol, stream.shape)
            if frame:
                frames.append(frame)
        return frames

    def _has_data(self, symbol: str) -> bool:
        return self._exchange.trading.state(symbol) in DATA_STATES

    def _dormant_frames(self, stream: BookStream) -> dict[str, bytes]:
        """Return the frames of dormant instruments for a stream that follows everything.

        b"" stands for a book that is not sent.
        """
        if not stream.everything:
            return {}
        exchange, now = self._exchange, self._context.now
        lifecycle = exchange.trading.lifecycle
        encoded_books: dict[tuple[InstrumentState, int, int], bytes] = {}
        frames: dict[str, bytes] = {}
        states = exchange.instruments.dormant.states(lifecycle.followed_to)
        for symbol, scheduled_state, price_scale, qty_scale in states:
            if lifecycle.is_materialised(symbol) or scheduled_state in OVER_STATES:
                continue  # markets of a game that was over at the start have settled, or will
            key = scheduled_state, price_scale, qty_scale
            book = encoded_books.get(key)
            if book is None:
                state, book = lifecycle.unless_suspended(scheduled_state), b""
                if state in DATA_STATES:
                    book = encoded(unmade_book_message(state, now, price_scale, qty_scale))
                encoded_books[key] = book
            frames[symbol] = _in_response(_symbol(symbol.encode()) + book) if book else b""
        return frames

    def publish(self, symbol: str, *, everybody: bool = True) -> None:
        """Send a book to all who follow it; without `everybody` to those who named it."""
        send_all = self._context.outbox.send_all
        for shape, followers in self._groups(symbol, everybody):
            send_all(followers.values(), self._frame(symbol, shape))

    def _frame(self, symbol: str, shape: BookOptions) -> bytes:
        """Return the encoded book of a symbol as it is now."""
        version = self._version(symbol)
        cached = self._encoded.get(symbol)
        if cached is None or cached[0] != version:
            cached = self._encoded[symbol] = (version, {})
        frame = cached[1].get(shape)
        if frame is None:
            frame = cached[1][shape] = self._encode(symbol, shape)
        return frame

    def _version(self, symbol: str) -> int:
        """Return a number that changes whenever the encoded book of a symbol does.

        That is the book's version. An instrument to which nothing has happened has no book, or one
        that a reader made, which must not show; its number is negative and tells its state and
        whether it has settled.
        """
        trading = self._exchange.trading
        book = trading.books.touched(symbol)
        if book is not None and book.changed:
            return book.version
        state, settled = trading.state(symbol), trading.settlements.get(symbol)
        return ~(state if settled is None else state + (32 if settled.preliminary else 64))

    def _encode(self, symbol: str, shape: BookOptions) -> bytes:
        exchange = self._exchange
        trading = exchange.trading
        book = trading.books.touched(symbol) or Book(exchange.instruments.require(symbol))
        update = book_message(
            book,
            trading.state(symbol),
            kept_stats(exchange, symbol),
            self._context.now,
            depth=shape.depth,
            unaggregated=shape.unaggregated,
            scales=shape.scales,
        )
        return part(CreateMarketDataSubscriptionResponse, update=update)

    def _groups(
        self, symbol: str, everybody: bool
    ) -> Iterator[tuple[BookOptions, Followers[BookStream]]]:
        shapes = self._followers.get(symbol)
        if shapes is not None:
            yield from shapes.items()
        if everybody:
            yield from self._everything.items()


_in_response = nesting(CreateMarketDataSubscriptionResponse, "update")
_symbol = nesting(MarketDataUpdate, "symbol")


def heartbeat() -> bytes:
    """Return the heartbeat frame of both streams."""
    return part(CreateMarketDataSubscriptionResponse, heartbeat=Heartbeat())
