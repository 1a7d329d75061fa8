"""A restored exchange continues like one that never stopped. Its books and reservations are rebuilt
on first access, whichever operation that is.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec import msgpack

from sim.core.model.enums import Side
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Execution, Order
from sim.core.model.quantities import DOLLAR
from sim.core.trading.trading import TradingState
from tests.trading_harness import Market

ACCOUNTS, SYMBOLS = ("a", "b", "c"), ("X", "Y")


def market() -> Market:
    created = Market(*(Instrument(symbol=symbol) for symbol in SYMBOLS), cash=20 * DOLLAR)
    for account in ACCOUNTS:
        created.fund(account, 20 * DOLLAR)
    return created


def restored(market: Market) -> None:
    market.trading.load(msgpack.decode(msgpack.encode(market.trading.save()), type=TradingState))


def report(execution: Execution) -> tuple[object, ...]:
    order = execution.order
    return (
        execution.type,
        order.id,
        order.symbol,
        order.price,
        order.leaves_qty,
        order.cum_qty,
        order.state,
        execution.last_px,
        execution.last_qty,
    )


def reserve(market: Market, order: Order) -> object:
    return market.trading.open_orders_reserve("a")


def working(market: Market, order: Order) -> object:
    return market.trading.risk.working("a", "X", Side.BUY)


def book(market: Market, order: Order) -> object:
    return market.depth()


def listed(market: Market, order: Order) -> object:
    return [book.symbol for book in market.trading.books]


def cancel(market: Market, order: Order) -> object:
    return report_of(market, lambda: market.cancel(order))


def fill(market: Market, order: Order) -> object:
    return report_of(market, lambda: market.sell("b", 1, 50))


def shrink(market: Market, order: Order) -> object:
    return report_of(market, lambda: market.replace(order, qty=2))


def move(market: Market, order: Order) -> object:
    return report_of(market, lambda: market.replace(order, price=40))


def another(market: Market, order: Order) -> object:
    return report_of(market, lambda: market.buy("a", 2, 49))


def report_of(market: Market, act: Callable[[], object]) -> object:
    act()
    return [report(result) for result in market.reports()]


@pytest.mark.parametrize(
    "first", [reserve, working, book, listed, cancel, fill, shrink, move, another]
)
def test_whoever_asks_first_finds_each_order_once(first: Callable[[Market, Order], object]) -> None:
    item, other = market(), market()
    orders = [built.buy("a", 3, 50) for built in (item, other)]
    for created in (item, other):
        created.take()
    restored(other)
    assert first(other, other.now(orders[1])) == first(item, orders[0])
    other.check()
    assert other.trading.open_orders_reserve("a") == item.trading.open_orders_reserve("a")
    assert other.depth() == item.depth()
