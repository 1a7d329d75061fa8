"""`--fuzz`: random steps and faults behind a scenario, under which the invariants hold; what breaks
them is shrunk to a file.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sim import Simulation, load_scenario
from sim.core.model.enums import InstrumentState
from sim.read.export.yaml_writer import as_yaml
from sim.read.headless_run import run_scenario
from sim.run.client.client import Connection, RpcError, Stream
from sim.search.fuzz import with_random_steps
from sim.search.shrink import rerun
from sim.testing import connect
from sim.world.format.scenario import Scenario
from tests.journeys import firm
from tests.kit import streams

REFUSED = """
name: refused
extends: quickstart
world: {instruments: [{symbol: r, tick_size: "0.01", state: OPEN}]}
steps:
  - {name: illegal, state: {symbol: r, state: TERMINATED}, expect: {refused: true}}
  - {name: legal, state: {symbol: r, state: CLOSED}, expect: {refused: maybe}}
  - {name: wrong, state: {symbol: r, state: OPEN}, expect: {refused: true}}
  # with a moment of its own, so that `check` does not know in which state it meets the instrument
  - {name: unsaid, at: 2026-09-08T14:00:01-04:00, state: {symbol: r, state: TERMINATED}}
"""


def ran(scenario: Scenario, seed: int) -> Simulation:
    """A run of a scenario that holds."""
    simulation = Simulation(scenario, seed=seed)
    assert run_scenario(scenario, simulation=simulation, check_invariants=False).ok
    return simulation


def served_operations(simulation: Simulation) -> set[str]:
    """The operations that answered without an error, as rpcs."""
    rows = simulation.requests()
    return {row["operation"].rpartition(".")[2] for row in rows if not row["code"]}


@pytest.mark.long
def test_every_fuzzed_run_leaves_the_invariants_whole_and_its_journal_replays(sim):
    code, out, _ = sim("sweep quickstart --seeds 1..4 --fuzz 100 --jobs 1 --verify")
    assert code == 0
    assert "4 runs, 4 passed, 0 failed" in out
    scenario = with_random_steps(load_scenario("quickstart"), 5, 120)
    simulation = Simulation(scenario, seed=5)
    report = run_scenario(scenario, simulation=simulation)
    assert report.ok and len(report.results) == 120
    assert len(simulation.exchange.trading.trades) > 5
    assert {entry["plane"] for entry in simulation.requests()} >= {"exchange", "retail", "grpc"}


@pytest.mark.long
def test_random_steps_open_streams_grpc_and_verifications():
    drawn: set[str] = set()
    for seed in range(1, 15):
        scenario = with_random_steps(load_scenario("quickstart"), seed, 160)
        drawn |= {
            kind
            for step in scenario.steps
            for kind in ("subscribe", "send", "disconnect", "kyc")
            if getattr(step, kind)
        }
        drawn |= served_operations(ran(scenario, seed))
    assert drawn >= {
        "subscribe", "send", "disconnect", "kyc", "InsertOrder", "StartKYCVerification", "SetWebhookURL", "StartKYCPrefill",
        "CreateOrderSubscription", "CreateMarketDataSubscription", "BiDirectionalStreamMarketData", "CreateDropCopySubscription",
        "CreatePositionSubscription", "CreateBalanceLedgerSubscription", "MarketsStream", "PrivateStream",
    }  # fmt: skip


def test_random_steps_make_deals_past_the_book_and_every_such_run_repeats_and_replays(sim):
    """Crosses, orders of partners and their money, combos, requests for quotes to their trade; each
    run made twice and its journal replayed.
    """
    done: set[str] = set()
    for seed in (2, 3, 6):
        simulation = ran(with_random_steps(load_scenario("quickstart"), seed, 150), seed)
        done |= served_operations(simulation)
        done |= {trade.type.name for trade in simulation.exchange.trading.trades}
        done |= {
            "combo settled"
            for combo in simulation.exchange.combos.all()
            if simulation.exchange.trading.settlements.get(combo.symbol)
        }
    assert done >= {
        "InsertOrderCross", "CreateVendorOrder", "CreateCashMovement", "CreateCombo", "CreateRfq", "CreateQuote", "AcceptQuote", "ConfirmQuote",
        "CROSS", "REQUEST_FOR_QUOTE", "combo settled",
    }  # fmt: skip
    code, out, _ = sim("sweep quickstart --seeds 12..13 --fuzz 150 --jobs 1 --verify")
    assert code == 0 and "2 runs, 2 passed, 0 failed" in out


class Follower:
    """A partner that keeps its own picture of orders and of a book from streams alone, and
    subscribes again whenever one ends.
    """

    def __init__(self, world: Connection) -> None:
        self.world, self.orders, self.book = world, {}, None
        self.streams: dict[str, Stream | None] = {"orders": None, "books": None}
        self.compared = 0

    def listen(self) -> None:
        for name, opens in (
            ("orders", streams.orders),
            ("books", lambda world: streams.books(world, "fuzz-cents")),
        ):
            if self.streams[name] is None or self.streams[name].end is not None:
                try:
                    self.streams[name] = opens(self.world)
                except RpcError:
                    self.streams[name] = None  # maintenance
        for frame in self.streams["orders"].take() if self.streams["orders"] else ():
            if frame.snapshot is not None:
                self.orders = {order.id: order for order in frame.snapshot.orders}
            for execution in frame.update.executions if frame.update is not None else ():
                self.orders[execution.order.id] = execution.order
        for frame in self.streams["books"].take() if self.streams["books"] else ():
            self.book = frame.update if frame.update is not None else self.book

    def compare(self) -> None:
        """Compare what streams said with the state."""
        trading = self.world.simulation.exchange.trading
        if self.streams["orders"] is not None:
            mine = firm(self.world.simulation).users[0]
            held = {
                order.id: order.leaves_qty
                for order in trading.orders.open_of((mine.account,))
                if order.participant == mine.name
            }
            assert {
                order.id: order.leaves_qty for order in self.orders.values() if order.leaves_qty
            } == held
            self.compared += bool(held)
        if (
            self.streams["books"] is not None
            and trading.state("fuzz-cents") is InstrumentState.OPEN
        ):
            levels = [
                [(level.px, level.qty) for level in side]
                for side in (self.book.bids, self.book.offers)
            ]
            book = trading.book("fuzz-cents")
            assert levels == [
                [(level.price, level.qty) for level in itertools.islice(side.walk(), 10)]
                for side in (book.bids, book.offers)
            ]
            self.compared += bool(levels[0])


@pytest.mark.spec("S6.2-5")
def test_streams_agree_with_the_state_through_random_steps():
    """Snapshot and updates add up to the state, across halts, maintenance, revoked sessions and
    settlements.
    """
    compared = 0
    for seed in range(1, 5):
        drawn = with_random_steps(load_scenario("quickstart"), seed, 150)
        calm = replace(
            drawn,
            faults=(),
            steps=tuple(step for step in drawn.steps if step.fault is None and not step.assumption),
        )
        world = connect(Simulation(calm, seed=seed))
        follower = Follower(world)
        while not world.simulation.script.done:
            follower.listen()
            world.advance_to(world.simulation.next_due())
            follower.listen()
            follower.compare()
        compared += follower.compared
    assert compared > 60


def test_a_run_that_does_not_repeat_or_replay_is_found(sim, monkeypatch):
    # another number each time, as a clock, a hash seed or a global die would give
    numbers = itertools.count()
    monkeypatch.setattr(
        "sim.kernel.identifiers.Sequence.next", lambda self: f"LEAK{next(numbers):08d}"
    )
    code, out, _ = sim("sweep", "price-time-priority", "--seeds", "1", "--jobs", 1, "--verify")
    assert code == 1
    assert "repeat: a second run has the digest" in out


def test_the_seed_decides_the_random_steps_and_the_scenarios_own_steps_come_first():
    scenario = load_scenario("price-time-priority")
    first, again, other = (with_random_steps(scenario, seed, 40) for seed in (1, 1, 2))
    assert first.plain() == again.plain() != other.plain()
    own = len(scenario.steps)
    assert first.steps[:own] == scenario.steps and len(first.steps) == own + 40
    assert with_random_steps(scenario, 1, 0) is scenario


def test_random_faults_do_not_affect_what_the_scenario_expects():
    scenario = load_scenario("kyc-approval-window")
    drawn = [with_random_steps(scenario, seed, 12) for seed in range(20)]
    assert all(each.faults == scenario.faults for each in drawn)
    first = [each.steps[len(scenario.steps) :][:3] for each in drawn]
    assert {sum(step.fault is not None for step in steps) for steps in first} >= {0, 1, 2, 3}
    for seed, each in enumerate(drawn):
        ran(each, seed)


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_random_steps_written_to_a_file_are_a_scenario_that_check_finds_fine(seed):
    drawn = with_random_steps(load_scenario("price-time-priority"), seed, 60)
    document = drawn.plain()
    document.pop("extends", None)
    assert load_scenario(as_yaml(document)).plain() == {**document}


@pytest.mark.long
def test_what_breaks_under_random_steps_is_written_as_the_smallest_scenario(
    money_from_nowhere, sim, tmp_path
):
    out = tmp_path / "smallest.yaml"
    code, text, _ = sim(f"sweep quickstart --seeds 2..3 --fuzz 40 --jobs 1 --shrink {out}")
    assert code == 1 and "broke an invariant" in text
    steps = load_scenario(str(out)).steps
    assert len(steps) <= 2 and all(step.order or step.call for step in steps)
    assert sim("run", out)[0] == 1


def test_a_refusal_can_be_expected():
    report = run_scenario(load_scenario(REFUSED))
    failed = {result.name: bool(result.failures) for result in report.results}
    assert failed == {"illegal": False, "legal": False, "wrong": True, "unsaid": True}
    assert report.results[2].failures == ("it was not refused",)
    assert report.results[3].failures[0].startswith("refused: ")


@pytest.mark.parametrize(
    "name", ["reacting-to-events", "maintenance-window", "kyc-approval-window"]
)
def test_a_world_that_is_set_back_runs_as_a_fresh_one_does(name):
    scenario = load_scenario(name)
    document = scenario.plain()
    fresh = run_scenario(scenario)
    rerun({**document, "steps": document["steps"][:1]}, check_invariants=True)
    again = rerun(document, check_invariants=True)
    assert (again.results, again.ended, again.inputs) == (fresh.results, fresh.ended, fresh.inputs)
