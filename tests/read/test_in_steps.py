"""Reads of a large run in small steps: they find what they find all at once, also while the run goes
on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sim.kernel.work import Work, done
from sim.read.conformance import check, check_in_steps
from sim.read.explain import explain, explain_in_steps
from sim.run.actors.operator.views import VIEWS, view, view_in_steps
from sim.run.simulation import Simulation
from tests.journeys import order, quiet, trader
from tests.kit import Desk, begin

INPUTS = 600

Read = Callable[[Simulation], Any]
READS: dict[str, tuple[Read, Callable[[Simulation], Work[Any]]]] = {
    "requests": (lambda sim: sim.requests(), lambda sim: sim.requests_in_steps()),
    "conformance": (lambda sim: check(sim).document(), lambda sim: check_in_steps(sim)),
    **{
        f"view {name}": (
            lambda sim, name=name: view(sim.engine, name),
            lambda sim, name=name: view_in_steps(sim.engine, name),
        )
        for name in ("orders", "trades", "fills", "quotes", "performance", "ledger")
    },
}


def trade(desk: Desk, count: int) -> None:
    instrument, client = quiet(desk.simulation), trader(desk)
    for number in range(count):
        side = "BUY" if number % 2 else "SELL"
        body = order(instrument, side, 50, 1)
        assert client.post("/v1/trading/orders", json=body).status == 200


@pytest.fixture(scope="module")
def desk() -> Desk:
    desk = begin(limits=False)
    trade(desk, INPUTS)
    return desk


@pytest.mark.parametrize("name", READS)
def test_a_read_goes_in_steps_and_is_that_of_its_begin(desk: Desk, name: str) -> None:
    at_once, in_steps = READS[name]
    fork = Desk(desk.simulation.fork())
    expected = at_once(fork.simulation)
    work, steps = in_steps(fork.simulation), 0
    try:
        while True:
            next(work)
            steps += 1
            if steps == 5:
                fork.simulation.control("instrument.state", quiet(fork.simulation).symbol, HALTED)
    except StopIteration as end:
        result = end.value.document() if name == "conformance" else end.value
    assert steps >= INPUTS // 4
    assert result == expected


HALTED = {"state": "HALTED"}


def test_an_explanation_in_steps_is_the_same(desk: Desk) -> None:
    symbol = next(iter(desk.core.instruments)).symbol
    result = done(explain_in_steps(desk.simulation, symbol))
    assert result == explain(desk.simulation, symbol) is not None


def test_every_view_goes_in_steps(desk: Desk) -> None:
    for name in VIEWS:
        assert done(view_in_steps(desk.simulation.engine, name)).keys() == {name}


def test_named_snapshots_have_a_maximum(desk: Desk) -> None:
    fork = desk.simulation.fork()
    for number in range(100):
        fork.snapshot(f"s{number}")
    fork.snapshot("s7")
    with pytest.raises(Exception, match="100 named snapshots already"):
        fork.snapshot("one more")
