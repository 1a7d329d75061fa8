"""The engine: what it is composed of is checked at start, and extensions come in as data."""

from __future__ import annotations

from typing import cast

import pytest
from msgspec import Raw, Struct

from sim import Simulation
from sim.api.pipeline.inputs import Advanced, Input, Outcome, OutcomeHandlers, RestCall
from sim.api.pipeline.settings import Settings
from sim.api.registry import FINISHERS, handlers
from sim.core.identity.kyc import Kyc
from sim.core.service.maintenance import Maintenance
from sim.kernel.instants import MINUTE
from sim.kernel.journal import Header, Journal
from sim.kernel.timers import TimerHandlers, TimerOwnershipError
from sim.run import simulation
from sim.run.actors.operator.actions import act
from sim.run.actors.participants.participants import Participants
from sim.run.actors.script.runner import Script
from sim.run.engine import time_travel
from sim.run.engine.engine import Behaviour, Engine
from sim.run.engine.extension import Extension
from sim.run.engine.run import Run
from sim.run.engine.start import PreparedStarts
from sim.run.loader.load import load_scenario
from sim.world.start.world import build_world


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
    monkeypatch.setattr(simulation, "PREPARED", PreparedStarts(0))  # one was begun before, whole
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


class CallCount(Struct):
    """What the extension below saves."""

    calls: int = 0


class CallCounter(Extension):
    """Counts calls of clients; all other hooks are inherited."""

    name = "call counter"
    state_type = CallCount

    def __init__(self, engine: Engine) -> None:
        self.state = CallCount()

    def on_call(self, input_: Input, outcome: Outcome) -> None:
        self.state.calls += 1

    def save(self) -> CallCount:
        return self.state

    def load(self, state: CallCount) -> None:
        self.state = state


def _engine() -> Engine:
    scenario = load_scenario("quickstart")
    run = Run(scenario, scenario.seed, scenario.clock.start, Settings(), {})
    header = Header(
        name="t", seed=1, start=0, scenario=Raw(b"{}"), scenario_digest="", libraries={}
    )
    behaviour = Behaviour(handlers(), FINISHERS, act, (Participants, Script, CallCounter))
    engine = Engine(run, build_world(scenario, run.start), Journal(header), behaviour)
    engine.begin()
    return engine


def test_an_extension_is_handed_in_as_data_and_travels_in_time_with_the_rest() -> None:
    engine = _engine()

    def calls(engine: Engine) -> int:
        return cast(CallCounter, engine.extensions[CallCounter.name]).state.calls

    def call() -> str:
        engine.handle(RestCall("gateway", "GET", "/v1/health"))
        return engine.journal.digest

    digests = [call() for _ in range(3)]
    engine.handle(Advanced(engine.now + MINUTE))
    assert calls(engine) == 3
    time_travel.rewind(engine, None, 2)
    assert (calls(engine), engine.journal.digest, engine.branch) == (2, digests[1], "branch-1")
    forked = time_travel.fork(engine, None, None)
    assert (call(), calls(engine), calls(forked)) == (digests[2], 3, 2)


def test_two_extensions_may_not_own_one_timer_kind() -> None:
    class Twin(CallCounter):
        name = "twin"

        @property
        def timers(self) -> OutcomeHandlers:
            return {"script.step": lambda timer, outcome: None}

    engine = _engine()
    behaviour = engine.behaviour._replace(extensions=(Participants, Script, Twin))
    with pytest.raises(TimerOwnershipError, match=r"two components own .* 'script.step'"):
        Engine(engine.run, engine.world, engine.journal, behaviour)
