"""Reading recordings: our own files, and HAR files by their ending."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

from msgspec import DecodeError, json

from sim.recording.files import FORMAT, Entry, Header, Recording, UnreadableRecording
from sim.recording.har import read_har

LINE_MAX = 64 << 20  # bytes of one line
_ENTRY = json.Decoder(Entry, float_hook=Decimal)  # 0.50 stays 0.50


def read_recording(path: Path) -> Recording:
    """Read a recording, or a HAR file (`.har`). Raises UnreadableRecording and OSError."""
    if path.suffix.lower() == ".har":
        return read_har(path)
    entries: list[Entry] = []
    warning = ""
    with path.open("rb") as file:
        header = _header(path, file.readline(LINE_MAX + 1))
        number = 1
        while line := file.readline(LINE_MAX + 1):
            number += 1
            if len(line) > LINE_MAX:
                raise UnreadableRecording(f"{path}:{number}: longer than {LINE_MAX >> 20} MiB")
            try:
                entries.append(_ENTRY.decode(line))
            except (DecodeError, RecursionError) as error:
                if not line.endswith(b"\n"):
                    warning = f"{path}:{number}: the last line was cut and is left out"
                    break
                raise UnreadableRecording(f"{path}:{number}: {error}") from None
    return Recording(header, entries, warning)


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
