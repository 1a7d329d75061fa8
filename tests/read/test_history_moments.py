"""Looking back: the state at any moment of any branch is what it was there, whatever the run did
since, and looking leaves the run alone.
"""

from __future__ import annotations

import io
import random
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import json

from sim import Simulation, load_scenario
from sim.core.model.refusals import Refusal
from sim.kernel.instants import format_instant, minutes
from sim.kernel.journal_reader import read_journal
from sim.kernel.work import done
from sim.read.history import moments
from sim.read.history.history import History
from sim.read.replay import replay_file, simulation_of, verify
from sim.run.actors.operator.views import VIEWS
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import Connection, connect
from sim.run.engine import snapshots
from tests.deeds import do
from tests.journeys import FEW_GAMES, enter, journalled, key, quiet, rpc_trader
from tests.kit import begin

State = dict[str, bytes]
STREAMS = (
    "DropCopyAPI.CreateDropCopySubscription",
    "OrderEntryAPI.CreateOrderSubscription",
    "MarketDataSubscriptionAPI.CreateMarketDataSubscription",
    "PositionAPI.CreatePositionSubscription",
    "DropCopyAPI.CreatePositionChangeSubscription",
    "DropCopyAPI.CreateInstrumentStateChangeSubscription",
    "FundingAPI.CreateBalanceLedgerSubscription",
    "FundingAPI.CreateFundingTransactionSubscription",
    "RFQAPI.StreamRFQEvents",
)


def noticed(sim: Simulation) -> State:
    """Every view of the present, as `GET /state/{view}` answers."""
    return {name: json.encode(read_view(sim.engine, name)) for name in VIEWS}


class Traveller:
    """Does things to a run, and travels in it."""

    def __init__(self, sim: Simulation) -> None:
        self.world = connect(sim)
        self.sim = sim

    def act(self, number: int) -> None:
        if number % 5 == 0:
            self._follow(number // 5)
        elif number % 11 == 1:
            self._travel(number // 11)
        else:
            do(self.world, number)

    def _follow(self, number: int) -> None:
        try:
            if number % 7 == 0:
                socket = self.world.web_socket(key(self.sim), "/v1/ws/markets")
                asked: dict[str, Any] = {"requestId": "r", "subscriptionType": 1 + number % 3}
                asked["marketSlugs"] = [quiet(self.sim).symbol]
                socket.send(json.encode({"subscribe": asked}))
            else:
                rpc_trader(self.world).stream(STREAMS[number % len(STREAMS)])
        except Exception:
            self.world.forget_tokens()

    def _travel(self, number: int) -> None:
        sim = self.sim
        match number % 4:
            case 0:
                sim.rewind(seq=number % (sim.seq + 1))
            case 1:
                sim.snapshot(f"s{number // 4 % 2}")
            case 2:
                with suppress(Refusal):
                    sim.restore(f"s{number // 4 % 2}")
            case 3:
                sim.reset(None if number % 8 == 3 else 1 + number % 3)


class Recorder(Traveller):
    """Records what a run was like after each thing that was done to it."""

    def __init__(self, sim: Simulation) -> None:
        super().__init__(sim)
        self.states: dict[tuple[str, int], State] = {}
        self.digests: dict[tuple[str, int], str] = {}
        self.note()

    def note(self) -> None:
        """Record the present, unless a journey has just led here."""
        branch = self.sim.journal.branch
        if branch.seq > branch.from_seq or not branch.seq:
            self.states[branch.name, self.sim.seq] = noticed(self.sim)
            self.digests[branch.name, self.sim.seq] = self.sim.digest

    def act(self, number: int) -> None:
        super().act(number)
        self.note()


@pytest.mark.long
@settings(max_examples=5)
@given(
    numbers=st.lists(st.integers(0, 400), min_size=6, max_size=30),
    visits=st.randoms(use_true_random=False),
)
def test_every_moment_is_what_it_was_whatever_the_run_did_since(
    numbers: list[int], visits: random.Random
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(snapshots, "KEPT", 4)
        patch.setattr(snapshots, "FIRST_DISTANCE", 3)
        patch.setattr(moments, "_GRAIN", 2)
        patch.setattr(moments, "_STRETCH", 9)
        file = io.BytesIO()
        run = Recorder(Simulation(load_scenario(FEW_GAMES), journal=file))
        history = History(run.sim)
        for number in numbers:
            run.act(number)
        before = (run.sim.digest, run.sim.seq, noticed(run.sim), file.getvalue())
        places = sorted(run.states)
        for branch, seq in visits.choices(places, k=min(12, len(places))):
            was = run.states[branch, seq]
            for view in visits.sample(sorted(VIEWS), 4):
                assert json.encode(done(history.state(seq, view, branch))) == was[view], view
            if seq:
                assert done(history.record(seq, branch))["digest"] == run.digests[branch, seq]
        assert (run.sim.digest, run.sim.seq, noticed(run.sim), file.getvalue()) == before
        branch, seq = visits.choice(places)
        fork, journal = forked(run.sim, history, branch, seq)
        assert (fork.digest, fork.seq) == (run.digests[branch, seq], seq)
        do(connect(fork), 2)
        check_replay(fork, journal)


def forked(sim: Simulation, history: History, branch: str, seq: int) -> tuple[Simulation, Any]:
    """A fork of a moment of the past, and the file of its journal."""
    file = io.BytesIO()
    past, on = done(history.moment(seq, branch))
    return past.fork_past(on, file, sim.settings), file


def check_replay(sim: Simulation, file: io.BytesIO) -> None:
    """A journal replays by itself to where its run is, with the same branches."""
    header, lines = read_journal(io.BytesIO(file.getvalue()))
    again = simulation_of(header)
    verify(again, lines)
    assert again.digest == sim.digest
    assert History(again).branches() == History(sim).branches()


def test_a_fork_of_the_past_has_the_travels_that_led_there_in_its_journal() -> None:
    world = begin()
    sim = world.simulation
    for stream in STREAMS[:3]:
        rpc_trader(world).stream(stream)
        _orders(world, 2)
        world.advance("40s")
    sim.rewind(seq=sim.seq - 1)
    rpc_trader(world).stream(STREAMS[0])
    _orders(world, 2)
    world.advance("40s")
    sim.reset(3)
    history = History(sim)
    for branch, seq in (("branch-1", 12), ("branch-1", sim.journal.branches["branch-1"].seq)):
        fork, file = forked(sim, history, branch, seq)
        assert fork.digest == done(history.record(seq, branch))["digest"]
        connect(fork).gateway.get("/v1/health")
        check_replay(fork, file)
        fork.rewind(seq=seq - 1)  # across its beginning
        assert fork.digest == done(history.record(seq - 1, branch))["digest"]


def test_books_that_nothing_happens_to_are_the_same_in_hindsight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are sent again each minute, with the instant of their last change."""
    monkeypatch.setattr(snapshots, "FIRST_DISTANCE", 3)
    world = begin()
    sim = world.simulation
    stream = rpc_trader(world).stream("MarketDataSubscriptionAPI.CreateMarketDataSubscription")
    socket = world.web_socket(key(sim), "/v1/ws/markets")
    asked = {"requestId": "r", "subscriptionType": 1, "marketSlugs": [quiet(sim).symbol]}
    socket.send(json.encode({"subscribe": asked}))
    sent = {}
    while (due := sim.next_due()) is not None and due < sim.start + minutes(6):
        stream.take()
        world.advance_to(due)
        updates = [frame.update for frame in stream.take() if frame.update is not None]
        sent[sim.seq] = Counter(format_instant(update.transact_time) for update in updates)
    history = History(sim)
    for seq, instants in sent.items():
        updates = [frame["body"].get("update") for frame in done(history.record(seq))["frames"]]
        assert instants == Counter(update["transactTime"] for update in updates if update)


def test_a_book_that_nobody_followed_when_it_changed_is_the_new_one_in_hindsight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A book that was sent before is not taken for the one that a look back finds."""
    monkeypatch.setattr(moments, "_GRAIN", 2)
    world = begin()
    sim, instrument = world.simulation, world.quiet()
    socket = world.web_socket(key(sim), "/v1/ws/markets")
    follower = world.web_socket(key(sim), "/v1/ws/markets")  # of trades, which there are none of
    trades = {"requestId": "t", "subscriptionType": 3, "marketSlugs": [instrument.symbol]}
    follower.send(json.encode({"subscribe": trades}))
    sent: dict[int, list[object]] = {}
    for price in (30, 31, 32):
        for type in (1, 2):
            asked = {"requestId": f"{price} {type}", "subscriptionType": type}
            socket.send(json.encode({"subscribe": asked | {"marketSlugs": [instrument.symbol]}}))
            sent[sim.seq] = socket.take()
            socket.send(json.encode({"unsubscribe": {"requestId": f"{price} {type}"}}))
            socket.take()
        world.advance("1s")
        enter(world, instrument, "buy", price, 1)
        for _ in range(7):
            world.gateway.get("/v1/health")
    history = History(sim)
    for seq, frames in reversed(sent.items()):  # each from a snapshot shortly before it
        assert len(frames) == 1
        assert [frame["body"] for frame in done(history.record(seq))["frames"]] == frames


def test_what_is_kept_where_one_looks_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "_GRAIN", 2)
    monkeypatch.setattr(moments, "BYTES_MAX", 2_000_000)
    world = begin()
    sim, instrument = world.simulation, world.quiet()
    for number in range(60):
        enter(world, instrument, "buy" if number % 2 else "sell", 50, 1)
    history = History(sim)
    for seq in range(sim.seq, 0, -3):
        done(history.state(seq, "books"))
    kept: Any = history._moments
    assert 2 <= len(kept._kept) < 30
    assert kept.kept_bytes <= 2_000_000


def test_after_a_look_moments_nearby_have_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "_FINE_GRAIN", 5)
    monkeypatch.setattr(moments, "_AROUND", 20)
    monkeypatch.setattr(moments, "_LOAD_INPUTS", 5)
    world, handled = begin(), list[int]()
    sim = world.simulation
    for _ in range(60):
        world.gateway.get("/v1/health")
    history = History(sim)
    done(history.state(40, "books"))
    done(history.around(40))
    handle = moments.Moments._handle
    monkeypatch.setattr(
        moments.Moments, "_handle", lambda *of: handled.append(of[-1]) or handle(*of)
    )
    for seq in (23, 58, 41, 40, 39, 31):
        done(history.state(seq, "books"))
        assert len(handled) <= 10, (seq, handled)
        handled.clear()
    done(history.around(40))
    assert not handled  # they are all there


def test_a_moment_that_comes_out_differently_is_an_error_and_not_an_answer() -> None:
    world = begin()
    sim = world.simulation
    world.gateway.get("/v1/health")
    history = History(sim)
    assert done(history.state(1, "accounts"))
    replica: Any = history._moments._replica
    replica.engine.journal._chain.update(b"x")
    world.gateway.get("/v1/health")
    with pytest.raises(moments.MomentMismatch, match="input 2 of main had a different outcome"):
        done(history.state(2, "accounts"))
    assert done(history.state(2, "accounts"))  # from a snapshot, not from there


@pytest.mark.long
def test_a_replay_of_a_journal_leads_to_the_same_tree(tmp_path: Any) -> None:
    path = tmp_path / "run.ndjson"
    with journalled(path, FEW_GAMES) as world:
        run = Recorder(world.simulation)
        for number in (0, 5, 2, 12, 7, 23, 3, 34, 8, 89, 2, 56, 4, 67, 2, 78, 3, 1, 2):
            run.act(number)
        tree = History(run.sim).branches()
        assert {branch["begun"] for branch in tree} == {"start", "rewind", "restore", "reset"}
        again = History(replay_file(path).simulation)
        assert again.branches() == tree
        for name in (branch["name"] for branch in tree):
            assert done(again.record(1, name)) == done(History(run.sim).record(1, name))


def _orders(world: Connection, count: int) -> None:
    for number in range(count):
        enter(world, quiet(world.simulation), "buy" if number % 2 else "sell", 50, 1)


def test_a_rewind_over_an_open_stream_leads_to_the_digest_that_was_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Frames are part of what an input did, and a snapshot on the way knows the streams."""
    monkeypatch.setattr(snapshots, "FIRST_DISTANCE", 4)
    world = begin()
    sim = world.simulation
    rpc_trader(world).stream(STREAMS[0])
    digests = {}
    for _ in range(8):
        _orders(world, 1)
        world.advance("30s")
        digests[sim.seq] = sim.digest
    for seq in sorted(digests, reverse=True):
        sim.rewind(seq=seq)
        assert sim.digest == digests[seq]
        assert sim.streams() == []
