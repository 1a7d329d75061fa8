"""Weekly schedules over changes of daylight saving and ends of weeks, and what a position was at
the last trade day, as clients see them.
"""

from __future__ import annotations

from typing import Any

import pytest

from sim.kernel.instants import format_instant, parse_instant
from tests.kit import FEW_GAMES, Desk, begin, streams

SYMBOL = "weekly"


YEARS = {"start": "2026-01-01T00:00:00Z", "expiration": "2027-12-30T00:00:00Z"}


def scheduled(start: str, *segments: dict[str, Any]) -> Desk:
    """The quickstart with one instrument that follows these segments all year."""
    world = begin(FEW_GAMES, start=start)
    world.listed(SYMBOL, schedule=list(segments), **YEARS)
    return world


def bid(world: Desk, cents: int = 40, contracts: int = 1, **fields: object) -> str:
    """The id of a bid."""
    return world.place(world.instrument(SYMBOL), "buy", cents, contracts, **fields)


def state(world: Desk, order_id: str, user: int = 0) -> str:
    return str(world.reported(order_id, user)["state"]).removeprefix("ORDER_STATE_")


def view(world: Desk) -> str:
    """The state that the book shows."""
    return str(world.book(SYMBOL)["state"]).removeprefix("INSTRUMENT_STATE_")


@pytest.mark.spec("S3.1-13")
@pytest.mark.parametrize(
    ("start", "edges"),
    [
        ("2026-03-07T15:00:00Z", "07T22 08T13 08T21 09T13 09T21"),
        ("2026-10-31T15:00:00Z", "31T21 01T14 01T22 02T14 02T22"),
    ],
    ids=["spring", "autumn"],
)
@pytest.mark.long
def test_l3_a_segment_opens_and_closes_by_eastern_wall_clocks_on_the_days_they_change(
    start: str, edges: str
) -> None:
    """From nine to five, Saturday to Monday."""
    world = scheduled(
        start, {"days": ["saturday", "sunday", "monday"], "start": "09:00", "length": "8h"}
    )
    changes = streams.instruments(world)
    changes.take()
    month = start[:8] if start < "2026-10" else "2026-11-"
    instants = [
        f"{start[:8] if day == '31' else month}{day}T{hour}:00:00Z"
        for day, hour in (edge.split("T") for edge in edges.split())
    ]
    moves = []
    for edge in instants:
        for at in (parse_instant(edge) - 1, parse_instant(edge)):
            world.advance_to(at)
            states = [state for symbol, state in streams.states_on(changes) if symbol == SYMBOL]
            moves += [(format_instant(at), state) for state in states]
    assert moves == [(edge, ("CLOSED", "OPEN")[number % 2]) for number, edge in enumerate(instants)]


@pytest.mark.spec("S3.1-13")
def test_l5_the_schedule_is_right_in_the_hour_that_autumn_repeats() -> None:
    world = scheduled(
        "2026-11-01T04:00:00Z", {"days": ["sunday"], "start": "01:30", "length": "10h"}
    )

    for at, result in (
        ("05:29:59", "CLOSED"),
        ("05:30:00", "OPEN"),
        ("06:10:00", "OPEN"),
        ("06:40:00", "OPEN"),
        ("16:29:59", "OPEN"),
        ("16:30:00", "CLOSED"),
    ):
        world.advance_to(f"2026-11-01T{at}Z")
        if "06" in at:
            world.move(SYMBOL, "SUSPENDED", "SCHEDULE")
        assert view(world) == result, at


@pytest.mark.spec("S3.1-13")
def test_l3_a_segment_in_the_hour_that_spring_leaves_out_begins_when_the_clocks_go_forward() -> (
    None
):
    world = scheduled(
        "2026-03-08T06:00:00Z", {"days": ["sunday"], "start": "02:15", "length": "6h"}
    )
    for at, result in (
        ("06:59:59", "CLOSED"),
        ("07:00:00", "OPEN"),
        ("12:14:59", "OPEN"),
        ("12:15:00", "CLOSED"),
    ):
        world.advance_to(f"2026-03-08T{at}Z")
        assert view(world) == result, at


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
    world.move(SYMBOL, "SUSPENDED", "SCHEDULE")
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
    instrument = world.listed(SYMBOL)
    changes = streams.position_changes(world)
    world.trade(instrument, 40, 5)

    def position() -> tuple[str, str, str]:
        (row,) = world.positions(symbol=SYMBOL)
        return row["netPosition"], row["bodPosition"], row["updateTime"]

    assert position() == ("5", "0", "2026-09-08T18:00:00Z")
    world.advance_to("2026-09-09T10:00:00-04:00")
    assert position() == ("5", "5", "2026-09-08T18:00:00Z")
    changes.take()
    world.settle(SYMBOL, "1")
    assert position() == ("0", "5", "2026-09-09T14:00:00Z")
    (change,) = [
        row.position
        for frame in changes.take()
        for row in frame.position_changes
        if row.position.account == world.account()
    ]
    (row,) = world.ledger("positions", symbol=SYMBOL, startTime="2026-09-09T00:00:00Z")
    at = "2026-09-09T14:00:00Z"
    assert (change.net_position, change.bod_position) == (0, 5)
    assert (format_instant(change.update_time), row["updateTime"]) == (at, at)
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
    ending = {"timeInForce": "TIME_IN_FORCE_GOOD_TILL_TIME", "goodTillTime": "2026-10-06T15:00:00Z"}
    ids = [bid(world, 50, 5, **ending)]
    ids.append(world.place(world.instrument(SYMBOL), "sell", 50, 5, user=1))
    if known_first == "order":
        world.move(SYMBOL, "SUSPENDED", "SCHEDULE")
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
    world.move(SYMBOL, "SUSPENDED", "SCHEDULE")  # so that the opening is known last
    ids = [bid(world, 50, 5, timeInForce="TIME_IN_FORCE_DAY"), bid(world, 50, 5)]
    world.advance_to("2026-09-08T20:59:58Z")
    world.assume("engine.latency", "2s")
    at_once = {"timeInForce": "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"}
    late = world.place(world.instrument(SYMBOL), "sell", 50, 5, **at_once)
    world.advance_to("2026-09-08T21:00:00Z")
    assert [state(world, order_id) for order_id in (*ids, late)] == ["EXPIRED", "FILLED", "FILLED"]


@pytest.mark.spec("S6.2-4", "S3.1-13")
def test_l6_what_moves_at_one_instant_moves_by_symbol() -> None:
    """Whatever was listed, held or released first; a step of a script at that instant finds it
    done.
    """
    world = begin(FEW_GAMES, start="2026-10-06T14:00:00Z")
    for name in ("zz-last", "aa-first", "mm-middle"):
        world.listed(name, schedule=list(OPENING), **YEARS)
    world.move("aa-first", "SUSPENDED", "SCHEDULE")
    changes = streams.instruments(world)
    changes.take()
    world.advance_to("2026-10-06T15:00:00Z")
    opened = [symbol for symbol, state in streams.states_on(changes) if state == "OPEN"]
    moved = [symbol for symbol in opened if symbol in ("zz-last", "aa-first", "mm-middle")]
    assert moved == ["aa-first", "mm-middle", "zz-last"]


@pytest.mark.spec("S4.4-5")
def test_l3_a_segment_hides_a_book_in_which_nobody_has_had_an_order() -> None:
    """The stream of books says so from the beginning of the segment, as the read of the book does."""
    world = scheduled(
        "2026-10-06T14:00:00Z",
        {"start": "09:00", "length": "2h"},
        {"start": "11:00", "length": "2h", "hide_market_data": True},
    )
    books = streams.books(world, SYMBOL)
    world.advance_to("2026-10-06T15:00:00Z")
    world.move(SYMBOL, "SUSPENDED", "SCHEDULE")
    hidden = [frame.update.book_hidden for frame in books.take() if frame.update]
    again = streams.books(world, SYMBOL).take()[0].update
    assert (hidden[0], hidden[-1], again.book_hidden) == (False, True, True)


@pytest.mark.spec("S4.4-5")
def test_l27_a_corrected_price_of_a_book_in_which_nobody_has_had_an_order_is_sent() -> None:
    """The book before the correction is not sent again."""
    world = scheduled("2026-10-06T14:00:00Z", {"start": "09:00", "length": "2h"})
    books = streams.books(world, SYMBOL)
    world.move(SYMBOL, "CLOSED", "EXPIRED")
    for price in ("1", "0"):
        world.operate("instrument.settle", SYMBOL, price=price)
        world.advance("1s")
    prices = [frame.update.stats.settlement_px for frame in books.take() if frame.update]
    assert prices[-1] == 0
