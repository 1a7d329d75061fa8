"""The steps of a scenario at work: timers of the simulation like any other, so they run in `serve`, in `sim run` and in a replay alike.

A step's instant is known when the simulation begins: an instant as written, or a distance after the step before. Each does at most one thing, then
checks what it expects; a failed expectation is kept as a line of the report, it does not stop the scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET, Struct, json

from sim.api.contract import Plane
from sim.api.traffic import NOBODY, Outcome, Post, Reply, RestCall, RpcCall, Sealed
from sim.core.refusals import NotFound, Refusal
from sim.kernel.instants import Instant, format_instant, parse_span
from sim.kernel.timers import Timer
from sim.scenario import actions
from sim.scenario.expectations import failures
from sim.scenario.steps import CallStep, Step

if TYPE_CHECKING:
    from sim.scenario.model import Scenario
    from sim.simulation import Simulation

_KIND = "script.step"
_PLANES: dict[str, Plane] = {"gateway": "gateway", "retail": "retail", "exchange": "exchange", "auth": "auth"}


class StepResult(Struct, frozen=True):
    """What became of a step: lines of what does not hold, empty when all is well."""

    index: int
    name: str
    at: Instant
    failures: tuple[str, ...]


def instants(scenario: Scenario, start: Instant) -> Iterator[Instant]:
    """When each step is due. A step that lets time pass moves the ones after it."""
    moment = start
    for step in scenario.steps:
        if isinstance(step.at, str):
            moment += parse_span(step.at)
        elif step.at is not None:
            moment = step.at
        yield moment
        if step.advance is not None:
            moment += step.advance


class Script:
    """Runs the steps of one simulation."""

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._steps = sim.scenario.steps
        self.results: list[StepResult] = []
        timers = sim.exchange.ctx.timers
        self.ends = sim.start
        for index, due in enumerate(instants(sim.scenario, sim.start)):
            timers.schedule(max(due, sim.start), _KIND, str(index))
            self.ends = max(self.ends, due)

    def fire(self, timer: Timer, outcome: Outcome) -> bool:
        """Run the step a timer stands for."""
        if timer.kind != _KIND:
            return False
        index = int(timer.subject)
        step = self._steps[index]
        name = step.name or f"step {index + 1}"
        wrong: list[str] = []
        reply: Reply | None = None
        try:
            reply = self._do(step, outcome)
        except Refusal as refusal:
            wrong.append(f"refused: {refusal.message}" + (f" ({refusal.remedy})" if refusal.remedy else ""))
        if step.expect is not None:
            self._sim.exchange.flush()
            wrong += failures(self._sim, step.expect, reply, (step.order.clord_id if step.order else "") or step.name)
        self.results.append(StepResult(index, name, timer.due, tuple(wrong)))
        return True

    def _do(self, step: Step, outcome: Outcome) -> Reply | None:
        sim = self._sim
        if step.order is not None:
            actions.place_order(sim, step.order, step.name)
        if step.cancel is not None:
            actions.cancel_orders(sim, step.cancel)
        if step.state is not None:
            actions.change_state(sim, step.state)
        if step.settle is not None:
            actions.settle(sim, step.settle)
        if step.price is not None:
            actions.tick(sim, step.price)
        if step.event is not None:
            actions.update_event(sim, step.event)
        if step.fund is not None:
            actions.fund(sim, step.fund)
        if step.kyc is not None:
            actions.decide_verification(sim, step.kyc)
        if step.fault is not None:
            actions.add_fault(sim, step.fault)
        if step.clear_fault:
            actions.remove_fault(sim, step.clear_fault)
        if step.preset:
            actions.set_preset(sim, step.preset)
        for name, odds in step.quirk.items():
            actions.set_quirk(sim, name, odds)
        for name, value in step.assumption.items():
            actions.set_assumption(sim, name, value)
        return self._call(step.call) if step.call is not None else None

    def _call(self, step: CallStep) -> Reply:
        credential, participant = self._identity(step)
        body = json.encode(step.json) if step.json is not UNSET else b""
        if step.plane == "grpc":
            return self._rpc(step, credential, participant, body)
        query = "&".join(f"{name}={_quoted(text)}" for name, value in step.query.items() for text in ((value,) if isinstance(value, str) else value))
        path, _, given = step.path.partition("?")
        call = RestCall(
            plane=_PLANES[step.plane],
            verb=step.verb,
            path=path,
            query="&".join(part for part in (given, query) if part),
            body=body.decode(),
            participant=participant,
            credential=credential,
            peer="script",
        )
        return self._sim.pipeline.rest(call)

    def _rpc(self, step: CallStep, credential: Sealed, participant: str | None, body: bytes) -> Reply:
        from sim.api.transcode import json_decoder, protobuf_encoder

        operation = self._sim.contract.by_name(step.rpc)
        message = protobuf_encoder(operation.request)(json_decoder(operation.request)(body or b"{}"))
        return self._sim.pipeline.rpc(RpcCall(operation.full_methods[0], message, participant, credential, "script"))

    def _identity(self, step: CallStep) -> tuple[Sealed, str | None]:
        """Credentials of a caller named in the scenario: a participant, a firm, a retail key or an account. Scripts need no signatures."""
        if not step.as_:
            return NOBODY, None
        firms = self._sim.exchange.firms
        user = self._sim.world.parties.user(step.as_) or firms.user(step.as_)
        if user is not None:
            return Sealed("script", user.name.partition("/users/")[0]), user.name
        if any(firm.name == step.as_ for firm in firms.all()):
            return Sealed("script", step.as_), None
        for key in firms.api_keys():
            if step.as_ in (key.key_id, key.account):
                return Sealed("script", key.key_id), None
        raise NotFound(f"nobody is called {step.as_}", rule="script")

    def save(self) -> list[StepResult]:
        """Results so far."""
        return self.results

    def load(self, state: list[StepResult]) -> None:
        """Take saved results."""
        self.results = list(state)


def _quoted(text: str) -> str:
    from urllib.parse import quote_plus

    return quote_plus(text)


class Report(NamedTuple):
    """A finished run: the verdict, what failed, and what proves it."""

    scenario: str
    seed: int
    digest: str
    ended: Instant
    inputs: int
    results: list[StepResult]

    @property
    def ok(self) -> bool:
        """Whether every expectation held."""
        return not any(result.failures for result in self.results)

    def lines(self) -> Iterator[str]:
        """The report for a person: one line, and one more for each failure."""
        checked = len(self.results)
        verdict = "passed" if self.ok else "FAILED"
        yield f"{verdict}  {self.scenario}  seed {self.seed}  {checked} steps  until {format_instant(self.ended)}  digest {self.digest}"
        for result in self.results:
            for failure in result.failures:
                yield f"  {result.name} at {format_instant(result.at)}: {failure}"


def run_scenario(scenario: Scenario, seed: int | None = None, simulation: Simulation | None = None) -> Report:
    """Run a scenario headless to its last step. Webhook receivers are played by one that answers 200."""
    from sim.simulation import Simulation

    sim = simulation or Simulation(scenario, seed=seed)
    while (due := sim.next_due()) is not None and due <= sim.script.ends:
        _answer(sim, sim.advance_to(due))
    return Report(scenario.name, sim.seed, sim.digest, sim.now, sim.seq, sim.script.results)


def _answer(sim: Simulation, outcome: Outcome) -> None:
    for effect in outcome.effects:
        if isinstance(effect, Post):
            _answer(sim, sim.answer(effect.attempt, 200))
