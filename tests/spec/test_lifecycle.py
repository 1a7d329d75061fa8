"""Rules of the lifecycle that are not tested elsewhere: numbers on the wire, the trade day, what
works in every state, names on other surfaces.
"""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.instrument import Instrument
from sim.run.client.client import Connection, connect
from tests.journeys import FEW_GAMES, enter, firm, key, operate, rpc_trader, trader

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


def listed(world: Connection, state: str = "OPEN", **terms: Any) -> Instrument:
    """A new instrument that came to a state by way of OPEN."""
    world.simulation.control(
        "instrument.create",
        "",
        {
            "symbol": "asked",
            "tick_size": "0.01",
            "state": "PENDING" if state == "PENDING" else "OPEN",
            **terms,
        },
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
    return world.simulation.exchange.instruments.require("asked")


def move(world: Connection, state: str) -> None:
    operate(world, "instrument.state", "asked", state=state)


@pytest.mark.spec("S2.5-1")
@pytest.mark.parametrize("state", LIVED)
def test_l1_states_have_their_numbers_on_the_wire_and_none_reads_as_closed(
    world: Connection, state: str
) -> None:
    listed(world, state)
    rpc = world.rpc(firm(world.simulation))
    (found,) = rpc.call(
        "RefDataAPI.ListInstruments", wire.ListInstrumentsRequest(symbols=["asked"])
    ).instruments
    assert found.state == NUMBERS[state]
    assert wire.Instrument().state == wire.InstrumentState.INSTRUMENT_STATE_CLOSED == 0


def test_l7_trading_ends_with_its_segment_or_at_an_operators_word(world: Connection) -> None:
    listed(world, schedule=[{"start": "09:00", "length": "7h"}])
    world.advance_to("2026-09-08T15:59:59-04:00")
    book = "/v1/orderbook/asked"
    assert trader(world).get(book).json()["state"] == "INSTRUMENT_STATE_OPEN"
    world.advance_to("2026-09-08T16:00:00-04:00")
    assert trader(world).get(book).json()["state"] == "INSTRUMENT_STATE_CLOSED"
    world.advance_to("2026-09-09T10:00:00-04:00")
    move(world, "CLOSED")
    assert trader(world).get(book).json()["state"] == "INSTRUMENT_STATE_CLOSED"


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
    world = connect(Simulation(load_scenario(FEW_GAMES)))
    instrument = listed(world, expiration="2027-01-31T00:00:00-05:00")
    world.advance_to(at)
    assert enter(world, instrument, "buy", 40, 1).status == 200
    (row,) = (
        trader(world)
        .post("/v1/report/executions/search", json={"symbol": "asked"})
        .json()["executions"]
    )
    assert tuple(row["transactTradeDate"][part] for part in ("year", "month", "day")) == date


@pytest.mark.parametrize("state", LIVED)
def test_l14_positions_ledgers_balances_reports_and_verification_work_in_every_state(
    world: Connection, state: str
) -> None:
    listed(world, state)
    account = firm(world.simulation).users[0].account
    client = trader(world)
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
        world.exchange(firm(world.simulation)).get(
            "/v1/kyc/status", params={"external_id": "somebody"}
        ),
    ]
    assert [call.status for call in calls] == [200] * len(calls), calls


@pytest.mark.parametrize("state", LIVED[:-1])
def test_l15_retail_names_a_state_alike_also_where_its_enumeration_lacks_the_name(
    world: Connection, state: str
) -> None:
    listed(world, state)
    assert (
        world.retail(key(world.simulation))
        .get("/v1/markets/asked/book")
        .json()["marketData"]["state"]
        == f"MARKET_STATE_{state}"
    )


def test_l15_what_a_closed_market_is_called_is_a_switch(world: Connection) -> None:
    world.simulation.control(
        "assumption.set", "retail.closed_state_name", {"value": "MARKET_STATE_SUSPENDED"}
    )
    listed(world, "CLOSED")
    client = world.retail(key(world.simulation))
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
    world: Connection, choice: str, cents: int
) -> None:
    world.simulation.control("assumption.set", "auction.tiebreak", {"value": choice})
    instrument = listed(world, "PREOPEN")
    enter(world, instrument, "buy", 60, 10)
    enter(world, instrument, "sell", 50, 10, user=1)
    assert trader(world).get("/v1/orderbook/asked").json()["stats"]["indicativeOpenPx"] == str(
        cents
    )
    move(world, "OPEN")
    (trade,) = (
        trader(world).post("/v1/report/trades/search", json={"symbol": "asked"}).json()["trade"]
    )
    assert trade["aggressor"]["lastPx"] == str(cents)


@pytest.mark.spec("S6.2-2", "S6.2-4")
def test_l28_settlement_is_told_by_the_position_change_stream_and_never_by_the_instrument_stream(
    world: Connection,
) -> None:
    instrument = listed(world)
    for user, side in ((0, "buy"), (1, "sell")):
        enter(world, instrument, side, 40, 10, user=user)
    instruments = world.rpc(firm(world.simulation)).stream(
        "DropCopyAPI.CreateInstrumentStateChangeSubscription",
        wire.CreateInstrumentStateChangeSubscriptionRequest(symbols=["asked"]),
    )
    positions = rpc_trader(world).stream(
        "DropCopyAPI.CreatePositionChangeSubscription",
        wire.CreatePositionChangeSubscriptionRequest(symbols=["asked"]),
    )
    (before,) = [found for message in instruments.take() for found in message.instruments]
    positions.take()
    operate(world, "instrument.settle", "asked", price="1")
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
    world = connect(Simulation(load_scenario(text)))
    world.advance_to("2026-07-09T05:59:00Z")
    assert world.simulation.exchange.trading.state("x").name == "EXPIRED"
    world.advance_to("2026-07-09T10:00:00Z")
    assert world.simulation.exchange.trading.state("x").name == "EXPIRED"


def test_l8_a_word_of_an_operator_in_the_instant_of_an_expiration_does_not_undo_it() -> None:
    text = (
        "name: t\nextends: quickstart\nworld:\n  instruments:\n    - {symbol: x, tick_size: '0.01',"
        " expiration: 2026-09-08T15:00:00-04:00}\n"
    )
    text += (
        "steps:\n  - {at: 2026-09-08T15:00:00-04:00, state: {symbol: x, state: SUSPENDED}, expect:"
        " {refused: maybe}}\n"
    )
    world = connect(Simulation(load_scenario(text)))
    world.advance_to("2026-09-08T19:00:01Z")
    assert world.simulation.exchange.trading.state("x").name == "EXPIRED"


def test_w7_an_expiration_that_waits_for_maintenance_survives_an_operators_word_meanwhile() -> None:
    text = (
        "name: t\nextends: quickstart\nclock: {start: 2026-07-09T01:50:00-04:00}\nworld:\n "
        " instruments:\n"
    )
    text += (
        "    - {symbol: x, tick_size: '0.01', expiration: 2026-07-09T03:00:00-04:00, termination:"
        " 2026-08-09T00:00:00-04:00}\n"
    )
    world = connect(Simulation(load_scenario(text)))
    world.advance_to("2026-07-09T08:00:00Z")
    assert world.simulation.exchange.trading.state("x").name == "SUSPENDED"
    operate(world, "instrument.state", "x", state="HALTED")
    world.advance_to("2026-07-09T10:00:01Z")
    assert world.simulation.exchange.trading.state("x").name == "EXPIRED"
