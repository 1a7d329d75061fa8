"""State machines for users: a correct client passes, a wrong one is detected, and its example is
saved as a scenario.
"""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, rule, run_state_machine_as_test

from sim import load_scenario
from sim.read.headless_run import run_scenario
from sim.testing.machines import (
    WHOLE,
    ExchangeMachine,
    FaultyExchangeMachine,
    ServedExchangeMachine,
)
from sim.testing.strategies import retail_orders

FEW = settings(max_examples=12, stateful_step_count=10)
FOUND = settings(
    max_examples=80,
    stateful_step_count=8,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


class Careful:
    """A retail client that believes the answers of the exchange, and reads again if it got no
    answer.
    """

    def __init__(self, http: Any) -> None:
        self.http = http

    def place(self, order: dict[str, Any]) -> None:
        self.http.post("/v1/orders", json=order)

    def open_ids(self) -> list[str] | None:
        answer = self.http.get("/v1/orders/open")
        return (
            sorted(order["id"] for order in answer.json()["orders"])
            if answer.status == 200
            else None
        )


class CarefulMachine(FaultyExchangeMachine):
    def begin(self) -> None:
        self.client = Careful(self.world.retail(self.key))
        self.looked = 0

    @rule(order=retail_orders(WHOLE))
    def places(self, order: dict[str, Any]) -> None:
        self.client.place(order)

    @rule()
    def cancels_everything(self) -> None:
        self.client.http.post("/v1/orders/open/cancel", json={})

    @invariant()
    def knows_its_open_orders(self) -> None:
        believed = self.client.open_ids()
        if believed is not None:
            self.looked += 1
            assert believed == sorted(
                order["id"] for order in self.truth.open_orders(self.key.account)
            )


class HopefulMachine(ExchangeMachine):
    """Believes that an accepted order is open until it cancels it: wrong for an order that fills or
    never rests.
    """

    def begin(self) -> None:
        self.http = self.world.retail(self.key)
        self.believed = 0

    @rule(order=retail_orders(WHOLE))
    def places(self, order: dict[str, Any]) -> None:
        self.believed += self.http.post("/v1/orders", json=order).status == 200

    @invariant()
    def knows_how_many_are_open(self) -> None:
        assert len(self.truth.open_orders(self.key.account)) == self.believed


class IdleMachine(ExchangeMachine):
    """A machine without a client: only others trade."""


class SocketMachine(ServedExchangeMachine):
    observed: ClassVar[list[int]] = []

    @rule(times=st.integers(1, 2))
    def asks(self, times: int) -> None:
        from urllib.request import urlopen

        for _ in range(times):
            with urlopen(f"{self.exchange.gateway}/v2/leagues") as answer:
                self.observed.append(answer.status)
        assert self.truth.balance(self.key.account) > 0


def test_a_careful_client_survives_everything() -> None:
    run_state_machine_as_test(CarefulMachine, settings=FEW)


@pytest.mark.long
def test_a_wrong_belief_is_caught_and_the_smallest_example_is_kept_as_a_scenario(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(HopefulMachine, "kept", str(tmp_path))
    with pytest.raises(AssertionError) as caught:
        run_state_machine_as_test(HopefulMachine, settings=FOUND)
    path = tmp_path / "HopefulMachine.yaml"
    assert any(str(path) in note for note in caught.value.__notes__)
    scenario = load_scenario(str(path))
    calls = [step.call for step in scenario.steps if step.call is not None]
    # The minimal examples: an order that never rests, one that fills against another account, or
    # one into a market that has stopped.
    assert len(calls) == 1 and len(scenario.steps) <= 2
    never_rests = calls[0].json["tif"] == "TIME_IN_FORCE_IMMEDIATE_OR_CANCEL"
    first = scenario.steps[0]
    assert never_rests or first.order is not None or first.state is not None
    assert run_scenario(scenario).ok
    assert (tmp_path / "HopefulMachine.ndjson").is_file()


@pytest.mark.soak
def test_the_shipped_invariants_find_money_from_nowhere_without_any_client(
    money_from_nowhere, tmp_path, monkeypatch
):
    monkeypatch.setattr(IdleMachine, "kept", str(tmp_path))
    with pytest.raises(AssertionError, match="money: all balances sum to"):
        run_state_machine_as_test(IdleMachine, settings=FOUND)
    scenario = load_scenario(str(tmp_path / "IdleMachine.yaml"))
    assert 2 <= len(scenario.steps) <= 8 and all(step.order is not None for step in scenario.steps)
    assert not run_scenario(scenario).ok


def test_a_client_with_sockets_is_driven_too(tmp_path, monkeypatch):
    monkeypatch.setattr(SocketMachine, "kept", str(tmp_path))
    try:
        run_state_machine_as_test(
            SocketMachine, settings=settings(max_examples=3, stateful_step_count=8)
        )
    finally:
        SocketMachine.stop()
    assert SocketMachine.observed and set(SocketMachine.observed) == {200}
