"""Rewinds with snapshots on the way: wherever one goes, in whatever order, everything is as it was
there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.core.model.enums import TradeState
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import connect
from sim.run.engine import snapshots
from tests.deeds import do
from tests.journeys import FEW_GAMES, enter, key, quiet, retail_order, trader

VIEWS = ("accounts", "orders", "books", "instruments", "limits", "faults", "verifications")


def noticed(sim: Simulation) -> tuple[Any, ...]:
    """Everything a journey has to restore."""
    trading = sim.exchange.trading
    rows = tuple(
        (
            account.name,
            tuple(trading.ledger.entries(account.name)),
            tuple(trading.positions.rows(account.name)),
        )
        for account in trading.ledger
    )
    trades = tuple((trade.id, trade.state, trade.state_at) for trade in trading.trades)
    result = tuple(tuple(trading.executions.of_account(name)) for name, _, _ in rows)
    return (
        sim.seq,
        sim.now,
        sim.digest,
        [read_view(sim.engine, view) for view in VIEWS],
        rows,
        trades,
        len(trading.executions),
        result,
        sim.requests(),
    )


@settings(max_examples=4)
@given(
    numbers=st.lists(st.integers(0, 300), min_size=4, max_size=12),
    order_of_visits=st.randoms(use_true_random=False),
)
@pytest.mark.long
def test_every_place_of_a_run_can_be_visited_in_any_order(
    numbers: list[int], order_of_visits: Any
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "KEPT", 4)
        patch.setattr(snapshots, "FIRST_DISTANCE", 2)
        sim = Simulation(load_scenario(FEW_GAMES))
        world = connect(sim)
        places = [noticed(sim)]
        for number in numbers:
            do(world, number)
            places.append(noticed(sim))
        ends = list(places)
        sim.snapshot("end")
        while ends:
            index = order_of_visits.randrange(len(ends))
            sim.rewind(seq=ends[index][0])
            assert noticed(sim) == ends[index]
            ends = ends[:index]
        sim.restore("end")  # from another branch, forward
        assert noticed(sim) == places[-1]
        sim.rewind(seq=places[len(places) // 2][0])
        assert noticed(sim) == places[len(places) // 2]


def test_trades_that_cleared_since_are_new_again_and_busted_ones_were_never_busted() -> None:
    sim = Simulation(load_scenario(FEW_GAMES))
    world = connect(sim)
    instrument = quiet(sim)
    enter(world, instrument, "buy", 60, 3)
    world.retail(key(sim)).post("/v1/orders", json=retail_order(instrument, "BUY_SHORT", 60, 3))
    sim.snapshot("traded")
    before = noticed(sim)
    (trade,) = sim.exchange.trading.trades
    assert trade.state is TradeState.NEW
    world.advance("1h")
    assert next(iter(sim.exchange.trading.trades)).state is TradeState.CLEARED
    fork = sim.fork()
    sim.restore("traded")
    assert noticed(sim) == before
    assert next(iter(fork.exchange.trading.trades)).state is TradeState.CLEARED
    sim.exchange.trading.listings.bust(trade.id)
    assert next(iter(fork.exchange.trading.trades)).state is TradeState.CLEARED
    sim.restore("traded")
    assert noticed(sim) == before


def test_snapshots_share_what_never_changes() -> None:
    """What a snapshot costs grows with what is open, not with what has happened."""
    sim = Simulation(load_scenario(FEW_GAMES))
    world = connect(sim)
    instrument = quiet(sim)
    sizes = []
    for _ in range(3):
        sim.snapshot("here")
        sizes.append(len(sim.engine.snapshots.named["here"].state))
        for _ in range(20):
            enter(world, instrument, "buy", 60, 3)
            world.retail(key(sim)).post(
                "/v1/orders", json=retail_order(instrument, "BUY_SHORT", 60, 3)
            )
            world.advance("2s")
    assert sizes[2] - sizes[1] < 2_000
    assert sizes[2] - sizes[1] <= sizes[1] - sizes[0]


def test_the_command_line_opens_a_recorded_run_at_any_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, digests = tmp_path / "run.ndjson", {}
    with path.open("w+b", buffering=0) as file:
        sim = Simulation(load_scenario(FEW_GAMES), journal=file)
        world = connect(sim)
        for number in (0, 4, 6, 2):
            do(world, number)
            digests[sim.seq] = sim.digest
    for seq, digest in digests.items():
        assert main(["replay", str(path), "--seq", str(seq)]) == 0
        assert digest in capsys.readouterr().out
    assert main(["replay", str(path), "--seq", "99"]) == 2
    assert "inputs 0.." in capsys.readouterr().err


def test_an_instant_behind_a_branching_is_gone_back_to_with_all_that_had_happened() -> None:
    world = connect(Simulation(load_scenario("quickstart")))
    sim, instrument = world.simulation, quiet(world.simulation)
    world.advance("10m")
    branching = sim.seq
    world.advance("10m")
    sim.rewind(seq=branching)
    world.advance("5m")
    placed = enter(world, instrument, "buy", 40, 5)
    assert placed.status == 200
    there = (sim.now, sim.seq, sim.digest)
    world.advance("5m")
    sim.rewind(to=there[0])
    assert (sim.now, sim.seq, sim.digest) == there
    assert len(trader(world).get(f"/v1/orderbook/{instrument.symbol}").json()["bids"]) == 1
