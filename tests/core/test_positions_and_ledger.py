"""Positions and their ledger, cash and its ledger (rules P9, P10, P17-P23)."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.accounts.positions import Positions
from sim.core.model.context import Context
from sim.core.model.enums import LedgerEntryType
from sim.core.model.events import CashMoved, PositionChanged
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR
from sim.core.model.refusals import AlreadyExists, NotFound
from sim.kernel.instants import DAY, hours
from tests.trading_harness import START, Market


def positions() -> Positions:
    return Positions(Context(seed=1, now=START))


# ---- positions


@pytest.mark.parametrize(
    ("fills", "net", "cost", "realized"),
    [
        ([(50, 520)], 50, 26_000, 0),
        ([(10, 40), (10, 60), (-5, 70)], 15, 750, 100),  # the average cost goes
        ([(-10, 60), (4, 50)], -6, -360, 40),  # a short has negative cost
        ([(10, 40), (-15, 50)], -5, -250, 100),  # closes and opens in one row
    ],
)
def test_what_fills_make_of_a_position(
    fills: list[tuple[int, int]], net: int, cost: int, realized: int
) -> None:
    """P9."""
    book = positions()
    for qty, price in fills:
        book.fill("a", "X", qty, price, "t")
    result = book.get("a", "X")
    assert (result.net, result.cost, result.realized) == (net, cost, realized)
    assert result.qty_bought == sum(qty for qty, _ in fills if qty > 0)
    assert result.qty_sold == -sum(qty for qty, _ in fills if qty < 0)
    assert len(book.rows("a")) == len(fills)


moves = st.lists(
    st.tuples(st.integers(-20, 20).filter(bool), st.integers(1, 99)), min_size=1, max_size=30
)


@given(moves)
def test_rows_replay_to_the_position_and_cash_flow_equals_cost_less_realized(
    result: list[tuple[int, int]],
) -> None:
    """P9, P23."""
    book = positions()
    paid = 0
    for qty, price in result:
        book.fill("a", "X", qty, price, "t")
        paid += qty * price
    position = book.get("a", "X")
    assert position is not None
    net = cost = realized = 0
    for row in book.rows("a"):
        net, cost, realized = (
            net + row.qty_change,
            cost + row.cost_change,
            realized + row.realized_change,
        )
        assert (row.net, row.cost, row.realized) == (net, cost, realized)
    assert (position.net, position.cost, position.realized) == (net, cost, realized)
    assert cost - realized == paid
    assert (cost == 0) == (net == 0)
    assert cost * net >= 0


def test_bod_position_is_the_net_at_the_last_roll() -> None:
    """P10: rolls at 17:00 Eastern."""
    market = Market()
    market.sell("b", 10, 50)
    market.buy("a", 4, 50)
    position = market.trading.positions.get("a", "X")
    assert position.bod(market.ctx.now) == 0
    market.advance(hours(3))
    assert position.bod(market.ctx.now) == 4
    market.buy("a", 2, 50)
    assert (position.bod(market.ctx.now), position.net) == (4, 6)
    market.advance(DAY)
    assert position.bod(market.ctx.now) == 6


# ---- cash


def test_before_is_the_former_after_and_the_difference_is_the_move() -> None:
    """P20, P21."""
    market = Market()
    market.sell("b", 10, 50)
    market.buy("a", 4, 50)
    market.buy("a", 4, 50)
    rows = market.trading.ledger.entries("a")
    assert rows[0].before == 0
    assert all(later.before == earlier.after for earlier, later in itertools.pairwise(rows))
    assert [row.after - row.before for row in rows[1:]] == [-207 * CENT, -207 * CENT]
    assert {row.type for row in rows[1:]} == {LedgerEntryType.ORDER_EXECUTION}
    assert rows[1].reference == market.trading.trades[0].id


def test_a_separate_commission_is_a_row_of_its_own() -> None:
    """P21."""
    market = Market()
    market.ctx.assumptions.change("ledger.commission", "separate")
    market.sell("b", 10, 50)
    market.buy("a", 10, 50)
    moves = [(row.type.name, row.after - row.before) for row in market.trading.ledger.entries("a")][
        1:
    ]
    assert moves == [("ORDER_EXECUTION", -500 * CENT), ("COMMISSION", -17 * CENT)]
    market.check()


def test_every_move_of_cash_has_its_contra_on_a_house_account() -> None:
    market = Market()
    ledger = market.trading.ledger
    market.fund("a", 100 * DOLLAR)
    assert ledger.balance("house/funding") == -100 * DOLLAR
    market.sell("b", 10, 50)
    market.buy("a", 10, 50)
    assert ledger.balance("house/clearing") == 0
    assert ledger.total() == 0
    moved = market.trading.move_cash(
        "a", -5 * DOLLAR, LedgerEntryType.WITHDRAWAL, "Withdrawal", reference="ref"
    )
    assert (moved.after - moved.before, moved.reference) == (-5 * DOLLAR, "ref")
    assert ledger.total() == 0


def test_accounts_open_once_and_are_known_by_name() -> None:
    market = Market()
    market.trading.open_account("a")
    with pytest.raises(AlreadyExists):
        market.trading.open_account("a")
    with pytest.raises(NotFound):
        market.trading.ledger.balance("b")


def test_a_fill_tells_positions_then_cash_of_the_aggressor_first() -> None:
    market = Market()
    market.sell("b", 1, 50)
    market.take()
    market.buy("a", 1, 50)
    reported = [
        (type(event).__name__, event.account)
        for event in market.take()
        if isinstance(event, PositionChanged | CashMoved)
    ]
    assert reported[-4:] == [
        ("PositionChanged", "a"),
        ("PositionChanged", "b"),
        ("CashMoved", "a"),
        ("CashMoved", "b"),
    ]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.booleans(), st.integers(40, 60), st.integers(1, 9)),
        max_size=40,
    ),
    st.sampled_from([1, 10, 100]),
)
def test_money_and_contracts_are_conserved(
    orders: list[tuple[str, bool, int, int]], qty_scale: int
) -> None:
    """P2, P9, P20."""
    market = Market(Instrument(symbol="X", qty_scale=qty_scale))
    for account, buying, price, qty in orders:
        (market.buy if buying else market.sell)(account, qty, price)
        market.check()
        assert market.trading.ledger.balance("house/clearing") == 0
    longs = sum(max(position.net, 0) for position in market.trading.positions.all())
    assert market.trading.positions.open_interest.get("X", 0) == longs
