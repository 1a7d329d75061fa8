"""Observations of a recording."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import parse_qsl

from sim.evidence.recording.files import RecordedLine
from sim.evidence.recording.recorded_events import RecordingReader
from sim.evidence.witness.facts import moment
from sim.evidence.witness.observation import ClientObservation, ObservedStream, in_json_names
from sim.kernel.instants import format_instant


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
