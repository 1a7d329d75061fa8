"""Checks of order books: each by itself, in sequence, and against the client's own orders."""

from __future__ import annotations

from collections import defaultdict
from decimal import Decimal
from itertools import pairwise

from msgspec import Struct

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import Number, ReportedBook, ReportedLevel, ReportedOrder
from sim.evidence.witness.observation import ClientObservation, Seen

_OPEN = ("INSTRUMENT_STATE_OPEN", "MARKET_STATE_OPEN")


class BookForm(WitnessCheck):
    """The levels of a book are sorted by price, no price repeats, and no level is empty.

    A stream of single orders (`unaggregated`) may repeat a price. The best bid and offer may cross
    during an auction. They may also cross in an open market while a strict limit order rests: it
    trades only at exactly its price (rule M22), so it stayed while the other side was better, and
    it is not matched again when the better price leaves. A strict limit order looks like any other
    order, so a crossed book counts as "cannot tell".
    """

    name = "book form"
    depends_on = "§2.5: a book's levels"

    def book(self, fact: ReportedBook, observed: ClientObservation) -> None:
        if fact.book_hidden:
            self.cannot_tell += 1
            return
        self.applied += 1
        once = not observed.request.get("unaggregated")
        wrong = _disorder(fact.bids, once, falling=True) or _disorder(
            fact.offers, once, falling=False
        )
        if not wrong and fact.state in _OPEN and fact.bids and fact.offers:
            self.cannot_tell += fact.bids[0].price >= fact.offers[0].price
        if wrong:
            self.contradict(f"{observed.source} shows {fact.symbol}: {wrong}", [observed.n])


def _disorder(levels: tuple[ReportedLevel, ...], once: bool, *, falling: bool) -> str:
    for level in levels:
        if level.qty <= 0:
            return f"a level of {level.qty} at {level.price}"
    for level, other in pairwise(levels):
        step = level.price - other.price if falling else other.price - level.price
        if step < 0 or (step == 0 and once):
            return f"price {other.price} comes after {level.price}"
    return ""


class BooksInOrder(WitnessCheck):
    """The books of an instrument on one stream never go back in time."""

    name = "books in order"
    depends_on = "§6.2: every change sends the whole book, in order"

    def book(self, fact: ReportedBook, observed: ClientObservation) -> None:
        stream = observed.stream
        if stream is None or not fact.at:
            return
        key = stream.number, observed.request.get("requestId", ""), fact.symbol
        before, line = self.previous(key, fact.at, observed.n)
        if before is None:
            return
        self.applied += 1
        if fact.at < before:
            text = f"the book of {fact.symbol} at {fact.at}Z came after the book at {before}Z"
            self.contradict(text, [line, observed.n], stream)


class _Between(Struct):
    """The latest frame of a stream's book, and answers that came since."""

    book: ReportedBook | None = None
    line: int = 0
    ended: Seen = None
    answers: list[tuple[ReportedBook, int, Seen]] = []


class BookBetween(WitnessCheck):
    """A book that is read between two equal frames of a stream equals them.

    The two frames are consecutive on the stream. The read was sent after the first frame and
    answered before the second, and its book is not newer than the second frame. Only the levels
    that both show are compared.
    """

    name = "book between frames"
    depends_on = "§6.2: every change sends the book"

    def __init__(self) -> None:
        super().__init__()
        self._streams: dict[tuple[str, str], dict[int, _Between]] = defaultdict(dict)

    def book(self, fact: ReportedBook, observed: ClientObservation) -> None:
        streams = self._streams[fact.dialect, fact.symbol]
        stream = observed.stream
        if stream is None:
            if not observed.operation.cache:
                for between in streams.values():
                    if between.book is not None and observed.began > between.ended:
                        between.answers.append((fact, observed.n, observed.ended))
            return
        request = observed.request
        merged = request.get("responsesDebounced") or request.get("slowConsumerSkipToHead")
        if merged or request.get("unaggregated") or fact.book_hidden:
            return
        between = streams.setdefault(stream.number, _Between())
        before = between.book
        if before is not None and _same(before, fact):
            for answer, line, ended in between.answers:
                if ended < observed.began and answer.at <= fact.at:
                    self.applied += 1
                    if not _same(before, answer):
                        text = "differs from the equal frames before and after it"
                        lines = [between.line, line, observed.n]
                        self.contradict(f"the book of {before.symbol} {text}", lines, stream)
        between.book, between.line, between.ended = fact, observed.n, observed.ended
        between.answers.clear()


def _same(book: ReportedBook, other: ReportedBook) -> bool:
    """Whether two books are the same as deep as both are shown."""
    for mine, its in ((book.bids, other.bids), (book.offers, other.offers)):
        depth = min(len(mine), len(its))
        if mine[:depth] != its[:depth] or (not depth and (mine or its)):
            return False
    return book.state == other.state


class _Rest(Struct):
    """An order as it rested unchanged, from `since` to `until`."""

    order: ReportedOrder
    until: str
    first: int
    last: int


class OwnOrders(WitnessCheck):
    """A book shows at least the open quantity of the client's own orders at each price.

    An order rested unchanged from its `lastTransactTime` until the last read that shows the same
    instant. A book strictly between the two must show at the order's price at least the sum of all
    such orders, unless the price is worse than the last level shown.
    """

    name = "own orders in the book"
    depends_on = "§2.5: the qty of a level is the total at its price"

    _RESTING = frozenset(
        f"ORDER_STATE_{state}" for state in ("NEW", "PARTIALLY_FILLED", "REPLACED")
    )

    def __init__(self) -> None:
        super().__init__()
        self._rests: dict[tuple[str, str], _Rest] = {}
        self._waiting: set[str] = set()  # stops, which the retail API shows as limit orders
        self._known: dict[tuple[str, str], list[_Rest]] = defaultdict(list)
        self._books: dict[tuple[str, str], list[tuple[str, ReportedBook, int]]] = defaultdict(list)

    def order(self, fact: ReportedOrder, observed: ClientObservation) -> None:
        resting = fact.state in self._RESTING and fact.type == "ORDER_TYPE_LIMIT"
        if "STOP" in fact.type:
            self._waiting.add(fact.id)
        if not resting or not fact.at or not fact.leaves_qty:
            return
        key = fact.dialect, fact.id
        earlier = self._rests.get(key)
        if earlier is None or earlier.order.at < fact.at:
            rest = self._rests[key] = _Rest(fact, fact.at, observed.n, observed.n)
            self._known[fact.dialect, fact.symbol].append(rest)
        elif earlier.order.at == fact.at and earlier.order.leaves_qty != fact.leaves_qty:
            earlier.until = ""  # several things happened in one instant
        elif earlier.order.at == fact.at and earlier.until and observed.stream is None:
            if observed.now > earlier.until:
                earlier.until, earlier.last = observed.now, observed.n

    def book(self, fact: ReportedBook, observed: ClientObservation) -> None:
        if observed.request.get("unaggregated") or fact.book_hidden or not fact.at:
            return
        if fact.state in _OPEN:
            self._books[fact.dialect, fact.symbol].append((fact.at, fact, observed.n))

    def finish(self) -> None:
        for key, books in self._books.items():
            rests = sorted(
                (
                    rest
                    for rest in self._known.get(key, ())
                    if rest.order.at < rest.until and rest.order.id not in self._waiting
                ),
                key=lambda rest: rest.order.at,
            )
            if rests:
                self._sweep(rests, sorted(books, key=lambda book: book[0]))

    def _sweep(self, rests: list[_Rest], books: list[tuple[str, ReportedBook, int]]) -> None:
        """Go through books and orders in order of time."""
        waiting = iter([*rests, None])
        following, here = next(waiting), list[_Rest]()
        for at, book, line in books:
            while following is not None and following.order.at < at:
                here.append(following)
                following = next(waiting)
            here = [rest for rest in here if rest.until > at]
            if here:
                self._judge(book, line, here)

    def _judge(self, book: ReportedBook, line: int, rests: list[_Rest]) -> None:
        mine: dict[tuple[bool, Number], list[_Rest]] = defaultdict(list)
        for rest in rests:
            mine[rest.order.side.endswith("BUY"), rest.order.price].append(rest)
        for (buying, price), own in mine.items():
            levels = book.bids if buying else book.offers
            last = levels[-1].price if levels else None
            beyond = last is not None and (price < last if buying else price > last)
            if beyond:
                self.cannot_tell += 1
                continue
            self.applied += 1
            total = sum(rest.order.leaves_qty for rest in own)
            visible = next((level.qty for level in levels if level.price == price), 0)
            if Decimal(visible) < Decimal(total):
                self.contradict(
                    f"own orders rest with {total} of {book.symbol} at {price}, but the book at "
                    f"{book.at}Z shows only {visible}",
                    [line, *(rest.first for rest in own[:3]), own[0].last],
                )
