"""What orders do: execution sequences, refusals with their reasons, cancel and replace (rules
M1-M34).
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sim.core.catalogue.bounds import MONEY
from sim.core.model.commands import CancelOrder, PlaceOrder
from sim.core.model.enums import (
    CancelRejectReason,
    Channel,
    ExecutionType,
    InstrumentState,
    LedgerEntryType,
    OrderState,
    OrderType,
    RejectReason,
    SelfMatchPrevention,
    Side,
    TimeInForce,
    UnsolicitedReason,
)
from sim.core.model.events import CancelRejected
from sim.core.model.instrument import Instrument
from sim.core.model.orders import Order
from sim.core.model.quantities import DOLLAR
from sim.core.model.refusals import (
    DuplicateOrder,
    InstrumentNotTradable,
    InsufficientFunds,
    InvalidRequest,
    NotFound,
    OrderDone,
    OrderRefused,
    PermissionDenied,
    Refusal,
    UnknownOrder,
)
from sim.kernel.instants import minutes
from tests.trading_harness import FOK, GTT, IOC, Market


@pytest.fixture
def market() -> Market:
    return Market()


def reports_of(market: Market, order: Order) -> list[str]:
    """Types of the reports of an order since the last look."""
    return [report.type.name for report in market.reports() if report.order.id == order.id]


# ---- execution sequences (table 2.6)


def test_an_order_that_rests_and_fills_twice_reports_new_partial_fill_fill(market: Market) -> None:
    """Table 2.6, M41."""
    order = market.buy("a", 10, 50)
    market.sell("b", 4, 50)
    market.sell("b", 6, 50)
    mine = [report for report in market.reports() if report.order.id == order.id]
    assert [report.type.name for report in mine] == ["NEW", "PARTIAL_FILL", "FILL"]
    assert [(report.last_qty, report.last_px) for report in mine] == [(0, 0), (4, 50), (6, 50)]
    observed = [(row.order.cum_qty, row.order.leaves_qty, row.order.state.name) for row in mine]
    assert observed == [(0, 10, "NEW"), (4, 6, "PARTIALLY_FILLED"), (10, 0, "FILLED")]
    assert not any(report.aggressor for report in mine)


def test_an_ioc_order_partly_filled_expires_for_the_rest(market: Market) -> None:
    """Table 2.6, M16."""
    market.sell("b", 4, 50)
    market.take()
    order = market.buy("a", 10, 50, tif=IOC)
    assert market.kinds() == ["NEW", "PARTIAL_FILL", "FILL", "EXPIRED"]
    assert (order.state, order.cum_qty, order.leaves_qty) == (OrderState.EXPIRED, 4, 0)


@pytest.mark.parametrize("how", [{"tif": FOK}, {"all_or_none": True}])
def test_a_fok_or_all_or_none_order_that_cannot_fill_expires_without_a_trade(
    market: Market, how: dict[str, Any]
) -> None:
    """Table 2.6, M17."""
    market.sell("b", 4, 50)
    market.take()
    market.buy("a", 5, 50, **how)
    assert market.kinds() == ["NEW", "EXPIRED"]
    assert market.depth() == ([], [(50, 4)])


def test_a_fok_order_fills_over_several_levels(market: Market) -> None:
    """M17."""
    market.sell("b", 4, 50)
    market.sell("b", 4, 51)
    market.take()
    order = market.buy("a", 8, 51, tif=FOK)
    assert order.state is OrderState.FILLED
    assert order.filled_at == {50: 4, 51: 4}


REJECTED = [
    ({"price": 0}, "NO_LIQUIDITY", "No liquidity for market order"),
    (
        {"post_only": True},
        "EXCHANGE_OPTION",
        "Order may participate but not initiate in the market",
    ),
]


@pytest.mark.parametrize(("fields", "reason", "text"), REJECTED)
def test_an_order_that_cannot_be_taken_is_rejected_by_its_only_report(
    market: Market, fields: dict[str, Any], reason: str, text: str
) -> None:
    """Table 2.6, M10, M20."""
    if "post_only" in fields:
        market.sell("b", 1, 50)
        market.take()
    order = market.buy("a", **{"qty": 1, "price": 50, "deferred": True, **fields})
    (report,) = market.reports()
    result = report.type.name, report.reject_reason.name, report.text
    assert result == ("REJECTED", reason, text)
    assert order.id and (order.state, order.leaves_qty) == (OrderState.REJECTED, 0)


def test_a_user_cancel_reports_canceled_with_nothing_left(market: Market) -> None:
    """Table 2.6."""
    order = market.buy("a", 10, 50)
    market.take()
    market.cancel(order)
    (report,) = market.reports()
    assert (report.type.name, report.order.leaves_qty) == ("CANCELED", 0)
    assert report.unsolicited is UnsolicitedReason.UNDEFINED
    assert market.depth() == ([], [])


def test_a_replaced_order_is_live_and_fills_on(market: Market) -> None:
    """Table 2.6, M32."""
    order = market.buy("a", 10, 50)
    market.take()
    replaced = market.replace(order, price=51)
    assert (replaced.id, replaced.state, replaced.live) == (order.id, OrderState.REPLACED, True)
    market.sell("b", 10, 51)
    assert reports_of(market, order) == ["REPLACE", "FILL"]


def test_a_stop_reports_new_twice_and_then_fills(market: Market) -> None:
    """Table 2.6, M12."""
    market.sell("b", 5, 55)
    stop = market.buy("a", 3, 60, type=OrderType.STOP_LIMIT, stop_price=60)
    assert market.depth() == ([], [(55, 5)])
    market.sell("b", 1, 60)
    market.sell("b", 3, 60)
    market.take()
    market.buy("c", 6, 60)
    mine = [report for report in market.reports() if report.order.id == stop.id]
    assert [report.type.name for report in mine] == ["NEW", "FILL"]
    assert {report.order.type.name for report in mine} == {"LIMIT"}


def test_a_stop_triggers_a_market_order_that_takes_a_new_place_in_time(market: Market) -> None:
    """M12."""
    stop = market.sell("a", 2, type=OrderType.STOP, stop_price=40)
    market.buy("b", 1, 40)
    market.buy("b", 5, 39)
    market.take()
    market.sell("c", 1, 40)
    mine = [report for report in market.reports() if report.order.id == stop.id]
    assert [report.type.name for report in mine] == ["NEW", "FILL"]
    assert {report.order.type.name for report in mine} == {"MARKET_TO_LIMIT"}
    assert market.now(stop).avg_px == 39


def test_only_trades_after_acceptance_trigger_a_stop(market: Market) -> None:
    """M12."""
    market.buy("b", 2, 40)
    market.sell("c", 1, 40)
    stop = market.sell("a", 1, type=OrderType.STOP, stop_price=45)
    assert market.now(stop).type is OrderType.STOP
    market.sell("c", 1, 40)
    assert market.now(stop).state is OrderState.CANCELED  # released, and nobody was left to buy


def test_stops_released_by_a_released_stop_follow_it(market: Market) -> None:
    """M12."""
    market.buy("b", 1, 50)
    market.buy("b", 1, 45)
    market.buy("b", 1, 40)
    second = market.sell("a", 1, type=OrderType.STOP, stop_price=45)
    first = market.sell("a", 1, type=OrderType.STOP, stop_price=50)
    market.take()
    market.sell("c", 1, 50)
    entered = [row.order.id for row in market.reports() if row.type is ExecutionType.NEW]
    assert entered[1:] == [first.id, second.id]
    assert (market.now(first).avg_px, market.now(second).avg_px) == (45, 40)


# ---- matching


def test_trades_print_at_the_resting_price_best_first_then_oldest(market: Market) -> None:
    """M1."""
    market.sell("b", 1, 52)
    old = market.sell("b", 1, 50)
    new = market.sell("c", 1, 50)
    market.take()
    taker = market.buy("a", 3, 55)
    fills = [row for row in market.reports() if row.last_qty and not row.aggressor]
    assert [(row.order.id, row.last_px) for row in fills[:2]] == [(old.id, 50), (new.id, 50)]
    assert taker.filled_at == {50: 2, 52: 1}
    assert taker.avg_px == 51  # 50.67, half to even to the price scale


def test_both_sides_of_a_trade_share_its_id_and_the_passive_report_follows(market: Market) -> None:
    """M1."""
    market.sell("b", 1, 50)
    market.take()
    market.buy("a", 1, 50)
    _, taker, maker = market.reports()
    assert taker.trade_id == maker.trade_id == market.trading.trades[0].id
    assert (taker.aggressor, maker.aggressor) == (True, False)
    assert taker.id != maker.id


def test_a_market_to_limit_order_rests_at_its_last_fill_price_and_shows_it_from_the_start(
    market: Market,
) -> None:
    """M10."""
    market.sell("b", 1, 50)
    market.sell("b", 1, 53)
    market.take()
    order = market.buy("a", 5)
    new = market.reports()[0]
    assert (new.type.name, new.order.price, new.order.type.name) == ("NEW", 53, "MARKET_TO_LIMIT")
    assert (order.leaves_qty, order.type.name) == (3, "MARKET_TO_LIMIT")
    assert market.depth() == ([(53, 3)], [])


def test_a_market_order_with_a_bound_does_not_trade_beyond_it(market: Market) -> None:
    """M13."""
    market.sell("b", 1, 50)
    market.sell("b", 1, 60)
    order = market.buy("a", 2, 55, type=OrderType.MARKET_TO_LIMIT, tif=IOC)
    assert (order.cum_qty, order.state) == (1, OrderState.EXPIRED)


def test_min_qty_not_to_be_had_at_entry_expires_the_order_untraded(market: Market) -> None:
    """M16, M19."""
    market.sell("b", 4, 50)
    market.take()
    for tif in (IOC, TimeInForce.GOOD_TILL_CANCEL):
        market.buy("a", 10, 50, min_qty=5, tif=tif)
        assert market.kinds() == ["NEW", "EXPIRED"]
    order = market.buy("a", 10, 50, min_qty=4)
    assert (order.cum_qty, order.leaves_qty) == (4, 6)


def test_best_limit_joins_its_own_side_and_immediately_executable_takes_the_other(
    market: Market,
) -> None:
    """M21."""
    market.buy("b", 1, 40)
    market.sell("b", 1, 50)
    assert market.buy("a", 1, best_limit=True).price == 40
    taker = market.buy("a", 1, immediately_executable_limit=True)
    assert (taker.price, taker.state) == (50, OrderState.FILLED)
    with pytest.raises(OrderRefused, match="No liquidity to derive limit price"):
        market.buy("a", 1, immediately_executable_limit=True)


def test_a_replace_may_derive_the_price_and_make_the_limit_strict(market: Market) -> None:
    """M21, M22, M33."""
    market.buy("b", 1, 40)
    market.sell("b", 2, 50)
    order = market.buy("a", 3, 30)
    with pytest.raises(InvalidRequest, match="mutually exclusive"):
        market.replace(order, best_limit=True, immediately_executable_limit=True)
    joined = market.now(market.replace(order, best_limit=True))
    assert (joined.price, joined.best_limit, joined.state) == (40, True, OrderState.REPLACED)
    moved = market.now(market.replace(joined, price=41, strict_limit=True))
    assert (moved.price, moved.best_limit, moved.strict_limit) == (41, False, True)
    taken = market.now(market.replace(moved, immediately_executable_limit=True))
    assert (taken.price, taken.cum_qty, taken.leaves_qty) == (50, 2, 1)
    with pytest.raises(OrderRefused, match="No liquidity to derive limit price"):
        market.replace(taken, immediately_executable_limit=True)
    stop = market.buy("a", 1, 70, type=OrderType.STOP_LIMIT, stop_price=75)
    with pytest.raises(InvalidRequest, match="need a limit order"):
        market.replace(stop, best_limit=True)
    with pytest.raises(OrderRefused, match="Stop price must be at or above"):
        market.replace(stop, price=80)
    market.trading.listings.change_state(order.symbol, InstrumentState.CLOSED)
    market.trading.listings.change_state(order.symbol, InstrumentState.PREOPEN)
    resting = market.buy("c", 1, 20, tif=TimeInForce.GOOD_TILL_CANCEL)
    for fields in ({"best_limit": True}, {"strict_limit": True}):
        with pytest.raises(InstrumentNotTradable, match="PRE_OPEN"):
            market.replace(resting, **fields)


def test_a_strict_limit_trades_only_at_exactly_its_price(market: Market) -> None:
    """M22."""
    market.sell("b", 1, 50)
    assert market.buy("a", 1, 55, strict_limit=True, tif=IOC).state is OrderState.EXPIRED
    for total in ({"tif": FOK}, {"all_or_none": True}, {"min_qty": 1}):  # M17, M19
        assert market.buy("a", 1, 55, strict_limit=True, **total).state is OrderState.EXPIRED
    assert market.buy("a", 1, 55, strict_limit=True).state is OrderState.NEW
    assert market.buy("c", 1, 50, strict_limit=True).avg_px == 50
    market.ctx.assumptions.change("strict_limit.mode", "expire")
    market.sell("b", 1, 50, post_only=False)
    assert market.trading.trades[-1].price == 55


def test_cash_buys_what_it_pays_for_level_by_level(market: Market) -> None:
    """M24: 3.00 dollars buy 2 at 0.50 and 3 of the 0.60 level, 0.20 are left over."""
    market.sell("b", 2, 50)
    market.sell("b", 9, 60)
    order = market.buy("a", 0, cash_qty=300)
    assert (order.qty, order.filled_at, order.state) == (5, {50: 2, 60: 3}, OrderState.FILLED)


def test_cash_of_a_sale_is_the_short_sides_collateral(market: Market) -> None:
    """M24: 3.00 dollars are collateral of ten contracts sold at 0.70."""
    market.buy("b", 50, 70)
    order = market.sell("a", 0, cash_qty=300, tif=IOC)
    assert (order.qty, order.cum_qty) == (10, 10)


def test_cash_that_buys_not_even_one_unit_is_refused(market: Market) -> None:
    """M24."""
    market.sell("b", 2, 50)
    with pytest.raises(OrderRefused, match="CashOrderQty"):
        market.buy("a", 0, cash_qty=49)


def test_cash_up_to_the_bound_of_money_is_a_question_of_what_the_account_has(
    market: Market,
) -> None:
    market.sell("b", 2, 50)
    most = MONEY.high * 100  # in units of a cent
    with pytest.raises(InsufficientFunds):
        market.buy("a", 0, cash_qty=most)
    with pytest.raises(InvalidRequest, match="cash_order_qty is out of range"):
        market.buy("a", 0, cash_qty=most + 1)


@example(levels={50: 100}, cash=1_000, limit=60, buys=True)
@given(
    levels=st.dictionaries(st.integers(40, 60), st.integers(1, 30), min_size=1, max_size=4),
    cash=st.integers(100, 3_000),
    limit=st.one_of(st.just(0), st.integers(40, 60)),
    buys=st.booleans(),
)
def test_cash_is_spent_contract_by_contract_and_the_rest_counts_at_the_limit(
    levels: dict[int, int], cash: int, limit: int, buys: bool
) -> None:
    """M24: of a market order the rest counts at the last price reached."""
    market = Market(Instrument(symbol="X"))
    for price, qty in levels.items():
        (market.sell if buys else market.buy)("b", qty, price)
    contracts, left, last = 0, cash, 0
    offers = sorted((item for item, qty in levels.items() for _ in range(qty)), reverse=not buys)
    for price in offers:
        cost = price if buys else 100 - price
        if (limit and (price > limit if buys else price < limit)) or cost > left:
            break
        contracts, left, last = contracts + 1, left - cost, price
    rest = limit or last
    contracts += left // (rest if buys else 100 - rest) if last else 0
    enter = market.buy if buys else market.sell
    if limit:
        if not last:
            contracts = cash // (limit if buys else 100 - limit)
        assert enter("a", 0, limit, cash_qty=cash).qty == contracts
    elif contracts:
        assert enter("a", 0, cash_qty=cash).qty == contracts


# ---- self-match prevention


def test_reject_aggressor_refuses_the_whole_order_even_when_others_come_first(
    market: Market,
) -> None:
    """M27, M26."""
    market.sell("b", 1, 49)
    market.sell("a", 1, 50, smp_id="g")
    with pytest.raises(OrderRefused, match="Self Match Prevention"):
        market.buy("a", 2, 50, smp_id="g")
    # reaches only the stranger
    assert market.buy("a", 1, 50, smp_id="g").state is OrderState.FILLED
    assert market.buy("a", 1, 50, smp_id="other").state is OrderState.FILLED


def test_cancel_resting_takes_own_orders_out_after_new_and_trades_with_the_rest(
    market: Market,
) -> None:
    """M28."""
    own = market.sell("a", 5, 50, smp_id="g")
    market.sell("b", 2, 51)
    market.take()
    order = market.buy("a", 2, 51, smp_id="g", smp=SelfMatchPrevention.CANCEL_RESTING)
    reports = market.reports()
    assert [report.type.name for report in reports] == ["NEW", "CANCELED", "FILL", "FILL"]
    assert (reports[1].order.id, reports[1].text) == (own.id, "Self Match Prevention")
    assert order.avg_px == 51


def test_a_market_order_that_cancels_own_orders_is_priced_by_the_others(market: Market) -> None:
    """M10, M28."""
    market.sell("a", 5, 50, smp_id="g")
    market.sell("b", 2, 53)
    order = market.buy("a", 2, smp_id="g", smp=SelfMatchPrevention.CANCEL_RESTING)
    assert (order.price, order.state) == (53, OrderState.FILLED)


def test_remove_both_cancels_resting_and_incoming_without_a_trade(market: Market) -> None:
    """M29."""
    market.sell("a", 5, 50, smp_id="g")
    market.sell("b", 2, 49)
    market.take()
    market.buy("a", 4, 50, smp_id="g", smp=SelfMatchPrevention.REMOVE_BOTH)
    assert market.kinds() == ["NEW", "CANCELED", "CANCELED"]
    assert market.depth() == ([], [(49, 2)])


def test_retail_accounts_never_trade_with_themselves(market: Market) -> None:
    """M30, M27: such an order is rejected, it is not taken and then canceled."""
    market.sell("a", 1, 60, channel=Channel.RETAIL)
    market.take()
    own = market.buy("a", 1, 60, channel=Channel.RETAIL, deferred=True)
    (report,) = market.reports()
    assert (report.type, report.text) == (ExecutionType.REJECTED, "Self Match Prevention")
    assert market.trading.orders.require(own.id).state is OrderState.REJECTED
    assert market.buy("b", 1, 60, channel=Channel.RETAIL).state is OrderState.FILLED


# ---- refusals

RETAIL: dict[str, Any] = {"channel": Channel.RETAIL}
STOP_LIMIT: dict[str, Any] = {"type": OrderType.STOP_LIMIT}
# What a buyer of a hundred asks for on half cents in hundredths ("H"), or on whole ones ("X"): the
# reason and the text.
REFUSALS: list[tuple[str, str, dict[str, Any], str]] = [
    (
        "H",
        "INVALID_PRICE_INCREMENT",
        {"price": 33},
        "Price must be a multiple of 0.005, given 0.033",
    ),
    ("H", "EXCHANGE_OPTION", {"price": 5}, "Low price limit is 0.01, given 0.005"),
    ("H", "EXCHANGE_OPTION", {"price": 995}, "High price limit is 0.99, given 0.995"),
    ("H", "PRICE_OUT_OF_BOUNDS", RETAIL | {"price": 995}, "High price limit is 0.99, given 0.995"),
    ("H", "INCORRECT_QUANTITY", {"qty": 9}, "Minimum trade quantity is 0.1, given 0.09"),
    ("H", "EXCHANGE_OPTION", {"qty": 10}, "Low order size limit is 0.2, given 0.1"),
    ("H", "EXCHANGE_OPTION", {"qty": 1001}, "High order size limit is 10, given 10.01"),
    (
        *("H", "EXCHANGE_OPTION", {"qty": 900, "price": 900}),
        "High total notional size limit is 8, given 8.1",
    ),
    ("X", "EXCHANGE_OPTION", {"qty": 20000, "price": 99}, "10000.00 USD available, requested 1"),
    ("X", "INCORRECT_QUANTITY", {"qty": 2, "min_qty": 3}, "Minimum quantity exceeds the order"),
    ("X", "EXCHANGE_OPTION", STOP_LIMIT | {"stop_price": 49}, "Stop price must be at or above"),
]


@pytest.mark.parametrize(("symbol", "reason", "fields", "text"), REFUSALS)
def test_a_business_reject_is_raised_or_deferred_with_its_reason_and_text(
    symbol: str, reason: str, fields: dict[str, Any], text: str
) -> None:
    """M4, M5, M7, P4."""
    half_cent = Instrument(
        symbol="H",
        price_scale=1000,
        qty_scale=100,
        tick=5,
        min_qty=10,
        price_low=10,
        price_high=990,
        size_low=20,
        size_high=1000,
        notional_high=800_000,
    )
    market = Market(Instrument(symbol="X"), half_cent)
    price = 500 if symbol == "H" else 50
    argument: dict[str, Any] = {"qty": 100, "price": price, "symbol": symbol, **fields}
    with pytest.raises(OrderRefused) as raised:
        market.buy("a", **argument)
    assert raised.value.reason is RejectReason[reason]
    assert raised.value.message.startswith(text)
    assert market.reports() == []
    order = market.buy("a", deferred=True, **argument)
    (report,) = market.reports()
    result = report.type.name, report.reject_reason.name, report.text
    assert result == ("REJECTED", reason, raised.value.message)
    assert market.trading.orders.require(order.id).state is OrderState.REJECTED
    preview = market.trading.order_service.preview(
        market.command("a", Side.BUY, deferred=True, **argument)
    )
    assert (preview.id, preview.state) == ("", OrderState.REJECTED)


def test_sizes_and_notionals_of_exactly_a_limit_are_taken_and_one_more_or_less_is_not() -> None:
    """M5."""
    bounded = Instrument(
        symbol="X", tick=1, size_low=20, size_high=1000, notional_low=1_000, notional_high=50_000
    )
    market = Market(bounded)
    for qty, price, taken in (
        *((20, 50, True), (19, 60, False), (1000, 50, True), (1001, 40, False)),
        *((25, 40, True), (25, 39, False), (999, 50, True), (1000, 51, False)),
    ):
        if taken:
            assert market.buy("a", qty, price).state is OrderState.NEW
        else:
            with pytest.raises(OrderRefused):
                market.buy("a", qty, price)


@given(fills=st.lists(st.tuples(st.integers(1, 9), st.integers(40, 60)), min_size=1, max_size=5))
@example(fills=[(1, 50), (1, 51)])  # half: to the even one
@example(fills=[(1, 51), (1, 52)])
@example(fills=[(2, 50), (1, 51), (1, 51)])
def test_the_average_price_is_that_of_all_fills_rounded_half_to_even(
    fills: list[tuple[int, int]],
) -> None:
    market = Market(Instrument(symbol="X", tick=1))
    for qty, price in fills:
        market.sell("b", qty, price)
    count = sum(qty for qty, _ in fills)
    paid = sum(qty * price for qty, price in fills)
    assert market.buy("a", count, 99).avg_px == round(Fraction(paid, count))


MALFORMED: list[tuple[str, dict[str, Any]]] = [
    ("no quantity", {"qty": 0}),
    ("negative price", {"price": -1}),
    ("no price", {"price": 0, "type": OrderType.LIMIT}),
    ("good till the past", {"tif": GTT, "good_till": 1}),
    ("good till nothing", {"tif": GTT}),
    ("stop price without a stop", {"stop_price": 40}),
    ("stop without its price", {"type": OrderType.STOP}),
    ("post-only and at once", {"post_only": True, "tif": IOC}),
    ("post-only and minimum", {"post_only": True, "min_qty": 1}),
    ("two derived prices", {"best_limit": True, "immediately_executable_limit": True}),
    ("no price checks for a limit", {"ignore_price_checks": True}),
    ("cash and quantity", {"cash_qty": 5}),
    ("no side", {"side": Side.UNDEFINED}),
]


@pytest.mark.parametrize("fields", [row[1] for row in MALFORMED], ids=[row[0] for row in MALFORMED])
def test_a_malformed_order_is_always_an_error_and_never_a_reject(
    market: Market, fields: dict[str, Any]
) -> None:
    """M2, M18, M20, M21, M23, M24."""
    value: dict[str, Any] = {"account": "a", "side": Side.BUY, "qty": 1, "price": 50, **fields}
    with pytest.raises(InvalidRequest):
        market.trading.order_service.enter(market.command(deferred=True, **value))
    assert market.reports() == []


def test_unknown_symbols_and_accounts_and_accounts_that_do_not_trade_are_refused(
    market: Market,
) -> None:
    """M2."""
    with pytest.raises(NotFound):
        market.buy("a", 1, 50, symbol="nope")
    market.trading.open_account("clearing", kind="clearing")
    for account, refusal in (("ghost", NotFound), ("clearing", PermissionDenied)):
        terms = {"symbol": "X", "participant": "p", "side": Side.BUY, "qty": 1, "price": 50}
        command = PlaceOrder(account=account, **terms)
        with pytest.raises(refusal):
            market.trading.order_service.enter(command)


def test_a_client_order_id_is_unique_among_open_orders_only(market: Market) -> None:
    """M6."""
    first = market.buy("a", 1, 40, clord_id="one")
    with pytest.raises(DuplicateOrder, match="ClOrdID already in use by an open order"):
        market.buy("a", 1, 41, clord_id="one")
    market.buy("b", 1, 41, clord_id="one")
    rejected = market.buy("a", 1, 41, clord_id="one", deferred=True)
    assert rejected.state is OrderState.REJECTED
    result = market.trading.order_service.cancel(
        CancelOrder(accounts=("a",), participant="a", clord_id="one")
    )
    assert result.id == first.id
    assert market.buy("a", 1, 41, clord_id="one").state is OrderState.NEW


def test_a_preview_changes_nothing(market: Market) -> None:
    market.sell("b", 5, 50)
    command = market.command("a", Side.BUY, 5)

    def state() -> tuple[object, ...]:
        ctx = market.ctx
        reports = len(market.trading.executions)
        return market.depth(), reports, ctx.ids.save(), ctx.timers.pending()

    before = state()
    preview = market.trading.order_service.preview(command)
    assert (preview.id, preview.price, preview.state) == ("", 50, OrderState.NEW)
    assert state() == before


def test_validation_stops_at_the_first_failure_in_the_documented_order(market: Market) -> None:
    """M2: state before client order id before tick before funds."""
    market.buy("a", 1, 40, clord_id="one")
    broken: dict[str, Any] = {"clord_id": "one", "price": 100, "qty": 10**9}
    market.move(InstrumentState.SUSPENDED)
    with pytest.raises(OrderRefused, match="Book is SUSPENDED"):
        market.buy("a", **broken)
    market.move(InstrumentState.OPEN)
    with pytest.raises(DuplicateOrder):
        market.buy("a", **broken)
    with pytest.raises(OrderRefused, match="High price limit"):
        market.buy("a", qty=10**9, price=100)
    with pytest.raises(OrderRefused, match="USD available"):
        market.buy("a", qty=10**9, price=99)


# ---- cancel and replace


def rejections(market: Market) -> list[CancelRejected]:
    return [event for event in market.take() if isinstance(event, CancelRejected)]


def test_cancelling_an_unknown_order_or_a_strangers_is_not_found(market: Market) -> None:
    """M34."""
    order = market.buy("a", 1, 40)
    for command in (
        CancelOrder(accounts=("a",), order_id="ABCDEFGHIJKL"),
        CancelOrder(accounts=("b",), order_id=order.id),
        CancelOrder(accounts=("a",), order_id=order.id, symbol="Y"),
        CancelOrder(accounts=("a",), participant="a", clord_id="none"),
    ):
        with pytest.raises(UnknownOrder, match="Unknown order"):
            market.trading.order_service.cancel(command)
    assert rejections(market) == []


def test_cancelling_a_done_order_conflicts_and_is_told(market: Market) -> None:
    """M34."""
    order = market.buy("a", 1, 40)
    market.cancel(order)
    market.take()
    with pytest.raises(OrderDone):
        market.cancel(order)
    (reported,) = rejections(market)
    assert (reported.reason, reported.text) == (CancelRejectReason.UNKNOWN_ORDER, "Unknown order")
    assert (reported.is_replace, reported.order_id) == (False, order.id)


@pytest.mark.parametrize("state", [InstrumentState.HALTED, InstrumentState.CLOSED])
def test_cancel_and_replace_in_a_state_that_forbids_them_are_refused_and_told(
    market: Market, state: InstrumentState
) -> None:
    """M34."""
    order = market.buy("a", 2, 40)
    market.move(state)
    market.take()
    attempts: list[Callable[[], object]] = [
        lambda: market.cancel(order),
        lambda: market.replace(order, qty=1),
    ]
    for attempt, is_replace in zip(attempts, (False, True), strict=True):
        with pytest.raises(OrderRefused, match=f"Book is {state.name}"):
            attempt()
        (reported,) = rejections(market)
        assert (reported.reason, reported.is_replace) == (
            CancelRejectReason.EXCHANGE_CLOSED,
            is_replace,
        )
    assert market.now(order).leaves_qty == 2


def test_shrinking_keeps_the_place_in_the_queue_and_growing_or_repricing_loses_it(
    market: Market,
) -> None:
    """M31."""
    first, second, third = (market.buy(account, 5, 50) for account in "abc")
    market.replace(first, qty=4)
    market.replace(second, qty=6)
    queue = [order.id for order in market.trading.book("X").orders(Side.BUY)]
    assert queue == [first.id, third.id, second.id]
    market.replace(first, price=49)
    market.replace(first, price=50)
    queue = [order.id for order in market.trading.book("X").orders(Side.BUY)]
    assert queue == [third.id, second.id, first.id]
    assert market.depth() == ([(50, 15)], [])


def test_a_replaced_quantity_is_the_new_total(market: Market) -> None:
    """M31."""
    order = market.buy("a", 10, 50)
    market.sell("b", 4, 50)
    replaced = market.replace(order, qty=7)
    assert (replaced.qty, replaced.cum_qty, replaced.leaves_qty) == (7, 4, 3)
    market.take()
    with pytest.raises(OrderRefused):
        market.replace(order, qty=4)
    (reported,) = rejections(market)
    assert (reported.reason, reported.is_replace) == (CancelRejectReason.INCORRECT_QUANTITY, True)
    assert market.now(order).leaves_qty == 3


def test_a_repriced_order_that_crosses_trades_as_aggressor(market: Market) -> None:
    """M32."""
    market.sell("b", 4, 52)
    order = market.buy("a", 10, 50)
    market.take()
    replaced = market.replace(order, price=52)
    reports = [(report.type.name, report.aggressor) for report in market.reports()]
    assert reports == [("REPLACE", False), ("PARTIAL_FILL", True), ("FILL", False)]
    assert replaced.leaves_qty == 6
    assert market.depth() == ([(52, 6)], [])


@pytest.mark.parametrize(
    "fields",
    [
        {"price": 100},  # outside the band
        {"qty": 10**7},  # beyond the funds
        {"post_only": True, "price": 52},  # would trade
        {"tif": IOC},
        {"tif": GTT, "good_till": 1},
    ],
)
def test_a_failed_replace_leaves_the_order_untouched_and_is_told(
    market: Market, fields: dict[str, Any]
) -> None:
    """M33."""
    market.sell("b", 4, 52)
    order = market.buy("a", 10, 50)
    before = (order.price, order.qty, order.state, order.post_only, order.tif)
    market.take()
    with pytest.raises(Refusal):
        market.replace(order, **fields)
    (reported,) = rejections(market)
    assert (reported.reason, reported.is_replace) == (CancelRejectReason.EXCHANGE_OPTION, True)
    now = market.now(order)
    assert (now.price, now.qty, now.state, now.post_only, now.tif) == before
    market.check()


def test_a_deferred_replace_is_refused_by_event_only(market: Market) -> None:
    """M33."""
    order = market.buy("a", 10, 50)
    market.take()
    assert market.replace(order, price=100, deferred=True) is order
    assert len(rejections(market)) == 1


def test_good_till_time_can_be_moved_and_taken_away(market: Market) -> None:
    """M18, M31."""
    order = market.buy("a", 1, 50, tif=GTT, good_till=market.ctx.now + minutes(5))
    market.replace(order, good_till=market.ctx.now + minutes(10))
    market.advance(minutes(5))
    assert market.now(order).live
    market.replace(order, tif=TimeInForce.GOOD_TILL_CANCEL)
    market.advance(minutes(10))
    assert market.now(order).live
    assert market.ctx.timers.pending() == []


def test_a_repriced_order_has_one_timer_and_keeps_its_end(market: Market) -> None:
    """M18, M31."""
    order = market.buy("a", 1, 50, tif=GTT, good_till=market.ctx.now + minutes(5))
    market.replace(order, price=51)
    assert [timer.kind for timer in market.ctx.timers.pending()] == ["order.expiry"]
    market.take()
    market.advance(minutes(5))
    assert market.kinds() == ["EXPIRED"]


def test_a_waiting_stop_can_be_replaced_and_cancelled(market: Market) -> None:
    """M12, M31."""
    stop = market.sell("a", 1, type=OrderType.STOP, stop_price=45)
    market.replace(stop, stop_price=40)
    market.buy("b", 2, 45)
    market.sell("c", 1, 45)
    assert market.now(stop).type is OrderType.STOP
    market.cancel(market.now(stop))
    assert len(market.trading.book("X").stops) == 0
    assert market.trading.open_orders_reserve("a") == 0


def test_an_order_that_is_done_leaves_no_timer_behind(market: Market) -> None:
    later = market.ctx.now + minutes(5)
    market.buy("a", 1, 50, tif=GTT, good_till=later)
    market.cancel(market.buy("a", 1, 40, tif=GTT, good_till=later))
    market.sell("b", 1, 50, tif=GTT, good_till=later)
    assert [timer.kind for timer in market.ctx.timers.pending()] == ["trade.clearing"]


def test_cancel_all_takes_out_every_open_order_unsolicited(market: Market) -> None:
    """W2."""
    market.buy("a", 1, 50)
    market.sell("b", 1, type=OrderType.STOP, stop_price=45)
    market.move(InstrumentState.HALTED)
    market.take()
    assert market.trading.listings.cancel_all() == 2
    assert [(report.type.name, report.unsolicited.name) for report in market.reports()] == [
        ("CANCELED", "EXCHANGE_OPTION")
    ] * 2
    assert market.trading.listings.cancel_all() == 0


def test_executions_are_found_by_seq_id_account_and_symbol(market: Market) -> None:
    market.buy("a", 1, 50)
    market.sell("b", 1, 50)
    record = market.trading.executions
    assert [row.seq for row in record] == list(range(4))
    assert all(record.get(row.id) is row for row in record)
    assert record.get("AAAAAAAAAAAA") is None
    assert [record[seq].order.account for seq in record.of_account("b")] == ["b", "b"]
    assert list(record.of_symbol("X")) == [0, 1, 2, 3]
    assert market.trading.trades.get(market.trading.trades[0].id) is market.trading.trades[0]


def test_a_changed_book_is_told_once_per_input_in_order_of_first_touch() -> None:
    market = Market(Instrument(symbol="X"), Instrument(symbol="Y"), cash=100 * DOLLAR)
    market.buy("a", 1, 50, symbol="Y")
    market.buy("a", 1, 50)
    market.sell("b", 1, 50, symbol="Y")
    changed = [event.symbol for event in market.take() if type(event).__name__ == "BookChanged"]
    assert changed == ["Y", "X"]
    version = market.trading.book("X").version
    market.buy("a", 1, 50, tif=FOK)
    assert market.trading.book("X").version == version
    market.buy("a", 1, 49)
    assert market.trading.book("X").version != version


def test_a_stop_trades_with_the_last_bid_there_is_at_the_lowest_price(market: Market) -> None:
    """M12."""
    market.buy("b", 5, 1)
    stop = market.sell("a", 2, 0, type=OrderType.STOP, stop_price=1)
    market.sell("c", 1, 1)
    assert (stop.state, stop.filled_at) == (OrderState.FILLED, {1: 2})


# ---- bounds of sums, and money that is gone

# Terms with which an order is checked row by row, and without which at a glance.
WAYS: list[dict[str, Any]] = [{}, {"strict_limit": True}]


@pytest.mark.parametrize("terms", WAYS)
def test_under_maintenance_not_even_an_open_instrument_takes_orders(
    market: Market, terms: dict[str, Any]
) -> None:
    """W2."""
    market.trading.lifecycle.stop_dates(sudden=True)
    with pytest.raises(InstrumentNotTradable, match="Exchange is under maintenance") as refused:
        market.buy("a", 1, 50, **terms)
    assert (refused.value.rule, refused.value.reason) == ("W2", RejectReason.EXCHANGE_CLOSED)
    market.trading.lifecycle.resume_dates()
    assert market.buy("a", 1, 50, **terms).live


@pytest.mark.parametrize("terms", WAYS)
def test_no_order_is_taken_once_rebates_have_reached_their_bound(
    market: Market, terms: dict[str, Any]
) -> None:
    fees = market.trading.ledger.require("house/fees")
    fees.balance = 1 - 10_000_000_000 * DOLLAR
    assert market.buy("a", 1, 50, **terms).live
    fees.balance -= 1
    with pytest.raises(OrderRefused, match="No more rebates can be paid; rebates: from 0 to"):
        market.buy("a", 1, 50, **terms)


@pytest.mark.parametrize("terms", WAYS)
def test_an_instrument_trades_up_to_its_greatest_volume_and_no_more(terms: dict[str, Any]) -> None:
    fine = Instrument(symbol="X", qty_scale=10)
    market = Market(fine, cash=30_000_000_000 * DOLLAR)
    most = 40_000_000_000 * fine.qty_scale
    market.sell("a", most - 10, 40)
    market.buy("b", most - 10, 40)
    order = market.buy("c", 10, 40, **terms)
    assert order.live
    text = "High traded volume limit is 40000000000, given 40000000000.1"
    with pytest.raises(OrderRefused, match=f"^{text}$"):
        market.buy("c", 11, 40, **terms)
    with pytest.raises(OrderRefused, match=f"^{text}$"):
        market.replace(order, qty=11)
    assert market.replace(order, qty=9).leaves_qty == 9


def test_a_change_that_costs_no_more_needs_no_money_and_one_that_does_is_paid_anew(
    market: Market,
) -> None:
    """M33: an order whose money was taken away may end earlier or shrink, and not grow."""
    market.fund("a", 6 * DOLLAR)
    order = market.buy("a", 10, 50)
    market.trading.move_cash("a", -6 * DOLLAR, LedgerEntryType.WITHDRAWAL, "Withdrawal")
    for more in ({"qty": 11}, {"price": 51}, {"price": 49}):
        with pytest.raises(OrderRefused, match=r"0\.00 USD available, requested"):
            market.replace(order, **more)
    assert market.replace(order, tif=TimeInForce.DAY).tif is TimeInForce.DAY
    assert market.replace(order, post_only=True).post_only
    assert market.replace(order, qty=9).leaves_qty == 9
