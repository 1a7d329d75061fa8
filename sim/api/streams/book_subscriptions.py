"""Who follows which book, and the encoded books they share: common to the server stream and the
bidirectional one (rules S8-S10).

Their answers carry updates and heartbeats in the same fields, so one frame serves both. A book is
encoded once per shape and version, and kept until it changes: refreshes and snapshots of a quiet
book cost no encoding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from sim.api.rendering.exchange import book_message, unmade_book_message
from sim.api.streams.feed import Feed, FeedContext, Followers, FollowersByKey, Stream
from sim.api.streams.limits import MARKET_DATA_DEPTH
from sim.api.streams.shared_frames import encoded, nesting, part
from sim.core.lifecycle.states import DATA_STATES, OVER_STATES
from sim.core.matching.book import Book
from sim.core.model.enums import InstrumentState
from sim.core.model.refusals import InvalidRequest
from sim.messages.exchange_v1 import (
    CreateMarketDataSubscriptionResponse,
    Heartbeat,
    MarketDataUpdate,
)

if TYPE_CHECKING:
    from sim.api.pipeline.pipeline import Admitted


class Shape(NamedTuple):
    """What makes the books of two subscribers differ: entries per side, single orders or levels,
    with scales or without.
    """

    depth: int = MARKET_DATA_DEPTH
    unaggregated: bool = False
    scales: bool = False


def shape_of(depth: int, unaggregated: bool) -> Shape:
    """The shape a request asks for. InvalidRequest for a negative depth."""
    if depth < 0:
        raise InvalidRequest(
            "depth must not be negative",
            rule="S8",
            remedy=f"leave depth unset for {MARKET_DATA_DEPTH} levels",
        )
    return Shape(depth or MARKET_DATA_DEPTH, unaggregated)


class BookStream(Stream):
    """A subscription to books. `everything` covers instruments listed later too; `symbols` are then
    empty. An ordered set, as a dict.
    """

    __slots__ = ("everything", "heard", "shape", "snapshot_only", "started", "symbols")

    def __init__(self, feed: Feed, admitted: Admitted) -> None:
        super().__init__(feed, admitted)
        self.shape = Shape()
        self.snapshot_only = False
        self.everything = False
        self.symbols: dict[str, None] = {}
        self.started = False
        self.heard = 0


class Books:
    """Followers of books by symbol and shape."""

    def __init__(self, context: FeedContext) -> None:
        self._context = context
        self._followers: dict[str, FollowersByKey[Shape, BookStream]] = {}
        self._everything: FollowersByKey[Shape, BookStream] = FollowersByKey()
        self._encoded: dict[str, tuple[int, dict[Shape, bytes]]] = {}

    def follow(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Add symbols to a stream."""
        for symbol in symbols:
            self._context.exchange.recurring.materialise(symbol)
            stream.symbols[symbol] = None
            shapes = self._followers.get(symbol)
            if shapes is None:
                shapes = self._followers[symbol] = FollowersByKey()
            shapes.join(stream.shape, stream)

    def follow_everything(self, stream: BookStream) -> None:
        """Let a stream have every book, with scales."""
        stream.everything = True
        stream.shape = stream.shape._replace(scales=True)
        self._everything.join(stream.shape, stream)
        self._context.exchange.recurring_feed.follow()

    def leave(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Take symbols from a stream."""
        for symbol in symbols:
            del stream.symbols[symbol]
            shapes = self._followers[symbol]
            shapes.leave(stream.shape, stream)
            if not shapes:
                del self._followers[symbol]

    def leave_everything(self, stream: BookStream) -> None:
        """The stream no longer has every book."""
        stream.everything = False
        self._everything.leave(stream.shape, stream)
        self._context.exchange.recurring_feed.leave()
        stream.shape = stream.shape._replace(scales=False)

    def forget(self, stream: BookStream) -> None:
        """The stream has ended."""
        self.leave(stream, list(stream.symbols))
        if stream.everything:
            self.leave_everything(stream)
        if not self._followers and not self._everything:
            self._encoded.clear()

    def followed_symbols(self, *, shelf: bool = False) -> list[str]:
        """Symbols somebody follows. Whoever follows everything is counted as following the shelf
        only when that is asked for: nothing happens there.
        """
        if self._everything:
            exchange = self._context.exchange
            return list(
                exchange.instruments.symbols()
                if shelf
                else dict.fromkeys((*exchange.trading.lifecycle.symbols(), *self._followers))
            )
        return list(self._followers)

    def named(self) -> list[str]:
        """Symbols that somebody follows by name."""
        return list(self._followers)

    def show(self, stream: BookStream, symbols: Iterable[str]) -> None:
        """Send a stream the present books of symbols, except those not begun or gone (§3.1)."""
        unmade = self._unmade(stream)
        for symbol in symbols:
            frame = unmade.get(symbol)
            if frame is None and self._begun(symbol):
                frame = self.frame(symbol, stream.shape)
            if frame:
                self._context.outbox.send(stream, frame)

    def present(self, stream: BookStream, symbols: Iterable[str]) -> list[bytes]:
        """The present books of symbols for somebody outside the run of inputs: nothing is
        remembered of it.
        """
        unmade = self._unmade(stream)
        found = []
        for symbol in symbols:
            frame = unmade.get(symbol)
            if frame is None and self._begun(symbol):
                known = self._encoded.get(symbol)
                frame = (
                    known[1].get(stream.shape)
                    if known is not None and known[0] == self._version(symbol)
                    else None
                )
                frame = frame or self._encode(symbol, stream.shape)
            if frame:
                found.append(frame)
        return found

    def _begun(self, symbol: str) -> bool:
        return self._context.exchange.trading.state(symbol) in DATA_STATES

    def _unmade(self, stream: BookStream) -> dict[str, bytes]:
        """Books of what is on the shelf, for a stream that has every book: empty ones, which differ
        by symbol, state and scales alone. b"" is not shown.
        """
        if not stream.everything:
            return {}
        exchange, now = self._context.exchange, self._context.now
        lifecycle = exchange.trading.lifecycle
        rests: dict[tuple[InstrumentState, int, int], bytes] = {}
        found: dict[str, bytes] = {}
        for symbol, asked, price_scale, qty_scale in exchange.instruments.dormant.states(
            lifecycle.followed_to
        ):
            if lifecycle.is_materialised(symbol) or asked in OVER_STATES:
                continue  # a game that was over at the beginning: its markets have settled, or will
            key = asked, price_scale, qty_scale
            rest = rests.get(key)
            if rest is None:
                state = lifecycle.unless_suspended(asked)
                rest = rests[key] = (
                    b""
                    if state not in DATA_STATES
                    else encoded(unmade_book_message(state, now, price_scale, qty_scale))
                )
            found[symbol] = _in_response(_symbol(symbol.encode()) + rest) if rest else rest
        return found

    def publish(self, symbol: str, *, everybody: bool = True) -> None:
        """Send a book to all who follow it; without `everybody` to those who named it."""
        send_all = self._context.outbox.send_all
        for shape, topic in self._groups(symbol, everybody):
            send_all(topic.values(), self.frame(symbol, shape))

    def frame(self, symbol: str, shape: Shape) -> bytes:
        """The encoded book of a symbol as it is now."""
        version = self._version(symbol)
        known = self._encoded.get(symbol)
        if known is None or known[0] != version:
            known = self._encoded[symbol] = (version, {})
        found = known[1].get(shape)
        if found is None:
            found = known[1][shape] = self._encode(symbol, shape)
        return found

    def _version(self, symbol: str) -> int:
        """What an encoded book is valid for. An empty book on the shelf differs by its state, and
        by the settlement of one that settles by itself.
        """
        trading = self._context.exchange.trading
        book = trading.books.touched(symbol)
        if book is not None:
            return book.version
        state, settled = trading.state(symbol), trading.settlements.get(symbol)
        return ~(state if settled is None else state + (32 if settled.preliminary else 64))

    def _encode(self, symbol: str, shape: Shape) -> bytes:
        exchange = self._context.exchange
        trading = exchange.trading
        update = book_message(
            trading.books.touched(symbol) or Book(exchange.instruments.require(symbol)),
            trading.state(symbol),
            trading.stats(symbol),
            self._context.now,
            depth=shape.depth,
            unaggregated=shape.unaggregated,
            scales=shape.scales,
        )
        return part(CreateMarketDataSubscriptionResponse, update=update)

    def _groups(
        self, symbol: str, everybody: bool
    ) -> Iterator[tuple[Shape, Followers[BookStream]]]:
        shapes = self._followers.get(symbol)
        if shapes is not None:
            yield from shapes.items()
        if everybody:
            yield from self._everything.items()


_in_response = nesting(CreateMarketDataSubscriptionResponse, "update")
_symbol = nesting(MarketDataUpdate, "symbol")


def heartbeat() -> bytes:
    """The sign of life of both streams."""
    return part(CreateMarketDataSubscriptionResponse, heartbeat=Heartbeat())
