"""Writes relayed traffic to a recording, without secrets, with labels for clients and streams.

A client is one credential or, without one, one connection. Labels are given in the order of first
appearance.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from email.utils import parsedate_to_datetime
from itertools import count
from typing import Any, TypeVar

from sim.evidence.recording.files import (
    Frame,
    Message,
    Plane,
    RecordingFile,
    body_value,
    wall_clock,
)
from sim.evidence.recording.fingerprints import Fingerprints
from sim.kernel.instants import NS_PER_S, Instant, format_instant, parse_instant

BODY_MAX = 32 << 20  # bytes of a body that are recorded; the client gets all of it
_CREDENTIALS = ("authorization", "x-pm-access-key", "x-api-key")
_TIMES = re.compile(r"^(?:transact|sent|server|update|event)?_?time(?:stamp)?$", re.IGNORECASE)
Pairs = Iterable[tuple[str, str]]
T = TypeVar("T")


class RecordingWriter:
    """Writes calls and streams to a recording's file; `clock` is that of the recorder."""

    def __init__(self, file: RecordingFile, clock: Callable[[], Instant] = wall_clock) -> None:
        self.file, self.clock = file, clock
        self._secrets = Fingerprints()
        self._clients: dict[str, str] = {}
        self._streams = count(1)
        self.calls = self.frames = 0

    # ---- calls

    def call(
        self,
        plane: Plane,
        began: Instant,
        client: str,
        request: Message,
        answer: Message | None,
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
    ) -> Message:
        """Return a request without secrets; `kind` is the body's content type."""
        pairs = list(headers)
        plain = _inflated(body, _coding(pairs))
        return self._secrets.settled(
            lambda: Message(
                method=method,
                path=self._secrets.text(path),
                query=self._secrets.query(query),
                headers=self._secrets.headers(pairs),
                body=self._body(plain, kind),
            )
        )

    def answer(self, status: int, headers: Pairs, body: bytes, kind: str = "") -> Message:
        """Return an answer without secrets, with the time that the service tells."""
        pairs = list(headers)
        named = {name.lower(): value for name, value in pairs}
        at, plain = format_instant(self.clock()), _inflated(body, _coding(pairs))
        now = _http_time(named.get("date", ""))
        return self._secrets.settled(
            lambda: Message(
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
        value = body_value(body)
        if isinstance(value, str) and "form-urlencoded" in kind:
            return self._secrets.query(value)
        if isinstance(value, str):
            return self._secrets.named_text(value)
        return self._secrets.json(value)

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

    # ---- who

    def client(self, headers: Mapping[str, str], connection: str) -> str:
        """Return the label of the client that sent these headers (names in lower case) on this
        connection.
        """
        credential = next((headers[name] for name in _CREDENTIALS if headers.get(name)), "")
        # The key is a fingerprint, because labels could be written to a file one day.
        key = self._secrets.of(credential) if credential else connection
        return self._clients.setdefault(key, f"client-{len(self._clients) + 1}")


def service_time(value: Any) -> str:
    """Return the latest instant in the time fields of a message; "" if there is none."""
    instants = [at for at in _times(value) if at]
    return format_instant(max(instants)) if instants else ""


def _times(value: Any, name: str = "") -> Iterable[Instant]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _times(inner, key)
    elif isinstance(value, list):
        for inner in value:
            yield from _times(inner, name)
    elif isinstance(value, str) and _TIMES.search(name):
        try:
            yield parse_instant(value)
        except ValueError:
            return


def _http_time(text: str) -> str:
    try:
        return format_instant(int(parsedate_to_datetime(text).timestamp()) * NS_PER_S)
    except (ValueError, TypeError):
        return ""


def _coding(headers: list[tuple[str, str]]) -> str:
    """The coding of a body: its Content-Encoding."""
    return next((value for name, value in headers if name.lower() == "content-encoding"), "")


def _inflated(body: bytes, coding: str) -> bytes:
    """A compressed body as it was before, up to `BODY_MAX`; unchanged where that fails."""
    coding = coding.strip().lower()
    if coding not in ("gzip", "x-gzip", "deflate") or not body:
        return body
    inflate = zlib.decompressobj(zlib.MAX_WBITS | 32)
    try:
        return inflate.decompress(body, BODY_MAX + 1)
    except zlib.error:
        return body
