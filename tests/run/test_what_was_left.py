"""A moment that was left leaves nothing behind, and what counts beyond §8 counts as published."""

from __future__ import annotations

from typing import Any

import pytest

from sim import Simulation, load_scenario
from sim.run.actors.operator.metrics import metrics
from sim.run.actors.operator.views import view as read_view
from sim.run.client.client import Connection, connect
from tests.journeys import enter, firm, quiet, trader


def test_a_command_waits_for_none_of_the_time_that_was_left(world: Connection) -> None:
    sim, instrument = world.simulation, quiet(world.simulation)
    sim.snapshot("before")
    for latency in ("1m", "1s"):
        sim.control("assumption.set", "engine.latency", {"value": latency})
        placed = enter(world, instrument, "buy", 30, 5)
        assert placed.status == 200
        if latency == "1m":
            sim.restore("before")
            world.forget_tokens()
    world.advance("1s")
    report = trader(world).get(f"/v1/report/orders/{placed.json()['orderId']}").json()
    assert report["order"]["state"] == "ORDER_STATE_NEW"


def test_maintenance_is_what_was_announced_at_the_moment_that_is_restored(
    world: Connection,
) -> None:
    sim = world.simulation

    def announced() -> object:
        return read_view(sim.engine, "maintenance")

    views = [announced()]
    for number in range(3):
        world.advance("1s")
        sim.snapshot(str(number))
        begins = f"2026-09-09T1{number}:00:00Z"
        sim.control("maintenance.add", "", {"begins": begins, "length": "20m"})
        views.append(announced())
    for number in (2, 0, 1):
        sim.restore(str(number))
        assert announced() == views[number]
        assert announced() != views[number + 1]


@pytest.mark.parametrize("windows", ["", "world: {automated_windows: false}"])
def test_the_gauge_of_instruments_counts_what_reference_data_list(windows: str) -> None:
    world = connect(Simulation(load_scenario(f"name: counted\nextends: quickstart\n{windows}\n")))
    listed = world.exchange(firm(world.simulation)).post("/v1/refdata/symbols", json={}).json()
    (gauge,) = (
        metric for metric in metrics(world.simulation.engine) if metric.name == "sim_instruments"
    )
    assert gauge.samples == [({}, len(listed["symbols"]))]


@pytest.mark.parametrize(
    ("method", "path", "body", "calls"),
    [("GET", "/v1/rfqs", None, 10), ("POST", "/v1/combos", {}, 1)],
)
def test_the_published_pace_of_requests_for_quotes_counts_only_when_asked_for(
    world: Connection, method: str, path: str, body: Any, calls: int
) -> None:
    client = trader(world)
    ask = lambda: client.request(method, path, json=body).status  # noqa: E731
    assert 429 not in {ask() for _ in range(12)}
    world.simulation.control("assumption.set", "limits.extra", {"value": True})
    world.advance("2s")
    answers = [ask() for _ in range(12)]
    assert answers.index(429) == calls
    world.advance("1s")
    assert ask() != 429
