"""What clients saw, one thing after the other: answers, frames, streams that began or ended.

Observations come from recordings (`observed`) and from journals (`journal.py`), and say nothing
about which of both it was.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl

from msgspec import Struct, field

from sim.contract.contract import Operation
from sim.evidence.recording.files import RecordedLine
from sim.evidence.recording.recorded_events import RecordingReader
from sim.evidence.witness.facts import moment
from sim.kernel.instants import format_instant

# When something was seen: a number, or an instant as text that sorts as it counts. Of one kind in
# all observations of a run.
Seen: TypeAlias = Any
ObservationKind: TypeAlias = Literal["answer", "frame", "begun", "ended"]
_CASE = re.compile("_([a-z])")


class ObservedStream(Struct, eq=False):
    """A stream of a client.

    `request` is the message with which it began, empty for sockets; those have a request for each
    subscription, by its id. `disturbed` says that an injected fault lost, doubled, held or swapped
    frames, so that what is missing on it proves nothing.
    """

    number: int
    operation: Operation
    client: str
    began: Seen
    request: dict[str, Any] = field(default_factory=dict)
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    disturbed: bool = False

    def note_request(self, body: Any) -> None:
        """Note what the client requested."""
        if not isinstance(body, dict):
            return
        subscribe = body.get("subscribe")
        if self.operation.content == "web_socket":
            if isinstance(subscribe, dict):
                subscribe = in_json_names(subscribe)
                self.subscriptions[str(subscribe.get("requestId", ""))] = subscribe
        elif not self.request:
            self.request = body

    def observation(
        self, n: int, kind: ObservationKind, at: Seen, now: str = "", body: Any = None
    ) -> ClientObservation:
        """Return what the client received: a frame with the request that it belongs to, the begin
        or the end.
        """
        name = body.get("requestId", "") if isinstance(body, dict) else ""
        request = self.subscriptions.get(name, self.request)
        return ClientObservation(
            *(n, kind, self.operation, self.client, at, at, now, request, body), stream=self
        )


class ClientObservation(Struct, eq=False):
    """Something that a client saw.

    `n` is the number of its line, in a recording, or of its input, in a journal. One observation is
    known to come after another if it `began` after the other had `ended`; both are the same for a
    frame. `now` is the service's clock when it answered, as text without its Z, which sorts as it
    counts; over HTTP it has whole seconds. `ok` says that a call was answered, not refused.
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
                stream = streams[number] = ObservedStream(number, operation, entry.client, at)
                yield stream.observation(entry.n, "begun", at)
        elif entry.frame is not None and entry.frame.sender == "client":
            if stream is not None:
                stream.note_request(entry.frame.body)
        elif event is None or event.operation is None:
            continue
        elif event.answer is not None:
            statuses = (0,) if entry.plane == "grpc" else range(200, 300)
            yield ClientObservation(
                n=entry.n,
                kind="answer",
                operation=event.operation,
                client=entry.client,
                began=at,
                ended=max(at, moment(event.answer.at)),
                now=format_instant(event.now).removesuffix("Z"),
                request=_request(entry),
                body=event.answer.body,
                ok=event.answer.status in statuses,
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
