"""Reading recordings: our own files, and HAR files by their ending."""

from __future__ import annotations

import gc
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from decimal import Decimal
from itertools import islice
from pathlib import Path

from msgspec import DecodeError, json

from sim.evidence.recording.files import (
    FORMAT,
    RecordedLine,
    Recording,
    RecordingHeader,
    UnreadableRecording,
)
from sim.evidence.recording.har import read_har

LINE_MAX = 64 << 20  # bytes of one line
_ENTRY = json.Decoder(RecordedLine, float_hook=Decimal)  # keeps 0.50 as 0.50


class RecordedLines(Collection[RecordedLine]):
    """The lines of a recording, read from the file on each iteration, so that a long recording
    takes no more memory than a short one.
    """

    def __init__(self, path: Path) -> None:
        """Count the lines and decode the last one, which may be truncated. Errors in other lines
        are raised on iteration. Raises UnreadableRecording and OSError.
        """
        self._path = path
        self.warning = ""
        self._count, last = 0, b"\n"
        for _, line in self._lines():
            self._count, last = self._count + 1, line
        if not last.endswith(b"\n") and _is_truncated(last):
            where = f"{path}:{self._count + 1}"
            self.warning = f"{where}: the last line was cut and is left out"
            self._count -= 1

    def __len__(self) -> int:
        return self._count

    def __contains__(self, entry: object) -> bool:
        return any(line == entry for line in self)

    def __iter__(self) -> Iterator[RecordedLine]:
        """Decode line by line. Raises UnreadableRecording and OSError."""
        for number, line in islice(self._lines(), self._count):
            try:
                yield _ENTRY.decode(line)
            except (DecodeError, RecursionError) as error:
                raise UnreadableRecording(f"{self._path}:{number}: {error}") from None

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """(number, text) of every line after the first."""
        path, number = self._path, 1
        with path.open("rb") as file:
            file.readline(LINE_MAX + 1)
            while line := file.readline(LINE_MAX + 1):
                number += 1
                if len(line) > LINE_MAX:
                    raise UnreadableRecording(f"{path}:{number}: longer than {LINE_MAX >> 20} MiB")
                yield number, line


def _is_truncated(line: bytes) -> bool:
    """Return whether a line without a line end was not written whole."""
    try:
        _ENTRY.decode(line)
    except (DecodeError, RecursionError):
        return True
    return False


def read_recording(path: Path) -> Recording:
    """Read a recording, a HAR file (`.har`) or a shape file. UnreadableRecording and OSError."""
    if path.suffix.lower() == ".har":
        return read_har(path)
    from sim.evidence.shapes import is_shapes, read_shapes, recording_of  # it reads recordings too

    if is_shapes(path):
        return recording_of(read_shapes(path))
    with path.open("rb") as file:
        header = _header(path, file.readline(LINE_MAX + 1).removeprefix(BOM_UTF8))
    lines = RecordedLines(path)
    return Recording(header, lines, lines.warning)


def _header(path: Path, line: bytes) -> RecordingHeader:
    try:
        header = json.decode(line, type=RecordingHeader)
    except (DecodeError, RecursionError):
        remedy = "`sim record --to FILE` writes one"
        raise UnreadableRecording(f"{path}:1: this is not a recording; {remedy}") from None
    if header.recording != FORMAT:
        raise UnreadableRecording(
            f"{path}:1: a recording of format {header.recording}; this release reads {FORMAT}"
        )
    return header


@contextmanager
def naming_file(path: Path) -> Iterator[None]:
    """Add the file's name to errors that are raised inside."""
    try:
        yield
    except UnreadableRecording as error:
        named = str(error).startswith(f"{path}:")
        raise UnreadableRecording(f"{error}" if named else f"{path}: {error}") from None
    except RecursionError:
        raise UnreadableRecording(f"{path}: nested too deeply to be an answer") from None


@contextmanager
def uncollected() -> Iterator[None]:
    """Switch the cycle collector off inside. It would visit every recorded value repeatedly, and a
    recording has no cycles.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def is_recording(path: Path) -> bool:
    """Return whether a file is a recording or a HAR file, and no journal. OSError."""
    if path.suffix.lower() == ".har":
        return True
    with path.open("rb") as file:
        return file.read(15).removeprefix(BOM_UTF8).startswith(b'{"recording"')
