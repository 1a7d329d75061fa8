"""Rules of the lifecycle that are not tested elsewhere: numbers on the wire, the trade day, what
works in every state, names on other surfaces.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from tests.kit import FEW_GAMES, Desk, begin, streams

NUMBERS = {
    "CLOSED": 0,
    "OPEN": 1,
    "PREOPEN": 2,
    "SUSPENDED": 3,
    "EXPIRED": 4,
    "TERMINATED": 5,
    "HALTED": 6,
    "MATCH_AND_CLOSE_AUCTION": 7,
    "PENDING": 8,
}
LIVED = [
    "PREOPEN",
    "OPEN",
    "SUSPENDED",
    "HALTED",
    "MATCH_AND_CLOSE_AUCTION",
    "CLOSED",
    "EXPIRED",
    "TERMINATED",
]


def listed(world: Desk, state: str = "OPEN", **terms: Any) -> Instrument:
    """A new instrument that came to a state by way of OPEN."""
    world.operate(
        "instrument.create",
        symbol="asked",
        tick_size="0.01",
        state="PENDING" if state == "PENDING" else "OPEN",
        **terms,
    )
    for step in (
        ("CLOSED", "EXPIRED", "TERMINATED")[: ("CLOSED", "EXPIRED", "TERMINATED").index(state) + 1]
        if state in LIVED[-3:]
        else (state,)
    ):
        if step not in ("OPEN", "PENDING", "PREOPEN"):
            move(world, step)
    if state == "PREOPEN":
        move(world, "SUSPENDED")
        move(world, "PREOPEN")
    return world.instrument("asked")


def move(world: Desk, state: str) -> None:
    world.move("asked", state)


@pytest.mark.spec("S2.5-1")
@pytest.mark.parametrize("state", LIVED)
def test_l1_states_have_their_numbers_on_the_wire_and_none_reads_as_closed(
    world: Desk, state: str
) -> None:
    listed(world, state)
    rpc = world.rpc_partner
    (found,) = rpc.call(
        "RefDataAPI.ListInstruments", wire.ListInstrumentsRequest(symbols=["asked"])
    ).instruments
    assert found.state == NUMBERS[state]
    assert wire.Instrument().state == wire.InstrumentState.INSTRUMENT_STATE_CLOSED == 0


def test_l7_trading_ends_with_its_segment_or_at_an_operators_word(world: Desk) -> None:
    listed(world, schedule=[{"start": "09:00", "length": "7h"}])
    world.advance_to("2026-09-08T15:59:59-04:00")
    book = "/v1/orderbook/asked"
    assert world.trader().get(book).json()["state"] == "INSTRUMENT_STATE_OPEN"
    world.advance_to("2026-09-08T16:00:00-04:00")
    assert world.trader().get(book).json()["state"] == "INSTRUMENT_STATE_CLOSED"
    world.advance_to("2026-09-09T10:00:00-04:00")
    move(world, "CLOSED")
    assert world.trader().get(book).json()["state"] == "INSTRUMENT_STATE_CLOSED"


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
    instrument = listed(world, expiration="2027-01-31T00:00:00-05:00")
    world.advance_to(at)
    assert world.enter(instrument, "buy", 40, 1).status == 200
    (row,) = world.search("executions", symbol="asked")
    assert tuple(row["transactTradeDate"][part] for part in ("year", "month", "day")) == date


@pytest.mark.parametrize("state", LIVED)
def test_l14_positions_ledgers_balances_reports_and_verification_work_in_every_state(
    world: Desk, state: str
) -> None:
    listed(world, state)
    account = world.account()
    client = world.trader()
    calls = [
        client.get("/v1/positions", params={"name": account, "symbol": "asked"}),
        client.post("/v1/positions/balance", json={"name": account, "currency": "USD"}),
        client.get("/v1/positions/ledger", params={"account": account, "symbol": "asked"}),
        client.post("/v1/report/trades/search", json={"symbol": "asked"}),
        client.post("/v1/report/orders/search", json={"symbol": "asked"}),
        client.post(
            "/v1/report/trades/stats",
            json={
                "symbol": "asked",
                "startTime": "2026-09-08T00:00:00Z",
                "endTime": "2026-09-09T00:00:00Z",
            },
        ),
        world.partner.get("/v1/kyc/status", params={"external_id": "somebody"}),
    ]
    assert [call.status for call in calls] == [200] * len(calls), calls


@pytest.mark.parametrize("state", LIVED[:-1])
def test_l15_retail_names_a_state_alike_also_where_its_enumeration_lacks_the_name(
    world: Desk, state: str
) -> None:
    listed(world, state)
    assert (
        world.customer().get("/v1/markets/asked/book").json()["marketData"]["state"]
        == f"MARKET_STATE_{state}"
    )


def test_l15_what_a_closed_market_is_called_is_a_switch(world: Desk) -> None:
    world.assume("retail.closed_state_name", "MARKET_STATE_SUSPENDED")
    listed(world, "CLOSED")
    client = world.customer()
    assert (
        client.get("/v1/markets/asked/book").json()["marketData"]["state"]
        == "MARKET_STATE_SUSPENDED"
    )
    assert (
        client.get("/v1/markets/asked/bbo").json()["marketData"]["state"]
        == "MARKET_STATE_SUSPENDED"
    )


@pytest.mark.parametrize(("choice", "cents"), [("reference", 55), ("lowest", 50), ("highest", 60)])
def test_l17_what_decides_between_equal_auction_prices_is_a_switch(
    world: Desk, choice: str, cents: int
) -> None:
    world.assume("auction.tiebreak", choice)
    instrument = listed(world, "PREOPEN")
    world.enter(instrument, "buy", 60, 10)
    world.enter(instrument, "sell", 50, 10, user=1)
    assert world.book("asked")["stats"]["indicativeOpenPx"] == str(cents)
    move(world, "OPEN")
    (trade,) = world.search("trades", symbol="asked")
    assert trade["aggressor"]["lastPx"] == str(cents)


@pytest.mark.spec("S6.2-2", "S6.2-4")
def test_l28_settlement_is_told_by_the_position_change_stream_and_never_by_the_instrument_stream(
    world: Desk,
) -> None:
    instrument = listed(world)
    for user, side in ((0, "buy"), (1, "sell")):
        world.enter(instrument, side, 40, 10, user=user)
    instruments = streams.instruments(world, "asked")
    positions = streams.position_changes(world, symbols=["asked"])
    (before,) = [found for message in instruments.take() for found in message.instruments]
    positions.take()
    world.settle("asked", "1")
    (after,) = [found for message in instruments.take() for found in message.instruments]
    assert after.state == NUMBERS["CLOSED"]
    assert replace(after, state=before.state, update_time=before.update_time) == before
    changes = [change for message in positions.take() for change in message.position_changes]
    assert len(changes) == 2
    assert {
        (
            change.settlement_px,
            change.resolved,
            change.position.expired,
            change.position.net_position,
        )
        for change in changes
    } == {(100, True, True, 0)}


# ---- edges that are due while something else moves the instrument


def test_l8_an_expiration_in_the_instant_in_which_maintenance_suspends_is_not_lost() -> None:
    """W2 comes a minute before 02:00, which is when this one expires."""
    text = (
        "name: t\nextends: quickstart\nclock: {start: 2026-07-09T01:50:00-04:00}\nworld:\n "
        " instruments:\n"
    )
    text += (
        "    - {symbol: x, tick_size: '0.01', expiration: 2026-07-09T01:59:00-04:00, termination:"
        " 2026-08-09T00:00:00-04:00}\n"
    )
    world = begin(text)
    world.advance_to("2026-07-09T05:59:00Z")
    assert world.trading.state("x").name == "EXPIRED"
    world.advance_to("2026-07-09T10:00:00Z")
    assert world.trading.state("x").name == "EXPIRED"


def test_l8_a_word_of_an_operator_in_the_instant_of_an_expiration_does_not_undo_it() -> None:
    text = (
        "name: t\nextends: quickstart\nworld:\n  instruments:\n    - {symbol: x, tick_size: '0.01',"
        " expiration: 2026-09-08T15:00:00-04:00}\n"
    )
    text += (
        "steps:\n  - {at: 2026-09-08T15:00:00-04:00, state: {symbol: x, state: SUSPENDED}, expect:"
        " {refused: maybe}}\n"
    )
    world = begin(text)
    world.advance_to("2026-09-08T19:00:01Z")
    assert world.trading.state("x").name == "EXPIRED"


def test_w7_an_expiration_that_waits_for_maintenance_survives_an_operators_word_meanwhile() -> None:
    text = (
        "name: t\nextends: quickstart\nclock: {start: 2026-07-09T01:50:00-04:00}\nworld:\n "
        " instruments:\n"
    )
    text += (
        "    - {symbol: x, tick_size: '0.01', expiration: 2026-07-09T03:00:00-04:00, termination:"
        " 2026-08-09T00:00:00-04:00}\n"
    )
    world = begin(text)
    world.advance_to("2026-07-09T08:00:00Z")
    assert world.trading.state("x").name == "SUSPENDED"
    world.move("x", "HALTED")
    world.advance_to("2026-07-09T10:00:01Z")
    assert world.trading.state("x").name == "EXPIRED"
