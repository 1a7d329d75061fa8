"""Reads a recording as events: answers, frames and ends of streams, each with operation and
instant.

The fields and operations that exist depend on the instant. It is the service's own if the
service sent it (a `Date` header, times in messages), and never decreases on one plane. Otherwise
it is the recorder's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache
from typing import Any

from msgspec import Struct

from sim.api.pipeline.routing import Match, Router
from sim.contract.contract import PLANES, Operation, Plane, load_contract
from sim.evidence.recording.files import Frame, RecordedLine, RecordedMessage, UnreadableRecording
from sim.evidence.recording.service_times import service_instant
from sim.kernel.instants import Instant, parse_instant


class RecordedEvent(Struct, frozen=True):
    """An answer, a frame of the service, or the end of a stream. `name` is the operation's name, or
    says on which plane the address is unknown.
    """

    entry: RecordedLine
    name: str
    operation: Operation | None
    now: Instant
    answer: RecordedMessage | None = None
    frame: Frame | None = None
    closed: dict[str, Any] | None = None


@cache
def routers() -> dict[Plane, Router]:
    """Return what finds operations by verb and path, for each plane with HTTP."""
    return {plane: Router(load_contract().routes(plane)) for plane in PLANES}


class RecordingReader:
    """Reads the lines of a recording in order and keeps track of open streams."""

    def __init__(self, entries: Collection[RecordedLine]) -> None:
        self._entries = entries
        self._contract = load_contract()
        self._streams: dict[int, Operation | None] = {}
        self._instant_of: dict[str, Instant] = {}
        # events before the service first sends its time are assumed to happen at that time
        self._first = next((at for at in map(service_instant, entries) if at is not None), None)

    def events(self) -> Iterator[RecordedEvent]:
        """Yield every answer, frame of the service and end of a stream. UnreadableRecording for a
        line that no recorder writes.
        """
        for entry in self._entries:
            shown_by_line = self.line(entry)
            if shown_by_line is not None:
                yield shown_by_line

    def line(self, entry: RecordedLine, now: Instant | None = None) -> RecordedEvent | None:
        """Return the event of a line; None for the begin of a stream and for frames of the client.
        `now` replaces the instant of the line.
        """
        now = self.now(entry) if now is None else now
        if entry.request is not None:
            operation = self.operation_at(entry, entry.request)
            name = operation.name if operation else f"{entry.plane} (unknown address)"
            return RecordedEvent(entry, name, operation, now, answer=entry.answer)
        if entry.stream is None:
            raise UnreadableRecording(f"line {entry.n + 1}: neither a call nor part of a stream")
        if entry.opened is not None:
            self._streams[entry.stream] = self._opened(entry, entry.opened)
            return None
        # unknown if the recorder was started, or the file cut, after the stream began
        operation = self._streams.get(entry.stream)
        name = operation.name if operation else f"{entry.plane} (unknown stream)"
        if entry.closed is not None:
            self._streams.pop(entry.stream, None)
            return RecordedEvent(entry, name, operation, now, closed=entry.closed)
        if entry.frame is None or entry.frame.sender == "client":
            return None
        return RecordedEvent(entry, name, operation, now, frame=entry.frame)

    def operation_at(self, entry: RecordedLine, request: RecordedMessage) -> Operation | None:
        """Return the operation of a request; None at an unknown address."""
        if entry.plane == "grpc":
            return self._contract.by_rpc(request.path)
        return _routed(entry.plane, request.method, request.path)

    def _opened(self, entry: RecordedLine, opened: dict[str, Any]) -> Operation | None:
        rpc, path = opened.get("rpc"), opened.get("path")
        if isinstance(rpc, str):
            return self._contract.by_rpc(rpc)
        if isinstance(path, str) and entry.plane != "grpc":
            return _routed(entry.plane, "GET", path)
        return None

    def operation_of(self, stream: int) -> Operation | None:
        """Return the operation of an open stream; None for an unknown one."""
        return self._streams.get(stream)

    def now(self, entry: RecordedLine) -> Instant:
        """Return the service's clock at a line, as far as the service sent it."""
        instant = service_instant(entry)
        if instant is not None:
            self._instant_of[entry.plane] = max(instant, self._instant_of.get(entry.plane, instant))
        latest = self._instant_of.get(entry.plane) or max(
            self._instant_of.values(), default=self._first
        )
        if latest is not None:
            return latest
        try:
            return parse_instant(entry.at)
        except ValueError:
            raise UnreadableRecording(f"line {entry.n + 1}: at is not an instant") from None


def _routed(plane: Plane, method: str, path: str) -> Operation | None:
    match = routers()[plane].match(method, path)
    return match.operation if isinstance(match, Match) else None
