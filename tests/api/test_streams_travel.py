"""Streams and time travel: a journey ends them all, what their timers were set for does no harm,
and a journal with streams replays exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from sim import Simulation, load_scenario
from sim.contract.messages import exchange_v1 as wire
from sim.read.replay import replay_file
from sim.run.client.client import RpcError, Stream
from tests.kit import Desk
from tests.kit.streams import (
    BIDIRECTIONAL,
    MARKETS,
    books,
    drop_copy,
    orders,
    position_changes,
    socket,
    subscribe,
    talk,
    trades,
)


def busy(world: Desk) -> None:
    """Streams of several kinds, used."""
    instrument = world.quiet()
    copy, talker, market = (
        drop_copy(world),
        world.rpc_trader().stream(BIDIRECTIONAL),
        socket(world, MARKETS),
    )
    orders(world), books(world)
    talk(talker, subscribe=wire.SubscribeCommand(symbols=[instrument.symbol]))
    subscribe(market, "a", "MARKET_DATA", [instrument.symbol], responsesDebounced=True)
    world.trade(instrument)
    world.advance("90s")
    orders(world)
    drop_copy(world, resume_token=copy.frames[-1].resume_token)
    market.close()
    world.advance("1h")


def test_a_journal_with_streams_replays_to_the_same_digest(tmp_path: Path) -> None:
    path = tmp_path / "run.ndjson"
    with path.open("w+b", buffering=0) as file:
        simulation = Simulation(load_scenario("quickstart"), journal=file)
        busy(Desk(simulation))
    assert replay_file(path).simulation.digest == simulation.digest


def test_rewinding_into_the_life_of_streams_ends_them_and_leaves_no_ghosts(world: Desk) -> None:
    stream = orders(world, user=2)
    world.advance("10s")
    seq = world.simulation.seq
    busy(world)
    _, effects = world.simulation.rewind(seq=seq)
    world.deliver(effects)
    assert stream.end is not None
    assert stream.end[0] == 14
    assert world.simulation.streams() == []
    world.forget_tokens()
    later = orders(world)
    later.take()
    world.advance("30s")
    assert len(later.take()) == 1
    world.advance("2h")
    assert later.end is None


def test_a_snapshot_taken_while_streams_ticked_can_be_restored(world: Desk) -> None:
    books(world), socket(world, MARKETS), world.rpc_trader().stream(BIDIRECTIONAL)
    world.simulation.snapshot("here")
    world.advance("5m")
    world.deliver(world.simulation.restore("here"))
    world.forget_tokens()
    fresh = books(world)
    fresh.take()
    world.advance("30s")
    assert [frame.heartbeat is not None for frame in fresh.take()] == [True]


@pytest.mark.parametrize("resumed", [drop_copy, trades, position_changes])
def test_a_token_from_a_future_that_was_rewound_starts_nothing(
    world: Desk, resumed: Callable[..., Stream]
) -> None:
    instrument = world.quiet()
    stream = resumed(world)
    world.trade(instrument)
    before = stream.take()[-1]
    seq = world.simulation.seq
    world.trade(instrument)
    after = stream.take()[-1]
    world.simulation.rewind(seq=seq)
    world.forget_tokens()
    with pytest.raises(RpcError) as refused:
        resumed(world, resume_token=after.resume_token)
    assert refused.value.code == 3
    assert resumed(world, resume_token=before.resume_token).take() == []


@pytest.mark.parametrize("resumed", [drop_copy, trades, position_changes])
def test_a_token_resumes_in_a_fork_too(world: Desk, resumed: Callable[..., Stream]) -> None:
    instrument = world.quiet()
    stream = resumed(world)
    world.trade(instrument)
    (*_, last) = stream.take()
    world.trade(instrument)
    missed = rows(stream)
    world.simulation = world.simulation.fork()
    assert rows(resumed(world, resume_token=last.resume_token)) == missed != []


def rows(stream: Stream) -> list[object]:
    """What the frames of a stream report."""
    names = ("executions", "trade_capture_reports", "position_changes")
    return [row for frame in stream.take() for name in names for row in getattr(frame, name, ())]
