"""All books by symbol, and which symbols and events changed.

Books are created on first access. Versions come from one counter that never decreases, not even
when a saved state is loaded, so whatever a reader cached for a version stays valid. An event has
a version, too: as long as it is unchanged, nothing published about the event's instruments or
game has changed.
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
from sim.kernel.indexes.change_index import Changes


class OrderBooks:
    """Finds books and counts their changes.

    `symbols` and `events` hold the version of the last change of each, back to the version
    `loaded`. `unannounced` are the symbols that the next `flush` reports.
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
        # Working orders of books that nobody has accessed since `load`, in no particular order.
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
        """Return the book of an instrument, which is materialised by that.

        Refuses an unlisted symbol.
        """
        book = self._by_symbol.get(symbol)
        if book is None:
            self._materialise(symbol)
            book = self._by_symbol[symbol] = Book(self._instruments.require(symbol))
            book.hidden = self._is_hidden(symbol)
            if (resting := self._resting.pop(symbol, None)) is None:
                book.version = self._next(book.instrument)
            else:  # what was published before it was restored still holds
                book.version, book.changed = self.version_of_symbol(symbol), True
                self._restore(book, resting)
        return book

    def _restore(self, book: Book, resting: list[Order]) -> None:
        bid, offer = book.bids.add, book.offers.add
        for order in sorted(resting, key=attrgetter("priority")):
            if order.type in STOP_TYPES:
                book.stops.add(order)
            elif order.side is BUY:
                bid(order)
            else:
                offer(order)

    def touched(self, symbol: str) -> Book | None:
        """Return the book; None if nothing has ever needed it."""
        return self.get(symbol) if symbol in self._resting else self._by_symbol.get(symbol)

    def among(self, symbols: Iterable[str]) -> list[str]:
        """Return which of some symbols have ever needed a book."""
        with_books = self._by_symbol.keys() | self._resting.keys()
        return [symbol for symbol in symbols if symbol in with_books]

    def changed(self, book: Book) -> None:
        """Note a change of anything published about a book's symbol."""
        book.version, book.changed = self._next(book.instrument), True
        self.unannounced[book.symbol] = None

    def state_changed(self, symbol: str) -> None:
        """Note a change of state, visibility, settlement or statistics. Creates no book."""
        book = self._by_symbol.get(symbol)
        if book is not None:
            book.hidden = self._is_hidden(symbol)
            self.changed(book)
        else:
            self.event_changed(self._instruments.require(symbol))
            self.unannounced[symbol] = None

    def event_changed(self, instrument: Instrument) -> None:
        """Note a change of an instrument, and so of its event."""
        self._next(instrument)

    def game_reported(self, event: str) -> None:
        """Note that somebody reported the state of an event's game."""
        self.version += 1
        self.events.note(event, self.version)

    def version_of_symbol(self, symbol: str) -> int:
        """Return the version of a symbol. It has one without a book, too: after `load` it may have
        traded, and no order of it may be left.
        """
        return self.symbols.get(symbol, self.loaded)

    def version_of(self, event: str) -> int:
        """Return the version of an event."""
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
        """Forget all books. Each restores its working orders on first access.

        A test that resets the world uses few of its books.
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
