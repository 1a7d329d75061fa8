"""A journal written as a scenario: what clients and testers did become steps, so that a session can
be read, changed, run again and shrunk.

Identifiers that an answer gave and a later request names are kept by `save`, so steps in between
may go. What has no word in the scenario language (a token request, a webhook receiver's answer) is
left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import DecodeError, json

from sim.actors.operator.actions import ACTIONS
from sim.analysis.replay import at_the_start, replaying, simulation_of
from sim.api.pipeline.inputs import (
    Advanced,
    Controlled,
    Input,
    RestCall,
    RpcCall,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
    recorded_input,
)
from sim.core.model.refusals import InvalidRequest
from sim.kernel.instants import format_instant, format_span
from sim.kernel.journal import Line, read_journal, read_line
from sim.simulation import Simulation

Step = dict[str, Any]
IDENTIFIER = re.compile(r"\b(?:[0-9A-Z]{12,13}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b")


class WrittenScenario(NamedTuple):
    """A scenario document, and how many inputs had no word for it, by kind."""

    document: dict[str, Any]
    left_out: dict[str, int]


def is_session(path: Path) -> bool:
    """Whether anybody but the scenario and the clock did something in a journal."""
    with path.open("rb") as file:
        return any(
            line.mark or json.decode(line.input)["type"] != "advance"
            for line in (read_line(raw) for _, raw in read_journal(file)[1])
        )


def scenario_document(path: Path, until: int | None = None) -> WrittenScenario:
    """A journal's present branch, up to an input, as a scenario. Divergence and NotAJournal as for
    a replay.
    """
    with path.open("rb") as file:
        header, lines = read_journal(file)
        sim = simulation_of(header)
        for _ in replaying(sim, lines):
            pass
        branch, seed = [read_line(raw) for raw in sim.journal.lines(0, until)], sim.seed
        sim = at_the_start(header, seed)
    writer = _Writer(sim)
    for line in branch:
        writer.add(line)
        sim.handle(recorded_input(line))
    document = {**sim.scenario.plain(), "seed": sim.seed}
    document["steps"] = [*document.get("steps", ()), *writer.steps]
    if writer.instruments:
        world = document.setdefault("world", {})
        world["instruments"] = [*world.get("instruments", ()), *writer.instruments]
    for key in ("extends", "params", "matrix"):
        document.pop(key, None)
    return WrittenScenario(document, writer.left_out)


class _Writer:
    """Makes steps of inputs. Looks at the simulation as it was right before each, to tell who is
    calling.
    """

    def __init__(self, sim: Simulation) -> None:
        self._sim = sim
        self._last = sim.now
        # distances would count from the scenario's own last step
        self._absolute = bool(sim.scenario.steps)
        self._kept = 0
        self._given: dict[str, tuple[Step, str]] = {}
        self._streams: dict[int, Step] = {}
        self.steps: list[Step] = []
        self.instruments: list[Step] = []
        self.left_out: dict[str, int] = {}

    def add(self, line: Line) -> None:
        """One more input."""
        given = recorded_input(line)
        out = json.decode(line.out)
        step = self._step(given, out)
        if step is None:
            return
        step = self._with_kept(step)
        if self._absolute:
            step = {"at": format_instant(line.at), **step}
        elif line.at > self._last:
            step = {"at": f"+{format_span(line.at - self._last)}", **step}
        self._last = max(self._last, line.at)
        self.steps.append(step)
        if isinstance(given, StreamOpened):
            self._streams[out.get("stream", 0)] = step
        for identifier, where in _identifiers(out.get("body")):
            self._given.setdefault(identifier, (step, where))

    def _step(self, given: Input, out: dict[str, Any]) -> Step | None:
        match given:
            case RestCall() if given.plane != "auth":
                return self._call(given)
            case RpcCall():
                operation = self._sim.contract.by_rpc(given.method)
                if operation is not None:
                    who = self._as(given.credential, given.participant)
                    return {
                        "call": {
                            "plane": "grpc",
                            "rpc": operation.name,
                            **who,
                            **self._message(operation, given.message),
                        }
                    }
            case StreamOpened() if "stream" in out:
                return self._subscription(given, out["stream"])
            case StreamFrame() if given.stream in self._streams:
                return self._sent(self._streams[given.stream], given.message)
            case StreamHungUp() if given.stream in self._streams:
                return {"disconnect": self._streams[given.stream]["subscribe"]["name"]}
            case Controlled():
                return self._action(given)
            case Advanced():
                return None
        self._leave(given)
        return None

    def _leave(self, given: Input) -> None:
        kind = (
            "token request"
            if isinstance(given, RestCall) and given.plane == "auth"
            else type(given).__name__
        )
        self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def _call(self, given: RestCall) -> Step | None:
        path = given.path + (f"?{given.query}" if given.query else "")
        call = {
            "plane": given.plane,
            given.verb.lower(): path,
            **self._as(given.credential, given.participant),
        }
        if (
            given.verb.lower() not in ("get", "post", "put", "delete", "patch")
            or given.binary
            or given.form
        ):
            self._leave(given)
            return None
        if given.body:
            try:
                call["json"] = json.decode(given.body)
            except DecodeError:
                self._leave(given)
                return None
        return {"call": call}

    def _as(self, credential: VerifiedCredential, participant: str | None) -> Step:
        """Who calls, in a script's words; nobody when the credentials did not hold."""
        if credential.problem:
            return {}
        if participant is not None:
            return {"as": participant}
        if credential.kind == "bearer":
            token = self._sim.exchange.credentials.token(credential.key)
            return {"as": token.firm} if token is not None else {}
        return {"as": credential.key} if credential.kind in ("api_key", "script") else {}

    def _subscription(self, given: StreamOpened, stream: int) -> Step | None:
        found: Step = {"name": f"stream-{stream}", **self._as(given.credential, given.participant)}
        if given.web_socket:
            return {"subscribe": {**found, "web_socket": given.method}}
        operation = self._sim.contract.by_rpc(given.method)
        if operation is None:
            return None
        request = self._message(operation, given.message) if operation.kind == "server" else {}
        return {"subscribe": {**found, "rpc": operation.name, **request}}

    def _sent(self, opened: Step, message: bytes) -> Step | None:
        """A frame of a client. What follows the subscription at once becomes part of it."""
        subscription = opened["subscribe"]
        frame = self._frame(subscription, message)
        if self.steps[-1] is opened and self._last == self._sim.now:
            subscription.setdefault("send", []).append(frame)
            return None
        return {"send": {"stream": subscription["name"], "frames": [frame]}}

    def _frame(self, subscription: Step, message: bytes) -> Any:
        if "web_socket" in subscription:
            return json.decode(message)
        return self._message(self._sim.contract.by_name(subscription["rpc"]), message).get(
            "json", {}
        )

    def _message(self, operation: Any, message: bytes) -> Step:
        """A protobuf request as the JSON of a step."""
        from sim.actors.script.calls import as_json

        return {"json": json.decode(as_json(operation.request, message))} if message else {}

    def _action(self, given: Controlled) -> Step | None:
        arguments = json.decode(given.arguments)
        if given.action == "instrument.create":
            self.instruments.append(arguments)
            return None
        action = ACTIONS.get(given.action)
        if action is not None and action.step:
            try:
                return {action.step: action.step_value(action.read(given.subject, arguments))}
            except InvalidRequest:
                pass  # it was refused, and a scenario with such a step would not load
        self._leave(given)
        return None

    def _with_kept(self, step: Step) -> Step:
        """The step with identifiers of earlier answers as `${name}`, which the steps of those
        answers keep.
        """
        text = json.encode(step).decode()
        for identifier in dict.fromkeys(IDENTIFIER.findall(text)):
            if identifier in self._given:
                giver, where = self._given[identifier]
                kept = giver.setdefault("save", {})
                name = next((name for name, path in kept.items() if path == where), "")
                if not name:
                    self._kept += 1
                    name = f"id{self._kept}"
                    kept[name] = where
                text = text.replace(identifier, f"${{{name}}}")
        found: Step = json.decode(text)
        return found


def _identifiers(answer: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(identifier, path) of everything in an answer that looks like one."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield from _identifiers(value, f"{path}.{key}" if path else key)
    elif isinstance(answer, list):
        for index, value in enumerate(answer):
            yield from _identifiers(value, f"{path}.{index}" if path else str(index))
    elif isinstance(answer, str) and IDENTIFIER.fullmatch(answer):
        yield answer, path
