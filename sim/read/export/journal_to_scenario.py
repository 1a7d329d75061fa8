"""Writes a journal as a scenario: the actions of clients and testers become steps, so that a
session can be read, changed, run again and shrunk.

An identifier in an answer that a later request uses becomes a `save` of the first step and a
`${name}` in the second, so that steps in between can be removed. Inputs for which the scenario
language has no step (a token request, a webhook receiver's answer) are omitted and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import json

from sim.api.pipeline.inputs import (
    SCRIPT,
    Advanced,
    Controlled,
    Input,
    RestCall,
    RpcCall,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
    by_script,
)
from sim.contract.contract import load_contract
from sim.contract.messages import Message
from sim.contract.wire_fields import BadInput
from sim.core.model.events import Executed
from sim.core.model.refusals import InvalidRequest, Refusal
from sim.kernel.instants import format_instant, format_span
from sim.kernel.journal import Header
from sim.kernel.journal_reader import UNREADABLE
from sim.read.record import JournalEntry, entries
from sim.read.replay import at_the_start, journal_lines, replaying, simulation_of
from sim.run.actors.operator.actions import ACTIONS
from sim.run.actors.script.request_slips import fits
from sim.run.engine.journal_record import Record
from sim.run.engine.verdicts import rejects_of
from sim.run.loader.check_steps import unfit_steps
from sim.run.loader.load import scenario_from_document
from sim.run.simulation import Simulation
from sim.world.format.expansion import REFERENCE
from sim.world.format.steps import PARTICIPANT_HEADER
from sim.world.format.yaml_tree import ScenarioError, tree_of
from sim.world.start.world import build_world

Step = dict[str, Any]
_VERBS = ("get", "post", "put", "delete", "patch")
# Ids of orders and executions, of quotes, and of combos.
IDENTIFIER = re.compile(
    r"\b(?:[0-9A-Z]{12,13}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|caoc-[0-9a-f]{16})\b"
)


class _NoStep(Exception):
    """The scenario language has no step for an input."""


class WrittenScenario(NamedTuple):
    """A scenario document, and how many inputs were omitted, by kind."""

    document: dict[str, Any]
    left_out: dict[str, int]


def is_session(path: Path) -> bool:
    """Return whether a journal has inputs of clients or testers, and not only of the clock."""
    with journal_lines(path) as (_, lines):
        return any(
            entry.mark or not _by_itself(entry.input)
            for entry in (JournalEntry(raw) for _, raw in lines)
        )


def scenario_document(path: Path, until: int | None = None) -> WrittenScenario:
    """Return the current branch of a journal as a scenario, up to an input.

    Raises Divergence and UnreadableJournal as a replay does.
    """
    with journal_lines(path) as (header, lines):
        sim = simulation_of(header)
        failures = [entry for _, entry in replaying(sim, lines) if entry.mark == "failure"]
        return scenario_of(header, list(sim.journal.lines(0, until)), sim.seed, failures)


def recorded_steps(path: Path) -> dict[str, Any]:
    """Return the only branch of a journal as a scenario whose steps are the recorded inputs.

    It is for machines: it repeats what no other step can express.
    """
    with journal_lines(path) as (header, lines):
        journal = [JournalEntry(raw) for _, raw in lines]
    document = simulation_of(header).scenario.plain()
    steps = document["steps"] = document.get("steps", [])
    for entry in journal:
        if getattr(entry.input, "peer", SCRIPT) != SCRIPT:
            text = json.encode(entry.input).decode().replace("$", r"\u0024")  # no `${name}`
            step = {"at": format_instant(entry.at), "input": text, "expect": {"refused": "maybe"}}
            steps.append(step)
    return {**document, "seed": header.seed}


def scenario_of(
    header: Header, lines: Iterable[bytes], seed: int, failures: Iterable[JournalEntry] = ()
) -> WrittenScenario:
    """Return the lines of a branch, from its first input on, as a scenario that loads, with the
    input at which the run failed.

    Actions on things that do not exist are omitted.
    """
    branch = list(entries(lines))
    unfit = set[int]()
    while True:
        sim = at_the_start(header, seed)
        writer = _Writer(sim, unfit)
        for entry in branch:
            if not by_script(entry.input):
                writer.add(entry)
            sim.handle(entry.input)
            writer.allow_ignored_names()
        for entry in failures:
            writer.add(entry)
        document = _document(sim, writer)
        # An omitted step may have saved values that others use, so all steps are written again.
        if not (further := _unfit_inputs(document, writer)):
            return WrittenScenario(document, writer.left_out)
        unfit |= further


def _document(sim: Simulation, writer: _Writer) -> dict[str, Any]:
    _allow_odd_frames(writer.steps)
    document = {**sim.scenario.plain(), "seed": sim.seed}
    document["steps"] = [*document.get("steps", ()), *writer.steps]
    if writer.instruments:
        world = document.setdefault("world", {})
        world["instruments"] = [*world.get("instruments", ()), *writer.instruments]
    for key in ("extends", "params", "matrix"):
        document.pop(key, None)
    return document


def _unfit_inputs(document: dict[str, Any], writer: _Writer) -> set[int]:
    """Return the inputs whose steps no scenario file can hold."""
    scenario = scenario_from_document(document)
    node = tree_of({"steps": writer.steps}, "session")
    return {writer.inputs[n] for n in unfit_steps(scenario, node, build_world(scenario))}


def _is_scenario_step(step: Step) -> bool:
    """Return whether a scenario can hold a step.

    It must have a valid form and limited nesting, and no text of a client may look like a variable.
    """
    try:
        scenario_from_document({"name": "session", "steps": [step]})
    except ScenarioError:
        return False
    return REFERENCE.search(json.encode(step).decode()) is None


def _allow_odd_frames(steps: list[Step]) -> None:
    """Allow clients' frames on WebSockets that do not fit. Otherwise the scenario would be refused,
    as if its author had made a mistake.
    """
    requests: dict[str, type[Message]] = {}
    for step in steps:
        subscription, sent = step.get("subscribe", {}), step.get("send", {})
        if socket := load_contract().web_sockets.get(subscription.get("web_socket", "")):
            requests[subscription["name"]] = socket.request
        name = sent.get("stream", subscription.get("name", ""))
        frames = (*subscription.get("send", ()), *sent.get("frames", ()))
        if name in requests and not all(fits(requests[name], frame) for frame in frames):
            step.setdefault("expect", {"refused": "maybe"})


def _by_itself(input_: Input) -> bool:
    return isinstance(input_, Advanced) or by_script(input_)


class _Writer:
    """Turns inputs into steps.

    Each input is read before the simulation handles it, because the caller depends on the state
    that the input meets.
    """

    def __init__(self, sim: Simulation, unfit: set[int]) -> None:
        self._sim = sim
        self._unfit_inputs = unfit
        self._last = sim.now
        # A relative time would count from the last step of the scenario itself.
        self._absolute = bool(sim.scenario.steps)
        self._saved = 0
        self._answered: dict[str, tuple[Step, str]] = {}  # step and path by identifier
        self._streams: dict[int, Step] = {}
        self.steps: list[Step] = []
        self.inputs: list[int] = []  # the input of each step
        self.instruments: list[Step] = []
        self.left_out: dict[str, int] = {}

    def add(self, entry: JournalEntry) -> None:
        """Add an input as a step, or count it as omitted."""
        recorded, out = entry.input, entry.out
        if entry.seq in self._unfit_inputs:
            self._omit(recorded)
            return
        try:
            step = self._step(recorded, out)
        except (*UNREADABLE, BadInput, _NoStep):
            step = None
            self._omit(recorded)
        for event in rejects_of(out.events):
            order = event.execution.order.id if isinstance(event, Executed) else ""
            earlier, _ = self._answered.get(order, ({}, ""))
            if "call" in earlier:
                earlier["expect"] = {"refused": "maybe"}
        if step is None:
            return
        if not _is_scenario_step(step):
            self._omit(recorded)
            return
        step = self._with_saved(step)
        if "call" in step and (_refused(out) or any(rejects_of(out.events))):
            # It may be refused: a script has no address or signature for which a call could be
            # refused.
            step["expect"] = {"refused": "maybe"}
        if self._absolute:
            step = {"at": format_instant(entry.at), **step}
        elif entry.at > self._last:
            step = {"at": f"+{format_span(entry.at - self._last)}", **step}
        self._last = max(self._last, entry.at)
        self.steps.append(step)
        self.inputs.append(entry.seq)
        if isinstance(recorded, StreamOpened):
            self._streams[out.stream] = step
        for identifier, path in _identifiers(entry.body):
            self._answered.setdefault(identifier, (step, path))

    def allow_ignored_names(self) -> None:
        """Allow names that the exchange ignored in the call that it has just handled: a step would
        be refused for them as a mistake of the scenario's author.
        """
        call = self._sim.engine.log.last(self._sim.seq)
        if call is not None and call.ignored and self.inputs and self.inputs[-1] == call.seq:
            self.steps[-1].setdefault("expect", {"refused": "maybe"})

    def _step(self, entry: Input, out: Record) -> Step | None:
        """Return the step of an input; None if it became part of something else.

        Raises _NoStep, and what reading a client's message raises.
        """
        match entry:
            case RestCall() if entry.plane != "auth":
                return self._call(entry)
            case RpcCall():
                operation = self._sim.contract.by_rpc(entry.method)
                if operation is not None:
                    call = {"plane": "grpc", "rpc": operation.name}
                    call |= self._as(entry.credential, entry.participant)
                    return {"call": call | self._message(operation, entry.message)}
            case StreamOpened() if out.stream:
                return self._subscription(entry, out.stream)
            case StreamFrame() if entry.stream in self._streams:
                return self._sent(self._streams[entry.stream], entry)
            case StreamHungUp() if entry.stream in self._streams:
                return {"disconnect": self._streams[entry.stream]["subscribe"]["name"]}
            case Controlled():
                return self._action(entry, refused=out.message != "" or any(rejects_of(out.events)))
            case Advanced():
                return None
        raise _NoStep

    def _omit(self, entry: Input) -> None:
        kind = type(entry).__name__
        if isinstance(entry, RestCall) and entry.plane == "auth":
            kind = "token request"
        self.left_out[kind] = self.left_out.get(kind, 0) + 1

    def _call(self, entry: RestCall) -> Step:
        verb = entry.verb.lower()
        if verb not in _VERBS or entry.binary or entry.form:
            raise _NoStep
        path = f"{entry.path}?{entry.query}" if entry.query else entry.path
        call = {"plane": entry.plane, verb: path, **self._as(entry.credential, entry.participant)}
        if entry.body:
            call["json"] = json.decode(entry.body)
        return {"call": call}

    def _as(self, credential: VerifiedCredential, participant: str | None) -> Step:
        """Return the keys of a step that say who calls: `as`, and `headers` for another
        participant.

        No key if the credentials were refused.
        """
        if credential.problem or credential.kind not in ("bearer", "api_key", "script"):
            return {}
        if credential.kind == "api_key":
            return {"as": credential.key}
        firm = credential.key
        if credential.kind == "bearer":
            try:
                token = self._sim.exchange.credentials.authenticate(firm, self._sim.now)
            except Refusal:
                return {}
            firm, participant = token.firm, participant or token.participant
        if not participant:
            return {"as": firm}
        owns = participant.partition("/users/")[0] == firm
        if owns and self._sim.exchange.firms.user(participant) is not None:
            return {"as": participant}
        return {"as": firm, "headers": {PARTICIPANT_HEADER: participant}}

    def _subscription(self, entry: StreamOpened, stream: int) -> Step | None:
        step: Step = {"name": f"stream-{stream}", **self._as(entry.credential, entry.participant)}
        step.pop("headers", None)  # another participant's, without which the stream was opened
        if entry.web_socket:
            return {"subscribe": {**step, "web_socket": entry.method}}
        operation = self._sim.contract.by_rpc(entry.method)
        if operation is None:
            return None
        request = self._message(operation, entry.message) if operation.kind == "server" else {}
        return {"subscribe": {**step, "rpc": operation.name, **request}}

    def _sent(self, opened: Step, entry: StreamFrame) -> Step | None:
        """Return the step of a client's frame.

        A frame right after its subscription becomes part of it.
        """
        subscription = opened["subscribe"]
        frame = self._frame(subscription, entry.message)
        sent: Step = {"send": {"stream": subscription["name"], "frames": [frame]}}
        if frame is None or not _is_scenario_step(sent):
            raise _NoStep
        if self.steps[-1] is opened and self._last == self._sim.now:
            subscription.setdefault("send", []).append(frame)
            return None
        return sent

    def _frame(self, subscription: Step, message: bytes) -> Any:
        if "web_socket" in subscription:
            return json.decode(message)
        operation = self._sim.contract.by_name(subscription["rpc"])
        return self._message(operation, message).get("json", {})

    def _message(self, operation: Any, message: bytes) -> Step:
        """Return a protobuf request as the JSON of a step."""
        from sim.run.actors.script.calls import as_json

        return {"json": json.decode(as_json(operation.request, message))} if message else {}

    def _action(self, entry: Controlled, *, refused: bool) -> Step | None:
        arguments = json.decode(entry.arguments)
        if entry.action == "instrument.create" and not refused:
            self.instruments.append(arguments)
            return None
        action = ACTIONS.get(entry.action)
        if action is not None and action.step:
            expected: Step = {"expect": {"refused": True}} if refused else {}
            try:
                value = action.step_value(action.read(entry.subject, arguments))
                return {action.step: value, **expected}
            except InvalidRequest:
                pass  # a scenario with this refused step would not load
        raise _NoStep

    def _with_saved(self, step: Step) -> Step:
        """Return the step with identifiers of earlier answers as `${name}`.

        Earlier steps save them.
        """
        text = json.encode(step).decode()
        for identifier in dict.fromkeys(IDENTIFIER.findall(text)):
            if identifier in self._answered:
                earlier, path = self._answered[identifier]
                saves = earlier.setdefault("save", {})
                name = next((name for name, saved in saves.items() if saved == path), "")
                if not name:
                    self._saved += 1
                    name = f"id{self._saved}"
                    saves[name] = path
                text = text.replace(identifier, f"${{{name}}}")
        saved: Step = json.decode(text)
        return saved


def _refused(out: Record) -> bool:
    """Return whether a call was refused, on either protocol."""
    return out.status >= 400 or out.code > 0


def _identifiers(answer: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (identifier, path) for everything in an answer that looks like an identifier."""
    if isinstance(answer, dict):
        for key, value in answer.items():
            yield from _identifiers(value, f"{path}.{key}" if path else key)
    elif isinstance(answer, list):
        for index, value in enumerate(answer):
            yield from _identifiers(value, f"{path}.{index}" if path else str(index))
    elif isinstance(answer, str) and IDENTIFIER.fullmatch(answer):
        yield answer, path
