"""Flows of operations for matching engines: the same list for each.

`mixed` is the flow of the goals. Of a hundred operations, 60 quote within twenty ticks of a middle
that wanders from 1 to 99 ticks, 25 cancel a resting order, and 15 take. The flow is drawn beside a
book so that these shares hold: no quote crosses, no cancel comes too late, no taker finds an empty
book.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

from msgspec import Struct

from sim.core.matching.book import Book
from sim.core.model.enums import BUY, SELL, Side
from sim.core.model.instrument import Instrument

OPERATIONS = 50_000
LOW, HIGH = 1, 99
_WIDTH = 20
_DRIFT = 0.2


class Op(NamedTuple):
    """A new order, or, where `qty` is 0, the cancel of the order entered as number `target` if it
    still rests.
    """

    buying: bool
    price: int
    qty: int
    target: int
    symbol: str = "bench"


class MinimalOrder(Struct, gc=False):
    """The least an order is to a book, and all that it is to the reference engine."""

    id: int
    side: Side
    price: int
    leaves_qty: int


def instrument(symbol: str) -> Instrument:
    """One of cent ticks."""
    return Instrument(symbol=symbol, price_scale=100, tick=1)


def _lower(book: Book, taker: Any, maker: Any, qty: int, price: int) -> None:
    taker.leaves_qty -= qty
    maker.leaves_qty -= qty


class _Market:
    """A book, the middle it is quoted around, and the draws that move them."""

    def __init__(self, rng: random.Random, symbol: str) -> None:
        self._luck = rng
        self.book = Book(instrument(symbol))
        self.middle = 50

    def wander(self) -> None:
        """The middle stays, or moves a tick."""
        if self._luck.random() < _DRIFT:
            self.middle = min(85, max(15, self.middle + self._luck.choice((-1, 1))))

    def quote(self, buying: bool) -> int:
        """A price that rests; 0 when there is none."""
        away = 1 + self._luck.randrange(_WIDTH)
        opposite = (self.book.offers if buying else self.book.bids).best
        price = self.middle - away if buying else self.middle + away
        if opposite:
            price = min(price, opposite - 1) if buying else max(price, opposite + 1)
        return price if LOW <= price <= HIGH else 0

    def enter(self, number: int, op: Op) -> Any:
        """Run an order through the book."""
        order: Any = MinimalOrder(number, BUY if op.buying else SELL, op.price, op.qty)
        self.book.sweep(order, _lower)
        if order.leaves_qty:
            self.book.ladder(order.side).add(order)
        return order

    def cancel(self, order: Any) -> None:
        """Take an order out of the book."""
        self.book.ladder(order.side).remove(order)
        order.leaves_qty = 0


def mixed(seed: int, symbols: int, orders: int = OPERATIONS) -> list[Op]:
    """Quotes around a wandering middle, cancels and takers, spread over some symbols."""
    rng = random.Random(seed)
    markets = {f"bench-{index}": _Market(rng, f"bench-{index}") for index in range(symbols)}
    names = list(markets)
    resting: list[MinimalOrder] = []
    ops: list[Op] = []
    while len(ops) < orders:
        symbol = rng.choice(names)
        market = markets[symbol]
        market.wander()
        draw, buying = rng.random(), rng.random() < 0.5
        if draw < 0.25:
            drawn = _drawn(rng, resting)
            if drawn is not None:
                ops.append(Op(True, 0, 0, drawn.id, ops[drawn.id].symbol))
                markets[ops[drawn.id].symbol].cancel(drawn)
            continue
        taking = draw < 0.4
        if taking and not (market.book.offers if buying else market.book.bids):
            continue
        price = (HIGH if buying else LOW) if taking else market.quote(buying)
        if price:
            op = Op(buying, price, rng.randint(1, 10), 0, symbol)
            order = market.enter(len(ops), op)
            ops.append(op)
            if order.leaves_qty:
                resting.append(order)
    return ops


def _drawn(rng: random.Random, resting: list[MinimalOrder]) -> MinimalOrder | None:
    """Draw one that still rests, and forget it."""
    while resting:
        index = rng.randrange(len(resting))
        resting[index], resting[-1] = resting[-1], resting[index]
        result = resting.pop()
        if result.leaves_qty:
            return result
    return None


def deep(seed: int, orders: int) -> list[Op]:
    """A book that fills first, then keeps its depth: quotes and cancels in balance within ten ticks
    of the touch, one taker in ten.
    """
    rng = random.Random(seed)
    ops: list[Op] = []
    resting: list[int] = []

    def quote() -> None:
        buying = rng.random() < 0.5
        price = 49 - rng.randrange(10) if buying else 51 + rng.randrange(10)
        resting.append(len(ops))
        ops.append(Op(buying, price, rng.randint(1, 10), 0))

    for _ in range(orders // 4):
        quote()
    while len(ops) < orders:
        draw = rng.random()
        if draw < 0.1:
            buying = rng.random() < 0.5
            ops.append(Op(buying, 60 if buying else 40, rng.randint(1, 5), 0))
        elif draw < 0.55:
            quote()
        else:
            index = rng.randrange(len(resting))
            resting[index], resting[-1] = resting[-1], resting[index]
            ops.append(Op(True, 0, 0, resting.pop()))
    return ops
