"""Forks: the same inputs lead a fork and its origin to the same digest, and inputs of one do not
change the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim import Simulation, load_scenario
from sim.api.pipeline.settings import Settings
from sim.core.model.refusals import Refusal
from sim.read.headless_run import run_scenario
from sim.read.replay import replay_file
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import connect
from sim.search.fuzz import with_random_steps
from tests.deeds import do, inputs_since
from tests.journeys import FEW_GAMES, firm, quiet, rpc_trader
from tests.kit import streams

FILES = sorted(path.stem for path in (Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


@pytest.mark.long
@settings(max_examples=14)
@given(
    before=st.lists(st.integers(0, 300), max_size=8),
    after=st.lists(st.integers(0, 300), min_size=1, max_size=8),
)
def test_a_fork_given_the_same_inputs_has_the_same_lines_and_digest(
    before: list[int], after: list[int]
) -> None:
    origin = Simulation(load_scenario(FEW_GAMES))
    world = connect(origin)
    for number in before:
        do(world, number)
    fork = origin.fork()
    at, digest = origin.seq, origin.digest
    assert (fork.seq, fork.digest, fork.now) == (at, digest, origin.now)
    for number in after:
        do(world, number)
    for given_again in inputs_since(origin, at):
        fork.handle(given_again)
    assert list(fork.journal.lines(0)) == list(origin.journal.lines(0))
    assert fork.digest == origin.digest
    for view in (
        "accounts",
        "orders",
        "books",
        "instruments",
        "limits",
        "timers",
        "faults",
        "verifications",
    ):
        assert read_view(fork.engine, view) == read_view(origin.engine, view)
    assert fork.requests() == origin.requests()
    fork.rewind(seq=at)  # to before it was a fork
    assert fork.digest == digest


@settings(max_examples=5)
@given(numbers=st.lists(st.integers(0, 300), min_size=1, max_size=8))
def test_what_happens_in_a_fork_leaves_its_origin_alone(numbers: list[int]) -> None:
    origin = Simulation(load_scenario(FEW_GAMES))
    do(connect(origin), 0)
    untouched = Simulation(load_scenario(FEW_GAMES))
    do(connect(untouched), 0)
    fork = connect(origin.fork())
    for number in numbers:
        do(fork, number)
    fork.simulation.reset()
    world, other = connect(origin), connect(untouched)
    for number in (8, 8 + 15, 4, 0, 2 * 15 + 6):
        do(world, number)
        do(other, number)
    assert origin.digest == untouched.digest


@pytest.mark.parametrize("name", FILES)
def test_a_bundled_scenario_goes_on_in_a_fork_as_it_would_have(name: str) -> None:
    origin = Simulation(load_scenario(name))
    world = connect(origin)
    forks: list[tuple[int, Simulation]] = []
    while True:
        enough = origin.script.done and (len(forks) >= 3 or origin.seq > 1000)
        if enough or (due := origin.next_due()) is None:
            break
        if not origin.streams() and (len(forks) < 3 or origin.seq > forks[-1][0] * 5 // 4):
            forks.append((origin.seq, origin.fork()))
        world.absorb(origin.advance_to(due))
    assert forks
    for at, fork in far_apart(forks, origin.seq // 3):
        for given_again in inputs_since(origin, at):
            fork.handle(given_again)
        assert fork.digest == origin.digest
        assert fork.script.results == origin.script.results


def test_orders_that_expire_have_the_same_timers_where_a_step_waits_for_a_recurring_market() -> (
    None
):
    """Reports contain the number of an order's timer. A script follows recurring markets from the
    start, and continues to in a fork, after a reset and after a restored snapshot.
    """
    scenario = with_random_steps(load_scenario("automated-window"), 408, 100)

    def run_on(run: Simulation) -> str:
        assert run_scenario(scenario, simulation=run, check_invariants=False)
        return run.digest

    item = Simulation(scenario)
    item.snapshot("start")
    fork = item.fork()
    digest = run_on(item)
    assert b"expiry_timer" in b"".join(item.journal.lines())
    assert run_on(fork) == digest
    item.restore("start")
    assert run_on(item) == digest
    item.reset()
    assert run_on(item) == digest


def far_apart(
    forks: list[tuple[int, Simulation]], distance: int
) -> Iterator[tuple[int, Simulation]]:
    """Yield the last fork, and earlier ones at least a distance of inputs apart."""
    behind = None
    for at, fork in reversed(forks):
        if behind is None or behind - at >= distance:
            yield at, fork
            behind = at


def test_a_fork_begins_without_the_streams_of_its_origin_and_agrees_again_once_they_are_gone() -> (
    None
):
    origin = Simulation(load_scenario(FEW_GAMES))
    world = connect(origin)
    stream = rpc_trader(world).stream("DropCopyAPI.CreateDropCopySubscription")
    fork = origin.fork()
    assert len(origin.streams()) == 1
    assert fork.streams() == []
    at = origin.seq
    stream.close()
    world.advance("5m")
    for given_again in inputs_since(origin, at):
        fork.handle(given_again)
    assert fork.digest == origin.digest


def test_the_journal_of_a_fork_replays_although_streams_of_its_origin_were_open(
    tmp_path: Path,
) -> None:
    origin = Simulation(load_scenario(FEW_GAMES))
    world = connect(origin)
    rpc_trader(world).stream("DropCopyAPI.CreateDropCopySubscription")
    world.advance("70s")
    with (tmp_path / "fork").open("w+b", buffering=0) as file:
        fork = origin.fork(journal=file)
        connect(fork).advance("1h")
        assert replay_file(tmp_path / "fork").simulation.digest == fork.digest


def test_a_fork_with_a_file_replays_alone_and_one_without_reads_its_origins(tmp_path: Path) -> None:
    origin = Simulation(
        load_scenario(FEW_GAMES), journal=(tmp_path / "origin").open("w+b", buffering=0)
    )
    world = connect(origin)
    for number in (0, 1, 6, 4):
        do(world, number)
    origin.rewind(seq=3)
    world.forget_tokens()
    do(world, 2)
    with (tmp_path / "fork").open("w+b", buffering=0) as file:
        fork = origin.fork(journal=file)
        grandchild = fork.fork()
        for sim in (fork, grandchild, origin):
            do(connect(sim), 8)
            do(connect(sim), 21)
        assert fork.digest == grandchild.digest == origin.digest
        assert (
            list(fork.journal.lines(0))
            == list(grandchild.journal.lines(0))
            == list(origin.journal.lines(0))
        )
        grandchild.rewind(seq=1)
        fork.rewind(seq=fork.seq)
    for name in ("origin", "fork"):
        assert replay_file(tmp_path / name).simulation.digest == origin.digest


def test_snapshots_taken_before_a_fork_can_be_restored_in_it() -> None:
    origin = Simulation(load_scenario(FEW_GAMES))
    world = connect(origin)
    origin.snapshot("empty")
    digest = origin.digest
    do(world, 0)
    origin.rewind(seq=0)
    do(world, 4)
    fork = origin.fork()
    fork.snapshot("later")
    origin.restore("empty")
    fork.restore("empty")
    assert fork.digest == origin.digest == digest
    fork.restore("later")
    with pytest.raises(Refusal, match="no snapshot is called 'later'"):
        origin.restore("later")


def test_an_instrument_made_by_hand_is_gone_after_a_rewind_and_the_next_one_is_numbered_as_if_it_had_never_been() -> (
    None
):
    def market(sim: Simulation, name: str) -> object:
        sim.control("instrument.create", "", {"symbol": name, "tick_size": "0.01", "state": "OPEN"})
        return connect(sim).gateway.get(f"/v1/market/slug/{name}").json()["market"]

    sim = Simulation(load_scenario(FEW_GAMES))
    market(sim, "first")
    sim.rewind(seq=0)
    assert connect(sim).gateway.get("/v1/market/slug/first").status == 404
    again = Simulation(load_scenario(FEW_GAMES))
    connect(again).gateway.get("/v1/market/slug/first")
    assert market(sim, "second") == market(again, "second")
    assert sim.digest == again.digest


def test_tokens_hold_in_a_fork_and_a_fork_keeps_what_its_journal_says_of_settings() -> None:
    origin = Simulation(load_scenario(FEW_GAMES))
    headers = connect(origin).bearer(firm(origin))
    fork = origin.fork(settings=Settings(token_url="http://127.0.0.1:1/oauth/token"))
    for sim in (origin, fork):
        reply = sim.rest("exchange", "GET", "/v1/whoami", "", headers, b"").reply
        assert reply is not None and reply.status == 200
    with pytest.raises(ValueError, match="journal's header"):
        origin.fork(settings=Settings(max_body=10))


@pytest.mark.spec("S6.2-3")
def test_a_stream_of_the_origin_is_taken_up_in_the_fork_by_its_resume_token() -> None:
    """A fork begins without streams. A client that subscribes there with the last resume token of
    the origin misses no message and gets none twice.
    """
    world = connect(Simulation(load_scenario(FEW_GAMES)))
    instrument = quiet(world.simulation)
    heard = streams.drop_copy(world)
    streams.trade(world, instrument, 40)
    reported = [execution.id for frame in heard.take() for execution in frame.executions]
    streams.trade(world, instrument, 41)
    frames = heard.take()
    later = [execution.id for frame in frames for execution in frame.executions]
    fork = connect(world.simulation.fork())
    fork._tokens |= world._tokens  # tokens are valid in both
    again = streams.drop_copy(fork, resume_token=frames[0].resume_token)
    missed = [execution.id for frame in frames[1:] for execution in frame.executions]
    streams.trade(fork, instrument, 42)
    ids = [execution.id for frame in again.take() for execution in frame.executions]
    assert reported and ids[: len(missed)] == missed
    new = ids[len(missed) :]
    assert len(new) == len(later) and not set(new) & {*reported, *later}
