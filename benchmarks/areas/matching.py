"""Order books beside each other, in one run: `python -m benchmarks.areas.matching`.

Three flows (`flows.py`) give every engine the same operations. Figures are operations per second
and the ratio to the reference engine: `lightmatchingengine` where it is installed, otherwise the
book on a sorted container.

- deep: market makers queue up behind each other within ten ticks of the best price and cancel as
  often as they quote; one order in ten takes. Some 25,000 orders rest.
- 1 symbol, 100 symbols: of a hundred operations 60 rest around a middle that wanders from 1 to 99
  ticks, 25 cancel a resting order, 15 take.

`book and fills` is the product's `Book` with a callback for each fill, on orders of four fields.
`whole orders` have the product's forty fields. `whole command` adds checks, collateral, reports,
positions, cash and statistics, which the reference engine does not have.

The reference scans lists, so the ratio grows with the length of a flow. The goals are for 50,000
operations.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from time import thread_time
from typing import Any

from msgspec import Struct
from sortedcontainers import SortedDict

from benchmarks.figures import Figure, Goal
from benchmarks.flows import MinimalOrder, Op, deep, instrument, mixed
from sim.core.matching.book import Book
from sim.core.model.commands import CancelOrder, PlaceOrder
from sim.core.model.context import Context
from sim.core.model.enums import BUY, SELL, LedgerEntryType, OrderType, Side, TimeInForce
from sim.core.model.instruments import Instruments
from sim.core.model.orders import Order
from sim.core.model.quantities import DOLLAR
from sim.core.trading.trading import Trading
from sim.kernel.instants import parse_instant

ACCOUNTS = 20


class Fill(Struct, gc=False):
    """What a bare book reports of a match."""

    taker: int | str
    maker: int | str
    price: int
    qty: int


def whole_order(number: int, side: Side, price: int, qty: int) -> Order:
    """An order as the product has it."""
    return Order(
        id=str(number),
        symbol="bench",
        account="a",
        participant="p",
        side=side,
        type=OrderType.LIMIT,
        tif=TimeInForce.GOOD_TILL_CANCEL,
        price=price,
        qty=qty,
        leaves_qty=qty,
        price_scale=100,
        qty_scale=1,
    )


def run_ladder(ops: list[Op], order_of: Callable[[int, Side, int, int], Any] = MinimalOrder) -> int:
    """The product's book, with a callback for each fill; with orders of four fields, the least
    that the reference engine has too.
    """
    books = {symbol: Book(instrument(symbol)) for symbol in {op.symbol for op in ops}}
    orders: dict[int, Any] = {}
    fills: list[Fill] = []

    def match(book: Book, taker: Any, maker: Any, qty: int, price: int) -> None:
        taker.leaves_qty -= qty
        maker.leaves_qty -= qty
        fills.append(Fill(taker.id, maker.id, price, qty))

    for number, (buying, price, qty, target, symbol) in enumerate(ops):
        book = books[symbol]
        if qty:
            order = orders[number] = order_of(number, BUY if buying else SELL, price, qty)
            book.sweep(order, match)
            if order.leaves_qty:
                (book.bids if buying else book.offers).add(order)
        else:
            result = orders.get(target)
            if result is not None and result.leaves_qty:
                book.ladder(result.side).remove(result)
                result.leaves_qty = 0
    return len(fills)


def run_whole_orders(ops: list[Op]) -> int:
    """The same with the product's orders, of some forty fields."""
    return run_ladder(ops, whole_order)


def run_sorted(ops: list[Op]) -> int:
    """A book of `SortedDict`s and deques, written out in one loop for speed: the alternative that
    was measured (design D8).
    """
    books = {symbol: (SortedDict(), SortedDict()) for symbol in {op.symbol for op in ops}}
    orders: dict[int, MinimalOrder] = {}
    fills: list[Fill] = []
    for number, (buying, price, qty, target, symbol) in enumerate(ops):
        bids, offers = books[symbol]
        if qty:
            order = orders[number] = MinimalOrder(number, BUY if buying else SELL, price, qty)
            opposite = offers if buying else bids
            leaves = qty
            while leaves and opposite:
                key, queue = opposite.peekitem(0)
                best = abs(key)
                if best > price if buying else best < price:
                    break
                while queue and leaves:
                    maker = queue[0]
                    qty = min(leaves, maker.leaves_qty)
                    if qty:
                        maker.leaves_qty -= qty
                        leaves -= qty
                        fills.append(Fill(number, maker.id, best, qty))
                    if not maker.leaves_qty:
                        queue.popleft()
                if not queue:
                    del opposite[key]
            order.leaves_qty = leaves
            if leaves:
                own, key = (bids, -price) if buying else (offers, price)
                queue = own.get(key)
                if queue is None:
                    own[key] = deque((order,))
                else:
                    queue.append(order)
        else:
            result = orders.get(target)
            if result is not None:
                result.leaves_qty = 0  # it leaves the queue when it surfaces
    return len(fills)


def run_trading(ops: list[Op]) -> int:
    """The whole command. Accounts take turns, and every hundred operations the input ends, as a
    server's would.
    """
    ctx = Context(seed=1, now=parse_instant("2026-10-08T14:00:00-04:00"))
    trading = Trading(ctx, Instruments())
    for symbol in sorted({op.symbol for op in ops}):
        trading.listings.list_instrument(instrument(symbol))
    accounts = [f"firms/bench/accounts/{index}" for index in range(ACCOUNTS)]
    for account in accounts:
        trading.open_account(account)
        trading.move_cash(account, 1_000_000_000 * DOLLAR, LedgerEntryType.DEPOSIT, "Deposit")
    orders: dict[int, Order] = {}
    for number, (buying, price, qty, target, symbol) in enumerate(ops):
        if qty:
            account = accounts[number % ACCOUNTS]
            orders[number] = trading.order_service.enter(
                PlaceOrder(
                    symbol=symbol,
                    account=account,
                    participant=account,
                    side=BUY if buying else SELL,
                    qty=qty,
                    price=price,
                    tif=TimeInForce.GOOD_TILL_CANCEL,
                )
            )
        else:
            result = orders.get(target)
            if result is not None and result.leaves_qty:
                trading.order_service.cancel(
                    CancelOrder(accounts=(result.account,), order_id=result.id)
                )
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
        for number, (buying, price, qty, target, symbol) in enumerate(ops):
            if qty:
                orders[number], trades = engine.add_order(symbol, price, qty, 1 if buying else 2)
                fills += len(trades)
            else:
                result = orders.get(target)
                if result is not None and result.leaves_qty:
                    engine.cancel_order(result.order_id, symbol)
        return fills

    return "lightmatchingengine", run


def pyorderbook() -> Callable[[list[Op]], int] | None:
    """A book with heaps of levels, decimal prices and UUIDs; None if it is not installed."""
    try:
        from pyorderbook import Book as Peer
        from pyorderbook import ask, bid
    except ImportError:
        return None

    def run(ops: list[Op]) -> int:
        peer = Peer()
        orders: dict[int, Any] = {}
        fills = 0
        for number, (buying, price, qty, target, symbol) in enumerate(ops):
            if qty:
                order = orders[number] = (bid if buying else ask)(symbol, price, qty)
                fills += len(peer.match(order).trades)
            else:
                result = orders.get(target)
                if result is not None and result.quantity:
                    peer.cancel(result)
                    result.quantity = 0
        return fills

    return run


GOALS = {
    "1 symbol": {"book": Goal(4), "command": Goal(1.5)},
    "100 symbols": {"book": Goal(2.5), "command": Goal(1)},
}
CONTENDERS: dict[str, tuple[str, Callable[[list[Op]], int]]] = {
    "book": ("book and fills", run_ladder),
    "whole": ("the same with whole orders", run_whole_orders),
    "sorted": ("the same on SortedDict", run_sorted),
    "command": ("whole command", run_trading),
}


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
    results = []
    for label, ops in flows().items():
        sandbox: dict[str, list[float]] = {kind: [] for kind in CONTENDERS}
        floor = []
        for _ in range(rounds):
            floor.append(rate(run_reference, ops))
            for kind, (_, run) in CONTENDERS.items():
                sandbox[kind].append(rate(run, ops))
        goals = GOALS.get(label, {}) if name != "sorted" else {}
        for kind, (work, _) in CONTENDERS.items():
            results.append(
                Figure(
                    f"{label} flow: {work}",
                    "op/s",
                    sandbox[kind],
                    floor,
                    f"op/s {name}",
                    goals.get(kind),
                )
            )
        if (peer := pyorderbook()) is not None:
            results.append(
                _beside(f"{label} flow: book and fills", ops, rounds, "pyorderbook", peer)
            )
    return results


def _beside(
    work: str, ops: list[Op], rounds: int, name: str, peer: Callable[[list[Op]], int]
) -> Figure:
    if (ladder := run_ladder(ops)) != (reference := peer(ops)):
        raise RuntimeError(f"{ladder} fills, of {name} {reference}")
    pairs = [(rate(run_ladder, ops), rate(peer, ops)) for _ in range(rounds)]
    return Figure(
        work,
        "op/s",
        [sandbox for sandbox, _ in pairs],
        [foreign for _, foreign in pairs],
        f"op/s {name}",
    )
