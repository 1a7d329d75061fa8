"""Collateral return: related shorts post less, and what is freed has strings attached (rule P8)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.model.collateral import EventOutcome, Holding, Related, returned
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR
from sim.core.model.refusals import OrderRefused
from tests.trading_harness import Market

EXCLUSIVE, DIRECTIONAL, INDEPENDENT = (
    EventOutcome.MUTUALLY_EXCLUSIVE,
    EventOutcome.DIRECTIONAL,
    EventOutcome.INDEPENDENT,
)
HOLDINGS = st.lists(st.tuples(st.integers(0, 5), st.integers(-9, 9)), max_size=6)


def related(kind: EventOutcome, *, cash: int = 100_000, switched_on: bool = True) -> Market:
    """Outcomes A to D of one event, E alone; "me" has so many dollars, and collateral return."""
    outcomes = [
        Instrument(symbol=name, related=Related("event", kind, rank))
        for rank, name in enumerate("ABCD")
    ]
    market = Market(*outcomes, Instrument(symbol="E"), cash=1_000_000 * DOLLAR)
    for name in ("taker", "maker"):
        market.ctx.assumptions.change(f"fees.{name}_theta", 0)
    market.trading.open_account("me", collateral_return=switched_on)
    market.fund("me", cash * DOLLAR)
    return market


def hold(market: Market, **nets: int) -> None:
    """Trade "me" into positions at 0.50."""
    for symbol, net in nets.items():
        enter, take = (market.sell, market.buy) if net > 0 else (market.buy, market.sell)
        enter("you", abs(net), 50, symbol=symbol)
        take("me", abs(net), 50, symbol=symbol)


def margin(market: Market) -> float:
    return market.trading.margin_requirement("me") / DOLLAR


MARGINS = [
    # Of mutually exclusive outcomes only the largest short posts margin; a long returns nothing,
    # nor does another event.
    (EXCLUSIVE, True, {"A": -9000, "B": -1000}, 9000),
    (EXCLUSIVE, True, {"A": -9000, "B": -1000, "C": 5}, 9000),
    (EXCLUSIVE, True, {"A": -9000, "B": -1000, "C": 5, "E": -7}, 9007),
    # On a ladder a lower long covers higher shorts, the highest first, and nothing below it.
    (DIRECTIONAL, True, {"A": 10, "B": -2, "C": -3, "D": -6}, 1),
    (DIRECTIONAL, True, {"D": 10, "A": -4}, 4),
    # Without the switch, and where outcomes are independent, every short posts a dollar.
    (EXCLUSIVE, False, {"A": -9000, "B": -1000}, 10_000),
    (INDEPENDENT, True, {"A": -10, "B": -10}, 20),
]


@pytest.mark.parametrize(("kind", "switched_on", "nets", "dollars"), MARGINS)
def test_p8_what_positions_post_depends_on_how_their_outcomes_are_related(
    kind: EventOutcome, switched_on: bool, nets: dict[str, int], dollars: int
) -> None:
    market = related(kind, switched_on=switched_on)
    hold(market, **nets)
    assert margin(market) == dollars


def test_p8_the_assumption_switches_accounts_opened_from_then_on() -> None:
    market = related(EXCLUSIVE)
    assert not market.trading.open_account("before").collateral_return
    market.ctx.assumptions.change("collateral_return.enabled", True)
    assert market.trading.open_account("after").collateral_return
    assert not market.trading.open_account("clearing", kind="clearing").collateral_return


def test_p8_freed_cash_may_not_grow_the_same_event_but_counts_elsewhere() -> None:
    market = related(EXCLUSIVE, cash=10)
    hold(market, A=-10)
    # 20 dollars of cash, 10 of margin after the return: 10 are left, all of it freed
    hold(market, B=-10)
    assert (market.trading.buying_power("me"), margin(market)) == (10 * DOLLAR, 10)
    with pytest.raises(OrderRefused, match=r"^0\.00 USD available, requested 1\.00$"):
        market.buy("me", 2, 50, symbol="C")
    assert market.buy("me", 20, 50, symbol="E").live


def test_p8_a_new_order_gets_no_credit_for_the_return_it_would_bring() -> None:
    market = related(EXCLUSIVE, cash=10)
    hold(market, A=-10)  # 15 dollars, 10 of margin
    with pytest.raises(OrderRefused, match=r"^5\.00 USD available, requested 5\.50$"):
        market.sell("me", 11, 50, symbol="B")
    assert market.sell("me", 10, 50, symbol="B").live


def test_p8_closing_a_hedge_needs_the_returned_cash_back_or_is_refused() -> None:
    market = related(DIRECTIONAL, cash=10)
    # 10 dollars: the long paid 5, the short brought 5, its margin is covered
    hold(market, A=10, B=-10)
    assert (market.trading.buying_power("me"), margin(market)) == (10 * DOLLAR, 0)
    hold(market, E=10)
    assert market.trading.buying_power("me") == 5 * DOLLAR
    with pytest.raises(OrderRefused, match=r"^5\.00 USD available, requested 5\.10$"):
        market.sell("me", 10, 49, symbol="A")  # brings 4.90 and calls for the 10 dollars again
    market.buy("you", 10, 50, symbol="A")
    market.sell("me", 10, 50, symbol="A")
    assert (market.trading.buying_power("me"), margin(market)) == (0, 10)


def test_p8_closing_the_hedged_short_itself_is_always_possible() -> None:
    market = related(DIRECTIONAL, cash=10)
    hold(market, A=10, B=-10)
    market.sell("you", 10, 60, symbol="B")
    market.buy("me", 10, 60, symbol="B")
    assert (market.trading.buying_power("me"), margin(market)) == (4 * DOLLAR, 0)


def test_p8_settlement_of_one_outcome_ends_its_part_of_the_return() -> None:
    market = related(EXCLUSIVE)
    hold(market, A=-10, B=-10)
    market.trading.listings.settle("B", 0)
    assert margin(market) == 10
    assert market.trading.buying_power("me") == (100_000 + 10 - 10) * DOLLAR
    market.check()


def test_p8_a_fill_that_spends_freed_cash_cancels_what_the_event_can_no_longer_pay() -> None:
    """P5 with P8."""
    market = related(EXCLUSIVE, cash=10)
    hold(market, A=-4, B=-4)  # 14 dollars, 4 of margin, 4 of them freed
    working = market.buy("me", 10, 60, symbol="C")
    market.take()
    hold(market, E=10)  # 5 are left, of which the event may have 1
    assert not market.now(working).live


@given(HOLDINGS)
def test_p8_no_outcome_can_cost_more_than_the_margin_kept(drawn: list[tuple[int, int]]) -> None:
    """Differential: whatever happens, shorts that pay are met by the margin kept and by longs that
    pay too.
    """
    by_rank = {rank: net for rank, net in drawn if net}
    holdings = [Holding(rank, net * CENT) for rank, net in by_rank.items()]
    shorts = sum(-net for net in by_rank.values() if net < 0)

    kept = shorts - returned(EXCLUSIVE, holdings) // CENT
    assert kept == max([0, *(-net for net in by_rank.values())])

    kept = shorts - returned(DIRECTIONAL, holdings) // CENT
    costs = (  # every rank up to the one reached pays
        -sum(net for rank, net in by_rank.items() if rank <= reached) for reached in range(-1, 6)
    )
    assert kept == max(0, *costs)  # the worst of them, and not a cent more
    assert returned(INDEPENDENT, holdings) == 0
