"""The engine: what it is composed of is checked when it starts."""

from __future__ import annotations

import pytest

from sim import Simulation
from sim.core.identity.kyc import Kyc
from sim.core.service.maintenance import Maintenance
from sim.kernel.timers import TimerHandlers, TimerOwnershipError
from sim.loader.load import load_scenario


def _start() -> Simulation:
    return Simulation(load_scenario("quickstart"))


def test_a_timer_kind_with_two_owners_is_an_error_at_start(monkeypatch: pytest.MonkeyPatch) -> None:
    owned: TimerHandlers = {"webhook.due": lambda timer: None}
    monkeypatch.setattr(Kyc, "timers", property(lambda self: owned))
    with pytest.raises(TimerOwnershipError, match=r"two components own .* 'webhook.due'"):
        _start()


def test_a_scheduled_timer_kind_without_an_owner_is_an_error_at_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Maintenance, "timers", property(lambda self: {}))
    with pytest.raises(TimerOwnershipError, match=r"no component owns .* 'maintenance"):
        _start()


def test_scheduling_a_timer_kind_without_an_owner_is_an_error() -> None:
    simulation = _start()
    with pytest.raises(TimerOwnershipError, match="no component owns the timer kind 'x'"):
        simulation.exchange.ctx.timers.schedule(simulation.now, "x")
    fork = simulation.fork()
    with pytest.raises(TimerOwnershipError, match="no component owns the timer kind 'x'"):
        fork.exchange.ctx.timers.schedule(fork.now, "x")
