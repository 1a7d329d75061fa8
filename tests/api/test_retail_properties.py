"""Invariants of the retail API for any sequence of actions: each activity appears once and pages do
not overlap, prices, quantities and names mean the same on both hosts, bars and candles add up.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from retail_world import BUY_NO, BUY_YES, FINE, SELL_NO, SELL_YES, WHOLE, RetailWorld

from sim.core.model.enums import InstrumentState
from sim.kernel.instants import format_instant, parse_instant
from tests.journeys import firm
from tests.wide_numbers import wide

UNLIMITED = """
name: properties
extends: quickstart
world: {games: 0}
limits: {retail: "off", public: "off", trade_stats: "off", exchange_rest: "off", book: "off"}
"""
QUARTER, FORTIETH = "aec-test-quarter", "aec-test-fortieth"


def world() -> RetailWorld:
    retail_world = RetailWorld(UNLIMITED)
    retail_world.operate(
        "instrument.create",
        "",
        symbol=QUARTER,
        state="OPEN",
        tick_size="0.0025",
        fractional_qty_scale=1000,
        minimum_trade_qty=10,
    )
    # a scale that is no power of ten, as hundreds of markets of the default world have
    retail_world.operate(
        "instrument.create",
        "",
        symbol=FORTIETH,
        state="OPEN",
        tick_size="0.0025",
        price_scale=400,
        fractional_qty_scale=40,
    )
    return retail_world


# ---- activities

_MARKETS = st.sampled_from([WHOLE, FINE])
deeds = st.lists(
    st.one_of(
        st.tuples(
            st.just("order"),
            st.integers(0, 1),
            _MARKETS,
            st.sampled_from([BUY_YES, SELL_YES, BUY_NO, SELL_NO]),
            st.integers(35, 65),
            st.integers(1, 9),
        ),
        st.tuples(st.just("settle"), _MARKETS, st.sampled_from(["0", "0.5", "1"])),
        st.tuples(st.just("fund"), st.integers(0, 1), st.sampled_from(["25", "0.01", "-5"])),
        st.tuples(st.just("wait"), st.sampled_from(["1s", "90s", "5h"])),
    ),
    max_size=24,
)


def do(retail: RetailWorld, move: tuple[Any, ...]) -> None:
    match move:
        case ("order", customer, symbol, intent, cents, quantity):
            retail.order(
                (retail.ann, retail.bob)[customer],
                symbol,
                intent,
                price=f"0.{cents}",
                quantity=quantity,
            )
        case ("settle", symbol, price):
            if not retail.trading.settlements.final(symbol):
                retail.operate("instrument.settle", symbol, price=price)
        case ("fund", customer, amount):
            retail.operate("account.fund", retail.keys[customer].account, amount=amount)
        case ("wait", span):
            retail.advance(span)


def walked(client: Any, order: str, limit: int, **more: Any) -> list[dict[str, Any]]:
    """The whole feed in pages; every page but the last is full and says that there is more."""
    results: list[dict[str, Any]] = []
    cursor = ""
    while True:
        params = {
            "limit": limit,
            "sort_order": f"SORT_ORDER_{order}",
            **({"cursor": cursor} if cursor else {}),
            **more,
        }
        page = client.read("/v1/portfolio/activities", **params)
        results += page["activities"]
        assert page["eof"] is (page["nextCursor"] == "")
        if page["eof"]:
            return results
        assert len(page["activities"]) == limit
        cursor = page["nextCursor"]


def instant_of(activity: dict[str, Any]) -> int:
    _, payload = activity.values()
    return parse_instant(payload.get("createTime") or payload["updateTime"])


@pytest.mark.spec("S4.2-6")
@settings(max_examples=15)
@given(
    done=deeds,
    first=st.integers(0, 30),
    last=st.integers(0, 30),
    types=st.sets(st.sampled_from(["TRADE", "POSITION_RESOLUTION", "ACCOUNT_DEPOSIT"])),
    limit=st.integers(1, 3),
)
def test_a_feed_that_is_narrowed_holds_what_the_whole_one_does_from_start_to_before_the_end(
    done: list[tuple[Any, ...]], first: int, last: int, types: set[str], limit: int
) -> None:
    retail = world()
    for move in done:
        do(retail, move)
    total = walked(retail.ann, "DESCENDING", 100)
    moments = sorted({instant_of(item) for item in total}) or [retail.now]
    start, end = moments[first % len(moments)], moments[last % len(moments)]
    names = {f"ACTIVITY_TYPE_{name}" for name in types}
    narrow: dict[str, Any] = {
        "start_time": format_instant(start),
        "end_time": format_instant(end),
        "types": sorted(names),
    }
    expected = [
        item
        for item in total
        if start <= instant_of(item) < end and (not names or item["type"] in names)
    ]
    assert walked(retail.ann, "DESCENDING", limit, **narrow) == expected
    assert walked(retail.ann, "ASCENDING", limit, **narrow) == expected[::-1]


@pytest.mark.spec("S4.2-6", "S2.8-4", "S2.8-5")
@settings(max_examples=25)
@given(done=deeds, limit=st.integers(1, 7))
def test_every_fill_settlement_and_transfer_is_told_exactly_once_and_pages_tile(
    done: list[tuple[Any, ...]], limit: int
) -> None:
    retail = world()
    for move in done:
        do(retail, move)
    trading = retail.trading
    for client, key in zip((retail.ann, retail.bob), retail.keys, strict=False):
        total = walked(client, "DESCENDING", 100)
        assert walked(client, "DESCENDING", limit) == total
        assert walked(client, "ASCENDING", limit) == total[::-1]
        mine = [
            trade
            for trade in trading.trades
            if key.account in (trade.aggressor.order.account, trade.passive.order.account)
        ]
        reported = [item["trade"] for item in total if "trade" in item]
        assert sorted(item["id"] for item in reported) == sorted(trade.id for trade in mine)
        bought = sum(trade.qty for trade in mine if trade.symbol == FINE)
        assert sum(
            Fraction(item["qtyDecimal"]) for item in reported if item["marketSlug"] == FINE
        ) == Fraction(bought, 100)
        resolved = [
            row.symbol for row in trading.positions.rows(key.account) if row.settlement is not None
        ]
        assert sorted(
            item["positionResolution"]["marketSlug"]
            for item in total
            if "positionResolution" in item
        ) == sorted(resolved)
        moved = [
            item["accountBalanceChange"]["amount"]["value"]
            for item in total
            if "accountBalanceChange" in item
        ]
        funded = [
            action[2]
            for action in done
            if action[0] == "fund" and retail.keys[action[1]].account == key.account
        ]
        assert [Fraction(value) for value in moved[::-1]][-len(funded) or len(moved) :] == [
            Fraction(value) for value in funded
        ]
        assert all(len(item) == 2 for item in total)  # the type, and the payload that fits it
        for name in (FINE, WHOLE):
            narrowed = walked(client, "DESCENDING", limit, market_slug=name)
            assert narrowed == [
                item
                for item in total
                if "accountBalanceChange" in item  # of no market, and so of each
                or (item.get("trade") or item["positionResolution"])["marketSlug"] == name
            ]


# ---- words on both hosts


@pytest.mark.parametrize(
    "state", [state for state in InstrumentState if state is not InstrumentState.PENDING]
)
def test_a_state_has_one_name_on_every_host(state: InstrumentState) -> None:
    connection = world()
    symbol = next(
        instrument.symbol
        for instrument in connection.core.instruments
        if connection.trading.state(instrument.symbol) is state
    )
    book = connection.gateway.get(f"/v1/markets/{symbol}/book")
    assert (
        book.status == 404
        if state is InstrumentState.TERMINATED
        else book.json()["marketData"]["state"] == f"MARKET_STATE_{state.name}"
    )
    assert (
        connection.gateway.read(f"/v1/market/slug/{symbol}", "market", "exchangeStatus")
        == state.name
    )
    answer = connection.partner.read(f"/v1/refdata/instruments/{symbol}")
    assert answer["instrument"]["state"] == f"INSTRUMENT_STATE_{state.name}"


# ---- bars, points and candles

trades = st.lists(
    st.tuples(st.integers(1, 400), st.integers(30, 70), st.integers(1, 20)), min_size=1, max_size=12
)


def traded(done: list[tuple[int, int, int]]) -> tuple[RetailWorld, list[tuple[int, int, int]]]:
    """A world in which these trades happened, each so many seconds after the one before; instants
    (unix seconds), cents, contracts.
    """
    retail = world()
    reported = []
    for wait, cents, quantity in done:
        retail.advance(f"{wait}s")
        retail.place_as("maker", WHOLE, "sell", f"0.{cents}", quantity)
        retail.place_as("taker", WHOLE, "buy", f"0.{cents}", quantity)
        reported.append((retail.now // 10**9, cents, quantity))
    return retail, reported


def view(at: int) -> str:
    return format_instant(at * 10**9)


@pytest.mark.spec("S2.4-1", "S4.3-3")
@settings(max_examples=25)
@given(done=trades, bars=wide(1, 40), before=wide(0, 500), after=wide(1, 500))
def test_bars_partition_the_window_and_add_up_to_it(
    done: list[tuple[int, int, int]], bars: int, before: int, after: int
) -> None:
    retail, reported = traded(done)
    start, end = reported[0][0] - before, reported[-1][0] + after
    user = retail.exchange(firm(retail.simulation))
    answer = user.send(
        "/v1/report/trades/stats",
        {"symbol": WHOLE, "startTime": view(start), "endTime": view(end), "bars": bars},
    )
    stats, parts = answer["stats"], answer["bars"]
    assert (len(parts), len(answer["barStartTime"]), len(answer["barEndTime"])) == (
        bars,
        bars,
        bars,
    )
    assert answer["barStartTime"][0] == view(start)
    assert answer["barEndTime"] == [*answer["barStartTime"][1:], view(end)]
    for name in ("totalTradeCount", "volume", "notional"):
        assert sum(int(part[name]) for part in parts) == int(stats[name])
    assert int(stats["totalTradeCount"]) == len(reported)
    assert int(stats["volume"]) == sum(quantity for _, _, quantity in reported)
    assert [int(stats[name]) for name in ("first", "last")] == [reported[0][1], reported[-1][1]]
    busy = [part for part in parts if part["totalTradeCount"] != "0"]
    assert int(stats["high"]) == max(int(part["high"]) for part in busy)
    assert int(stats["low"]) == min(int(part["low"]) for part in busy)
    assert all(set(part.values()) == {"0"} for part in parts if part["totalTradeCount"] == "0")
    for part, begin, until in zip(parts, range(bars), range(1, bars + 1), strict=True):
        low, high = (
            Fraction(start) + Fraction(edge * (end - start), bars) for edge in (begin, until)
        )
        inside = [cents for at, cents, _ in reported if low <= at < high]
        # edges are whole nanoseconds
        if all(abs(at - edge) > 1 for at, _, _ in reported for edge in (low, high)):
            assert [int(part["first"]), int(part["last"])] == (
                [inside[0], inside[-1]] if inside else [0, 0]
            )


@settings(max_examples=25)
@given(done=trades, fidelity=st.integers(1, 4), before=wide(0, 600, 60, 120))
def test_points_of_a_market_show_the_last_trade_of_each_step_that_has_one(
    done: list[tuple[int, int, int]], fidelity: int, before: int
) -> None:
    retail, reported = traded(done)
    now, start = retail.now // 10**9, reported[0][0] - before
    params = {
        "symbol": WHOLE,
        "fidelity": fidelity,
        "timestamp.startTimestamp": start,
        "timestamp.endTimestamp": now,
    }
    points = retail.gateway.read("/v1/price-history", "history", **params)
    step = fidelity * 60
    expected = []
    for at in range(-(-start // step) * step, now + 1, step):
        existing = [cents for when, cents, _ in reported if at - step < when <= at]
        if existing:
            expected.append(
                {
                    "timestamp": at,
                    "longPrice": existing[-1] / 100,
                    "shortPrice": (100 - existing[-1]) / 100,
                }
            )
    assert points == expected


BUCKETS = {"1S": 1, "5S": 5, "15S": 15, "1M": 60, "5M": 300, "15M": 900, "1H": 3600, "1D": 86_400}


@pytest.fixture(scope="module")
def prices() -> RetailWorld:
    """Bitcoin, and an asset that is silent for hours and ticks only every six seconds."""
    asset = (
        "{id: 'crypto:sparse', price: '10', since: 2026-09-08T00:00:00Z, every: 6s, outages:"
        " [{from: 2026-09-08T12:00:00Z, to: 2026-09-08T15:00:00Z}]}"
    )
    retail_world = RetailWorld(
        UNLIMITED.replace("world: {games: 0}", f"world: {{games: 0, assets: [{asset}]}}")
    )
    retail_world.advance("137s")
    return retail_world


def series(prices: RetailWorld, asset: str, name: str, start: int, end: int) -> dict[str, Any]:
    params = {
        "assets": f"crypto:{asset}",
        "bucket": f"ASSET_PRICE_BUCKET_{name}",
        "from": start,
        "to": end,
    }
    (result,) = prices.gateway.read("/v1/asset-prices/history", "series", **params)
    return dict(result)


@pytest.mark.long
@pytest.mark.spec("S4.1-1", "S4.1-2", "S4.1-3", "S4.1-4", "S2.2-3")
@given(
    asset=st.sampled_from(["btc", "sparse"]),
    name=st.sampled_from(sorted(BUCKETS)),
    back=wide(0, 5000, 3600),
    length=wide(-50, 4000, 0, 3600),
    zero=st.booleans(),
)
def test_candles_are_aligned_clamped_dense_and_carry_the_close_forward(
    prices: RetailWorld, asset: str, name: str, back: int, length: int, zero: bool
) -> None:
    now, width = prices.now // 10**9, BUCKETS[name]
    start = now - back * width - back % 13
    end = 0 if zero else start + length * width + length % 11
    result = series(prices, asset, name, start, end)
    step = 10 if width < 60 else width
    aligned = math.ceil(end / step) * step
    running = end <= 0 or end >= now or aligned > now
    last = (now if running else aligned - 1) // width * width
    first = min(max(start // width * width, last - 3599 * width), last)
    assert (result["from"], result["to"]) == (first, now if running else aligned)
    candles = result["candles"]
    assert len(candles) <= 3600
    times = [candle["timestamp"] for candle in candles]
    if times:  # dense to the end of the window, from its beginning or from the first tick
        assert times == list(range(times[0], last + width, width))
        assert times[0] == first or candles[0]["tickCount"]
    for before, candle in zip([None, *candles], candles, strict=False):
        low, high, opened, close = (
            Fraction(candle[key]) for key in ("low", "high", "open", "close")
        )
        assert 0 < low <= min(opened, close) <= max(opened, close) <= high
        if not candle["tickCount"]:
            assert low == high == opened == close
            assert before is None or close == Fraction(before["close"])
        assert 0 <= candle["tickCount"] <= width


@given(
    asset=st.sampled_from(["btc", "sparse"]),
    name=st.sampled_from(["1S", "5S", "1M", "1H"]),
    cut=wide(1, 119, 60),
)
def test_two_adjacent_windows_hold_what_one_over_both_holds(
    prices: RetailWorld, asset: str, name: str, cut: int
) -> None:
    width = max(BUCKETS[name], 10)
    first = (prices.now // 10**9 - 121 * width) // width * width
    middle, last = first + cut * width, first + 120 * width
    both = series(prices, asset, name, first, last)["candles"]
    assert (
        series(prices, asset, name, first, middle)["candles"]
        + series(prices, asset, name, middle, last)["candles"]
        == both
    )
