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
    made = Market(*(Instrument(symbol=symbol) for symbol in SYMBOLS), cash=20 * DOLLAR)
    for account in ACCOUNTS:
        made.fund(account, 20 * DOLLAR)
    return made


def restored(market: Market) -> None:
    market.trading.load(msgpack.decode(msgpack.encode(market.trading.save()), type=TradingState))


def report(found: Execution) -> tuple[object, ...]:
    order = found.order
    return (
        found.type,
        order.id,
        order.symbol,
        order.price,
        order.leaves_qty,
        order.cum_qty,
        order.state,
        found.last_px,
        found.last_qty,
    )


def reserve(market: Market, order: Order) -> object:
    return market.trading.open_orders_reserve("a")


def working(market: Market, order: Order) -> object:
    return market.trading.risk.working("a", "X", Side.BUY)


def book(market: Market, order: Order) -> object:
    return market.depth()


def listed(market: Market, order: Order) -> object:
    return [found.symbol for found in market.trading.books]


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
    return [report(found) for found in market.reports()]


@pytest.mark.parametrize(
    "first", [reserve, working, book, listed, cancel, fill, shrink, move, another]
)
def test_whoever_asks_first_finds_each_order_once(first: Callable[[Market, Order], object]) -> None:
    one, other = market(), market()
    orders = [made.buy("a", 3, 50) for made in (one, other)]
    for made in (one, other):
        made.take()
    restored(other)
    assert first(other, other.now(orders[1])) == first(one, orders[0])
    other.check()
    assert other.trading.open_orders_reserve("a") == one.trading.open_orders_reserve("a")
    assert other.depth() == one.depth()
