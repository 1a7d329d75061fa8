"""Weekly schedules over changes of daylight saving and ends of weeks, and what a position was at
the last trade day, as clients see them.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.kernel.instants import format_instant, parse_instant
from tests.kit import FEW_GAMES, Desk, begin, streams

SYMBOL = "weekly"


def scheduled(start: str, *segments: dict[str, Any]) -> Desk:
    """The quickstart with one instrument that follows these segments all year."""
    world = begin(FEW_GAMES, start=start)
    terms = {
        "symbol": SYMBOL,
        "tick_size": "0.01",
        "start": "2026-01-01T00:00:00Z",
        "expiration": "2027-12-30T00:00:00Z",
        "schedule": list(segments),
    }
    world.operate("instrument.create", **terms)
    return world


def bid(world: Desk) -> str:
    body = {
        "type": "ORDER_TYPE_LIMIT",
        "side": "SIDE_BUY",
        "symbol": SYMBOL,
        "price": "40",
        "orderQty": "1",
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }
    order_id: str = world.trader().post("/v1/trading/orders", json=body).json()["orderId"]
    return order_id


def state(world: Desk, order_id: str, user: int = 0) -> str:
    found: str = world.reported(order_id, user)["state"]
    return found.removeprefix("ORDER_STATE_")


@pytest.mark.spec("S3.1-13")
@pytest.mark.parametrize(
    ("start", "edges"),
    [
        (
            "2026-03-07T15:00:00Z",
            [
                "2026-03-07T22:00:00Z",
                "2026-03-08T13:00:00Z",
                "2026-03-08T21:00:00Z",
                "2026-03-09T13:00:00Z",
                "2026-03-09T21:00:00Z",
            ],
        ),
        (
            "2026-10-31T15:00:00Z",
            [
                "2026-10-31T21:00:00Z",
                "2026-11-01T14:00:00Z",
                "2026-11-01T22:00:00Z",
                "2026-11-02T14:00:00Z",
                "2026-11-02T22:00:00Z",
            ],
        ),
    ],
    ids=["spring", "autumn"],
)
@pytest.mark.long
def test_l3_a_segment_opens_and_closes_by_eastern_wall_clocks_on_the_days_they_change(
    start: str, edges: list[str]
) -> None:
    """From nine to five, Saturday to Monday."""
    world = scheduled(
        start, {"days": ["saturday", "sunday", "monday"], "start": "09:00", "length": "8h"}
    )
    changes = streams.instruments(world)
    changes.take()
    seen = []
    for edge in edges:
        for at in (parse_instant(edge) - 1, parse_instant(edge)):
            world.advance_to(at)
            states = [
                row.state
                for frame in changes.take()
                for row in frame.instruments
                if row.symbol == SYMBOL
            ]
            seen += [(format_instant(at), int(found)) for found in states]
    assert seen == [(edge, number % 2) for number, edge in enumerate(edges)]


@pytest.mark.spec("S3.1-13")
def test_l5_the_schedule_is_right_in_the_hour_that_autumn_repeats() -> None:
    world = scheduled(
        "2026-11-01T04:00:00Z", {"days": ["sunday"], "start": "01:30", "length": "10h"}
    )

    def move(to: str) -> None:
        world.move(SYMBOL, to)

    def book() -> Any:
        return world.book(SYMBOL)["state"]

    for at, found in (
        ("05:29:59", "CLOSED"),
        ("05:30:00", "OPEN"),
        ("06:10:00", "OPEN"),
        ("06:40:00", "OPEN"),
        ("16:29:59", "OPEN"),
        ("16:30:00", "CLOSED"),
    ):
        world.advance_to(f"2026-11-01T{at}Z")
        if "06" in at:
            move("SUSPENDED")
            move("SCHEDULE")
        assert book() == f"INSTRUMENT_STATE_{found}", at


@pytest.mark.spec("S3.1-13")
def test_l3_a_segment_in_the_hour_that_spring_leaves_out_begins_when_the_clocks_go_forward() -> (
    None
):
    world = scheduled(
        "2026-03-08T06:00:00Z", {"days": ["sunday"], "start": "02:15", "length": "6h"}
    )
    book = lambda: world.book(SYMBOL)["state"]  # noqa: E731
    for at, found in (
        ("06:59:59", "CLOSED"),
        ("07:00:00", "OPEN"),
        ("12:14:59", "OPEN"),
        ("12:15:00", "CLOSED"),
    ):
        world.advance_to(f"2026-03-08T{at}Z")
        assert book() == f"INSTRUMENT_STATE_{found}", at


def test_l3_a_segment_expires_all_orders_as_it_begins_and_at_no_other_instant() -> None:
    """Not when a week begins under it, not when the schedule is followed again in its middle, not
    when one that lay over it ends.
    """
    world = scheduled(
        "2026-10-03T16:00:00Z",
        {"days": ["saturday"], "start": "22:00", "length": "60h", "expire_all_orders": "true"},
        {"days": ["saturday"], "start": "09:00", "length": "13h"},
        {"days": ["monday"], "start": "03:00", "length": "1h", "state": "SUSPENDED"},
    )
    early = bid(world)
    world.advance_to("2026-10-03T21:59:59.999999999-04:00")
    assert state(world, early) == "NEW"
    world.advance_to("2026-10-03T22:00:00-04:00")
    assert state(world, early) == "EXPIRED"
    late = bid(world)
    world.move(SYMBOL, "SUSPENDED")
    world.move(SYMBOL, "SCHEDULE")
    assert state(world, late) == "NEW"
    world.advance_to("2026-10-05T01:00:00-04:00")
    assert state(world, late) == "NEW"
    world.advance_to("2026-10-05T05:00:00-04:00")
    assert state(world, late) == "NEW"


def test_l3_a_segment_as_long_as_a_week_expires_orders_each_week() -> None:
    world = scheduled(
        "2026-10-03T16:00:00Z",
        {"days": ["monday"], "start": "00:00", "length": "7d", "expire_all_orders": "true"},
    )
    order_id = bid(world)
    world.advance_to("2026-10-04T23:59:59-04:00")
    assert state(world, order_id) == "NEW"
    world.advance_to("2026-10-05T00:00:00-04:00")
    assert state(world, order_id) == "EXPIRED"


@pytest.mark.spec("S4.3-17", "S6.2-2")
def test_p10_settlement_moves_a_position_at_its_instant_and_leaves_what_the_day_began_with() -> (
    None
):
    """P22: positions, their ledger and their stream name one instant."""
    world = begin(FEW_GAMES)
    world.operate("instrument.create", symbol=SYMBOL, tick_size="0.01", state="OPEN")
    changes = streams.position_changes(world)
    for user, side in ((1, "SELL"), (0, "BUY")):
        body = {
            "type": "ORDER_TYPE_LIMIT",
            "side": f"SIDE_{side}",
            "symbol": SYMBOL,
            "price": "40",
            "orderQty": "5",
        }
        assert world.trader(user).post("/v1/trading/orders", json=body).status == 200
    account = world.account()

    def position() -> tuple[str, str, str]:
        rows = (
            world.trader()
            .get("/v1/positions", params={"name": account, "symbol": SYMBOL})
            .json()["positions"]
        )
        return rows[0]["netPosition"], rows[0]["bodPosition"], rows[0]["updateTime"]

    assert position() == ("5", "0", "2026-09-08T18:00:00Z")
    world.advance_to("2026-09-09T10:00:00-04:00")
    assert position() == ("5", "5", "2026-09-08T18:00:00Z")
    changes.take()
    world.settle(SYMBOL, "1")
    assert position() == ("0", "5", "2026-09-09T14:00:00Z")
    (told,) = [
        row.position
        for frame in changes.take()
        for row in frame.position_changes
        if row.position.account == account
    ]
    (row,) = (
        world.trader()
        .get(
            "/v1/positions/ledger",
            params={"account": account, "symbol": SYMBOL, "startTime": "2026-09-09T00:00:00Z"},
        )
        .json()["entries"]
    )
    assert (
        told.net_position,
        told.bod_position,
        format_instant(told.update_time),
        row["updateTime"],
    ) == (0, 5, *["2026-09-09T14:00:00Z"] * 2)
    world.advance_to("2026-09-09T17:00:00-04:00")
    assert position() == ("0", "0", "2026-09-09T14:00:00Z")


OPENING = (
    {"start": "09:00", "length": "2h", "state": "PREOPEN"},
    {"start": "11:00", "length": "2h"},
)


@pytest.mark.spec("S3.1-5", "S3.4-1")
@pytest.mark.parametrize("known_first", ["opening", "order"])
def test_l23_an_order_good_till_the_opening_does_not_trade_in_it(known_first: str) -> None:
    """L16: whether the opening or the order's end was known first makes no difference."""
    world = scheduled("2026-10-06T14:00:00Z", *OPENING)
    body = {"type": "ORDER_TYPE_LIMIT", "symbol": SYMBOL, "price": "50", "orderQty": "5"}
    ending = {
        **body,
        "side": "SIDE_BUY",
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME",
        "goodTillTime": "2026-10-06T15:00:00Z",
    }
    ids = [
        world.trader(user).post("/v1/trading/orders", json=sent).json()["orderId"]
        for user, sent in enumerate((ending, {**body, "side": "SIDE_SELL"}))
    ]
    if known_first == "order":
        for to in ("SUSPENDED", "SCHEDULE"):
            world.move(SYMBOL, to)
    world.advance_to(parse_instant("2026-10-06T15:00:00Z") - 1)
    assert [state(world, order_id, user) for user, order_id in enumerate(ids)] == ["NEW", "NEW"]
    world.advance_to("2026-10-06T15:00:00Z")
    assert [state(world, order_id, user) for user, order_id in enumerate(ids)] == ["EXPIRED", "NEW"]


@pytest.mark.spec("S3.1-13")
def test_l12_a_trade_day_ends_before_what_begins_at_its_end() -> None:
    """DAY orders expire at the roll, also those of an auction that ends at 17:00; an order that
    reaches the engine then finds the market open.
    """
    world = scheduled(
        "2026-09-08T19:00:00Z",
        {"start": "15:00", "length": "2h", "state": "PREOPEN"},
        {"start": "17:00", "length": "2h"},
    )
    for to in ("SUSPENDED", "SCHEDULE"):  # so that the opening is known last
        world.move(SYMBOL, to)
    body = {"type": "ORDER_TYPE_LIMIT", "symbol": SYMBOL, "price": "50", "orderQty": "5"}
    bids = [
        {**body, "side": "SIDE_BUY", "timeInForce": f"TIME_IN_FORCE_{tif}"}
        for tif in ("DAY", "GOOD_TILL_CANCEL")
    ]
    ids = [world.trader().post("/v1/trading/orders", json=sent).json()["orderId"] for sent in bids]
    world.advance_to("2026-09-08T20:59:58Z")
    world.assume("engine.latency", "2s")
    late = (
        world.trader()
        .post(
            "/v1/trading/orders",
            json={**body, "side": "SIDE_SELL", "timeInForce": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"},
        )
        .json()["orderId"]
    )
    world.advance_to("2026-09-08T21:00:00Z")
    assert [state(world, order_id) for order_id in (*ids, late)] == ["EXPIRED", "FILLED", "FILLED"]


@pytest.mark.spec("S6.2-4", "S3.1-13")
def test_l6_what_moves_at_one_instant_moves_by_symbol() -> None:
    """Whatever was listed, held or released first; a step of a script at that instant finds it
    done.
    """
    world = begin(FEW_GAMES, start="2026-10-06T14:00:00Z")
    for name in ("zz-last", "aa-first", "mm-middle"):
        terms = {
            "symbol": name,
            "tick_size": "0.01",
            "start": "2026-01-01T00:00:00Z",
            "expiration": "2027-12-30T00:00:00Z",
            "schedule": list(OPENING),
        }
        world.operate("instrument.create", **terms)
    for to in ("SUSPENDED", "SCHEDULE"):
        world.move("aa-first", to)
    changes = streams.instruments(world)
    changes.take()
    world.advance_to("2026-10-06T15:00:00Z")
    moved = [
        row.symbol
        for frame in changes.take()
        for row in frame.instruments
        if row.symbol in ("zz-last", "aa-first", "mm-middle") and row.state == 1
    ]
    assert moved == ["aa-first", "mm-middle", "zz-last"]
