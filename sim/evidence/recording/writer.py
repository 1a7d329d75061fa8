"""Writes relayed traffic to a recording, without secrets, with labels for clients and streams.

A client is one credential or, without one, one connection. Labels are given in the order
of first appearance.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, TypeVar

from sim.evidence.recording.files import (
    Frame,
    Plane,
    RecordedMessage,
    RecordingFile,
    body_value,
    wall_clock,
)
from sim.evidence.recording.redactor import Redactor
from sim.evidence.recording.service_times import as_written, http_date
from sim.kernel.instants import Instant, format_instant

BODY_MAX = 32 << 20  # bytes of a body that are recorded; the client gets all of it
_CREDENTIALS = ("authorization", "x-pm-access-key", "x-api-key")
Pairs = Iterable[tuple[str, str]]
T = TypeVar("T")


class RecordingWriter:
    """Writes calls and streams to a recording's file; `clock` is that of the recorder."""

    def __init__(self, file: RecordingFile, clock: Callable[[], Instant] = wall_clock) -> None:
        self.file, self.clock = file, clock
        self._secrets = Redactor()
        self._clients: dict[str, str] = {}
        self._streams = count(1)
        self.calls = self.frames = 0

    # ---- calls

    def call(
        self,
        plane: Plane,
        began: Instant,
        client: str,
        request: RecordedMessage,
        answer: RecordedMessage | None,
        *,
        cut: bool = False,
    ) -> None:
        """Write one call. `answer` is None if none came; `cut` says that it broke off."""
        self.calls += 1
        self.file.append(plane, began, client=client, request=request, answer=answer, cut=cut)

    def settled(self, make: Callable[[], T]) -> T:
        """Return what `make` makes of the messages of one line. A secret that the last one reveals
        is replaced in the first too.
        """
        return self._secrets.settled(make)

    def request(
        self, method: str, path: str, query: str, headers: Pairs, body: bytes, kind: str = ""
    ) -> RecordedMessage:
        """Return a request without secrets; `kind` is the body's content type."""
        pairs = list(headers)
        plain = _inflated(body, pairs)
        return self._secrets.settled(
            lambda: RecordedMessage(
                method=method,
                path=self._secrets.text(path),
                query=self._secrets.query(query),
                headers=self._secrets.headers(pairs),
                body=self._body(plain, kind),
            )
        )

    def answer(self, status: int, headers: Pairs, body: bytes, kind: str = "") -> RecordedMessage:
        """Return an answer without secrets, with the time that the service tells."""
        pairs = list(headers)
        at, plain = format_instant(self.clock()), _inflated(body, pairs)
        now = as_written(http_date(_header(pairs, "date")))
        return self._secrets.settled(
            lambda: RecordedMessage(
                status=status,
                headers=self._secrets.headers(pairs),
                body=self._body(plain, kind),
                at=at,
                now=now,
            )
        )

    def value(self, value: Any) -> Any:
        """Return a JSON value without secrets."""
        return self._secrets.settled(lambda: self._secrets.json(value))

    def _body(self, body: bytes, kind: str) -> Any:
        if len(body) > BODY_MAX:
            return {"left_out": len(body)}
        return self._secrets.body(body_value(body), kind)

    # ---- streams

    def open(self, plane: Plane, client: str, opened: dict[str, Any]) -> int:
        """Write the begin of a stream and return its number."""
        stream = next(self._streams)
        self.file.append(plane, self.clock(), client=client, stream=stream, opened=opened)
        return stream

    def frame(self, plane: Plane, client: str, stream: int, frame: Frame) -> None:
        """Write one message of a stream."""
        self.frames += 1
        self.file.append(plane, self.clock(), client=client, stream=stream, frame=frame)

    def text_frame(self, sender: Any, body: bytes) -> Frame:
        """Return a message of a socket without secrets."""
        return Frame(sender, self._secrets.settled(lambda: self._body(body, "")))

    def close(self, plane: Plane, client: str, stream: int, closed: dict[str, Any]) -> None:
        """Write that a stream has ended."""
        redacted = self._secrets.json(closed)
        self.file.append(plane, self.clock(), client=client, stream=stream, closed=redacted)

    # ---- clients

    def client(self, headers: Mapping[str, str], connection: str) -> str:
        """Return the label of the client that sent these headers (names in lower case)
        on this connection.
        """
        credential = next((headers[name] for name in _CREDENTIALS if headers.get(name)), "")
        # The key is a fingerprint, because labels could be written to a file one day.
        key = self._secrets.of(credential) if credential else connection
        return self._clients.setdefault(key, f"client-{len(self._clients) + 1}")


def _header(headers: Pairs, name: str) -> str:
    """Return the first value of a header; "" if it is absent."""
    return next((value for key, value in headers if key.lower() == name), "")


def _inflated(body: bytes, headers: Pairs) -> bytes:
    """A compressed body as it was before, up to `BODY_MAX`; unchanged where that fails."""
    coding = _header(headers, "content-encoding").strip().lower()
    if coding not in ("gzip", "x-gzip", "deflate") or not body:
        return body
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        return inflate.decompress(body, BODY_MAX + 1)
    except zlib.error:
        return body
