"""What clients saw, one thing after the other: answers, frames, streams that began or ended.

Observations come from recordings (`observed`) and from journals (`journal.py`), and say nothing
about which of both it was.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct

from sim.contract.contract import Operation
from sim.core.model.refusals import HTTP_OF_CODE
from sim.evidence.recording.files import RecordedLine
from sim.evidence.recording.recorded_events import RecordingReader
from sim.evidence.witness.facts import moment
from sim.kernel.instants import format_instant

# When something was seen: a number, or an instant as text that sorts as it counts. Of one kind in
# all observations of a run.
Seen: TypeAlias = Any
ObservationKind: TypeAlias = Literal["answer", "frame", "begun", "ended"]
_CASE = re.compile("_([a-z])")


class ObservedSubscription(Struct, eq=False):
    """What a stream was asked for: all of a gRPC stream, or one subscription of a socket.

    `live` is when the client knew that it had begun; None while it does not know. `now` is the
    service's clock then, if it is known. `ended` is when it ended, with its stream or before.
    """

    request: dict[str, Any] = {}
    live: Seen = None
    now: str = ""
    ended: Seen = None


class ObservedStream(Struct, eq=False):
    """A stream of a client, with its subscriptions: that of a gRPC stream has no id.

    `prompt` says that a frame comes with the input that caused it, as in a run. A recording has
    frames that were on their way. `disturbed` says that an injected fault
    lost, doubled, held or swapped frames, so that what is missing on it proves nothing.
    """

    number: int
    operation: Operation
    client: str
    prompt: bool = False
    disturbed: bool = False
    subscriptions: dict[str, list[ObservedSubscription]] = {}

    @property
    def request(self) -> dict[str, Any]:
        """The message with which a gRPC stream began."""
        return self._subscription("").request

    def note_request(self, body: Any, at: Seen = None, now: str = "") -> None:
        """Note what the client requested; in a run, with the input and the instant."""
        is_socket = self.operation.content == "web_socket"
        if is_socket and isinstance(body, dict):
            body = body.get("subscribe")
        if not isinstance(body, dict):
            return
        body = in_json_names(body)
        name = str(body.get("requestId", "")) if is_socket else ""
        subscription = ObservedSubscription(body, *((at, now) if self.prompt else ()))
        requests = self.subscriptions.setdefault(name, [])
        if name or not requests:
            requests.append(subscription)

    def _subscription(self, name: str) -> ObservedSubscription:
        """The latest subscription of an id that was not refused."""
        requests = self.subscriptions.get(name) or self.subscriptions.get("")
        return requests[-1] if requests else ObservedSubscription()

    def observation(
        self, n: int, kind: ObservationKind, at: Seen, now: str = "", body: Any = None
    ) -> ClientObservation:
        """Return what the client received: a frame with the subscription that it belongs to, the
        begin or the end.
        """
        name = str(body.get("requestId", "")) if isinstance(body, dict) else ""
        subscription = self._subscription(name)
        if kind == "frame" and subscription.live is None:
            subscription.live, subscription.now = at, now
        if kind == "ended":
            for request in chain(*self.subscriptions.values()):
                request.ended = at
        elif name and body.get("error") and self.subscriptions.get(name):
            self.subscriptions[name].pop().live = None  # it was refused
        elif name and body.get("unsubscribed"):
            subscription.ended = at
            self.subscriptions.pop(name, None)
        return ClientObservation(
            *(n, kind, self.operation, self.client, at, at, now, subscription.request, body),
            stream=self,
            subscription=subscription,
        )


class ClientObservation(Struct, eq=False):
    """Something that a client saw.

    `n` is the number of its line, in a recording, or of its input, in a journal. One observation is
    known to come after another if it `began` after the other had `ended`; both are the same for a
    frame. `now` is the service's clock when it answered, as text without its Z, which sorts as it
    counts; over HTTP it has whole seconds. `ok` says that a call was answered, not refused.
    `refused` is, of a call that was refused for good, its id in executions that it would cause.
    """

    n: int
    kind: ObservationKind
    operation: Operation
    client: str
    began: Seen
    ended: Seen
    now: str
    request: dict[str, Any]
    body: Any
    ok: bool = True
    stream: ObservedStream | None = None
    subscription: ObservedSubscription | None = None
    refused: str = ""

    @property
    def on_disturbed_stream(self) -> bool:
        """Whether a fault has affected the stream on which it was seen."""
        return self.stream is not None and self.stream.disturbed

    @property
    def stream_number(self) -> int:
        """The number of its stream; 0 for an answer."""
        return 0 if self.stream is None else self.stream.number

    @property
    def source(self) -> str:
        """Where it was seen, in words."""
        return self.operation.rpc if self.stream is None else f"stream {self.operation.rpc}"


def in_json_names(request: dict[str, Any]) -> dict[str, Any]:
    """A request with names as in answers: clients may write `newest_first` for `newestFirst`."""
    return {_CASE.sub(lambda letter: letter[1].upper(), name): request[name] for name in request}


def is_refusal(status: int, *, is_rpc: bool) -> bool:
    """Whether a status of HTTP or gRPC says that a call was refused for good (§7.1: 400 to 498)."""
    if is_rpc:
        status = next((http for code, http in HTTP_OF_CODE.items() if code == status), 0)
    return 400 <= status < 499


class WorldReset:
    """The world begins anew: what follows is another history."""


def observed(entries: Collection[RecordedLine]) -> Iterator[ClientObservation]:
    """What the clients of a recording received, in the order of its lines: every line that shows
    something of a known operation. UnreadableRecording.
    """
    reader, streams = RecordingReader(entries), dict[int, ObservedStream]()
    for entry in entries:
        event, at, number = reader.line(entry), moment(entry.at), entry.stream or 0
        stream = streams.get(number)
        if entry.opened is not None:
            if (operation := reader.operation_of(number)) is not None:
                stream = streams[number] = ObservedStream(number, operation, entry.client)
                yield stream.observation(entry.n, "begun", at)
        elif entry.frame is not None and entry.frame.sender == "client":
            if stream is not None:
                stream.note_request(entry.frame.body)
        elif event is None or event.operation is None:
            continue
        elif event.answer is not None:
            status, is_rpc = event.answer.status or 0, entry.plane == "grpc"
            trace = event.answer.headers.get("x-trace-id", "").lstrip("0")
            yield ClientObservation(
                n=entry.n,
                kind="answer",
                operation=event.operation,
                client=entry.client,
                began=at,
                ended=max(at, moment(event.answer.at)),
                now=moment(format_instant(event.now)),
                request=_request(entry),
                body=event.answer.body,
                ok=status in (range(1) if is_rpc else range(200, 300)),
                refused=trace if is_refusal(status, is_rpc=is_rpc) else "",
            )
        elif stream is None:
            continue  # it began before the recording did
        elif event.closed is not None:
            yield stream.observation(entry.n, "ended", at)
        elif event.frame is not None:
            yield stream.observation(entry.n, "frame", at, body=event.frame.body)


def _request(entry: RecordedLine) -> dict[str, Any]:
    """What was requested: the body, or the query's parameters."""
    assert entry.request is not None
    if isinstance(entry.request.body, dict):
        return in_json_names(entry.request.body)
    return in_json_names(dict(parse_qsl(entry.request.query, errors="surrogateescape")))
