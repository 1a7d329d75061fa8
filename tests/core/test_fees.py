"""Commissions and rebates to the cent (rules P11-P15)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sim.core.accounts.fee_schedule import FeeRow
from sim.core.accounts.fees import Fees, exact, rounded
from sim.core.model.context import Context
from sim.core.model.enums import TimeInForce
from sim.core.model.instrument import Instrument
from sim.core.model.quantities import CENT, cash_text
from sim.kernel.instants import parse_instant
from tests.trading_harness import START, Market

SCALES = Instrument(
    symbol="F", price_scale=1000, qty_scale=100, tick=5, price_low=10, price_high=990
)

# theta in ten-thousandths, contracts in hundredths, price in thousandths, dollars
WORKED = [
    (695, 100_000, 100, "6.26"),
    (125, 100_000, 100, "1.12"),
    (695, 100_000, 300, "14.60"),
    (125, 100_000, 300, "2.62"),
    (695, 100_000, 500, "17.38"),
    (125, 100_000, 500, "3.12"),
    (695, 100_000, 650, "15.81"),
    (125, 100_000, 650, "2.84"),
    (695, 10_000, 500, "1.74"),
    (125, 10_000, 500, "0.31"),
    (695, 1_000, 555, "0.17"),
    (695, 312, 970, "0.01"),
    (125, 312, 970, "0.00"),
    (695, 100, 500, "0.02"),
    (695, 1, 500, "0.00"),
    (600, 100_000, 500, "15.00"),
    (600, 100, 500, "0.02"),
]


@pytest.mark.parametrize(("theta", "qty", "price", "dollars"), WORKED)
def test_worked_examples_hold_to_the_cent_half_to_even(
    theta: int, qty: int, price: int, dollars: str
) -> None:
    """P11, P12, P14."""
    assert cash_text(rounded(SCALES, exact(SCALES, theta, qty, price))) == dollars


def charges(sizes: list[int], price: int, theta: int = 695) -> list[int]:
    """Cents charged for each fill of one aggressive order."""
    market = Market(SCALES)
    market.ctx.assumptions.change("fees.taker_theta", theta)
    for index, size in enumerate(sizes):
        market.sell(f"m{index}", size, price, symbol="F")
    market.take()
    market.buy("t", sum(sizes), price, symbol="F")
    units = SCALES.notional_scale // 100
    return [report.commission // units for report in market.reports() if report.aggressor]


def test_the_fills_of_one_order_never_cost_more_than_their_sum_rounded() -> None:
    """P12."""
    assert charges([35, 35], 500) == [1, 0]
    assert charges([100] * 5, 500) == [2, 1, 2, 2, 2]
    assert charges([140, 60], 500, theta=500) == [2, 0]  # 1.75 and 0.75 are 2.5, which is 2 to even


def test_a_resting_order_that_comes_to_trade_as_aggressor_again_keeps_its_sum() -> None:
    """P12."""
    market = Market(SCALES)
    market.sell("m", 35, 500, symbol="F")
    order = market.buy("t", 70, 500, symbol="F")
    market.sell("m", 35, 505, symbol="F")
    market.replace(order, price=505)
    assert market.now(order).commission == CENT // SCALES.cash_per_notional


DATES = [
    ("2026-05-01T12:00:00-04:00", "standard", 500, 0),
    ("2026-06-30T23:59:59-04:00", "standard", 500, 0),
    ("2026-07-01T00:00:00-04:00", "standard", 600, 125),
    ("2026-09-24T23:59:59-04:00", "standard", 600, 125),
    ("2026-09-25T00:00:00-04:00", "standard", 695, 125),
    ("2026-09-30T23:58:59-04:00", "table_tennis", 695, 125),
    ("2026-09-30T23:59:00-04:00", "table_tennis", 1000, 125),
    ("2026-10-08T12:00:00-04:00", "unheard of", 695, 125),
]


@pytest.mark.parametrize(("date", "fee_class", "taker", "maker"), DATES)
def test_coefficients_follow_the_virtual_date(
    date: str, fee_class: str, taker: int, maker: int
) -> None:
    """P13."""
    ctx = Context(seed=1, now=parse_instant(date))
    theta = Fees(ctx).theta(replace(SCALES, fee_class=fee_class), ctx.now)
    assert (theta.taker, theta.maker) == (taker, maker)


def test_coefficients_can_be_set_for_every_date() -> None:
    """P13."""
    ctx = Context(seed=1, now=START)
    ctx.assumptions.change("fees.taker_theta", 0)
    theta = Fees(ctx).theta(replace(SCALES, fee_class="table_tennis"), ctx.now)
    assert (theta.taker, theta.maker) == (0, 125)


def test_commission_is_told_in_notional_units_and_moves_cash_to_the_revenue_account() -> None:
    """P15, P21."""
    market = Market()
    market.sell("m", 100, 50)
    market.take()
    order = market.buy("t", 100, 50)
    taker, maker = (report for report in market.reports() if report.last_qty)
    assert (taker.commission, maker.commission) == (174, -31)
    assert order.commission == 174
    assert market.trading.ledger.balance("t") == market.cash - 5174 * CENT
    assert market.trading.ledger.balance("m") == market.cash + 5031 * CENT
    assert market.trading.ledger.balance("house/fees") == 143 * CENT


def test_where_a_cent_is_no_whole_number_of_notional_units_fees_round_to_those() -> None:
    """P15."""
    coarse = Instrument(symbol="C", price_scale=10, qty_scale=1, tick=1, price_low=1, price_high=9)
    assert rounded(coarse, exact(coarse, 695, 100, 5)) == 170 * CENT


def test_a_day_order_is_no_dearer_than_any_other() -> None:
    """P11."""
    market = Market()
    market.sell("m", 100, 50)
    assert market.buy("t", 100, 50, tif=TimeInForce.DAY).commission == 174


def test_a_cap_counts_in_whole_notional_units_and_the_report_tells_what_was_paid() -> None:
    """P12: in eighths of a dollar a cap of 0.30 allows 0.25."""
    market = Market(Instrument(symbol="X", price_scale=8, tick=1, price_low=1, price_high=7))
    market.trading.fees.load([FeeRow(start=0, cap=30 * CENT)])
    market.sell("maker", 90, 4)
    market.buy("taker", 90, 4)
    reported = [report.commission for report in market.reports() if report.aggressor]
    assert reported == [2]
    assert market.cash - market.trading.ledger.balance("taker") == 4525 * CENT
