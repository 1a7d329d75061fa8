"""Observations of a run: its journal is replayed, and what clients were sent is looked at.

What the scenario's own steps ask counts as a client's. A rewind, a reset and the like begin the
world anew, so nothing that was observed before can contradict what is observed after it: each
segment of the history has its own checks. A fork goes on with the same history, without streams.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qsl

from msgspec import json

from sim.api.codecs.codecs import dialect_at, json_encoder, protobuf_decoder
from sim.api.pipeline.inputs import (
    Close,
    Input,
    Outcome,
    Reply,
    Resolve,
    RestCall,
    RpcCall,
    Send,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
)
from sim.contract.contract import Operation
from sim.contract.messages import Message
from sim.evidence.witness.facts import moment
from sim.evidence.witness.observation import (
    ClientObservation,
    ObservationKind,
    ObservedStream,
    WorldReset,
    in_json_names,
    is_refusal,
)
from sim.kernel.instants import format_instant
from sim.kernel.journal_reader import UNREADABLE
from sim.read.replay import NumberedLines, replaying
from sim.run.simulation import Simulation

_JSON = json.Decoder(float_hook=Decimal)


def observed(
    simulation: Simulation, lines: NumberedLines
) -> Iterator[ClientObservation | WorldReset]:
    """What clients saw in a journal's lines, which a fresh simulation replays. Divergence."""
    watched = Watch(simulation)
    outcomes: list[Outcome] = []
    for _, entry in replaying(simulation, lines, on_outcome=outcomes.append):
        if entry.mark == "fork":
            watched.end_streams()
        elif entry.mark and entry.mark not in ("snapshot", "failure"):
            watched.begin_anew()
            yield WorldReset()
        while outcomes:
            watched.outcome(entry.input, outcomes.pop())
        yield from watched.take()


class Watch:
    """Turns inputs and their outcomes into observations."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._streams: dict[int, ObservedStream] = {}
        self._held: dict[str, tuple[ClientObservation, bool]] = {}
        self._observations: list[ClientObservation] = []

    def begin_anew(self) -> None:
        """Every stream has ended, and no answer is still to come."""
        self._streams.clear()
        self._held.clear()

    def end_streams(self) -> None:
        """The run goes on from a fork, which ended every stream and every call that waited."""
        for number in list(self._streams):
            self._end(number, self._simulation.seq + 1)
        self._held.clear()

    def take(self) -> list[ClientObservation]:
        """What has been observed since."""
        observations, self._observations = self._observations, []
        return observations

    def outcome(self, input_: Input, outcome: Outcome) -> None:
        """Look at an input and what came of it."""
        self._note_faults(outcome)
        match input_:
            case RestCall() | RpcCall():
                self._call(input_, outcome)
            case StreamOpened():
                self._begin(input_, outcome)
                self._note_faults(outcome)  # a fault may affect the very first frame
            case StreamFrame():
                stream = self._streams.get(input_.stream)
                if stream is not None:
                    self._note_request(stream, input_.message, outcome.seq)
            case StreamHungUp():
                self._end(input_.stream, outcome.seq)
        self._effects(outcome)

    def _note_faults(self, outcome: Outcome) -> None:
        """Note which streams a fault has affected."""
        for injection in outcome.injections:
            for each in self._streams.values() if injection.plane == "stream" else ():
                each.disturbed |= injection.operation == each.operation.name

    # ---- calls

    def _call(self, call: RestCall | RpcCall, outcome: Outcome) -> None:
        reply, operation = outcome.reply, self._operation(call, outcome)
        if reply is None or operation is None:
            return
        over_http = isinstance(call, RestCall)
        n, request = outcome.seq, self._request(call, operation)
        answer = ClientObservation(
            n, "answer", operation, _client(call), n, n, self._now(), request, body=None
        )
        answer.refused = "" if outcome.injections else reply.request_id.lstrip("0")
        if reply.pending_on:
            self._held[reply.pending_on] = answer, over_http
        else:
            self._answer(answer, reply, over_http)

    def _answer(self, answer: ClientObservation, reply: Reply, over_http: bool) -> None:
        status = reply.status if over_http else reply.code
        answer.ok = status in (range(200, 300) if over_http else range(1))
        if reply.connection_fault or not is_refusal(status, is_rpc=not over_http):
            answer.refused = ""
        if answer.ok and reply.chunks is None and not reply.connection_fault:
            body = reply.body
            answer.body = _json(body) if over_http else self._decoded(answer.operation, body)
        self._observations.append(answer)

    def _operation(self, call: RestCall | RpcCall, outcome: Outcome) -> Operation | None:
        contract = self._simulation.contract
        if isinstance(call, RpcCall):
            return contract.by_rpc(call.method)
        logged = self._simulation.log.last(outcome.seq)
        return contract.by_name(logged.operation) if logged and logged.operation else None

    def _request(self, call: RestCall | RpcCall, operation: Operation) -> dict[str, Any]:
        if isinstance(call, RpcCall):
            request = self._decoded(operation, call.message, request=True)
        else:
            request = _json(call.body.encode()) or dict(parse_qsl(call.query))
        return in_json_names(request) if isinstance(request, dict) else {}

    # ---- streams

    def _begin(self, opened: StreamOpened, outcome: Outcome) -> None:
        contract, number = self._simulation.contract, outcome.stream
        name = self._simulation.engine.hub.operations().get(number, "") if number else ""
        if not name:
            return
        operation = contract.by_name(name)
        stream = ObservedStream(number, operation, _client(opened), prompt=True)
        self._streams[number] = stream
        if operation.kind == "server":  # the others have frames of the client
            self._note_request(stream, opened.message, outcome.seq)
        self._stream(stream, "begun", outcome.seq)

    def _end(self, number: int, seq: int) -> None:
        stream = self._streams.pop(number, None)
        if stream is not None:
            self._stream(stream, "ended", seq)

    def _effects(self, outcome: Outcome) -> None:
        for effect in outcome.effects:
            if isinstance(effect, Send):
                stream = self._streams.get(effect.stream)
                if stream is not None:
                    body = self._decoded(stream.operation, effect.frame)
                    self._stream(stream, "frame", outcome.seq, body)
            elif isinstance(effect, Close):
                self._end(effect.stream, outcome.seq)
            elif isinstance(effect, Resolve):
                answer, over_http = self._held.pop(effect.pending_on, (None, False))
                if answer is not None:
                    answer.n = answer.ended = outcome.seq
                    answer.now = self._now()
                    self._answer(answer, effect.reply, over_http)

    def _note_request(self, stream: ObservedStream, message: bytes, seq: int) -> None:
        body = self._decoded(stream.operation, message, request=True)
        stream.note_request(body, seq, self._now())

    def _stream(
        self, stream: ObservedStream, kind: ObservationKind, seq: int, body: Any = None
    ) -> None:
        self._observations.append(stream.observation(seq, kind, seq, self._now(), body))

    # ---- values

    def _now(self) -> str:
        return moment(format_instant(self._simulation.now))

    def _decoded(self, operation: Operation, message: bytes, *, request: bool = False) -> Any:
        if operation.content == "web_socket":
            return _json(message)
        kind: type[Message] = operation.request if request else operation.response
        encode = json_encoder(kind, dialect_at("exchange", self._simulation.now))
        try:
            return _json(encode(protobuf_decoder(kind)(message)))
        except (ValueError, TypeError, LookupError):
            return None


def _client(call: RestCall | RpcCall | StreamOpened) -> str:
    caller = call.credential.key or call.peer
    return f"{caller} {call.participant}" if call.participant else caller


def _json(body: bytes) -> Any:
    try:
        return _JSON.decode(body) if body else None
    except UNREADABLE:
        return None
