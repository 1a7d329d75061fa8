"""Books by symbol, made when first touched, and which of them changed during this input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from operator import attrgetter

from sim.core.matching.book import Book
from sim.core.matching.checks import STOP_TYPES
from sim.core.model.context import Context
from sim.core.model.enums import BUY
from sim.core.model.events import BookChanged
from sim.core.model.instrument import Instrument
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Order, grouped
from sim.indexes.change_index import Changes


class Books:
    """All books. Versions come from one counter that never goes back, also when a saved state is
    loaded, so what was cached for a version stays true of it.

    Events have versions too: what is published of any of their instruments, and of their game, is
    what it was while theirs is. `symbols` and `events` say which changed last; `loaded` is the
    version from which on they know.
    """

    __slots__ = (
        "_by_symbol",
        "_ctx",
        "_hidden",
        "_instruments",
        "_materialise",
        "_resting",
        "events",
        "loaded",
        "symbols",
        "unannounced",
        "version",
    )

    def __init__(
        self,
        ctx: Context,
        instruments: Instruments,
        hidden: Callable[[str], bool],
        materialise: Callable[[str], None],
    ) -> None:
        self._ctx = ctx
        self._instruments = instruments
        self._hidden = hidden
        self._materialise = materialise
        self._by_symbol: dict[str, Book] = {}
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
        """The book of a listed instrument, which has a state of its own from then on; NotFound when
        there is none.
        """
        book = self._by_symbol.get(symbol)
        if book is None:
            self._materialise(symbol)
            book = self._by_symbol[symbol] = Book(self._instruments.require(symbol))
            book.version = self._next(book.instrument)
            book.hidden = self._hidden(symbol)
            for order in self._resting.pop(symbol, ()):
                if order.type in STOP_TYPES:
                    book.stops.add(order)
                else:
                    (book.bids if order.side is BUY else book.offers).add(order)
        return book

    def touched(self, symbol: str) -> Book | None:
        """The book, or None when the symbol never needed one."""
        return self.get(symbol) if symbol in self._resting else self._by_symbol.get(symbol)

    def among(self, symbols: Iterable[str]) -> list[str]:
        """Those of some symbols that ever needed a book."""
        return [
            symbol for symbol in symbols if symbol in self._by_symbol or symbol in self._resting
        ]

    def changed(self, book: Book) -> None:
        """Something published of the symbol is no longer what it was."""
        book.version = self._next(book.instrument)
        self.unannounced[book.symbol] = None

    def state_changed(self, symbol: str) -> None:
        """The symbol's state, visibility, settlement or statistics changed; no book is made for
        that.
        """
        book = self._by_symbol.get(symbol)
        if book is not None:
            book.hidden = self._hidden(symbol)
            self.changed(book)
        else:
            self.event_changed(self._instruments.require(symbol))
            self.unannounced[symbol] = None

    def event_changed(self, instrument: Instrument) -> None:
        """The instrument, and so its event, is no longer what it was."""
        self._next(instrument)

    def game_reported(self, event: str) -> None:
        """Somebody has told how an event's game stands."""
        self.version += 1
        self.events.note(event, self.version)

    def version_of(self, event: str) -> int:
        """The version of an event."""
        return self.events.get(event, self.loaded)

    def looked_at(self) -> Iterator[str]:
        """Symbols that have a book."""
        yield from self._resting
        yield from self._by_symbol

    def _next(self, instrument: Instrument) -> int:
        version = self.version = self.version + 1
        self.symbols.note(instrument.symbol, version)
        self.events.note(instrument.event, version)
        return version

    def flush(self) -> None:
        """Tell which symbols changed since the last time, once each, in order of first change."""
        if self.unannounced:
            for symbol in self.unannounced:
                self._ctx.emit(BookChanged(symbol, self._ctx.now))
            self.unannounced.clear()

    def load(self, working: dict[str, list[Order]]) -> None:
        """Forget all books. Working orders go back to where they rest when somebody asks for their
        book: a test that resets meets few of many.
        """
        self._by_symbol.clear()
        self.symbols.clear()
        self.events.clear()
        self.version += 1
        self.loaded = self.version
        self.unannounced.clear()
        self._resting = grouped(
            sorted(chain.from_iterable(working.values()), key=attrgetter("priority")),
            attrgetter("symbol"),
        )
