"""Replays a recorded session into a scenario, in order and in virtual time.

Time moves as the service's clock did. Requests are signed by identities of the scenario and contain
our identifiers. The answers are compared in `session_comparison.py`.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from msgspec import Struct, json

from sim.api.pipeline.inputs import Effect, Outcome, Reply, Resolve
from sim.api.rendering.document_links import with_links
from sim.contract.contract import Operation, load_contract
from sim.evidence.recording.files import (
    RecordedLine,
    RecordedMessage,
    UnreadableRecording,
    body_value,
)
from sim.evidence.recording.grpc_bodies import message_to_json, request_from_json
from sim.evidence.recording.recorded_events import RecordedEvent, RecordingReader
from sim.evidence.replay.frames import is_heartbeat
from sim.evidence.replay.identifier_map import IdentifierMap
from sim.evidence.replay.identities import Identities
from sim.evidence.replay.service_clock import ServiceClock
from sim.kernel.instants import NS_PER_S, OUT_OF_RANGE, Instant, Span, is_supported_instant
from sim.run.client.client import Connection, Stream
from sim.run.simulation import Simulation
from sim.world.format.scenario import Scenario

_YEAR = 31_556_952 * NS_PER_S  # of the Gregorian calendar, on average
_ENCODER = json.Encoder(decimal_format="number")


class RecordedSession(Struct, frozen=True):
    """The lines of a recording, the scenario into which they are replayed, and the service's clock
    over them.
    """

    scenario: Scenario
    seed: int | None
    entries: Collection[RecordedLine]
    clock: ServiceClock


class AnswerPair(NamedTuple):
    """A recorded event and our answer to the same request; None for frames and ends. `held` has the
    recorded and our waiting time if the answer was held and the recorded time is known.
    """

    event: RecordedEvent
    own: RecordedMessage | None = None
    held: tuple[Span, Span] | None = None


class _PendingCall(NamedTuple):
    """A call that was made: our reply, and what it says if it is more than an announcement."""

    at: Instant
    reply: Reply
    answer: RecordedMessage | None


class _Clients(Connection):
    """Clients that note when a held answer arrived."""

    def __init__(self, simulation: Simulation) -> None:
        super().__init__(simulation)
        self.resolved_at: dict[str, Instant] = {}

    def deliver(self, effects: list[Effect]) -> None:
        """Note the instant of held answers."""
        for effect in effects:
            if isinstance(effect, Resolve):
                self.resolved_at[effect.pending_on] = self.simulation.now
        super().deliver(effects)


class SessionPlayer:
    """Replays the lines of a recording into a simulation."""

    def __init__(self, session: RecordedSession) -> None:
        self.world = _Clients(Simulation(session.scenario, seed=session.seed))
        self.names = IdentifierMap()
        self.our_begin = self.world.simulation.now
        self.recorded_begin: Instant | None = None
        self.streams: dict[int, Stream] = {}
        self.heartbeats: dict[int, list[Instant]] = {}  # since our begin
        self._clock = session.clock
        # By line, whose number may repeat
        self._sent = defaultdict[int, deque[_PendingCall]](deque)
        self._reader = RecordingReader(session.entries)
        self._identities = Identities(self.world, self.names)
        # streams whose request has not come yet
        self._waiting: dict[int, tuple[str, dict[str, str]]] = {}
        self._operations: dict[int, Operation | None] = {}

    @property
    def since_begin(self) -> Instant:
        """The span since the begin of our session."""
        return self.world.simulation.now - self.our_begin

    def play(self) -> Iterator[AnswerPair]:
        """Yield every answer, frame and end of the recording, with our answer. Raises Unmatched,
        and UnreadableRecording for a line whose time is far from the others.
        """
        for turn in self._clock.turns():
            entry = turn.entry
            self._move(entry, turn.now)
            if entry.request is not None and entry.answer is not None:
                if turn.half != "answered":
                    sent = self._call(entry, entry.request, entry.answer)
                    self._sent[entry.n].append(sent)
                if turn.half != "sent":
                    yield self._answer_pair(entry, turn.now)
                continue
            event = self._reader.line(entry, turn.now)
            if entry.opened is not None:
                self._open(entry, entry.opened)
            elif entry.frame is not None and entry.frame.sender == "client":
                self._frame(entry, entry.frame.body)
            elif entry.closed is not None and entry.closed.get("from") == "client":
                self._hang_up(entry)
            if event is not None:
                yield AnswerPair(event)

    def _move(self, entry: RecordedLine, now: Instant) -> None:
        if self.recorded_begin is None:
            self.recorded_begin = now
        target = self.our_begin + now - self.recorded_begin
        if target <= self.world.simulation.now:
            return
        if not is_supported_instant(target):
            begin, end = (1970 + at // _YEAR for at in (self.recorded_begin, now))
            raise UnreadableRecording(
                f"line {entry.n + 1}: the session goes from the year {begin} to {end}; "
                + OUT_OF_RANGE
            )
        self.world.advance_to(target)

    # ---- calls

    def _call(
        self, entry: RecordedLine, request: RecordedMessage, answer: RecordedMessage
    ) -> _PendingCall:
        at, reply = self.world.simulation.now, self._send(entry, request, answer)
        return _PendingCall(at, reply, None if reply.pending_on else self._read(entry, reply))

    def _send(
        self, entry: RecordedLine, request: RecordedMessage, answer: RecordedMessage
    ) -> Reply:
        """Make a call; return its reply."""
        operation, status = self._reader.operation_at(entry, request), answer.status or 0
        upgrade = request.headers.get("upgrade", "").lower() == "websocket"
        if upgrade and operation is not None and operation.content == "web_socket":
            return self._refused_socket(entry, request, status)
        names, simulation = self.names, self.world.simulation
        path = names.path_to_ours(request.path)
        if entry.plane == "auth" and "grant_type" in str(request.body):
            form = self._identities.form(request, answer)
            return self.world.auth.post(path, form=form).reply
        names.note_client_values(request.body)
        headers = self._identities.headers(
            entry.plane, request.method, path, request.headers, status
        )
        if entry.plane == "grpc":
            message = self._encoded(load_contract().by_rpc(path), request.body)
            return self._reply(simulation.rpc(path, headers, message))
        body = self._identities.body(request.body)
        content = b"" if body is None else body if isinstance(body, bytes) else _content(body)
        query = names.query_to_ours(request.query)
        return self._reply(
            simulation.rest(entry.plane, request.method, path, query, headers, content)
        )

    def _answer_pair(self, entry: RecordedLine, now: Instant) -> AnswerPair:
        event = self._reader.line(entry, now)
        assert event is not None
        sent = self._sent[entry.n].popleft()
        if sent.answer is not None:
            waited = self._clock.waited(entry)
            return AnswerPair(event, sent.answer, (waited, 0) if waited else None)
        answer, took = self._read(entry, self.world.answer(sent.reply)), self._clock.took(entry)
        own = self.world.resolved_at[sent.reply.pending_on] - sent.at
        return AnswerPair(event, answer, None if took is None else (took, own))

    def _refused_socket(self, entry: RecordedLine, request: RecordedMessage, status: int) -> Reply:
        """Call the address of a socket to which the service refused access."""
        headers = self._identities.headers(
            entry.plane, "GET", request.path, request.headers, status
        )
        outcome = self.world.simulation.open(request.path, headers, b"", web_socket=True)
        if outcome.reply is not None:
            return self._reply(outcome)
        self.world.absorb(outcome)
        self.world.absorb(self.world.simulation.hangup(outcome.stream))
        return Reply(status=101)

    def _reply(self, outcome: Outcome) -> Reply:
        self.world.absorb(outcome)
        assert outcome.reply is not None
        return outcome.reply

    def _read(self, entry: RecordedLine, reply: Reply) -> RecordedMessage:
        """Return a reply as a recording has it."""
        if entry.plane == "grpc":
            assert entry.request is not None
            operation = load_contract().by_rpc(self.names.path_to_ours(entry.request.path))
            body = reply.message if reply.code else self._json(operation, reply.body)
            return RecordedMessage(status=reply.code, body=body)
        text = with_links(reply.body) if reply.chunks is None else b"".join(reply.chunks)
        headers = {name.lower(): value for name, value in reply.headers}
        headers["content-type"] = reply.content_type
        return RecordedMessage(status=reply.status, headers=headers, body=body_value(text))

    def _encoded(self, operation: Operation | None, body: Any) -> bytes:
        return request_from_json(operation, self._identities.body(body))

    def _json(self, operation: Operation | None, message: bytes) -> Any:
        # as a recording has it: numbers with all their digits
        decoded = message_to_json(operation, message, request=False)
        return body_value(json.encode(decoded))

    # ---- streams

    def _open(self, entry: RecordedLine, opened: dict[str, Any]) -> None:
        assert entry.stream is not None
        method = str(opened.get("rpc") or opened.get("path"))
        recorded = opened.get("request")
        headers = recorded.get("headers", {}) if isinstance(recorded, dict) else {}
        signed = self._identities.headers(entry.plane, "GET", method, headers, 0)
        operation = load_contract().by_rpc(method)
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

    def _frame(self, entry: RecordedLine, body: Any) -> None:
        assert entry.stream is not None
        self.names.note_client_values(body)
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

    def _hang_up(self, entry: RecordedLine) -> None:
        stream = self.streams.get(entry.stream or 0)
        if stream is not None and stream.end is None:
            stream.close()


def _content(body: Any) -> bytes:
    return body.encode() if isinstance(body, str) else _ENCODER.encode(body)
