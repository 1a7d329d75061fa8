"""Subscribers to books, and the encoded books that they share (rules S8-S10).

Both market data streams use this module. Their responses carry updates and heartbeats in the same
fields, so one frame serves both. A book is encoded once per version and set of options and reused
until it changes, so that refreshes and snapshots of a quiet book are cheap.

A dormant instrument, one to which nothing has happened, has no book, and its frame shows an empty
one. A stream that follows everything gets thousands of these, and `_dormant_frames` encodes one of
each kind: of a world as large as life, the instruments are not created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from sim.api.pipeline.pipeline import AdmittedSubscription
from sim.api.rendering.exchange_books import book_message
from sim.api.rendering.retention import retained_stats
from sim.api.streams.feed import Feed, FeedContext, FeedStream, Followers, FollowersByKey
from sim.api.streams.limits import MARKET_DATA_DEPTH
from sim.api.streams.shared_frames import encoded, nesting, part
from sim.contract.messages.exchange_v1 import (
    CreateMarketDataSubscriptionResponse,
    Heartbeat,
    MarketDataUpdate,
)
from sim.core.lifecycle.states import DATA_STATES, OVER_STATES
from sim.core.matching.book import Book
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import Instant


class BookOptions(NamedTuple):
    """The options of a subscription that determine the bytes of a book.

    `depth` limits the entries per side; an `unaggregated` book lists single orders; `scales` adds
    the price and quantity scales.
    """

    depth: int = MARKET_DATA_DEPTH
    unaggregated: bool = False
    scales: bool = False


def book_options(depth: int, unaggregated: bool) -> BookOptions:
    """Return the options of a request. Refuses a negative depth."""
    if depth < 0:
        raise InvalidRequest(
            "depth must not be negative",
            rule="S8",
            remedy=f"omit depth for {MARKET_DATA_DEPTH} levels",
        )
    return BookOptions(depth or MARKET_DATA_DEPTH, unaggregated)


class BookStream(FeedStream):
    """A subscription to books.

    A stream that follows `everything` includes instruments that are listed later; its `symbols` are
    empty. Otherwise `symbols` is an ordered set. `configured` says whether the first client frame
    of a bidirectional stream has set the options.
    """

    def __init__(self, feed: Feed[BookStream], admitted: AdmittedSubscription) -> None:
        super().__init__(feed, admitted)
        self.options = BookOptions()
        self.snapshot_only = False
        self.everything = False
        self.symbols: dict[str, None] = {}
        self.configured = False
        self.last_received: Instant = 0

    def configure(self, request: Any) -> None:
        """Use the options of a request. Refuses a negative depth."""
        self.options = book_options(request.depth, request.unaggregated)
        self.snapshot_only = request.snapshot_only
        self.skips = request.slow_consumer_skip_to_head
        self.configured = True


class Books:
    """The subscribers of books, by symbol and options, and the encoded books."""

    def __init__(self, context: FeedContext) -> None:
        self._context = context
        self._exchange = context.exchange
        self._followers: dict[str, FollowersByKey[BookOptions, BookStream]] = {}
        self._everything: FollowersByKey[BookOptions, BookStream] = FollowersByKey()
        self._encoded: dict[str, tuple[object, dict[BookOptions, bytes]]] = {}

    def follow(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Make a stream follow more symbols."""
        for symbol in symbols:
            self._exchange.recurring.materialise(symbol)
            stream.symbols[symbol] = None
            self._followers.setdefault(symbol, FollowersByKey()).join(stream.options, stream)

    def follow_everything(self, stream: BookStream) -> None:
        """Make a stream follow every book, with scales."""
        stream.everything = True
        stream.options = stream.options._replace(scales=True)
        self._everything.join(stream.options, stream)
        self._exchange.recurring_feed.follow()

    def leave(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Make a stream stop following symbols."""
        for symbol in symbols:
            del stream.symbols[symbol]
            groups = self._followers[symbol]
            groups.leave(stream.options, stream)
            if not groups:
                del self._followers[symbol]

    def leave_everything(self, stream: BookStream) -> None:
        """Make a stream that follows everything follow only the symbols it names."""
        stream.everything = False
        self._everything.leave(stream.options, stream)
        self._exchange.recurring_feed.leave()
        stream.options = stream.options._replace(scales=False)

    def forget(self, stream: BookStream) -> None:
        """Forget a stream that has ended."""
        self.leave(stream, list(stream.symbols))
        if stream.everything:
            self.leave_everything(stream)
        if not self._followers and not self._everything:
            self._encoded.clear()

    def forget_outdated(self) -> None:
        """Forget encoded books that have changed since they were encoded."""
        kept = self._encoded.items()
        self._encoded = {
            symbol: encoded for symbol, encoded in kept if encoded[0] == self._version(symbol)
        }

    def follow_versions(self) -> None:
        """Mark every encoded book as current.

        Needed after an exchange is loaded, which counts versions from scratch, while a frame must
        keep the instant at which the book was first sent in its current form.
        """
        kept = self._encoded.items()
        self._encoded = {symbol: (self._version(symbol), frames) for symbol, (_, frames) in kept}

    def followed_symbols(self, *, dormant: bool = False) -> list[str]:
        """Return the symbols that somebody follows.

        With `dormant`, they include dormant instruments that no stream names.
        """
        if not self._everything:
            return list(self._followers)
        if dormant:
            return list(self._exchange.instruments.symbols())
        return list(dict.fromkeys((*self._exchange.trading.lifecycle.symbols(), *self._followers)))

    def named_symbols(self) -> list[str]:
        """Return the symbols that somebody follows by name."""
        return list(self._followers)

    def send_current(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Send the current books of symbols, except unopened and ended ones (§3.1)."""
        dormant = self._dormant_frames(stream)
        for symbol in symbols:
            frame = dormant.get(symbol)
            if frame is None and self._has_data(symbol):
                frame = self._frame(symbol, stream.options)
            if frame:
                self._context.outbox.send(stream, frame)

    def snapshot(self, stream: BookStream, symbols: Iterable[str]) -> list[bytes]:
        """Return the current books of symbols, as `send_current` sends them.

        The call is not part of an input, so it does not add to the cache of encoded books.
        """
        frames = []
        dormant = self._dormant_frames(stream)
        for symbol in symbols:
            frame = dormant.get(symbol)
            if frame is None and self._has_data(symbol):
                version, by_options = self._encoded.get(symbol, (None, {}))
                frame = by_options.get(stream.options) if version == self._version(symbol) else None
                frame = frame or self._encode(symbol, stream.options)
            if frame:
                frames.append(frame)
        return frames

    def _dormant_frames(self, stream: BookStream) -> dict[str, bytes]:
        """Return the frames of dormant instruments for a stream that follows everything.

        b"" means that the book is not sent.
        """
        if not stream.everything:
            return {}
        lifecycle = self._exchange.trading.lifecycle
        frames, books = {}, dict[tuple[InstrumentState, int, int], bytes]()
        for symbol, kind in self._exchange.instruments.dormant.states(lifecycle.followed_to):
            if lifecycle.is_materialised(symbol) or kind[0] in OVER_STATES:
                continue  # its game was over at the start: it has settled or will
            if kind not in books:
                update = replace(self._book(symbol, stream.options), symbol="")
                books[kind] = encoded(update) if self._has_data(symbol) else b""
            book = books[kind]
            frames[symbol] = book and _in_response(_symbol(symbol.encode()) + book)
        return frames

    def _has_data(self, symbol: str) -> bool:
        return self._exchange.trading.state(symbol) in DATA_STATES

    def publish(self, symbol: str, *, include_everything: bool = True) -> None:
        """Send a book to its subscribers.

        Without `include_everything`, only to those that name the symbol.
        """
        send_all = self._context.outbox.send_all
        for options, followers in self._groups(symbol, include_everything):
            send_all(followers.values(), self._frame(symbol, options))

    def _frame(self, symbol: str, options: BookOptions) -> bytes:
        """Return the encoded book of a symbol as it is now."""
        version = self._version(symbol)
        cached = self._encoded.get(symbol)
        if cached is None or cached[0] != version:
            cached = self._encoded[symbol] = (version, {})
        frame = cached[1].get(options)
        if frame is None:
            frame = cached[1][options] = self._encode(symbol, options)
        return frame

    def _version(self, symbol: str) -> object:
        """Return something that changes whenever the encoded book of a symbol changes.

        That is the version of the book. An untouched instrument has no book, or an empty one that
        some read created and that must not count: what its frame shows is its state, settlement,
        and whether its book is hidden.
        """
        trading = self._exchange.trading
        book = trading.books.touched(symbol)
        if book is not None and book.changed:
            return book.version
        hidden = trading.lifecycle.is_hidden(symbol)
        return trading.state(symbol), trading.settlements.get(symbol), hidden

    def _encode(self, symbol: str, options: BookOptions) -> bytes:
        update = self._book(symbol, options)
        return part(CreateMarketDataSubscriptionResponse, update=update)

    def _book(self, symbol: str, options: BookOptions) -> MarketDataUpdate:
        exchange = self._exchange
        trading = exchange.trading
        book = trading.books.touched(symbol)
        if book is None:
            book = Book(exchange.instruments.require(symbol))
            book.hidden = trading.lifecycle.is_hidden(symbol)
        return book_message(
            book,
            trading.state(symbol),
            retained_stats(exchange, symbol),
            self._context.now,
            depth=options.depth,
            unaggregated=options.unaggregated,
            scales=options.scales,
        )

    def _groups(
        self, symbol: str, include_everything: bool
    ) -> Iterator[tuple[BookOptions, Followers[BookStream]]]:
        groups = self._followers.get(symbol)
        if groups is not None:
            yield from groups.items()
        if include_everything:
            yield from self._everything.items()


_in_response = nesting(CreateMarketDataSubscriptionResponse, "update")
_symbol = nesting(MarketDataUpdate, "symbol")


def heartbeat() -> bytes:
    """Return the heartbeat frame that both streams send."""
    return part(CreateMarketDataSubscriptionResponse, heartbeat=Heartbeat())
