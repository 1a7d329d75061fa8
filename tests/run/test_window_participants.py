"""Scripted participants in automated windows: seats that come and go with the windows of the
products that they name.
"""

from __future__ import annotations

import pytest

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.core.model.enums import InstrumentState, Side
from sim.kernel.instants import HOUR, MINUTE, NS_PER_S, parse_instant
from sim.read.headless_run import run_scenario
from sim.run.actors.participants.participants import participants_of
from sim.run.client.client import Connection, connect
from sim.world.format.yaml_tree import ScenarioError
from tests.journeys import firm

WORLD = """
name: quoted-windows
extends: quickstart
world: {games: 0}
participants:
  makers: [{name: clockwork, windows: [btc-updown-15m, eth-*], every: 3s, spread: "0.04", sizes: ["20", "40"]}]
  takers: [{name: crowd, windows: btc-updown-15m, rate: 20/m, size: {low: "1", high: "9"}, slippage: "0.05"}]
"""
FIRST, SECOND = "cpc-btc-updown-15m-2026-09-08-1800z", "cpc-btc-updown-15m-2026-09-08-1815z"
BEGINS = parse_instant("2026-09-08T18:15:00Z")


@pytest.fixture
def world() -> Connection:
    return connect(Simulation(load_scenario(WORLD)))


def quoted(world: Connection, symbol: str) -> tuple[int, int]:
    """Levels of both sides."""
    result = world.gateway.get(f"/v1/markets/{symbol}/book")
    world.advance("60ms")
    return (
        (len(result.json()["marketData"]["bids"]), len(result.json()["marketData"]["offers"]))
        if result.status == 200
        else (0, 0)
    )


def seats(world: Connection) -> list[str]:
    return [seat.symbol for seat, _ in participants_of(world.simulation.engine).rows()]


def test_windows_are_quoted_from_their_listing_to_their_end(world: Connection) -> None:
    assert quoted(world, FIRST) == (2, 2) and quoted(world, SECOND) == (0, 0)
    world.advance_to(BEGINS - 90 * NS_PER_S - 1)
    assert SECOND not in seats(world)
    world.advance("2ms")
    assert quoted(world, SECOND) == (2, 2)
    world.advance_to(BEGINS + MINUTE)
    assert quoted(world, FIRST) == (0, 0) and FIRST not in seats(world)
    trading = world.simulation.exchange.trading
    assert len(trading.trades.of_symbol(FIRST)) > 20
    assert trading.settlements.final(FIRST) and not trading.positions.open_interest.get(FIRST)
    assert quoted(world, "cpc-eth-updown-15m-2026-09-08-1815z") == (2, 2)
    assert quoted(world, "cpc-btc-updown-5m-2026-09-08-1815z") == (0, 0), (
        "nobody named that product"
    )


def test_a_window_is_worth_what_its_index_says(world: Connection) -> None:
    """Half a dollar at the beginning, nearly a dollar far above it, nearly nothing far below;
    quotes lie around it.
    """

    def middle() -> float:
        book = world.simulation.exchange.trading.book(SECOND)
        bids, offers = (book.levels(side, 1) for side in (Side.BUY, Side.SELL))
        scale = book.instrument.price_scale
        return ((bids[0][0] if bids else 0) + (offers[0][0] if offers else scale)) / 2 / scale

    world.simulation.control("price.tick", "crypto:btc", {"price": "64000"})
    world.advance_to(BEGINS - 30 * NS_PER_S)
    assert abs(middle() - 0.5) < 0.03
    world.advance_to(BEGINS + MINUTE)
    for price, low, high in (
        ("64010", 0.45, 0.6),
        ("64900", 0.9, 1.0),
        ("63000", 0.0, 0.1),
        ("64000", 0.45, 0.55),
    ):
        world.simulation.control("price.tick", "crypto:btc", {"price": price})
        world.advance("10s")
        assert low <= middle() <= high, price


def test_it_repeats_and_goes_on_after_a_rewind_a_restored_snapshot_and_in_a_fork(
    world: Connection,
) -> None:
    simulation = world.simulation
    world.advance_to(BEGINS + MINUTE)
    here, digest = simulation.now, simulation.digest
    simulation.snapshot("here")
    world.advance_to(BEGINS + 16 * MINUTE)
    trades, later = len(simulation.exchange.trading.trades), simulation.digest
    fork = None
    simulation.rewind(to=here)
    assert simulation.digest == digest
    fork = connect(simulation.fork())
    world.advance_to(BEGINS + 16 * MINUTE)
    assert (len(simulation.exchange.trading.trades), simulation.digest) == (trades, later)
    fork.advance_to(BEGINS + 16 * MINUTE)
    assert len(fork.simulation.exchange.trading.trades) == trades
    simulation.restore("here")
    world.advance_to(BEGINS + 16 * MINUTE)
    assert len(simulation.exchange.trading.trades) == trades
    again = connect(Simulation(load_scenario(WORLD)))
    again.advance_to(BEGINS + 16 * MINUTE)
    assert len(again.simulation.exchange.trading.trades) == trades


@pytest.mark.spec("S3.1-1")
def test_who_follows_every_instrument_hears_of_a_listing_once(world: Connection) -> None:
    stream = world.rpc(firm(world.simulation)).stream(
        "DropCopyAPI.CreateInstrumentStateChangeSubscription",
        wire.CreateInstrumentStateChangeSubscriptionRequest(),
    )
    stream.take()
    world.advance_to(BEGINS - 60 * NS_PER_S)
    reported = [
        (instrument.symbol, instrument.state)
        for frame in stream.take()
        for instrument in frame.instruments
    ]
    assert reported.count((SECOND, wire.InstrumentState.INSTRUMENT_STATE_OPEN)) == 1
    world.advance_to(BEGINS + 15 * MINUTE + NS_PER_S)
    reported = [
        (instrument.symbol, instrument.state)
        for frame in stream.take()
        for instrument in frame.instruments
    ]
    assert reported.count((SECOND, wire.InstrumentState.INSTRUMENT_STATE_CLOSED)) == 1


def test_nobody_sits_in_maintenance_and_everybody_comes_back(world: Connection) -> None:
    world.simulation.control(
        "maintenance.add", "", {"begins": "+3m", "length": "40m", "lead": "1m"}
    )
    world.advance("10m")
    assert quoted(world, FIRST) == (0, 0)
    world.advance("60m")
    assert any(quoted(world, symbol) == (2, 2) for symbol in seats(world))
    assert len(seats(world)) <= 6, "those of windows that are over are gone"


def test_who_is_told_to_stop_quotes_no_window_until_he_may_go_on(world: Connection) -> None:
    world.simulation.control("participant.switch", "clockwork", {"active": False})
    world.advance_to(BEGINS + MINUTE)
    assert quoted(world, SECOND) == (0, 0)
    world.simulation.control("participant.switch", "clockwork", {"active": True})
    assert quoted(world, SECOND) == (2, 2)


def test_a_scenario_that_names_no_product_has_no_timer_for_windows() -> None:
    simulation = Simulation(load_scenario("living-market"))
    assert not [
        timer
        for timer in simulation.exchange.save().timers[1]
        if timer.kind == "participant.listed"
    ]


@pytest.mark.parametrize(
    "days", [pytest.param(2, marks=pytest.mark.long), pytest.param(8, marks=pytest.mark.soak)]
)
def test_the_endless_market_trades_every_hour_but_those_of_maintenance(days: int) -> None:
    simulation = Simulation(load_scenario("endless-market"))
    begin = simulation.now
    simulation.advance_to(begin + days * 24 * HOUR)
    trading = simulation.exchange.trading
    for symbol in ("endless-race", "endless-btc"):
        hours = {(each.at - begin) // HOUR for each in trading.trades if each.symbol == symbol}
        assert len(hours) >= 24 * days - 4 * (days // 2), symbol
        assert trading.state(symbol) is InstrumentState.OPEN
        assert all(trading.book(symbol).levels(side, 1) for side in (Side.BUY, Side.SELL))


@pytest.mark.parametrize(
    ("maker", "text"),
    [
        ("{name: m, windows: btc-updown-7m}", "unknown product 'btc-updown-7m'"),
        ("{name: m}", "'m' has nothing to trade: add `symbols` or `windows`"),
    ],
)
def test_what_cannot_be_traded_is_found_before_the_run(maker: str, text: str) -> None:
    with pytest.raises(ScenarioError, match=text):
        load_scenario(f"name: wrong\nextends: quickstart\nparticipants: {{makers: [{maker}]}}\n")


def test_invariants_hold_while_windows_are_traded() -> None:
    scenario = load_scenario(
        WORLD
        + f"steps: [{{at: +17m, expect: {{instrument: {{symbol: {FIRST}, state: CLOSED}}}}}}]\n"
    )
    assert run_scenario(scenario).ok
