"""A recorded session replayed into a scenario, in order and in virtual time.

Time moves by what the service said was now. Requests are signed by identities of the scenario and
name our identifiers. What comes back is compared with what was recorded.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from google.protobuf import json_format, message_factory
from msgspec import json

from sim.api.codecs.protobuf import descriptor_pool
from sim.api.pipeline.inputs import Outcome, Reply
from sim.contract.contract import Operation, load_contract
from sim.fidelity.frames import is_heartbeat
from sim.fidelity.identities import Identities
from sim.fidelity.names import Names
from sim.kernel.instants import Instant
from sim.recording.files import Entry, Message, body_value
from sim.recording.grpc_relay import Bodies
from sim.recording.seen import Reader, Seen
from sim.scenario.scenario import Scenario
from sim.simulation import Simulation
from sim.testing.client import Connection, Stream

_ENCODER = json.Encoder(decimal_format="number")


class Played(NamedTuple):
    """What the service showed, and our answer to the same request; None for frames and ends."""

    seen: Seen
    ours: Message | None = None


class Player:
    """Plays the lines of a recording into a simulation."""

    def __init__(self, scenario: Scenario, seed: int | None, entries: Collection[Entry]) -> None:
        self.world = Connection(Simulation(scenario, seed=seed))
        self.names = Names()
        self.our_begin = self.world.simulation.now
        self.recorded_begin: Instant | None = None
        self.streams: dict[int, Stream] = {}
        self.heartbeats: dict[int, list[Instant]] = {}  # since our begin
        self._entries = entries
        self._reader = Reader(entries)
        self._identities = Identities(self.world, self.names)
        self._bodies = Bodies(load_contract())
        self._waiting: dict[int, tuple[str, dict[str, str]]] = {}  # streams without their request
        self._operations: dict[int, Operation | None] = {}

    @property
    def since_begin(self) -> Instant:
        """How much of our session has passed."""
        return self.world.simulation.now - self.our_begin

    def play(self) -> Iterator[Played]:
        """Every answer, frame and end of the recording, with our answer. Unmatched."""
        for entry in self._entries:
            seen = self._reader.line(entry)
            self._move(self._reader.now(entry))
            if seen is not None and seen.answer is not None and entry.request is not None:
                yield Played(seen, self._answered(seen, entry.request, seen.answer))
                continue
            if entry.opened is not None:
                self._open(entry, entry.opened)
            elif entry.frame is not None and entry.frame.sender == "client":
                self._frame(entry, entry.frame.body)
            elif entry.closed is not None and entry.closed.get("from") == "client":
                self._hang_up(entry)
            if seen is not None:
                yield Played(seen)

    def _move(self, now: Instant) -> None:
        if self.recorded_begin is None:
            self.recorded_begin = now
        target = self.our_begin + now - self.recorded_begin
        if target > self.world.simulation.now:
            self.world.advance_to(target)

    # ---- calls

    def _answered(self, seen: Seen, request: Message, answer: Message) -> Message:
        if seen.operation is not None and seen.operation.content == "web_socket":
            return self._refused_socket(seen.entry, request, answer)
        return self._call(seen.entry, request, answer)

    def _refused_socket(self, entry: Entry, request: Message, answer: Message) -> Message:
        """A call to the address of a socket: the service let nobody in."""
        headers = self._identities.headers(
            entry.plane, "GET", request.path, request.headers, refused=answer.status == 401
        )
        outcome = self.world.simulation.open(request.path, headers, b"", web_socket=True)
        self.world.absorb(outcome)
        if outcome.reply is not None:
            return _answer(outcome.reply)
        self.world.absorb(self.world.simulation.hangup(outcome.stream))
        return Message(status=101)

    def _call(self, entry: Entry, request: Message, answer: Message) -> Message:
        refused = answer.status == (16 if entry.plane == "grpc" else 401)
        path, names = self.names.ours_in(request.path), self.names
        names.own(request.body)
        headers = self._identities.headers(
            entry.plane, request.method, path, request.headers, refused=refused
        )
        if entry.plane == "grpc":
            return self._rpc(path, headers, request)
        simulation = self.world.simulation
        if entry.plane == "auth" and "grant_type" in str(request.body):
            form = self._identities.form(request, answer)
            return _answer(self.world.auth.post(path, form=form).reply)
        body = self._identities.body(request.body)
        content = b"" if body is None else body if isinstance(body, bytes) else _content(body)
        outcome = simulation.rest(
            entry.plane, request.method, path, names.ours_in_query(request.query), headers, content
        )
        return _answer(self._reply(outcome))

    def _reply(self, outcome: Outcome) -> Reply:
        self.world.absorb(outcome)
        reply = outcome.reply
        assert reply is not None
        return self.world.answer(reply) if reply.pending_on else reply

    def _rpc(self, method: str, headers: dict[str, str], request: Message) -> Message:
        operation = self._bodies.operation(method)
        message = self._encoded(operation, request.body)
        reply = self._reply(self.world.simulation.rpc(method, headers, message))
        if reply.code:
            return Message(status=reply.code, body=reply.message)
        return Message(status=0, body=self._json(operation, reply.body))

    def _encoded(self, operation: Operation | None, body: Any) -> bytes:
        """A request in the JSON form as protobuf; b"" for one that does not fit."""
        if operation is None or not isinstance(body, dict):
            return b""
        kind = descriptor_pool().FindMessageTypeByName(operation.request_name)
        encoded = message_factory.GetMessageClass(kind)()
        text = _ENCODER.encode(self._identities.body(body)).decode()
        try:
            json_format.Parse(text, encoded, descriptor_pool=descriptor_pool())
        except json_format.Error:
            return b""
        return bytes(encoded.SerializeToString())

    def _json(self, operation: Operation | None, message: bytes) -> Any:
        # as a recording has it: numbers with all their digits
        decoded = self._bodies.json(operation, message, request=False)
        return body_value(json.encode(decoded))

    # ---- streams

    def _open(self, entry: Entry, opened: dict[str, Any]) -> None:
        assert entry.stream is not None
        method = str(opened.get("rpc") or opened.get("path"))
        recorded = opened.get("request")
        headers = recorded.get("headers", {}) if isinstance(recorded, dict) else {}
        signed = self._identities.headers(entry.plane, "GET", method, headers, refused=False)
        operation = self._bodies.operation(method)
        self._operations[entry.stream] = operation
        if operation is not None and operation.kind == "server":
            self._waiting[entry.stream] = method, signed
        else:
            self._begin(entry.stream, method, signed, b"", operation)

    def _begin(
        self,
        number: int,
        method: str,
        headers: dict[str, str],
        message: bytes,
        operation: Operation | None,
    ) -> None:
        outcome = self.world.simulation.open(method, headers, message, web_socket=operation is None)

        beats = self.heartbeats.setdefault(number, [])

        def decode(frame: bytes) -> Any:
            body = body_value(frame) if operation is None else self._json(operation, frame)
            if is_heartbeat(body):
                beats.append(self.since_begin)
            return body

        if outcome.reply is None:
            self.streams[number] = self.world.begin(outcome, decode)
            return
        self.world.absorb(outcome)
        refused = self.streams[number] = Stream(self.world, 0, decode)
        for chunk in outcome.reply.chunks or ():
            refused.receive(chunk)
        refused.end = (outcome.reply.code, outcome.reply.message)

    def _frame(self, entry: Entry, body: Any) -> None:
        assert entry.stream is not None
        self.names.own(body)
        waiting = self._waiting.pop(entry.stream, None)
        operation = self._operations.get(entry.stream)
        if operation is not None:
            message = self._encoded(operation, body)
        else:
            message = _content(self._identities.body(body))
        if waiting is not None:
            self._begin(entry.stream, *waiting, message, operation)
        elif (stream := self.streams.get(entry.stream)) is not None and stream.end is None:
            stream.send(message)

    def _hang_up(self, entry: Entry) -> None:
        stream = self.streams.get(entry.stream or 0)
        if stream is not None and stream.end is None:
            stream.close()


def _content(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else _ENCODER.encode(body)


def _answer(reply: Reply) -> Message:
    body = reply.body if reply.chunks is None else b"".join(reply.chunks)
    headers = {name.lower(): value for name, value in reply.headers}
    headers["content-type"] = reply.content_type
    return Message(status=reply.status, headers=headers, body=body_value(body))
