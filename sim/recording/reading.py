"""Reading recordings: our own files, and HAR files by their ending."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from msgspec import DecodeError, json

from sim.recording.files import FORMAT, Entry, Header, Recording, UnreadableRecording
from sim.recording.har import read_har

LINE_MAX = 64 << 20  # bytes of one line
_ENTRY = json.Decoder(Entry, float_hook=Decimal)  # 0.50 stays 0.50


class RecordedLines(Collection[Entry]):
    """The lines of a recording, read from its file whenever they are asked for, so that a long
    recording takes no more memory than a short one.
    """

    def __init__(self, path: Path) -> None:
        """Read everything once. Raises UnreadableRecording and OSError."""
        self._path = path
        self.warning = ""
        self._count = sum(1 for _ in self)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, entry: object) -> bool:
        return any(one == entry for one in self)

    def __iter__(self) -> Iterator[Entry]:
        path = self._path
        with path.open("rb") as file:
            file.readline(LINE_MAX + 1)
            number = 1
            while line := file.readline(LINE_MAX + 1):
                number += 1
                if len(line) > LINE_MAX:
                    raise UnreadableRecording(f"{path}:{number}: longer than {LINE_MAX >> 20} MiB")
                try:
                    yield _ENTRY.decode(line)
                except (DecodeError, RecursionError) as error:
                    if not line.endswith(b"\n"):
                        self.warning = f"{path}:{number}: the last line was cut and is left out"
                        return
                    raise UnreadableRecording(f"{path}:{number}: {error}") from None


def read_recording(path: Path) -> Recording:
    """Read a recording, or a HAR file (`.har`). Raises UnreadableRecording and OSError."""
    if path.suffix.lower() == ".har":
        return read_har(path)
    with path.open("rb") as file:
        header = _header(path, file.readline(LINE_MAX + 1))
    lines = RecordedLines(path)
    return Recording(header, lines, lines.warning)


def _header(path: Path, line: bytes) -> Header:
    try:
        header = json.decode(line, type=Header)
    except (DecodeError, RecursionError):
        remedy = "`sim record --to FILE` writes one"
        raise UnreadableRecording(f"{path}:1: this is no recording; {remedy}") from None
    if header.recording != FORMAT:
        raise UnreadableRecording(
            f"{path}:1: a recording of format {header.recording}; this release reads {FORMAT}"
        )
    return header


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the cycle collector, which would look at every recorded value again and again: a
    recording has no cycles, and with it the time of a call grows with the length of the recording.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
