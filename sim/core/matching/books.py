"""All books by symbol, and which symbols and events changed.

Books are created on first access. Versions come from one counter that never goes back, not even
when a saved state is loaded, so what a reader cached for a version stays valid for it. An event has
a version too: while it stays the same, nothing published of the event's instruments or game
changed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter

from sim.core.matching.book import Book
from sim.core.model.context import Context
from sim.core.model.enums import BUY, STOP_TYPES
from sim.core.model.events import BookChanged
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Order
from sim.indexes.change_index import Changes


class Books:
    """Finds books and counts their changes.

    `symbols` and `events` have the version of the last change of each; both know of no change
    before the version `loaded`. `unannounced` are the symbols that the next `flush` reports.
    """

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        is_hidden: Callable[[str], bool],
        materialise: Callable[[str], None],
    ) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._is_hidden = is_hidden
        self._materialise = materialise
        self._by_symbol: dict[str, Book] = {}
        # of books that nobody asked for since `load`, in no order
        self._resting: dict[str, list[Order]] = {}
        self.unannounced: dict[str, None] = {}
        self.version = 0
        self.symbols = Changes()
        self.events = Changes()
        self.loaded = 0

    def __iter__(self) -> Iterator[Book]:
        for symbol in list(self._resting):
            self.get(symbol)
        return iter(self._by_symbol.values())

    def get(self, symbol: str) -> Book:
        """The book of an instrument, which is no longer dormant afterwards; else NotFound."""
        book = self._by_symbol.get(symbol)
        if book is None:
            self._materialise(symbol)
            book = self._by_symbol[symbol] = Book(self._instruments.require(symbol))
            book.version = self._next(book.instrument)
            book.hidden = self._is_hidden(symbol)
            if (resting := self._resting.pop(symbol, None)) is not None:
                book.changed = True
                self._take_back(book, resting)
        return book

    def _take_back(self, book: Book, resting: list[Order]) -> None:
        bid, offer = book.bids.add, book.offers.add
        for order in sorted(resting, key=attrgetter("priority")):
            if order.type in STOP_TYPES:
                book.stops.add(order)
            elif order.side is BUY:
                bid(order)
            else:
                offer(order)

    def touched(self, symbol: str) -> Book | None:
        """The book, or None when nothing ever needed one."""
        return self.get(symbol) if symbol in self._resting else self._by_symbol.get(symbol)

    def among(self, symbols: Iterable[str]) -> list[str]:
        """Those of some symbols that ever needed a book."""
        with_books = self._by_symbol.keys() | self._resting.keys()
        return [symbol for symbol in symbols if symbol in with_books]

    def changed(self, book: Book) -> None:
        """Note that something published of a book's symbol has changed."""
        book.version, book.changed = self._next(book.instrument), True
        self.unannounced[book.symbol] = None

    def state_changed(self, symbol: str) -> None:
        """Note a change of state, visibility, settlement or statistics; creates no book."""
        book = self._by_symbol.get(symbol)
        if book is not None:
            book.hidden = self._is_hidden(symbol)
            self.changed(book)
        else:
            self.event_changed(self._instruments.require(symbol))
            self.unannounced[symbol] = None

    def event_changed(self, instrument: Instrument) -> None:
        """Note that an instrument, and so its event, has changed."""
        self._next(instrument)

    def game_reported(self, event: str) -> None:
        """Note that somebody reported the state of an event's game."""
        self.version += 1
        self.events.note(event, self.version)

    def version_of(self, event: str) -> int:
        """The version of an event."""
        return self.events.get(event, self.loaded)

    def _next(self, instrument: Instrument) -> int:
        version = self.version = self.version + 1
        self.symbols.note(instrument.symbol, version)
        self.events.note(instrument.event, version)
        return version

    def flush(self) -> None:
        """Emit BookChanged for each symbol that changed since the last call, in order of change."""
        if self.unannounced:
            for symbol in self.unannounced:
                self._ctx.emit(BookChanged(symbol, self._ctx.now))
            self.unannounced.clear()

    def load(self, working: dict[str, list[Order]]) -> None:
        """Forget all books; each takes its working orders back when somebody asks for it.

        A test that resets the world meets few of its books.
        """
        self._by_symbol.clear()
        self.symbols.clear()
        self.events.clear()
        self.version += 1
        self.loaded = self.version
        self.unannounced.clear()
        resting: dict[str, list[Order]] = defaultdict(list)
        for order in chain.from_iterable(working.values()):
            resting[order.symbol].append(order)
        self._resting = resting
