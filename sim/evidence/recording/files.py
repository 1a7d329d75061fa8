"""The file of a recording: JSON lines, each written whole or not at all.

| Line | Keys |
|---|---|
| first | `recording` (1), `started`, `upstream` (address by plane), `note` |
| a call | `n`, `at`, `plane`, `client`, `request`, `answer`; `cut` where it broke off |
| a stream's begin and end | `n`, `at`, `plane`, `client`, `stream`, `opened` or `closed` |
| a frame | `n`, `at`, `plane`, `client`, `stream`, `frame` (`from`, `body`) |

A request has `method`, `path`, `query`, `headers` and `body`, an answer `status`, `headers`,
`body`, `at` and `now`. Calls are in the order of their completion. `at` is the instant by the
recorder's clock at which a call arrived; `now` is the service's clock, if it sent it. Bodies are
JSON values if they parse, else text; those of gRPC are the JSON form of the message.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from msgspec import DecodeError, Struct, json

from sim.kernel.instants import Instant, format_instant
from sim.read.errors import UsageError

FORMAT = 1
Plane = Literal["gateway", "retail", "exchange", "auth", "grpc"]
PLANES: tuple[Plane, ...] = ("gateway", "retail", "exchange", "auth", "grpc")


class RecordedMessage(Struct, frozen=True, omit_defaults=True):
    """Half of a call: a request has `method`, `path`, `query`; an answer `status`, `now`."""

    method: str = ""
    path: str = ""
    query: str = ""
    status: int | None = None
    headers: dict[str, str] = {}
    body: Any = None
    at: str = ""
    now: str = ""


class Frame(Struct, frozen=True, rename={"sender": "from"}):
    """A message of a stream; `sender` is client or service."""

    sender: Literal["client", "service"]
    body: Any = None


class RecordedLine(Struct, frozen=True, omit_defaults=True):
    """One line after the first."""

    n: int
    at: str
    plane: Plane
    client: str = ""
    request: RecordedMessage | None = None
    answer: RecordedMessage | None = None
    cut: bool = False
    stream: int | None = None
    opened: dict[str, Any] | None = None
    closed: dict[str, Any] | None = None
    frame: Frame | None = None


class RecordingHeader(Struct, frozen=True):
    """The first line of a recording."""

    recording: int
    started: str = ""
    upstream: dict[str, str] = {}
    note: str = ""


class Recording(Struct, frozen=True):
    """A recording that was read. `warning` says what was left out.

    One that stands for a shape file (`of_shapes`) has placeholders instead of values. If the file
    is partial, `absent` has the paths that it says were absent, by operation; others are unknown.
    """

    header: RecordingHeader
    entries: Collection[RecordedLine]
    warning: str = ""
    of_shapes: bool = False
    absent: frozenset[tuple[str, str]] | None = None


class UnreadableRecording(UsageError):
    """The file is not a recording, or a line of it cannot be read. The text names the line."""


# keeps 0.50 as 0.50 instead of 0.5
_JSON = json.Decoder(float_hook=Decimal)
_ENCODER = json.Encoder(decimal_format="number")


def wall_clock() -> Instant:
    """Return the time of this machine's clock, because a recording is about the real world."""
    return time.time_ns()


class RecordingFile:
    """Appends lines to a recording. Only its owner may read the file; an existing file
    is not overwritten.
    """

    def __init__(self, path: Path, upstream: dict[str, str], note: str = "") -> None:
        """Create the file and write its first line. Raises OSError, FileExistsError among them."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        flags |= getattr(os, "O_BINARY", 0)  # Windows would write \\r\\n
        self._file = os.open(path, flags, 0o600)
        self.path = path
        self.lines = 0
        self._write(RecordingHeader(FORMAT, format_instant(wall_clock()), upstream, note))

    def append(self, plane: Plane, at: Instant, **rest: Any) -> None:
        """Write one line; it gets the next number."""
        self.lines += 1
        self._write(RecordedLine(n=self.lines, at=format_instant(at), plane=plane, **rest))

    def _write(self, line: RecordingHeader | RecordedLine) -> None:
        left = memoryview(_ENCODER.encode(line) + b"\n")
        while left:
            left = left[os.write(self._file, left) :]

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def body_value(body: bytes) -> Any:
    """Return a body in the form for a recording: a JSON value with all digits of its numbers, else
    text; None if empty.

    Bytes that are neither become {"unreadable": number of bytes}, because secrets cannot be
    found in them.
    """
    if not body:
        return None
    try:
        return _JSON.decode(body)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return body.decode()
    except UnicodeDecodeError:
        return {"unreadable": len(body)}
