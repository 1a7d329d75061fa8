"""One order book: price levels by tick, each a first-in first-out queue.

The book stores and sorts orders; `matching.py` decides what happens to them. Two representations
make it fast, and both put a duty on callers:

- A side keeps its levels in a dictionary by price, and the occupied ticks as the bits of one
  integer, with the best tick highest. The best price takes one `bit_length`, and the next one is
  the next lower bit. On the bounded ladders of event contracts (at most a few thousand ticks) this
  is faster than a sorted container (`python -m benchmarks.matching`).
- A queue is a list in which finished orders stay until they are swept up. Code that takes an order
  out must set its `leaves_qty` to 0, because that is how the queue recognises it. An order that
  loses its priority therefore continues as a new `Order` object, and the one in the queue dies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from sim.core.matching.stops import Stops
from sim.core.model.enums import BUY, SELL, Side
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import Price, Qty

_DONE_TOLERATED = 32


class Level:
    """Orders that rest at one price, oldest first.

    `qty` and `count` refer to live orders; `bit` is the position of the level in its ladder. All
    orders before `head` are finished, later ones may be. The queue is a list, because a deque with
    one order takes seven times the memory.
    """

    __slots__ = ("bit", "count", "head", "price", "qty", "queue")

    def __init__(self, price: Price, bit: int) -> None:
        self.price = price
        self.bit = bit
        self.qty: Qty = 0
        self.count = 0
        self.head = 0
        self.queue: list[Order] = []

    def oldest(self) -> Order:
        """The live order with time priority. The level must not be empty."""
        queue, head = self.queue, self.head
        while not queue[head].leaves_qty:
            head += 1
        self.head = head
        return queue[head]

    def orders(self) -> Iterator[Order]:
        """Yield the live orders, oldest first."""
        return (order for order in self.queue if order.leaves_qty)

    def tidy(self, leaving: Order | None = None) -> None:
        """Sweep up finished orders, and `leaving`, once they are the majority."""
        if len(self.queue) > 2 * self.count + _DONE_TOLERATED:
            self.queue = [
                order for order in self.queue if order.leaves_qty and order is not leaving
            ]
            self.head = 0


class Ladder:
    """One side of a book. `best` is its best price, or 0 while it is empty (0 is not a valid
    price).

    Levels are never removed, because there are no more levels than ticks.
    """

    __slots__ = ("_bits", "_first", "_step", "best", "levels")

    def __init__(self, instrument: Instrument, side: Side) -> None:
        buying = side is BUY
        self._step = instrument.tick if buying else -instrument.tick
        # One tick below the lowest, because bit lengths start at 1.
        self._first = (0 if buying else instrument.price_scale) - self._step
        self._bits = 0
        self.best: Price = 0
        self.levels: dict[Price, Level] = {}

    def __bool__(self) -> bool:
        return self.best > 0

    def add(self, order: Order) -> None:
        """Put an order at the end of its level."""
        price = order.price
        try:
            level = self.levels[price]
        except KeyError:
            level = self.levels[price] = Level(price, 1 << (price - self._first) // self._step - 1)
        level.queue.append(order)
        count = level.count
        level.count = count + 1
        if count:
            level.qty += order.leaves_qty
        else:
            level.qty = order.leaves_qty
            if level.bit > self._bits:
                self.best = price
            self._bits |= level.bit

    def remove(self, order: Order) -> None:
        """Take an order out.

        Its `leaves_qty` must still be what the level counted; the caller sets it to 0 right after.
        """
        level = self.levels[order.price]
        level.count = count = level.count - 1
        if not count:
            self.drop(level)
            return
        level.qty -= order.leaves_qty
        level.tidy(order)

    def take(self, level: Level, order: Order, qty: Qty) -> None:
        """Count a fill of one order. The caller reduces the order's `leaves_qty` right after."""
        if order.leaves_qty > qty:
            level.qty -= qty
        else:
            self.remove(order)

    def drop(self, level: Level) -> None:
        """Empty a level whose last live order is gone."""
        level.queue.clear()
        level.qty = level.head = 0
        bits = self._bits = self._bits ^ level.bit
        if bits < level.bit:
            self.best = self._first + self._step * bits.bit_length() if bits else 0

    def walk(self) -> Iterator[Level]:
        """Yield the levels, best first."""
        bits = self._bits
        while bits:
            level = self.levels[self._first + self._step * bits.bit_length()]
            yield level
            bits ^= level.bit

    def reached(self, limit: Price) -> Iterator[Level]:
        """Yield the levels at which an opposite order with this limit (0: none) would trade."""
        if not limit:
            return self.walk()
        if self._step < 0:
            return (level for level in self.walk() if level.price <= limit)
        return (level for level in self.walk() if level.price >= limit)

    def available(self, limit: Price, needed: Qty) -> Qty:
        """Return the quantity that trades within a limit; counting stops at `needed`."""
        total = 0
        for level in self.reached(limit):
            total += level.qty
            if total >= needed:
                return needed
        return total


class Book:
    """Both sides of one instrument, and its waiting stop orders.

    `version` changes whenever anything published about the symbol does. `changed` says whether that
    has happened since the book was created, which a read may cause as well as an order. A `hidden`
    book publishes no levels. `factor` converts notional units to cash.
    """

    __slots__ = (
        "bids",
        "changed",
        "factor",
        "hidden",
        "instrument",
        "offers",
        "stops",
        "symbol",
        "version",
    )

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self.symbol = instrument.symbol
        self.factor = instrument.cash_per_notional
        self.bids = Ladder(instrument, BUY)
        self.offers = Ladder(instrument, SELL)
        self.stops = Stops()
        self.version = 0
        self.changed = False
        self.hidden = False

    def ladder(self, side: Side) -> Ladder:
        """Return the ladder on which an order of this side rests."""
        return self.bids if side is BUY else self.offers

    def opposite(self, side: Side) -> Ladder:
        """Return the ladder against which an order of this side trades."""
        return self.offers if side is BUY else self.bids

    def crosses(self, side: Side, price: Price) -> bool:
        """Return whether an order of this side and limit would trade now."""
        best = self.opposite(side).best
        return bool(best) and (price >= best if side is BUY else price <= best)

    @property
    def crossed(self) -> bool:
        """Whether the best bid meets the best offer.

        That happens only in auction states and with strict limits (rule M22).
        """
        return bool(self.offers.best) and self.bids.best >= self.offers.best

    def sweep(self, taker: Order, match: Callable[[Book, Order, Order, Qty, Price], None]) -> None:
        """Fill a taker within its limit: best price first, then oldest, at the resting price.

        `match(book, taker, maker, qty, price)` must reduce `leaves_qty` of both by the
        quantity (rule M1).
        """
        buying = taker.side is BUY
        ladder = self.offers if buying else self.bids
        limit = taker.price
        leaves = taker.leaves_qty
        while leaves and (best := ladder.best) and (best <= limit if buying else best >= limit):
            level = ladder.levels[best]
            queue, head = level.queue, level.head
            while leaves and level.count:
                maker = queue[head]
                resting = maker.leaves_qty
                if resting > leaves:
                    level.head = head
                    level.qty -= leaves
                    match(self, taker, maker, leaves, best)
                    return
                head += 1
                if not resting:
                    continue
                level.count = count = level.count - 1
                if count:
                    level.head = head
                    level.qty -= resting
                else:
                    ladder.drop(level)
                match(self, taker, maker, resting, best)
                leaves -= resting
            level.tidy()

    def levels(self, side: Side, depth: int | None = None) -> list[tuple[Price, Qty, int]]:
        """Return (price, quantity, orders) of the best levels, best first; all without a depth."""
        walk = islice(self.ladder(side).walk(), depth)
        return [(level.price, level.qty, level.count) for level in walk]

    def orders(self, side: Side) -> Iterator[Order]:
        """Yield the orders that rest on a side, in order of priority."""
        for level in self.ladder(side).walk():
            yield from level.orders()

    def working(self) -> list[Order]:
        """Return every live order of the instrument, including stops, oldest first."""
        orders = [*self.orders(BUY), *self.orders(SELL), *self.stops.orders()]
        return sorted(orders, key=lambda order: order.priority)
