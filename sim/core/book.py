"""One order book: price levels by tick, each a first-in first-out queue. It remembers and orders; `matching.py` decides.

A side keeps its levels in a dict by price and the occupied ticks as the bits of one integer, best tick highest, so the best price is one `bit_length` and the
next one a bit lower: on the bounded ladders of event contracts (design D8) that beats a sorted container (`python -m benchmarks.matching`).

A queue is a deque in which a canceled order stays until it surfaces. Whoever takes an order out must leave its `leaves_qty` at 0: that is how the queue knows.
An order that loses its place therefore goes on as another `Order` object; the one in the queue dies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from sim.core.instruments import Instrument
from sim.core.orders import Order
from sim.core.quantities import Price, Qty
from sim.core.stops import Stops
from sim.core.vocabulary import BUY, SELL, Side

_DEAD_TOLERATED = 32


class Level:
    """Orders resting at one price, oldest first. `qty` and `count` are of live orders; `dead` counts those canceled in the middle of the queue."""

    __slots__ = ("count", "dead", "price", "qty", "queue")

    def __init__(self, price: Price) -> None:
        self.price = price
        self.qty: Qty = 0
        self.count = 0
        self.dead = 0
        self.queue: deque[Order] = deque()

    def oldest(self) -> Order:
        """The live order with time priority. The level must not be empty."""
        queue = self.queue
        while not queue[0].leaves_qty:
            queue.popleft()
            self.dead -= 1
        return queue[0]

    def orders(self) -> Iterator[Order]:
        """Live orders, oldest first."""
        return (order for order in self.queue if order.leaves_qty)


class Ladder:
    """One side of a book. `best` is its best price, 0 when empty (0 is no price, rule M33)."""

    __slots__ = ("_bits", "_origin", "_step", "best", "levels")

    def __init__(self, instrument: Instrument, side: Side) -> None:
        buying = side is BUY
        self._origin = 0 if buying else instrument.price_scale
        self._step = instrument.tick if buying else -instrument.tick
        self._bits = 0
        self.best: Price = 0
        self.levels: dict[Price, Level] = {}

    def __bool__(self) -> bool:
        return self.best > 0

    def add(self, order: Order) -> None:
        """Put an order at the end of its level."""
        price = order.price
        level = self.levels.get(price)
        if level is None:
            level = self.levels[price] = Level(price)
            bits = self._bits = self._bits | 1 << (price - self._origin) // self._step
            self.best = self._origin + self._step * (bits.bit_length() - 1)
        level.queue.append(order)
        level.qty += order.leaves_qty
        level.count += 1

    def remove(self, order: Order) -> None:
        """Take an order out; its `leaves_qty` is still what the level counted, and must be 0 right after."""
        level = self.levels[order.price]
        level.count -= 1
        level.qty -= order.leaves_qty
        if not level.count:
            self._drop(level)
            return
        level.dead += 1
        if level.dead > _DEAD_TOLERATED and level.dead > level.count:
            level.queue = deque(waiting for waiting in level.queue if waiting.leaves_qty and waiting is not order)
            level.dead = 0

    def take(self, level: Level, order: Order, qty: Qty) -> None:
        """Count a fill of an order of a level; the caller lowers the order's `leaves_qty` right after."""
        if order.leaves_qty > qty:
            level.qty -= qty
        else:
            self.remove(order)

    def _drop(self, level: Level) -> None:
        del self.levels[level.price]
        bits = self._bits = self._bits ^ 1 << (level.price - self._origin) // self._step
        self.best = self._origin + self._step * (bits.bit_length() - 1) if bits else 0

    def walk(self) -> Iterator[Level]:
        """Levels, best first."""
        bits = self._bits
        while bits:
            slot = bits.bit_length() - 1
            yield self.levels[self._origin + self._step * slot]
            bits ^= 1 << slot

    def reached(self, limit: Price) -> Iterator[Level]:
        """Levels an opposite order with this limit would trade at, best first. A limit of 0 reaches all."""
        if not limit:
            return self.walk()
        if self._step < 0:
            return (level for level in self.walk() if level.price <= limit)
        return (level for level in self.walk() if level.price >= limit)

    def available(self, limit: Price, wanted: Qty) -> Qty:
        """Quantity that trades within a limit, counted up to `wanted`."""
        found = 0
        for level in self.reached(limit):
            found += level.qty
            if found >= wanted:
                return wanted
        return found


class Book:
    """Both sides of one instrument, and its stops, which rest beside the book. `version` changes whenever anything published of the symbol does;
    a `hidden` book publishes no levels."""

    __slots__ = ("bids", "hidden", "instrument", "offers", "stops", "symbol", "version")

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self.symbol = instrument.symbol
        self.bids = Ladder(instrument, BUY)
        self.offers = Ladder(instrument, SELL)
        self.stops = Stops()
        self.version = 0
        self.hidden = False

    def own(self, side: Side) -> Ladder:
        """The ladder an order of this side rests on."""
        return self.bids if side is BUY else self.offers

    def opposite(self, side: Side) -> Ladder:
        """The ladder an order of this side trades against."""
        return self.offers if side is BUY else self.bids

    def crosses(self, side: Side, price: Price) -> bool:
        """Whether an order of this side and limit would trade now."""
        best = self.opposite(side).best
        return bool(best) and (price >= best if side is BUY else price <= best)

    @property
    def crossed(self) -> bool:
        """Whether the best bid meets the best offer; legal only in auction states and for strict limits (rule M22)."""
        return bool(self.offers.best) and self.bids.best >= self.offers.best

    def sweep(self, taker: Order, match: Callable[[Book, Order, Order, Qty, Price], None]) -> None:
        """Fill a taker from the opposite side within its limit: best price first, then oldest, at the resting price (rule M1).

        `match(book, taker, maker, qty, price)` must lower `leaves_qty` of both by the quantity.
        """
        ladder = self.opposite(taker.side)
        buying = taker.side is BUY
        limit = taker.price
        while taker.leaves_qty:
            best = ladder.best
            if not best or (best > limit if buying else best < limit):
                return
            level = ladder.levels[best]
            maker = level.oldest()
            qty = min(taker.leaves_qty, maker.leaves_qty)
            ladder.take(level, maker, qty)
            match(self, taker, maker, qty, best)

    def levels(self, side: Side, depth: int | None = None) -> list[tuple[Price, Qty, int]]:
        """(price, quantity, orders) of the best levels of a side, best first; all when no depth is given."""
        found: list[tuple[Price, Qty, int]] = []
        for level in self.own(side).walk():
            if depth is not None and len(found) >= depth:
                break
            found.append((level.price, level.qty, level.count))
        return found

    def orders(self, side: Side) -> Iterator[Order]:
        """Orders resting on a side in order of priority."""
        for level in self.own(side).walk():
            yield from level.orders()

    def working(self) -> list[Order]:
        """Every live order of the instrument, stops included, oldest first."""
        found = [*self.orders(BUY), *self.orders(SELL), *self.stops.orders()]
        found.sort(key=lambda order: order.priority)
        return found
