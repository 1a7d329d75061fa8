"""Storms: drawn steps and faults behind a scenario, under which the invariants hold; what breaks them is shrunk to a file."""

from __future__ import annotations

import itertools

import pytest

from sim import Simulation, load_scenario
from sim.scenario.report import run_scenario
from sim.scenario.storm import stormy
from sim.search.bench import Bench

REFUSED = """
name: refused
extends: quickstart
world: {instruments: [{symbol: r, tick_size: "0.01", state: OPEN}]}
steps:
  - {name: illegal, state: {symbol: r, state: TERMINATED}, expect: {refused: true}}
  - {name: legal, state: {symbol: r, state: CLOSED}, expect: {refused: maybe}}
  - {name: wrong, state: {symbol: r, state: OPEN}, expect: {refused: true}}
  - {name: unsaid, state: {symbol: r, state: TERMINATED}}
"""


def test_every_storm_leaves_the_invariants_whole_and_its_journal_replays(sim):
    code, out, _ = sim("sweep", "quickstart", "--seeds", "1..6", "--storm", 120, "--jobs", 1, "--prove")
    assert code == 0
    assert "6 runs, 6 passed, 0 failed" in out
    scenario = stormy(load_scenario("quickstart"), 5, 120)
    simulation = Simulation(scenario, seed=5)
    report = run_scenario(scenario, simulation=simulation)
    assert report.ok and len(report.results) == 120
    assert len(simulation.exchange.trading.trades) > 5
    assert {entry["plane"] for entry in simulation.requests()} >= {"exchange", "retail"}


def test_a_run_that_does_not_repeat_or_replay_is_found(sim, monkeypatch):
    luck = itertools.count()  # another number each time, as a clock, a hash seed or a global die would give
    monkeypatch.setattr("sim.kernel.identifiers.Sequence.next", lambda self: f"LEAK{next(luck):08d}")
    code, out, _ = sim("sweep", "price-time-priority", "--seeds", "1", "--jobs", 1, "--prove")
    assert code == 1
    assert "repeat: a second run has the digest" in out


def test_the_seed_decides_the_storm_and_the_scenarios_own_steps_come_first():
    scenario = load_scenario("price-time-priority")
    first, again, other = stormy(scenario, 1, 40), stormy(scenario, 1, 40), stormy(scenario, 2, 40)
    assert first.plain() == again.plain() != other.plain()
    assert first.steps[: len(scenario.steps)] == scenario.steps and len(first.steps) == len(scenario.steps) + 40
    assert stormy(scenario, 1, 0) is scenario


def test_what_breaks_in_a_storm_is_written_as_the_smallest_scenario(sim, tmp_path, monkeypatch):
    from sim.core.ledger import Ledger

    right = Ledger.fill

    def wrong(self: Ledger, account: str, principal: int, commission: int, symbol: str, trade_id: str) -> None:
        right(self, account, principal, commission, symbol, trade_id)
        self._accounts[account].balance += 1

    monkeypatch.setattr(Ledger, "fill", wrong)
    out = tmp_path / "smallest.yaml"
    code, said, _ = sim("sweep", "quickstart", "--seeds", "1..2", "--storm", 40, "--jobs", 1, "--shrink", out)
    assert code == 1 and "broke an invariant" in said
    steps = load_scenario(str(out)).steps
    assert len(steps) <= 2 and all(step.order is not None or step.call is not None for step in steps)
    assert sim("run", out)[0] == 1


def test_a_refusal_can_be_expected():
    report = run_scenario(load_scenario(REFUSED))
    assert [(result.name, bool(result.failures)) for result in report.results] == [("illegal", False), ("legal", False), ("wrong", True), ("unsaid", True)]
    assert report.results[2].failures == ("it was not refused",)
    assert report.results[3].failures[0].startswith("refused: ")


@pytest.mark.parametrize("name", ["reacting-to-events", "maintenance-window", "kyc-approval-window"])
def test_a_world_that_is_set_back_runs_as_a_fresh_one_does(name):
    bench, scenario = Bench(watch=True), load_scenario(name)
    whole = scenario.plain()
    fresh = run_scenario(scenario)
    bench.run({**whole, "steps": whole["steps"][:1]})
    again = bench.run(whole)
    assert (again.results, again.ended, again.inputs) == (fresh.results, fresh.ended, fresh.inputs)
