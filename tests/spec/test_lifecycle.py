"""The lifecycle of §3.1 as firms live through it: by dates and segments, in auctions, at the edges
of a trade day, and in its settlement.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from sim.core.model.instrument import Instrument
from tests.kit import FEW_GAMES, Desk, begin, streams

SYMBOL = "lived"
DATES = {
    "start": "2026-09-08T15:00:00-04:00",
    "expiration": "2026-09-08T16:30:00-04:00",
    "termination": "2026-09-08T16:45:00-04:00",
}
OPEN_FOR_AN_HOUR = [{"start": "15:00", "length": "1h", "state": "OPEN"}]


def states(desk: Desk) -> streams.Stream:
    """The instrument's state stream, its first message taken."""
    stream = streams.instruments(desk, SYMBOL)
    stream.take()
    return stream


def passed(stream: streams.Stream) -> list[str]:
    """The states that came on it."""
    return [state for _, state in streams.states_on(stream)]


def orders(desk: Desk) -> streams.Stream:
    """The order stream of a participant, its snapshot taken."""
    stream = streams.orders(desk, symbols=[SYMBOL])
    stream.take()
    return stream


# ---- driven by the clock


@pytest.mark.spec("S3.1-1", "S3.1-13")
def test_trading_starts_with_a_notification_and_a_pending_book_never_appears(world: Desk) -> None:
    instrument = world.listed(SYMBOL, **DATES)
    stream, path = states(world), f"/v1/orderbook/{SYMBOL}"
    assert world.partner.get(path).status == 404
    assert world.enter(instrument, "buy", 40).status == 422
    world.advance_to(DATES["start"])
    assert passed(stream) == ["OPEN"]
    assert world.book(SYMBOL)["state"] == "INSTRUMENT_STATE_OPEN"
    assert world.enter(instrument, "buy", 40).status == 200


@pytest.mark.spec("S3.1-2", "S3.1-8", "S3.4-1")
def test_l7_trading_ends_with_its_segment_which_expires_day_orders(world: Desk) -> None:
    """An expired order yields no fill, no ledger entry, no position change."""
    instrument = world.listed(SYMBOL, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    world.place(instrument, "buy", 40, 2, clordId="day", timeInForce="TIME_IN_FORCE_DAY")
    world.place(instrument, "buy", 41, 3, clordId="gtc")
    reports, stream = orders(world), states(world)
    before = world.ledger("positions"), world.ledger("cash"), world.balance()["balance"]
    world.advance_to("2026-09-08T15:59:59-04:00")
    assert world.book(SYMBOL)["state"] == "INSTRUMENT_STATE_OPEN"
    world.advance_to("2026-09-08T16:00:00-04:00")
    assert passed(stream) == ["CLOSED"]
    assert streams.kinds_on(reports) == [("day", "EXPIRED", 0)]
    assert [row["clordId"] for row in world.open_orders()] == ["gtc"]
    after = world.ledger("positions"), world.ledger("cash"), world.balance()["balance"]
    assert after == before


@pytest.mark.spec("S3.1-3", "S3.1-12", "S3.1-13")
def test_expiration_expires_what_rests_and_refuses_entry(world: Desk) -> None:
    instrument = world.listed(SYMBOL, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    world.place(instrument, "buy", 41, 3, clordId="gtc")
    world.advance_to("2026-09-08T16:00:00-04:00")
    reports, stream = orders(world), states(world)
    world.advance_to(DATES["expiration"])
    assert passed(stream) == ["EXPIRED"]
    assert streams.kinds_on(reports) == [("gtc", "EXPIRED", 0)]
    assert world.open_orders() == []
    assert world.enter(instrument, "buy", 40).status == 422
    assert world.book(SYMBOL)["bids"] == []


@pytest.mark.spec("S3.1-4")
def test_termination_removes_the_book_closes_positions_and_keeps_history(world: Desk) -> None:
    instrument = world.listed(SYMBOL, schedule=OPEN_FOR_AN_HOUR, **DATES)
    world.advance_to(DATES["start"])
    world.trade(instrument, 40, 5)

    def held() -> list[str]:
        rows = world.positions(symbol=SYMBOL)
        return [row["netPosition"] for row in rows if row["netPosition"] != "0"]

    assert len(held()) == 1
    stream = states(world)
    world.advance_to(DATES["termination"])
    assert passed(stream) == ["CLOSED", "EXPIRED", "TERMINATED"]
    assert world.partner.get(f"/v1/orderbook/{SYMBOL}").status == 404
    assert world.enter(instrument, "buy", 40).status in (404, 422)
    assert held() == []
    assert len(world.ledger("positions", symbol=SYMBOL)) >= 2
    assert world.search("trades", symbol=SYMBOL)


@pytest.mark.spec("S3.1-13")
def test_a_schedule_moves_an_instrument_day_by_day(world: Desk) -> None:
    segments = [{"start": "15:00", "length": "30m", "state": "PREOPEN"}]
    segments += [{"start": "15:30", "length": "30m", "state": "OPEN"}]
    world.listed(SYMBOL, schedule=segments)
    stream = states(world)
    world.advance("50h")
    assert passed(stream)[:6] == ["PREOPEN", "OPEN", "CLOSED"] * 2


@pytest.mark.parametrize(
    ("at", "date"),
    [
        ("2026-09-08T16:59:59-04:00", (2026, 9, 8)),
        ("2026-09-08T17:00:00-04:00", (2026, 9, 9)),
        ("2026-09-12T18:00:00-04:00", (2026, 9, 13)),  # a Saturday: the day rolls on weekends too
        ("2026-12-08T16:59:59-05:00", (2026, 12, 8)),
        ("2026-12-08T17:00:00-05:00", (2026, 12, 9)),
    ],
)
def test_l11_an_execution_at_or_after_five_eastern_belongs_to_the_next_trade_date(
    at: str, date: tuple[int, int, int]
) -> None:
    world = begin(FEW_GAMES)
    instrument = world.listed(SYMBOL, expiration="2027-01-31T00:00:00-05:00")
    world.advance_to(at)
    world.place(instrument, "buy", 40)
    (row,) = world.search("executions", symbol=SYMBOL)
    assert tuple(row["transactTradeDate"][part] for part in ("year", "month", "day")) == date


# ---- auctions


def collecting(desk: Desk, state: str = "PREOPEN") -> Instrument:
    """An instrument that an operator led from OPEN to a state that collects orders."""
    instrument = desk.listed(SYMBOL)
    desk.move(instrument, *(("CLOSED", state) if state == "PREOPEN" else (state,)))
    return instrument


@pytest.mark.spec("S3.1-5")
def test_orders_of_the_pre_open_trade_at_one_price_that_maximises_volume(world: Desk) -> None:
    instrument = collecting(world)
    for number, (side, cents, contracts) in enumerate(
        [("buy", 60, 10), ("buy", 55, 10), ("sell", 50, 8), ("sell", 54, 8), ("sell", 58, 10)]
    ):
        user = number % 2 if side == "buy" else 2
        world.place(instrument, side, cents, contracts, user=user)
    copy = streams.drop_copy(world, user=2)
    world.move(instrument, "OPEN")
    fills = streams.fills_on(copy)
    # at 54 or 55; no other price trades more
    assert sum(qty for _, qty in fills) == 16 * instrument.qty_scale
    (price,) = {price for price, _ in fills}
    assert price in (54, 55)
    assert world.book(instrument)["stats"]["openPx"] == str(price)


@pytest.mark.spec("S3.1-5", "S3.1-11")
@pytest.mark.parametrize("state", ["CLOSED", "SUSPENDED", "HALTED"])
def test_orders_of_a_pre_open_that_never_opens_do_not_match(world: Desk, state: str) -> None:
    instrument = collecting(world)
    world.place(instrument, "buy", 60, 3)
    world.place(instrument, "sell", 50, 3, user=1)
    copy = streams.drop_copy(world)
    world.move(instrument, state)
    assert streams.fills_on(copy) == []


@pytest.mark.spec("S3.1-6")
@pytest.mark.parametrize(
    "target", ["OPEN", "PREOPEN", "CLOSED", "SUSPENDED", "HALTED", "EXPIRED", "TERMINATED"]
)
def test_a_closing_auction_trades_at_one_price_on_its_way_to_every_state(
    world: Desk, target: str
) -> None:
    instrument = collecting(world, "MATCH_AND_CLOSE_AUCTION")
    copy = streams.drop_copy(world)
    for cents, contracts in ((55, 2), (52, 4)):
        world.place(instrument, "buy", cents, contracts)
    for cents, contracts in ((48, 3), (51, 2), (58, 9)):
        world.place(instrument, "sell", cents, contracts, user=1)
    assert streams.fills_on(copy) == []
    world.move(instrument, target)
    fills = streams.fills_on(copy)
    assert sum(qty for _, qty in fills) == 5 * instrument.qty_scale  # 51 or 52 trade the most
    (price,) = {price for price, _ in fills}
    assert price in (51, 52)


@pytest.mark.parametrize(("choice", "cents"), [("reference", 55), ("lowest", 50), ("highest", 60)])
def test_l17_what_decides_between_equal_auction_prices_is_a_switch(
    world: Desk, choice: str, cents: int
) -> None:
    world.assume("auction.tiebreak", choice)
    instrument = collecting(world)
    world.place(instrument, "buy", 60, 10)
    world.place(instrument, "sell", 50, 10, user=1)
    assert world.book(instrument)["stats"]["indicativeOpenPx"] == str(cents)
    world.move(instrument, "OPEN")
    (trade,) = world.search("trades", symbol=SYMBOL)
    assert trade["aggressor"]["lastPx"] == str(cents)


@pytest.mark.parametrize("end", ["settle", "schedule"])
def test_m42_the_trades_of_an_auction_clear_in_time_whatever_ended_it(
    world: Desk, end: str
) -> None:
    """L16, L25: an operator settles a market, or lets it follow its schedule again."""
    instrument = collecting(world)
    world.place(instrument, "buy", 60, 3)
    world.place(instrument, "sell", 50, 3, user=1)
    if end == "settle":
        world.move(instrument, "MATCH_AND_CLOSE_AUCTION")
        world.settle(instrument, "1")
    else:
        world.move(instrument, "SCHEDULE")
    (trade,) = world.search("trades", symbol=SYMBOL)
    world.advance("29s")
    assert trade["state"] == world.search("trades", symbol=SYMBOL)[0]["state"]
    world.advance("1s")
    (trade,) = world.search("trades", symbol=SYMBOL)
    assert trade["state"] == "TRADE_STATE_CLEARED"


# ---- settlement


@pytest.mark.spec("S6.2-2", "S6.2-4")
def test_l28_settlement_is_told_by_the_position_change_stream_and_never_by_the_instrument_stream(
    world: Desk,
) -> None:
    instrument = world.listed(SYMBOL)
    world.trade(instrument, 40, 10)
    stream, positions = streams.instruments(world, SYMBOL), streams.position_changes(world)
    (before,) = [row for frame in stream.take() for row in frame.instruments]
    positions.take()
    world.settle(instrument)
    (after,) = [row for frame in stream.take() for row in frame.instruments]
    assert after.state == 0  # CLOSED
    assert replace(after, state=before.state, update_time=before.update_time) == before
    changes = [change for frame in positions.take() for change in frame.position_changes]
    assert len(changes) == 2
    for change in changes:
        assert (change.settlement_px, change.resolved) == (100, True)
        assert (change.position.expired, change.position.net_position) == (True, 0)


def test_l27_a_correction_is_read_from_book_and_quote_at_the_instant_it_is_made(
    world: Desk, instrument: Instrument
) -> None:
    for price, displayed in (("1", "100"), ("0.4", "40"), ("0", "0")):
        world.settle(instrument, price)
        for path in ("", "/bbo"):
            answer = world.trader().get(f"/v1/orderbook/{instrument.symbol}{path}").json()
            assert answer["stats"]["settlementPx"] == displayed


# ---- edges that are due while something else moves the instrument


def dated(start: str, expiration: str, more: str = "") -> Desk:
    """A run with one instrument of its own, "x", that expires on a date."""
    dates = f"expiration: {expiration}, termination: 2026-10-09T00:00:00-04:00"
    entry = f"{{symbol: x, tick_size: '0.01', {dates}}}"
    return begin(more=f"clock: {{start: {start}}}\nworld: {{instruments: [{entry}]}}\n{more}")


def test_l8_an_expiration_in_the_instant_in_which_maintenance_suspends_is_not_lost() -> None:
    """W2 comes a minute before 02:00, which is when this one expires."""
    world = dated("2026-07-09T01:50:00-04:00", "2026-07-09T01:59:00-04:00")
    for moment in ("2026-07-09T05:59:00Z", "2026-07-09T10:00:00Z"):
        world.advance_to(moment)
        assert world.trading.state("x").name == "EXPIRED"


def test_l8_a_word_of_an_operator_in_the_instant_of_an_expiration_does_not_undo_it() -> None:
    at = "2026-09-08T15:00:00-04:00"
    step = f"{{at: {at}, state: {{symbol: x, state: SUSPENDED}}, expect: {{refused: maybe}}}}"
    world = dated("2026-09-08T14:00:00-04:00", at, f"steps: [{step}]\n")
    world.advance_to("2026-09-08T19:00:01Z")
    assert world.trading.state("x").name == "EXPIRED"


def test_w7_an_expiration_that_waits_for_maintenance_survives_an_operators_word_meanwhile() -> None:
    world = dated("2026-07-09T01:50:00-04:00", "2026-07-09T03:00:00-04:00")
    world.advance_to("2026-07-09T08:00:00Z")
    assert world.trading.state("x").name == "SUSPENDED"
    world.move("x", "HALTED")
    world.advance_to("2026-07-09T10:00:01Z")
    assert world.trading.state("x").name == "EXPIRED"
