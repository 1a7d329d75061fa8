"""Steps in the journal: each due instant, each step and everything a step does is an input."""

from __future__ import annotations

from typing import Any

from msgspec import json

from sim import Simulation, load_scenario
from sim.kernel.journal_reader import read_line
from sim.testing import connect

SCENARIO = """
name: three-steps
extends: quickstart
world: {instruments: [{symbol: mine, tick_size: "0.01", state: OPEN}]}
steps:
  - {at: +1m, name: quotes, order: {as: maker, symbol: mine, side: buy, price: "0.40", qty: "5"}}
  - {name: books, call: {plane: exchange, as: firms/atlas, get: /v1/orderbook/mine}, expect: {status: 200}}
  - {at: +1m, name: follows, subscribe: {name: prices, rpc: MarketDataSubscriptionAPI.CreateMarketDataSubscription,
     as: firms/atlas, json: {symbols: [mine]}}}
  - {name: hangs up, disconnect: prices}
  - {name: fails, expect: {open_orders: 7}}
"""


def _inputs(sim: Simulation) -> list[tuple[str, list[str]]]:
    """Each input, short, with the steps that ended with it."""
    results = []
    for raw in sim.journal.lines():
        line = read_line(raw)
        value: dict[str, Any] = json.decode(line.input)
        ended = [step["name"] for step in json.decode(line.out).get("steps", ())]
        detail = value.get("step") or value.get("action") or value.get("path") or ""
        results.append((f"{value['type']} {detail}".strip(), ended))
    return results


def test_each_due_instant_each_step_and_each_thing_it_does_is_an_input() -> None:
    sim = Simulation(load_scenario(SCENARIO))
    connect(sim).advance("2m")
    assert [item for item in _inputs(sim) if item != ("advance", [])] == [
        ("step 1", []),
        ("control order.place", ["quotes"]),
        ("step 2", []),
        ("rest /v1/orderbook/mine", ["books"]),
        ("step 3", []),
        ("open", ["follows"]),
        ("step 4", []),
        ("hangup", ["hangs up"]),
        ("step 5", ["fails"]),
    ]


def test_a_replay_a_rewind_and_a_fork_stand_between_a_step_and_its_call() -> None:
    world = connect(Simulation(load_scenario(SCENARIO)))
    sim = world.simulation
    world.advance("2m")
    kinds = [name for name, _ in _inputs(sim)]
    middle = kinds.index("step 2") + 1  # the step has begun, its call has not been made
    digest, last = sim.digest, sim.now
    sim.rewind(seq=middle)
    fork = sim.fork()
    for run in (sim, fork):
        assert [result.name for result in run.script.results] == ["quotes"]
        run.advance_to(last)
        assert [name for name, _ in _inputs(run)] == kinds
        assert run.digest == digest


def test_a_call_that_comes_between_a_step_and_its_call_waits_for_it() -> None:
    world = connect(Simulation(load_scenario(SCENARIO)))
    sim = world.simulation
    world.advance("2m")
    kinds = [name for name, _ in _inputs(sim)]
    sim.rewind(seq=kinds.index("step 2") + 1)
    assert world.gateway.get("/v1/health").status == 200
    tail = [name for name, _ in _inputs(sim)][-3:]
    assert tail == ["step 2", "rest /v1/orderbook/mine", "rest /v1/health"]
