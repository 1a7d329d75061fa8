"""Observations of a recording."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import parse_qsl

from sim.evidence.recording.files import Entry
from sim.evidence.recording.recorded_events import RecordedEvent, RecordingReader
from sim.evidence.witness.facts import moment
from sim.evidence.witness.observation import Observation, Stream, ask, in_json_names
from sim.kernel.instants import format_instant


def observed(entries: Collection[Entry]) -> Iterator[Observation]:
    """What the clients of a recording saw, in the order of its lines. UnreadableRecording."""
    yield from _Recorded(entries).observations()


class _Recorded:
    def __init__(self, entries: Collection[Entry]) -> None:
        self._entries = entries
        self._reader = RecordingReader(entries)
        self._streams: dict[int, Stream] = {}

    def observations(self) -> Iterator[Observation]:
        """Every line that shows something of a known operation."""
        for entry in self._entries:
            seen = self._reader.line(entry)
            if entry.opened is not None:
                yield from self._stream_opening(entry)
            elif entry.frame is not None and entry.frame.sender == "client":
                if entry.stream in self._streams:
                    ask(self._streams[entry.stream], entry.frame.body)
            elif seen is not None and seen.operation is not None:
                yield from self._observation(entry, seen)

    def _stream_opening(self, entry: Entry) -> Iterator[Observation]:
        operation = self._reader.operation_of(entry.stream or 0)
        if operation is None or entry.stream is None:
            return
        at = moment(entry.at)
        stream = self._streams[entry.stream] = Stream(entry.stream, operation, entry.client, at)
        yield _of_stream(entry, "begun", stream, at)

    def _observation(self, entry: Entry, seen: RecordedEvent) -> Iterator[Observation]:
        at = moment(entry.at)
        stream = self._streams.get(entry.stream or 0)
        if seen.answer is not None and seen.operation is not None:
            fine = (0,) if entry.plane == "grpc" else range(200, 300)
            yield Observation(
                n=entry.n,
                kind="answer",
                operation=seen.operation,
                client=entry.client,
                began=at,
                ended=max(at, moment(seen.answer.at)) if seen.answer.at else at,
                now=format_instant(seen.now).removesuffix("Z"),
                request=_request(entry),
                body=seen.answer.body,
                ok=seen.answer.status in fine,
            )
        elif stream is None:
            return  # it began before the recording did
        elif seen.closed is not None:
            yield _of_stream(entry, "ended", stream, at)
        elif seen.frame is not None:
            yield _of_stream(entry, "frame", stream, at, seen.frame.body)


def _of_stream(entry: Entry, kind: Any, stream: Stream, at: str, body: Any = None) -> Observation:
    return Observation(
        n=entry.n,
        kind=kind,
        operation=stream.operation,
        client=entry.client,
        began=at,
        ended=at,
        now="",
        request=stream.asked(body),
        body=body,
        stream=stream,
    )


def _request(entry: Entry) -> dict[str, Any]:
    """What was asked: the body, or the query's parameters."""
    assert entry.request is not None
    if isinstance(entry.request.body, dict):
        return in_json_names(entry.request.body)
    return in_json_names(dict(parse_qsl(entry.request.query, errors="surrogateescape")))
