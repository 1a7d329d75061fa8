"""Call auctions: the price, the trades, and what may not meet (rules L16-L22)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.matching.auction import equilibrium_price
from sim.core.model.enums import (
    ExecutionType,
    InstrumentState,
    OrderState,
    OrderType,
    SelfMatchPrevention,
    Side,
    TimeInForce,
)
from sim.core.model.instrument import Instrument
from tests.trading_harness import Market

S = InstrumentState


def collecting(state: InstrumentState = S.PREOPEN) -> Market:
    return Market(Instrument(symbol="X", opening_state=state))


def fill(market: Market, bids: list[tuple[int, int]], offers: list[tuple[int, int]]) -> None:
    """(price, quantity) of each side, in order of time."""
    for index, (price, qty) in enumerate(bids):
        market.buy(f"b{index}", qty, price)
    for index, (price, qty) in enumerate(offers):
        market.sell(f"s{index}", qty, price)


PRICES = [
    ("most volume", [(60, 10), (50, 10)], [(40, 15)], None, (50, 15)),
    ("smaller surplus", [(60, 10)], [(50, 10), (55, 5)], None, (54, 10)),
    ("highest when buyers are left over", [(60, 10)], [(50, 4)], None, (60, 4)),
    ("lowest when sellers are left over", [(60, 4)], [(50, 10)], None, (50, 4)),
    ("middle without a reference", [(60, 10)], [(50, 10)], None, (55, 10)),
    ("nearest to the reference", [(60, 10)], [(50, 10)], 58, (58, 10)),
    ("nearest end to a far reference", [(60, 10)], [(50, 10)], 90, (60, 10)),
    ("lower of two equally near", [(61, 10)], [(50, 10)], None, (55, 10)),
    ("as many left over on either side", [(60, 10), (50, 4)], [(50, 10), (60, 4)], 58, (58, 10)),
    ("sellers and buyers left over", [(51, 10), (50, 4)], [(50, 10), (51, 4)], 51, (51, 10)),
    ("one tick", [(50, 3)], [(50, 5)], None, (50, 3)),
]


@pytest.mark.parametrize(
    ("bids", "offers", "reference", "expected"),
    [row[1:] for row in PRICES],
    ids=[row[0] for row in PRICES],
)
def test_the_auction_price_is_chosen_by_volume_surplus_side_reference_and_lowness(
    bids: list[tuple[int, int]],
    offers: list[tuple[int, int]],
    reference: int | None,
    expected: tuple[int, int],
) -> None:
    """L17."""
    market = collecting()
    fill(market, bids, offers)
    assert equilibrium_price(market.trading.book("X"), reference) == expected


books = st.lists(st.tuples(st.integers(40, 60), st.integers(1, 9)), min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(books, books)
def test_no_price_trades_more_and_the_book_is_uncrossed_after(
    bids: list[tuple[int, int]], offers: list[tuple[int, int]]
) -> None:
    """L16, L17."""
    market = collecting()
    fill(market, bids, offers)

    def volume(price: int) -> int:
        return min(
            sum(qty for limit, qty in bids if limit >= price),
            sum(qty for limit, qty in offers if limit <= price),
        )

    result = equilibrium_price(market.trading.book("X"), None)
    most = max(volume(price) for price in range(40, 61))
    assert (result.qty if result is not None else 0) == most
    market.move(S.OPEN)
    traded = list(market.trading.trades)
    assert sum(trade.qty for trade in traded) == most
    assert {trade.price for trade in traded} <= ({result.price} if result is not None else set())
    assert result is None or volume(result.price) == most
    market.check()


def test_opening_trades_at_one_price_by_price_then_time_and_tells_the_state_after_the_fills() -> (
    None
):
    """L16, L21, §1.4."""
    market = collecting()
    early = market.buy("a", 5, 55)
    late = market.buy("b", 5, 55)
    best = market.buy("c", 2, 60)
    market.sell("d", 9, 50)
    market.take()
    market.move(S.OPEN)
    events = market.take()
    names = [type(event).__name__ for event in events]
    assert names.index("StateChanged") > max(
        index for index, name in enumerate(names) if name == "CashMoved"
    )
    assert names[-1] == "BookChanged"
    fills = [(trade.passive.order.id, trade.qty, trade.price) for trade in market.trading.trades]
    assert fills == [(best.id, 2, 55), (early.id, 5, 55), (late.id, 2, 55)]
    assert market.depth() == ([(55, 3)], [])
    assert market.trading.stats("X").open_px == 55


def test_the_later_order_is_the_aggressor_and_pays_as_taker() -> None:
    """L19."""
    market = collecting()
    market.sell("a", 100, 50)
    market.buy("b", 100, 50)
    market.move(S.OPEN)
    (trade,) = market.trading.trades
    assert (trade.aggressor.order.account, trade.passive.order.account) == ("b", "a")
    assert trade.aggressor.commission == 174
    assert trade.passive.commission == -31


@pytest.mark.parametrize(("mode", "commissions"), [("both_taker", (174, 174)), ("none", (0, 0))])
def test_auction_fees_follow_the_fee_mode(mode: str, commissions: tuple[int, int]) -> None:
    """L19."""
    market = collecting()
    market.ctx.assumptions.change("auction.fee_mode", mode)
    market.sell("a", 100, 50)
    market.buy("b", 100, 50)
    market.move(S.OPEN)
    (trade,) = market.trading.trades
    assert (trade.aggressor.commission, trade.passive.commission) == commissions
    market.check()


def test_before_the_auction_nothing_trades_and_the_indicative_price_shows() -> None:
    """L17, table 1.2."""
    market = collecting()
    market.buy("a", 5, 60)
    market.sell("b", 5, 50)
    assert len(market.trading.trades) == 0
    assert market.trading.stats("X").indicative_open_px == 55
    assert market.depth() == ([(60, 5)], [(50, 5)])
    market.move(S.OPEN)
    assert market.trading.stats("X").indicative_open_px is None


@pytest.mark.parametrize("target", [S.SUSPENDED, S.HALTED, S.CLOSED])
def test_leaving_preopen_for_anything_but_open_matches_nothing(target: InstrumentState) -> None:
    """L20."""
    market = collecting()
    day = market.buy("a", 5, 60, tif=TimeInForce.DAY)
    market.sell("b", 5, 50)
    market.move(target)
    assert len(market.trading.trades) == 0
    assert (market.now(day).state is OrderState.EXPIRED) is (target is S.CLOSED)


def test_a_book_left_crossed_by_a_suspended_preopen_is_uncrossed_when_it_opens() -> None:
    """L16."""
    market = collecting()
    market.buy("a", 5, 60)
    market.sell("b", 5, 50)
    market.move(S.SUSPENDED)
    market.move(S.OPEN)
    assert [trade.price for trade in market.trading.trades] == [55]
    market.check()


@pytest.mark.parametrize("target", [S.OPEN, S.CLOSED, S.SUSPENDED, S.HALTED, S.EXPIRED, S.PREOPEN])
def test_leaving_a_match_and_close_auction_matches_whatever_comes_next(
    target: InstrumentState,
) -> None:
    """L22, §3.1."""
    market = collecting(S.MATCH_AND_CLOSE_AUCTION)
    market.buy("a", 5, 60, tif=TimeInForce.DAY)
    left = market.sell("b", 8, 50, tif=TimeInForce.DAY)
    market.take()
    market.move(target)
    assert [(trade.price, trade.qty) for trade in market.trading.trades] == [(50, 5)]
    assert market.now(left).live is (target not in (S.CLOSED, S.EXPIRED))
    market.check()


def test_continuous_orders_meet_in_a_closing_auction() -> None:
    """L22."""
    market = Market()
    market.buy("a", 5, 50)
    market.move(S.MATCH_AND_CLOSE_AUCTION)
    market.sell("b", 5, 45, tif=TimeInForce.DAY)
    market.move(S.CLOSED)
    assert len(market.trading.trades) == 1


def test_a_post_only_order_may_trade_in_the_uncross() -> None:
    """L18."""
    market = collecting()
    market.sell("b", 5, 50)
    order = market.buy("a", 5, 60, post_only=True)
    market.move(S.OPEN)
    assert market.now(order).state is OrderState.FILLED


@pytest.mark.parametrize(
    ("mode", "survivors"),
    [
        (SelfMatchPrevention.REJECT_AGGRESSOR, {"earlier"}),
        (SelfMatchPrevention.CANCEL_RESTING, {"later"}),
        (SelfMatchPrevention.REMOVE_BOTH, set()),
    ],
)
def test_self_match_prevention_comes_before_the_uncross_and_the_later_order_decides(
    mode: SelfMatchPrevention, survivors: set[str]
) -> None:
    """L19."""
    market = collecting()
    orders = {
        "earlier": market.sell("a", 5, 50, smp_id="g", smp=SelfMatchPrevention.REJECT_AGGRESSOR),
        "later": market.buy("a", 5, 60, smp_id="g", smp=mode),
    }
    market.take()
    market.move(S.OPEN)
    reports = market.reports()
    assert {report.type for report in reports} == {ExecutionType.CANCELED}
    assert {name for name, order in orders.items() if market.now(order).live} == survivors
    assert len(market.trading.trades) == 0


def test_orders_of_one_owner_that_do_not_meet_each_other_trade() -> None:
    """L19: each bid meets the offer of the other account, whichever is larger."""
    own = {"smp_id": "g", "smp": SelfMatchPrevention.REMOVE_BOTH}
    for bids, offers in (((5, 5), (5, 5)), ((5, 8), (8, 5)), ((8, 5), (8, 5))):
        market = collecting()
        orders = [
            market.buy("a", bids[0], 60, **own),
            market.buy("b", bids[1], 59),
            market.sell("c", offers[0], 50),
            market.sell("a", offers[1], 51, **own),
        ]
        market.move(S.OPEN)
        traded = min(sum(bids), sum(offers))
        assert sum(market.now(order).cum_qty for order in orders) == 2 * traded


def test_a_strict_limit_stands_aside_from_the_uncross() -> None:
    """M22."""
    market = Market()
    market.sell("b", 5, 50)
    strict = market.buy("a", 5, 55, strict_limit=True)
    market.buy("c", 1, 40)
    market.move(S.SUSPENDED)
    market.move(S.OPEN)
    assert len(market.trading.trades) == 0
    assert market.now(strict).live
    assert market.sell("d", 5, 55).avg_px == 55


def test_stops_reached_by_the_uncross_run_once_the_book_is_open() -> None:
    """M12, L16."""
    market = collecting()
    stop = market.sell("s", 1, type=OrderType.STOP, stop_price=60)
    market.buy("a", 6, 55)
    market.sell("b", 5, 55)
    market.move(S.OPEN)
    assert market.now(stop).avg_px == 55
    assert market.trading.book("X").levels(Side.BUY) == []
