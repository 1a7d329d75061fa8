"""The book's own bookkeeping: levels by tick, best prices, queues that survive many cancels."""

from __future__ import annotations

import pytest

from sim.core.model.enums import Side
from sim.core.model.instrument import Instrument
from tests.trading_harness import Market


@pytest.mark.parametrize(("price_scale", "tick"), [(100, 1), (1000, 5), (10_000, 25), (1000, 1)])
def test_levels_come_best_first_at_any_tick(price_scale: int, tick: int) -> None:
    low, high = price_scale // 100, price_scale * 99 // 100
    market = Market(
        Instrument(symbol="X", price_scale=price_scale, tick=tick, price_low=low, price_high=high)
    )
    middle = price_scale // 2
    bids = [middle - step * tick for step in (3, 1, 7, 2)]
    offers = [middle + step * tick for step in (3, 1, 7, 2)]
    for price in bids:
        market.buy("a", 1, price)
    for price in offers:
        market.sell("b", 2, price)
    book = market.trading.book("X")
    assert book.levels(Side.BUY) == [(price, 1, 1) for price in sorted(bids, reverse=True)]
    assert book.levels(Side.SELL, 2) == [(price, 2, 1) for price in sorted(offers)[:2]]
    assert (book.bids.best, book.offers.best) == (max(bids), min(offers))


def test_the_best_price_steps_back_when_its_level_empties() -> None:
    market = Market()
    orders = [market.buy("a", 1, price) for price in (10, 50, 90)]
    book = market.trading.book("X")
    for order, best in ((orders[2], 50), (orders[0], 50), (orders[1], 0)):
        market.cancel(order)
        assert book.bids.best == best
    assert not book.bids


def test_a_queue_forgets_canceled_orders_behind_a_patient_one() -> None:
    market = Market()
    first = market.buy("a", 1, 50)
    for _ in range(500):
        market.cancel(market.buy("b", 1, 50))
    last = market.buy("c", 1, 50)
    level = market.trading.book("X").bids.levels[50]
    assert len(level.queue) < 100
    assert (level.qty, level.count) == (2, 2)
    assert [order.id for order in level.orders()] == [first.id, last.id]
    market.sell("d", 2, 50)
    assert market.depth() == ([], [])
    assert [trade.passive.order.id for trade in market.trading.trades] == [first.id, last.id]


def test_versions_never_come_back_even_after_a_load() -> None:
    market = Market()
    market.buy("a", 1, 50)
    observed = market.trading.book("X").version
    state = market.trading.save()
    market.trading.load(state)
    assert market.trading.book("X").version > observed
    assert market.depth() == ([(50, 1)], [])
