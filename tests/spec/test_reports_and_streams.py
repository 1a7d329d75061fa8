"""Rules of retention and of streams that are not tested elsewhere, each with its switch."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from sim.kernel.instants import DAY, HOUR, eastern, format_instant
from tests.kit import FEW_GAMES, Desk, begin, streams


def begun(at: str, **assumptions: str) -> Desk:
    """The quickstart from an instant on, with assumptions changed."""
    world = begin(FEW_GAMES, start=at)
    for name, value in assumptions.items():
        world.assume(name.replace("__", "."), value)
    return world


@pytest.mark.spec("S8-7")
@pytest.mark.parametrize(("choice", "left"), [("none", 1), ("announced", 0)])
def test_r10_announced_wipes_of_executions_happen_when_asked_for(choice: str, left: int) -> None:
    world = begun("2026-08-26T12:00:00-04:00", retention__wipe_dates=choice)
    instrument = world.quiet()
    world.trade(instrument)

    def orders() -> int:
        rows = world.search("executions", symbol=instrument.symbol)
        return len({row["order"]["id"] for row in rows})

    assert orders() == 1
    world.advance_to("2026-08-27T06:00:00-04:00")
    assert orders() == left


@pytest.mark.spec("S8-7")
@pytest.mark.parametrize(("choice", "count"), [("trades", "1"), ("market_data", "0")])
def test_r10_trade_statistics_outlive_market_data_unless_they_count_as_such(
    choice: str, count: str
) -> None:
    world = begun("2026-09-08T14:00:00-04:00", retention__trade_stats=choice)
    instrument = world.quiet()
    world.trade(instrument)
    asked = {
        "symbol": instrument.symbol,
        "startTime": "2026-09-08T00:00:00Z",
        "endTime": "2026-09-09T00:00:00Z",
    }

    def stats() -> Any:
        answer = world.trader().post("/v1/report/trades/stats", json=asked).json()
        return answer["stats"]["totalTradeCount"]

    world.advance_to("2026-10-22T06:00:00-04:00")
    assert stats() == "1"
    world.advance_to("2026-10-29T06:00:00-04:00")  # 45 days before this window is September 14
    assert stats() == count


@pytest.mark.spec("S8-7")
@pytest.mark.parametrize("week", ["2026-11-05", "2027-03-11"])
def test_r10_what_is_gone_stays_gone_in_the_hours_around_a_window_after_clocks_change(
    week: str,
) -> None:
    """A week with a change of daylight saving is an hour longer or shorter than seven days."""
    window = eastern(date.fromisoformat(week), 2)
    world = begun(format_instant(window - 20 * DAY))
    instrument = world.quiet()
    world.trade(instrument)
    displayed = []
    for hour in (-30, -2, -1, 0, 5, 6, 7):
        world.advance_to(window + hour * HOUR)
        answer = world.trader().post(
            "/v1/report/executions/search", json={"symbol": instrument.symbol}
        )
        displayed.append(
            len(answer.json()["executions"]) if answer.status == 200 else answer.status
        )
    assert displayed == [0, 0, 0, 503, 0, 0, 0]


def test_r14_retail_positions_come_at_once_where_paging_is_not_enabled(world: Desk) -> None:
    mine, created = world.customer(), 0
    for instrument in world.in_state():
        world.enter(instrument, "sell", 97, 1)
        placed = world.retail_enter(instrument, "BUY_LONG", 98, 1)
        created += placed.status == 200
        if created == 3:
            break
    paged = mine.get("/v1/portfolio/positions", params={"limit": "2"}).json()
    assert (len(paged["positions"]), paged["eof"]) == (2, False)
    world.assume("retail.positions_paging", "false")
    total = mine.get("/v1/portfolio/positions", params={"limit": "2"}).json()
    assert (len(total["positions"]), total["eof"], total["nextCursor"]) == (3, True, "")


def test_m39_a_dropped_stream_cancels_nothing(world: Desk) -> None:
    instrument = world.quiet()
    stream = streams.orders(world)
    placed = world.place(instrument, "buy", 40)
    stream.close()
    world.advance("10m")
    assert placed in [row["id"] for row in world.open_orders()]


def test_s14_a_stream_outlives_the_token_it_was_opened_with(world: Desk) -> None:
    instrument = world.quiet()
    stream = streams.orders(world, symbols=[instrument.symbol])
    stream.take()
    world.advance("181s")  # a token lives 180
    world.forget_tokens()
    world.enter(instrument, "buy", 40, 1)
    assert [row.order.symbol for row in streams.executions_on(stream)] == [instrument.symbol]
    assert stream.end is None


@pytest.mark.spec("S6.2-2")
@pytest.mark.parametrize(("snapshot", "expected"), [("false", []), ("true", [1000])])
def test_s2_whether_a_position_change_stream_begins_with_what_is_held_is_a_switch(
    world: Desk, snapshot: str, expected: list[int]
) -> None:
    world.assume("stream.position_change_snapshot", snapshot)
    instrument = world.quiet()
    world.trade(instrument, contracts=1000 // instrument.qty_scale)
    stream = streams.position_changes(world, symbols=[instrument.symbol])

    def held() -> list[int]:
        rows = [change.position for frame in stream.take() for change in frame.position_changes]
        return [row.net_position for row in rows if row.account == world.account()]

    assert held() == expected
    world.trade(instrument, contracts=1000 // instrument.qty_scale)
    assert held() == [2000]


@pytest.mark.parametrize(("choice", "code"), [("unavailable", 14), ("ok", 0)])
def test_w5_how_streams_end_at_maintenance_is_a_switch(world: Desk, choice: str, code: int) -> None:
    world.assume("maintenance.stream_end", choice)
    stream = streams.orders(world)
    world.advance_to("2026-09-10T02:00:00-04:00")
    assert stream.end is not None and stream.end[0] == code


def test_e2_every_answer_carries_a_trace_id_of_its_own_and_an_order_keeps_it(world: Desk) -> None:
    instrument = world.quiet()
    placed = world.enter(instrument, "buy", 40, 1)
    others = [
        world.trader().get("/v1/nowhere"),
        world.trader().get("/v1/whoami"),
        world.gateway.get("/v1/markets"),
        world.customer().get("/"),
    ]
    ids = [answer.reply.request_id for answer in (placed, *others)]
    assert len(set(ids)) == 5
    (row,) = world.search("executions", symbol=instrument.symbol)
    assert row["traceId"] == ids[0]


def test_r2_a_limit_per_minute_is_a_bucket_or_a_sliding_window() -> None:
    """The bucket of twelve gains one in five seconds; the window stays full until its first call is
    a minute old.
    """
    world = begin()
    instrument = world.quiet()

    def search() -> int:
        asked = {"symbol": instrument.symbol}
        return world.trader().post("/v1/report/orders/search", json=asked).status

    assert [search() for _ in range(13)] == [200] * 12 + [429]
    world.advance("6s")
    assert search() == 200
    world.advance("2m")
    world.assume("limits.per_minute", "sliding")
    assert [search() for _ in range(13)] == [200] * 12 + [429]
    world.advance("59s")
    assert search() == 429
    world.advance("1s")
    assert search() == 200


def test_r5_the_text_of_an_endpoint_limit_is_a_switch() -> None:
    world = begin()
    world.assume("limits.endpoint_text", "{method} ({rung}): wait {wait}")
    search: Any = lambda: world.trader().post("/v1/report/orders/search", json={"symbol": "x"})  # noqa: E731
    assert [search() for _ in range(13)][-1].json()["message"] == "SearchOrders (endpoint): wait 5s"


@pytest.mark.parametrize(("required", "status"), [("false", 200), ("true", 403)])
def test_whether_users_are_listed_without_a_participant_is_a_switch(
    world: Desk, required: str, status: int
) -> None:
    world.assume("users.require_participant", required)
    assert world.partner.get("/v1/users").status == status
    assert world.trader().get("/v1/users").status == 200
