"""Searches, single records, downloads and trade statistics."""

from __future__ import annotations

import csv
import io

import pytest
from small_exchange import (
    ANN_ACCOUNT,
    BOB_ACCOUNT,
    EVE_ACCOUNT,
    FINE,
    NOW,
    WHOLE,
    advance,
    caller,
    small_exchange,
)

from sim.api.exchange.orders import cancel_order
from sim.api.exchange.reports import (
    NARROW_SEARCH,
    download_executions,
    download_orders,
    download_trades,
    get_execution,
    get_order,
    search_executions,
    search_orders,
    search_trades,
)
from sim.api.exchange.trade_stats import get_trade_stats
from sim.contract.messages import exchange_v1 as wire
from sim.core.exchange import Exchange
from sim.core.model.enums import ExecutionType, OrderState, Side, TradeState
from sim.core.model.refusals import EdgeTimeout, InvalidRequest, NotFound, PermissionDenied
from sim.core.trading.synchronous import EDGE_TIMEOUT
from sim.kernel.instants import days, minutes, parse_instant, seconds

THURSDAY_WINDOW = parse_instant("2026-09-10T02:00:00-04:00")


@pytest.fixture
def exchange() -> Exchange:
    """Ann buys 10 from Eve at 50 and 5 at 55, a minute apart; Ann's bid at 40 rests, another at 41
    was canceled; Bob's bid rests.
    """
    exchange = small_exchange()
    exchange.eve.sell(50, 10)
    exchange.eve.sell(55, 5)
    exchange.ann.buy(50, 10, clord_id="first")
    advance(exchange, NOW + minutes(1))
    exchange.ann.buy(55, 5, clord_id="second")
    exchange.ann.buy(40, 1, clord_id="resting")
    canceled = exchange.ann.buy(410, 10, FINE, clord_id="canceled")
    exchange.ann.ask(cancel_order, order_id=canceled)
    exchange.bob.buy(30, 1, clord_id="bobs")
    exchange.ctx.quirks.change("unfiltered_search_times_out", "never")
    return exchange


def orders(exchange: Exchange, **asked: object) -> list[str]:
    return [order.clord_id for order in exchange.ann.ask(search_orders, **asked).order]


def executions(exchange: Exchange, **asked: object) -> list[wire.Execution]:
    return exchange.ann.ask(search_executions, **asked).executions


def trades(exchange: Exchange, **asked: object) -> list[wire.Trade]:
    return exchange.ann.ask(search_trades, **asked).trade


# ---- orders


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, ["canceled", "resting", "second", "first"]),
        ({"symbol": WHOLE}, ["resting", "second", "first"]),
        ({"clord_id": "second"}, ["second"]),
        ({"side": Side.SELL}, []),
        ({"order_state_filter": wire.OrderStateFilter.ORDER_STATE_FILTER_OPEN}, ["resting"]),
        (
            {"order_state_filter": wire.OrderStateFilter.ORDER_STATE_FILTER_FILLED},
            ["second", "first"],
        ),
        (
            {"order_state_filter": wire.OrderStateFilter.ORDER_STATE_FILTER_CLOSED},
            ["canceled", "second", "first"],
        ),
        ({"end_time": NOW}, ["first"]),
        ({"start_time": NOW + 1}, ["canceled", "resting", "second"]),
        ({"start_transact_trade_date": wire.Date(year=2026, month=9, day=9)}, []),
        (
            {"end_transact_trade_date": wire.Date(year=2026, month=9, day=8), "symbol": FINE},
            ["canceled"],
        ),
        ({"cross_id": "x"}, []),
        ({"where_clause": "state = 'CANCELED'"}, ["canceled"]),
        ({"where_clause": f"symbol = '{WHOLE}' AND price >= 50"}, ["second", "first"]),
        (
            {
                "where_clause": (
                    "create_time > '2026-09-08T18:00:00Z' AND state != 'ORDER_STATE_CANCELED'"
                )
            },
            ["resting", "second"],
        ),
        (
            {"field_filter": [wire.FieldFilter(field="symbol", operator=1, string_value=FINE)]},
            ["canceled"],
        ),
        (
            {"accounts": [ANN_ACCOUNT, BOB_ACCOUNT], "where_clause": "state IN ('NEW')"},
            ["bobs", "resting"],
        ),
    ],
)
def test_orders_that_meet_every_filter_come_newest_first(
    exchange: Exchange, asked: dict[str, object], expected: list[str]
) -> None:
    """R7."""
    assert orders(exchange, **asked) == expected


@pytest.mark.parametrize("column", ["update_time", "create_time"])
@pytest.mark.parametrize("search", [orders, executions, trades])
def test_a_field_filter_outside_its_list_is_not_allowed(
    exchange: Exchange, search, column: str
) -> None:
    """R9."""
    with pytest.raises(InvalidRequest, match="field not allowed"):
        search(
            exchange,
            field_filter=[
                wire.FieldFilter(field=column, operator=5, string_value="2026-09-08T00:00:00Z")
            ],
        )


def test_searches_cover_accounts_of_the_firm_only(exchange: Exchange) -> None:
    """R8."""
    for search in (orders, executions, trades):
        with pytest.raises(PermissionDenied):
            search(exchange, accounts=[EVE_ACCOUNT])


def test_offset_pages_repeat_a_row_when_one_is_added_during_the_sweep(exchange: Exchange) -> None:
    """R7."""
    first = exchange.ann.ask(search_orders, page_size=2)
    exchange.ann.buy(20, 1, clord_id="new")
    second = exchange.ann.ask(search_orders, page_size=2, page_token=first.next_page_token)
    assert [order.clord_id for order in first.order] == ["canceled", "resting"]
    assert [order.clord_id for order in second.order] == ["resting", "second"]
    last = exchange.ann.ask(search_orders, page_size=2, page_token=second.next_page_token)
    assert [order.clord_id for order in last.order] == ["first"] and not last.next_page_token
    with pytest.raises(InvalidRequest):
        orders(exchange, page_token="no token")


def test_each_order_comes_with_its_last_execution_when_asked_for(exchange: Exchange) -> None:
    answer = exchange.ann.ask(search_orders, with_last_execution=True)
    assert [execution.type for execution in answer.last_executions] == [
        ExecutionType.CANCELED,
        ExecutionType.NEW,
        ExecutionType.FILL,
        ExecutionType.FILL,
    ]
    assert [execution.order and execution.order.id for execution in answer.last_executions] == [
        order.id for order in answer.order
    ]


def test_single_records_are_the_firms_own(exchange: Exchange) -> None:
    (fill,) = executions(exchange, clord_id="first", types=[ExecutionType.FILL])
    assert fill.order is not None
    result = exchange.ann.ask(get_execution, exec_id=fill.id).execution
    assert result == fill
    order = exchange.ann.ask(get_order, order_id=fill.order.id).order
    assert order is not None and (order.state, order.price_to_quantity_filled) == (
        OrderState.FILLED,
        {50: 10},
    )
    with pytest.raises(NotFound):
        exchange.eve.ask(get_execution, exec_id=fill.id)
    with pytest.raises(NotFound):
        exchange.eve.ask(get_order, order_id=fill.order.id)


# ---- executions


def test_executions_come_oldest_first_unless_asked_otherwise(exchange: Exchange) -> None:
    types = [execution.type for execution in executions(exchange, symbol=WHOLE)]
    assert types == [
        ExecutionType.NEW,
        ExecutionType.FILL,
        ExecutionType.NEW,
        ExecutionType.FILL,
        ExecutionType.NEW,
    ]
    assert [
        execution.type for execution in executions(exchange, symbol=WHOLE, newest_first=True)
    ] == types[::-1]
    fill = executions(exchange, where_clause="type = 'FILL'", page_size=1)[0]
    assert (fill.last_px, fill.last_shares, fill.aggressor, fill.transact_trade_date) == (
        50,
        10,
        True,
        wire.Date(year=2026, month=9, day=8),
    )
    assert executions(exchange, exec_ids=[fill.id]) == [fill]


def test_executions_vanish_at_the_first_window_after_a_week_and_orders_after_ninety_days(
    exchange: Exchange,
) -> None:
    """R10."""
    (fill,) = executions(exchange, clord_id="first", types=[ExecutionType.FILL])
    advance(exchange, THURSDAY_WINDOW + days(7) - 1)
    assert executions(exchange)
    advance(exchange, THURSDAY_WINDOW + days(7))
    assert executions(exchange) == []
    with pytest.raises(NotFound):
        exchange.ann.ask(get_execution, exec_id=fill.id)
    assert "first" in orders(exchange) and trades(exchange, symbol=WHOLE)
    exchange.ctx.now = THURSDAY_WINDOW + days(98)
    assert "first" not in orders(exchange) and trades(exchange, symbol=WHOLE)


def test_nothing_was_purged_before_the_middle_of_july() -> None:
    """R10."""
    exchange = small_exchange()
    exchange.ctx.now = parse_instant("2026-06-20T12:00:00Z")
    exchange.ann.buy(40, 1)
    exchange.ctx.now = parse_instant("2026-07-16T01:59:59-04:00")
    assert executions(exchange)
    exchange.ctx.now = parse_instant("2026-07-16T02:00:00-04:00")
    assert executions(exchange) == []


# ---- trades


def test_trades_show_the_other_side_without_its_names(exchange: Exchange) -> None:
    result = trades(exchange, symbol=WHOLE)
    assert [trade.aggressor and trade.aggressor.last_px for trade in result] == [55, 50]
    mine, other = result[0].aggressor, result[0].passive
    assert mine is not None and mine.order is not None and mine.order.account == ANN_ACCOUNT
    assert other is not None and other.order is not None and other.last_px == 55
    assert (other.order.account, other.order.participant, other.order.clord_id) == ("", "", "")
    assert trades(exchange, where_clause=f"symbol = '{WHOLE}' AND account = '{EVE_ACCOUNT}'") == []


def test_trades_are_found_by_either_side_state_and_id(exchange: Exchange) -> None:
    newest, oldest = trades(exchange, symbol=WHOLE)
    assert (newest.state, oldest.state) == (TradeState.NEW, TradeState.CLEARED)
    assert trades(exchange, symbol=WHOLE, states=[TradeState.CLEARED]) == [oldest]
    assert (
        oldest.passive is not None
        and oldest.aggressor is not None
        and oldest.aggressor.order is not None
    )
    for asked in (
        {"trade_id": oldest.id},
        {"exec_id": oldest.aggressor.id},
        {"order_id": oldest.aggressor.order.id},
    ):
        assert trades(exchange, **asked) == [oldest]


def test_an_unfiltered_search_dies_at_the_edge_two_times_in_three_and_a_narrow_one_is_fast(
    exchange: Exchange,
) -> None:
    """R6."""
    exchange.ctx.quirks.change("unfiltered_search_times_out", "always")
    with pytest.raises(EdgeTimeout) as refused:
        trades(exchange)
    assert refused.value.after == EDGE_TIMEOUT
    for narrow in ({"symbol": WHOLE}, {"where_clause": f"symbol = '{WHOLE}'"}):
        exchange.ctx.service_time = 0
        assert len(trades(exchange, **narrow)) == 2
        assert exchange.ctx.service_time == NARROW_SEARCH
    exchange.ctx.quirks.change("unfiltered_search_times_out", "2/3")
    died = 0
    for _ in range(300):
        try:
            trades(exchange)
        except EdgeTimeout:
            died += 1
    assert 160 < died < 240


# ---- downloads


def test_downloads_are_csv_with_one_line_for_each_row(exchange: Exchange) -> None:
    """R12."""
    me = caller(exchange)
    text = "".join(
        chunk.filechunk for chunk in download_orders(exchange, me, wire.DownloadOrdersRequest())
    )
    assert [row["clord_id"] for row in csv.DictReader(io.StringIO(text))] == orders(exchange)
    text = "".join(
        chunk.filechunk
        for chunk in download_executions(exchange, me, wire.DownloadExecutionsRequest(end_time=NOW))
    )
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [(row["type"], row["order.clord_id"], row["transact_trade_date"]) for row in rows] == [
        ("EXECUTION_TYPE_NEW", "first", "2026-09-08"),
        ("EXECUTION_TYPE_FILL", "first", "2026-09-08"),
    ]
    assert rows[1]["order.price_to_quantity_filled"] == '{"50":10}'
    text = "".join(
        chunk.filechunk for chunk in download_trades(exchange, me, wire.DownloadTradesRequest())
    )
    assert [row["passive.order.account"] for row in csv.DictReader(io.StringIO(text))] == ["", ""]


# ---- statistics


def stats(exchange: Exchange, **asked: object) -> wire.GetTradeStatsResponse:
    return exchange.acme.ask(get_trade_stats, **asked)


def test_statistics_cover_the_window_and_its_equal_bars(exchange: Exchange) -> None:
    result = stats(exchange, symbol=WHOLE, start_time=NOW, end_time=NOW + minutes(3), bars=3)
    assert result.stats is not None
    assert (result.stats.first, result.stats.last, result.stats.high, result.stats.low) == (
        50,
        55,
        55,
        50,
    )
    assert (result.stats.total_trade_count, result.stats.volume, result.stats.notional) == (
        2,
        15,
        775,
    )
    assert [bar.total_trade_count for bar in result.bars] == [1, 1, 0]
    assert result.bars[2] == wire.TradeStats()
    assert result.bar_start_time == [NOW, NOW + minutes(1), NOW + minutes(2)]
    assert result.bar_end_time == [NOW + minutes(1), NOW + minutes(2), NOW + minutes(3)]


def test_a_trade_on_an_edge_belongs_to_the_later_bar_and_one_at_the_end_to_the_last(
    exchange: Exchange,
) -> None:
    result = stats(
        exchange, symbol=WHOLE, start_time=NOW - minutes(1), end_time=NOW + minutes(1), bars=2
    )
    assert result.stats is not None and result.stats.total_trade_count == 2
    assert [(bar.first, bar.last, bar.volume) for bar in result.bars] == [(0, 0, 0), (50, 55, 15)]


def test_cleared_statistics_lag_behind_the_trades(exchange: Exchange) -> None:
    result = stats(exchange, symbol=WHOLE).stats
    assert result is not None and (
        result.total_trade_count,
        result.cleared_trade_count,
        result.cleared_volume,
    ) == (2, 1, 10)
    advance(exchange, NOW + minutes(1) + seconds(30))
    result = stats(exchange, symbol=WHOLE).stats
    assert result is not None and (
        result.cleared_trade_count,
        result.cleared_volume,
        result.cleared_notional,
    ) == (2, 15, 775)


def test_trade_dates_roll_at_five_in_the_afternoon_eastern(exchange: Exchange) -> None:
    eighth = wire.Date(year=2026, month=9, day=8)
    advance(exchange, parse_instant("2026-09-08T17:00:00-04:00"))
    exchange.eve.sell(60, 1)
    exchange.ann.buy(60, 1)
    result = stats(exchange, symbol=WHOLE, start_trade_date=eighth, end_trade_date=eighth).stats
    assert result is not None and result.total_trade_count == 2
    result = stats(
        exchange,
        symbol=WHOLE,
        start_trade_date=wire.Date(year=2026, month=9, day=9),
        end_trade_date=wire.Date(year=2026, month=9, day=9),
    ).stats
    assert result is not None and result.total_trade_count == 1


def test_the_last_nanosecond_of_a_trade_date_belongs_to_it(exchange: Exchange) -> None:
    eighth = wire.Date(year=2026, month=9, day=8)
    advance(exchange, parse_instant("2026-09-08T17:00:00-04:00") - 1)
    exchange.eve.sell(60, 1)
    exchange.ann.buy(60, 1)
    result = stats(exchange, symbol=WHOLE, start_trade_date=eighth, end_trade_date=eighth).stats
    assert result is not None and result.total_trade_count == 3


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {
            "symbol": WHOLE,
            "start_time": NOW,
            "start_trade_date": wire.Date(year=2026, month=9, day=8),
        },
        {"symbol": WHOLE, "start_time": NOW, "end_time": NOW},
        {"symbol": WHOLE, "start_trade_date": wire.Date(year=2026, month=13, day=1)},
        {"symbol": WHOLE, "bars": -1},
        {"symbol": WHOLE, "bars": 1_000_000},
        {"where_clause": "price > 3"},
        {"symbol": WHOLE, "where_clause": f"account = '{EVE_ACCOUNT}'"},
        {
            "symbol": WHOLE,
            "field_filter": [wire.FieldFilter(field="update_time", operator=1, string_value="x")],
        },
    ],
)
def test_a_window_that_makes_no_sense_is_an_invalid_request(
    exchange: Exchange, asked: dict[str, object]
) -> None:
    with pytest.raises(InvalidRequest):
        stats(exchange, **asked)


def test_statistics_take_the_symbol_and_more_from_a_where_clause(exchange: Exchange) -> None:
    result = stats(exchange, where_clause=f"symbol = '{WHOLE}' AND price > 50").stats
    assert result is not None and (result.total_trade_count, result.first) == (1, 55)
    with pytest.raises(NotFound):
        stats(exchange, symbol="no-such")


@pytest.mark.parametrize(("reading", "widths"), [("slices", 6), ("edges", 5)])
def test_how_many_buckets_some_bars_make_is_an_assumption(
    exchange: Exchange, reading: str, widths: int
) -> None:
    exchange.ctx.assumptions.change("report.bars", reading)
    result = stats(exchange, symbol=WHOLE, start_time=NOW, end_time=NOW + days(14), bars=6)
    assert len(result.bars) == widths
    assert result.bar_end_time[0] - result.bar_start_time[0] == days(14) // widths
