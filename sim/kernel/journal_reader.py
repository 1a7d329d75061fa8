"""Reads a journal from a file: its header and its lines, as `journal.py` writes them.

Only the form is checked here: that a file is a journal of this format, and each line a record or a
mark. A torn last line is dropped, because a killed process may leave one. Whether a line matches
what the run does is checked by a replay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, BinaryIO
from zlib import error as ZlibError

from msgspec import DecodeError, ValidationError, json

from sim.kernel.journal import FORMAT, Header, Line

if TYPE_CHECKING:
    from gzip import GzipFile

_GZIP = b"\x1f\x8b"
_ANY_FORMAT = re.compile(rb'\{"journal":\d+')
_YAML_KEY = re.compile(r"[a-z_]+:( |$)")
_SHOWN = 200  # bytes of an unknown file that are examined
# Far longer than any line that a run writes, so that a file without lines is not read into memory.
LINE_MAX = 256 << 20


class NotAJournal(ValueError):
    """The file is not a journal of this format, or its line `line` is invalid."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.line = line


def unreadable(error: Exception) -> str:
    """Describe why a journal cannot be read."""
    if isinstance(error, IsADirectoryError):
        return "this is a folder; name one of the journals in it"
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


_read_header = json.Decoder(Header).decode
read_line = json.Decoder(Line).decode
# Exceptions that reading overwritten JSON may raise.
UNREADABLE = (DecodeError, UnicodeDecodeError, RecursionError)


def read_journal(file: BinaryIO) -> tuple[Header, Iterator[tuple[int, bytes]]]:
    """Return the header of a journal file, and an iterator over its lines with their numbers.

    The file may be compressed by gzip; a torn last line is dropped. Raises NotAJournal.
    """
    lines = _lines(file)
    first = next(lines, b"")
    if not first:
        raise NotAJournal("the file is empty")
    if first.endswith(b"\r\n"):
        raise NotAJournal(
            "its lines end in CR LF: a program has rewritten the journal, so its digests no longer"
            " match; use the original"
        )
    try:
        _check_text(first)
        version = json.decode(first)["journal"] if _ANY_FORMAT.match(first) else FORMAT
        if version != FORMAT:
            raise NotAJournal(
                f"journal format {version} is not the one this version reads ({FORMAT})"
            )
        header = _read_header(first)
    except UNREADABLE as error:
        cut = _ANY_FORMAT.match(first) and not first.endswith(b"\n")
        raise NotAJournal(
            "the journal ends within its first line, so the run is lost"
            if cut and not isinstance(error, ValidationError)
            else f"line 1 is not a journal header: {error}"
        ) from error
    return header, _records(lines)


def _records(lines: Iterator[bytes]) -> Iterator[tuple[int, bytes]]:
    """Yield complete lines with their numbers, each of which `read_line` can read."""
    for number, raw in enumerate(lines, start=2):
        if not raw.endswith(b"\n"):
            return
        try:
            _check_text(raw)
            read_line(raw)
        except UNREADABLE as error:
            raise NotAJournal(f"not a journal record: {error}", number) from error
        yield number, raw[:-1]


def _check_text(raw: bytes) -> None:
    """Raise UnicodeDecodeError for invalid UTF-8, because reading a line does not decode
    all of it.
    """
    if not raw.isascii():
        raw.decode()


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file or pipe, decompressed if necessary.

    From a truncated compressed file, yields the complete part.
    """
    peek = getattr(file, "peek", None)
    if peek is None or peek(2)[:2] != _GZIP:
        yield from _bounded(file)
        return
    from gzip import BadGzipFile, GzipFile

    with suppress(EOFError, BadGzipFile, ZlibError):
        yield from _bounded(GzipFile(fileobj=file))


def _other_file(line: bytes) -> str:
    """Return what to do with another kind of file, given its beginning."""
    text = line.decode(errors="replace").strip()
    is_text = "\ufffd" not in text
    if is_text and (text.startswith(("#", "---")) or _YAML_KEY.match(text)):
        looks = "this is not a journal but a scenario, by its first line"
        return f"{looks}: `sim run SCENARIO --journal DIR` runs it and writes its journal"
    begins = f"line 1 is not a journal header: it begins with {text[:40]!r}"
    return f"{begins}; `--journal` of serve, run and demo writes journals"


def _bounded(file: BinaryIO | GzipFile) -> Iterator[bytes]:
    """Yield lines.

    Raises NotAJournal if the file does not begin as a journal, or a line is too long.
    """
    first = file.readline(1)
    if first not in (b"", b"{"):
        raise NotAJournal(_other_file(first + file.readline(_SHOWN)))
    number, line = 1, first + file.readline(LINE_MAX)
    while line:
        if len(line) > LINE_MAX:
            raise NotAJournal(f"the line has more than {LINE_MAX} bytes", number)
        yield line
        number, line = number + 1, file.readline(LINE_MAX + 1)
