"""Order books against each other, in one run: `python -m benchmarks.matching`.

Three flows, each the same list of operations for everyone, in operations per second and as a ratio to the reference engine (`lightmatchingengine` from the
package index, where it is installed; else the book on a sorted container):

- deep: market makers queue up behind each other within ten ticks of the touch, cancel as often as they quote, and one order in ten takes;
  some 25,000 orders rest.
- 1 symbol, 100 symbols: of a hundred operations 60 quote around a middle that wanders in 1 to 99 ticks, 25 cancel, 15 cross the spread.

`book and fills` is the product's `Book` with a tuple for every fill. `whole command` is checks, collateral, reports, positions, cash and statistics as
well, which the reference engine does not have.

The ratio grows with depth, because the reference scans lists: the deep flow has 100,000 operations for that reason, and with 20,000 (some 5,000 resting)
the book measured only about twice the reference.
"""

from __future__ import annotations

import gc
import random
from collections import deque
from collections.abc import Callable
from time import thread_time
from typing import Any, NamedTuple

from sortedcontainers import SortedDict

from benchmarks.figures import Figure, Goal
from sim.core.book import Book, Level
from sim.core.commands import CancelOrder, PlaceOrder
from sim.core.context import Context
from sim.core.instruments import Instrument, Instruments
from sim.core.orders import Order
from sim.core.quantities import DOLLAR
from sim.core.trading import Trading
from sim.core.vocabulary import LedgerEntryType, OrderType, Side, TimeInForce
from sim.kernel.instants import parse_instant
from sim.testing.naive_matcher import NaiveMatcher, Resting

OPERATIONS = 20_000
ACCOUNTS = 20


class Op(NamedTuple):
    """A new order, or, where `qty` is 0, the cancel of the order entered as number `target` if it still rests."""

    buying: bool
    price: int
    qty: int
    target: int
    symbol: str = "bench"


class Fill(NamedTuple):
    """What a bare book reports of a match."""

    taker: str
    maker: str
    price: int
    qty: int


def mixed(seed: int, symbols: int, orders: int = OPERATIONS) -> list[Op]:
    """Quotes around a wandering middle, cancels and takers, spread over some symbols."""
    luck = random.Random(seed)
    names = [f"bench-{index}" for index in range(symbols)]
    middles = dict.fromkeys(names, 50)
    resting: list[int] = []
    ops: list[Op] = []
    while len(ops) < orders:
        symbol = luck.choice(names)
        middle = middles[symbol] = min(85, max(15, middles[symbol] + luck.choice((-1, 0, 0, 0, 1))))
        draw, buying = luck.random(), luck.random() < 0.5
        if draw < 0.25 and resting:
            index = luck.randrange(len(resting))
            resting[index], resting[-1] = resting[-1], resting[index]
            target = resting.pop()
            ops.append(Op(True, 0, 0, target, ops[target].symbol))
        elif draw < 0.4:
            ops.append(Op(buying, middle + (10 if buying else -10), luck.randint(1, 10), 0, symbol))
        else:
            away = 1 + min(luck.randrange(14), luck.randrange(14))
            resting.append(len(ops))
            ops.append(Op(buying, middle - away if buying else middle + away, luck.randint(1, 10), 0, symbol))
    return ops


def deep(seed: int, orders: int) -> list[Op]:
    """A book that fills first, then keeps its depth: quotes and cancels in balance, one taker in ten."""
    luck = random.Random(seed)
    ops: list[Op] = []
    resting: list[int] = []

    def quote() -> None:
        buying = luck.random() < 0.5
        price = 49 - luck.randrange(10) if buying else 51 + luck.randrange(10)
        resting.append(len(ops))
        ops.append(Op(buying, price, luck.randint(1, 10), 0))

    for _ in range(orders // 4):
        quote()
    while len(ops) < orders:
        draw = luck.random()
        if draw < 0.1:
            buying = luck.random() < 0.5
            ops.append(Op(buying, 60 if buying else 40, luck.randint(1, 5), 0))
        elif draw < 0.55:
            quote()
        else:
            index = luck.randrange(len(resting))
            resting[index], resting[-1] = resting[-1], resting[index]
            ops.append(Op(True, 0, 0, resting.pop()))
    return ops


def instrument(symbol: str) -> Instrument:
    """One of cent ticks."""
    return Instrument(symbol=symbol, price_scale=100, tick=1)


def bare_order(number: int, op: Op) -> Order:
    """The least an order of ours is."""
    return Order(
        id=str(number),
        symbol=op.symbol,
        account="a",
        participant="p",
        side=Side.BUY if op.buying else Side.SELL,
        type=OrderType.LIMIT,
        tif=TimeInForce.GOOD_TILL_CANCEL,
        price=op.price,
        qty=op.qty,
        leaves_qty=op.qty,
        price_scale=100,
        qty_scale=1,
    )


def run_ladder(ops: list[Op]) -> int:
    """The product's book, with a tuple per fill."""
    books = {symbol: Book(instrument(symbol)) for symbol in {op.symbol for op in ops}}
    orders: dict[int, Order] = {}
    fills: list[Fill] = []

    def match(book: Book, taker: Order, maker: Order, qty: int, price: int) -> None:
        taker.leaves_qty -= qty
        maker.leaves_qty -= qty
        fills.append(Fill(taker.id, maker.id, price, qty))

    for number, op in enumerate(ops):
        book = books[op.symbol]
        if op.qty:
            order = orders[number] = bare_order(number, op)
            if book.crosses(order.side, op.price):
                book.sweep(order, match)
            if order.leaves_qty:
                book.own(order.side).add(order)
        else:
            found = orders.get(op.target)
            if found is not None and found.leaves_qty:
                book.own(found.side).remove(found)
                found.leaves_qty = 0
    return len(fills)


class SortedSide:
    """A side of a book on a sorted container: the alternative that was measured (design D8)."""

    def __init__(self, *, buying: bool) -> None:
        self._sign = -1 if buying else 1
        self.levels: Any = SortedDict()

    def best(self) -> Level | None:
        """The level with the best price."""
        return self.levels.peekitem(0)[1] if self.levels else None

    def add(self, order: Order) -> None:
        """Put an order at the end of its level."""
        key = self._sign * order.price
        level = self.levels.get(key)
        if level is None:
            level = self.levels[key] = Level(order.price)
        level.queue.append(order)
        level.qty += order.leaves_qty
        level.count += 1

    def remove(self, order: Order) -> None:
        """Take an order out."""
        level = self.levels[self._sign * order.price]
        level.count -= 1
        level.qty -= order.leaves_qty
        if not level.count:
            del self.levels[self._sign * order.price]
            return
        level.dead += 1
        if level.dead > 32 and level.dead > level.count:
            level.queue = deque(waiting for waiting in level.queue if waiting.leaves_qty and waiting is not order)
            level.dead = 0


def run_sorted(ops: list[Op]) -> int:
    """The same book on `SortedDict`."""
    books = {symbol: (SortedSide(buying=True), SortedSide(buying=False)) for symbol in {op.symbol for op in ops}}
    orders: dict[int, Order] = {}
    fills: list[Fill] = []
    for number, op in enumerate(ops):
        bids, offers = books[op.symbol]
        if op.qty:
            order = orders[number] = bare_order(number, op)
            opposite = offers if op.buying else bids
            while order.leaves_qty:
                level = opposite.best()
                if level is None or (level.price > op.price if op.buying else level.price < op.price):
                    break
                maker = level.oldest()
                qty = min(order.leaves_qty, maker.leaves_qty)
                if maker.leaves_qty > qty:
                    level.qty -= qty
                else:
                    opposite.remove(maker)
                order.leaves_qty -= qty
                maker.leaves_qty -= qty
                fills.append(Fill(order.id, maker.id, level.price, qty))
            if order.leaves_qty:
                (bids if op.buying else offers).add(order)
        else:
            found = orders.get(op.target)
            if found is not None and found.leaves_qty:
                (bids if found.side is Side.BUY else offers).remove(found)
                found.leaves_qty = 0
    return len(fills)


def run_naive(ops: list[Op]) -> int:
    """The oracle."""
    matcher = NaiveMatcher()
    for number, op in enumerate(ops):
        if op.qty:
            matcher.place(Resting(number, op.buying, op.price, op.qty, 0))
        else:
            matcher.cancel(op.target)
    return sum(1 for report in matcher.reports if report.aggressor)


def run_trading(ops: list[Op]) -> int:
    """The whole command. Accounts take turns, and every hundred operations the input ends, as a server's would."""
    ctx = Context(seed=1, now=parse_instant("2026-10-08T14:00:00-04:00"))
    trading = Trading(ctx, Instruments())
    for symbol in sorted({op.symbol for op in ops}):
        trading.list_instrument(instrument(symbol))
    accounts = [f"firms/bench/accounts/{index}" for index in range(ACCOUNTS)]
    for account in accounts:
        trading.open_account(account)
        trading.move_cash(account, 1_000_000_000 * DOLLAR, LedgerEntryType.DEPOSIT, "Deposit")
    orders: dict[int, Order] = {}
    for number, op in enumerate(ops):
        if op.qty:
            account = accounts[number % ACCOUNTS]
            orders[number] = trading.place(
                PlaceOrder(
                    symbol=op.symbol,
                    account=account,
                    participant=account,
                    side=Side.BUY if op.buying else Side.SELL,
                    qty=op.qty,
                    price=op.price,
                    tif=TimeInForce.GOOD_TILL_CANCEL,
                )
            )
        else:
            found = orders.get(op.target)
            if found is not None and found.leaves_qty:
                trading.cancel(CancelOrder(accounts=(found.account,), order_id=found.id))
        trading.flush()
        if number % 100 == 0:
            ctx.events = []
    return len(trading.trades)


def reference() -> tuple[str, Callable[[list[Op]], int]]:
    """The engine everything is compared with."""
    try:
        from lightmatchingengine.lightmatchingengine import LightMatchingEngine
    except ImportError:
        return "sorted", run_sorted

    def run(ops: list[Op]) -> int:
        engine = LightMatchingEngine()
        orders: dict[int, Any] = {}
        fills = 0
        for number, op in enumerate(ops):
            if op.qty:
                orders[number], trades = engine.add_order(op.symbol, op.price, op.qty, 1 if op.buying else 2)
                fills += len(trades)
            else:
                found = orders.get(op.target)
                if found is not None and found.leaves_qty:
                    engine.cancel_order(found.order_id, op.symbol)
        return fills

    return "lightmatchingengine", run


GOALS = {"1 symbol": {"book": Goal(4), "command": Goal(1.5)}, "100 symbols": {"book": Goal(2.5), "command": Goal(1)}}
NAIVE_OPERATIONS = 1_000


def rate(run: Callable[[list[Op]], int], ops: list[Op]) -> float:
    """Operations per second of one run."""
    gc.collect()
    start = thread_time()
    run(ops)
    return len(ops) / (thread_time() - start)


def flows() -> dict[str, list[Op]]:
    """The three flows by name."""
    return {"deep": deep(3, 100_000), "1 symbol": mixed(1, 1), "100 symbols": mixed(2, 100)}


def figures(rounds: int) -> list[Figure]:
    """Book and whole command beside the reference engine, on each flow."""
    name, run_reference = reference()
    found = []
    for label, ops in flows().items():
        ours: dict[str, list[float]] = {"book": [], "sorted": [], "command": []}
        floor = []
        for _ in range(rounds):
            floor.append(rate(run_reference, ops))
            for kind, run in (("book", run_ladder), ("sorted", run_sorted), ("command", run_trading)):
                ours[kind].append(rate(run, ops))
        goals = GOALS.get(label, {}) if name != "sorted" else {}
        for kind, work in (("book", "book and fills"), ("sorted", "the same on SortedDict"), ("command", "whole command")):
            found.append(Figure(f"{label} flow: {work}", "op/s", ours[kind], floor, f"op/s {name}", goals.get(kind)))
        found.append(_beside_naive(label, ops[:NAIVE_OPERATIONS], rounds))
    return found


def _beside_naive(label: str, ops: list[Op], rounds: int) -> Figure:
    """The book beside the obviously correct matcher, which sorts everything again for every order: on the beginning of a flow, because it is quadratic."""
    pairs = [(rate(run_ladder, ops), rate(run_naive, ops)) for _ in range(rounds)]
    return Figure(f"{label} flow, its beginning: book and fills", "op/s", [ours for ours, _ in pairs], [naive for _, naive in pairs], "op/s naive matcher")
