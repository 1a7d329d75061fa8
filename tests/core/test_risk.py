"""Collateral: what orders reserve, what they may cost, and what is canceled when money runs out
(rules P1-P7).
"""

from __future__ import annotations

import pytest

from sim.core.model.enums import OrderState, OrderType, Side, UnsolicitedReason
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, DOLLAR
from sim.core.model.refusals import OrderRefused
from sim.testing.trading_harness import Market


def two(cash: int) -> Market:
    """Instruments A and B, and an account "me" with some dollars."""
    market = Market(Instrument(symbol="A"), Instrument(symbol="B"))
    market.ctx.assumptions.change("fees.taker_theta", 0)
    market.ctx.assumptions.change("fees.maker_theta", 0)
    market.fund("me", cash * DOLLAR)
    return market


def test_an_order_dearer_than_buying_power_is_refused() -> None:
    """P7: buying power 10, worst case 11."""
    market = two(10)
    with pytest.raises(OrderRefused, match=r"^10\.00 USD available, requested 11\.00$"):
        market.buy("me", 22, 50, symbol="A")


def test_two_orders_on_one_side_of_one_instrument_add_up() -> None:
    """P7."""
    market = two(10)
    market.buy("me", 20, 50, symbol="A")
    with pytest.raises(OrderRefused):
        market.buy("me", 20, 50, symbol="A")


def test_orders_in_different_instruments_do_not_add_up() -> None:
    """P7, P3."""
    market = two(10)
    assert market.buy("me", 20, 50, symbol="A").live
    assert market.buy("me", 20, 50, symbol="B").live


def test_two_sided_quotes_reserve_their_dearer_side_only() -> None:
    """P7."""
    market = two(10)
    market.buy("me", 20, 40, symbol="A")  # 8 dollars
    market.sell("me", 20, 50, symbol="A")  # 10 dollars
    assert market.trading.open_orders_reserve("me") == 10 * DOLLAR
    with pytest.raises(OrderRefused):
        market.sell("me", 1, 50, symbol="A")
    market.buy("me", 5, 40, symbol="A")


def test_a_withdrawal_must_leave_the_largest_reservation() -> None:
    """P6: 100 dollars, 20 on A, 30 on B: 70."""
    market = two(100)
    market.buy("me", 40, 50, symbol="A")
    market.buy("me", 60, 50, symbol="B")
    assert market.trading.open_orders_reserve("me") == 30 * DOLLAR
    assert market.trading.withdrawable("me") == 70 * DOLLAR
    assert market.trading.buying_power("me") == 100 * DOLLAR


def test_an_opening_sale_takes_one_less_price_off_buying_power() -> None:
    """P2."""
    market = two(10)
    market.buy("you", 10, 30, symbol="A")
    market.sell("me", 10, 30, symbol="A")
    assert market.trading.ledger.balance("me") == 13 * DOLLAR
    assert market.trading.margin_requirement("me") == 10 * DOLLAR
    assert market.trading.buying_power("me") == 3 * DOLLAR


def test_orders_that_close_a_position_cost_nothing_best_priced_first() -> None:
    """P3."""
    market = two(10)
    market.sell("you", 10, 90, symbol="A")
    market.buy("me", 10, 90, symbol="A")
    assert market.trading.buying_power("me") == 1 * DOLLAR
    market.sell("me", 10, 95, symbol="A")
    assert market.trading.open_orders_reserve("me") == 0
    # takes the closing place of half the other: 5 at 0.95 now open
    market.sell("me", 5, 92, symbol="A")
    assert market.trading.open_orders_reserve("me") == 25 * CENT


def test_someone_with_no_money_left_may_still_close() -> None:
    """P3, P4: the fee counts for what opens."""
    market = Market(Instrument(symbol="A"))
    market.fund("me", 518 * CENT)
    market.sell("you", 10, 50, symbol="A")
    market.buy("me", 10, 50, symbol="A")
    market.buy("you", 10, 50, symbol="A")
    assert market.trading.buying_power("me") == 1 * CENT
    assert market.sell("me", 10, 50, symbol="A").state is OrderState.FILLED
    with pytest.raises(OrderRefused):
        market.sell("me", 20, 50, symbol="A")


def test_the_check_includes_the_taker_fee_at_the_limit_price() -> None:
    """P4: 10 at 0.50 cost 5.00 and a fee of 0.17; a post-only order never pays it."""
    market = Market(Instrument(symbol="A"))
    market.fund("me", 516 * CENT)
    with pytest.raises(OrderRefused, match=r"^5\.16 USD available, requested 5\.17$"):
        market.buy("me", 10, 50, symbol="A")
    assert market.buy("me", 10, 50, symbol="A", post_only=True).live


def test_a_market_order_is_checked_at_its_worst_sweep_price() -> None:
    """P4."""
    market = two(10)
    market.sell("you", 10, 40, symbol="A")
    market.sell("you", 10, 60, symbol="A")
    with pytest.raises(OrderRefused, match=r"requested 12\.00"):
        market.buy("me", 20, symbol="A")


def test_a_stop_without_a_limit_reserves_the_worst_price_of_the_band() -> None:
    """P3, M12."""
    market = two(100)
    stop = market.buy("me", 10, type=OrderType.STOP, stop_price=60, symbol="A")
    assert market.trading.open_orders_reserve("me") == 990 * CENT
    market.cancel(stop)
    assert market.trading.open_orders_reserve("me") == 0


def test_a_fill_cancels_what_other_instruments_can_no_longer_pay_newest_first() -> None:
    """P5."""
    market = two(10)
    older = market.buy("me", 10, 40, symbol="B")
    newer = market.buy("me", 10, 50, symbol="B")
    offer = market.sell("me", 4, 90, symbol="B")
    market.buy("me", 10, 50, symbol="A")
    market.take()
    market.sell("you", 10, 50, symbol="A")
    reports = market.reports()
    (canceled,) = [report for report in reports if report.type.name == "CANCELED"]
    assert (canceled.order.id, canceled.unsolicited) == (
        newer.id,
        UnsolicitedReason.EXCHANGE_OPTION,
    )
    assert reports[-1] is canceled
    assert market.now(older).live
    assert market.now(offer).live
    assert market.trading.buying_power("me") == 5 * DOLLAR
    assert market.trading.open_orders_reserve("me") == 4 * DOLLAR


def test_the_instrument_that_filled_is_not_touched() -> None:
    """P5: only other instruments are looked at again."""
    market = Market(Instrument(symbol="A"))
    market.fund("me", 518 * CENT)
    market.buy("me", 10, 50, symbol="A")
    market.sell("you", 5, 50, symbol="A")
    assert market.trading.orders.open_of(("me",))[0].leaves_qty == 5


def test_a_replace_is_checked_as_if_the_present_order_were_gone() -> None:
    """P3, M31."""
    market = two(10)
    order = market.buy("me", 20, 40, symbol="A")
    market.replace(order, price=50)
    assert market.trading.open_orders_reserve("me") == 10 * DOLLAR
    with pytest.raises(OrderRefused):
        market.replace(market.now(order), qty=21)
    assert market.trading.open_orders_reserve("me") == 10 * DOLLAR


def test_reservations_follow_partial_fills_and_replaces() -> None:
    """P3."""
    market = two(100)
    order = market.buy("me", 20, 50, symbol="A")
    market.sell("you", 5, 50, symbol="A")
    assert market.trading.open_orders_reserve("me") == 750 * CENT
    market.replace(order, qty=10)
    assert market.trading.open_orders_reserve("me") == 250 * CENT
    assert market.trading.risk.working("me", "A", Side.BUY) == 5
