"""The journal: one JSON line for the header, then one for each input with everything that came of it, chained by a running SHA-256.

A line is written before its outcome leaves the process, in one unbuffered write, so a journal left behind by a killed process holds everything that was
acknowledged and at most one torn last line. The digest covers the header's scenario and seed and each record's `seq`, `at`, `in` and `out`; the header's
library versions and each record's `aside` (what clients drew at random) stay outside it, so equal runs have equal digests.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from hashlib import sha256
from io import BytesIO
from typing import BinaryIO

from msgspec import DecodeError, Raw, Struct, json

FORMAT = 1


class Header(Struct, kw_only=True):
    """First line of a journal. `scenario` is the fully resolved scenario, so a journal needs no other file to be replayed."""

    journal: int = FORMAT
    name: str
    seed: int
    start: int
    scenario: Raw
    scenario_digest: str
    libraries: dict[str, str]


class Line(Struct, kw_only=True, omit_defaults=True):
    """A record as read back. `mark` lines (reset, rewind, restore) carry what was done instead of an input."""

    seq: int = 0
    at: int = 0
    input: Raw = Raw(b"")
    out: Raw = Raw(b"")
    aside: dict[str, str] = {}
    digest: str = ""
    mark: str = ""
    argument: str = ""


class NotAJournal(ValueError):
    """The file is no journal of this format."""


class Journal:
    """Append-only record of one run. `offsets[n]` is where the n-th line after the header begins."""

    def __init__(self, header: Header, file: BinaryIO | None = None) -> None:
        self.header = header
        self.seq = 0
        self._file: BinaryIO = file if file is not None else BytesIO()
        self._offsets = array("Q")
        self._end = 0
        self._hash = sha256()
        self._write(json.encode(header))
        self._restart()

    @property
    def digest(self) -> str:
        """Running digest, 64 hexadecimal digits."""
        return self._hash.hexdigest()

    def _restart(self) -> None:
        self.seq = 0
        self._hash = sha256(f"{self.header.scenario_digest}\n{self.header.seed}\n{self.header.start}\n".encode())

    def _write(self, line: bytes) -> None:
        self._file.write(line + b"\n")
        self._end += len(line) + 1

    def append(self, at: int, sealed: bytes, out: bytes, aside: bytes = b"") -> None:
        """Add the next record: JSON of the sealed input and of the outcome."""
        self.seq += 1
        body = b'{"seq":%d,"at":%d,"input":%b,"out":%b' % (self.seq, at, sealed, out)
        chain = self._hash
        chain.update(body)
        tail = b',"aside":%b' % aside if aside else b""
        self._offsets.append(self._end)
        self._write(b'%b%b,"digest":"%b"}' % (body, tail, chain.hexdigest()[:16].encode()))

    def mark(self, mark: str, argument: str) -> None:
        """Note a jump (reset, rewind, restore) that a replay has to make too."""
        self._offsets.append(self._end)
        self._write(json.encode(Line(mark=mark, argument=argument)))

    def restart(self, seed: int, start: int) -> None:
        """Begin counting and chaining again, as a fresh start would; earlier lines stay in the file."""
        self.header.seed = seed
        self.header.start = start
        self._restart()

    def checkpoint(self) -> tuple[int, object]:
        """What `resume` needs to continue chaining from here."""
        return self.seq, self._hash.copy()

    def resume(self, checkpoint: tuple[int, object]) -> None:
        """Continue seq and digest from a checkpoint (after a rewind or restore)."""
        self.seq = checkpoint[0]
        self._hash = checkpoint[1].copy()  # type: ignore[attr-defined]

    def __len__(self) -> int:
        return len(self._offsets)

    def lines(self, start: int = 0) -> Iterator[bytes]:
        """Lines from the n-th on (the header is not one), as bytes without the newline."""
        for index in range(start, len(self._offsets)):
            begin = self._offsets[index]
            end = self._offsets[index + 1] if index + 1 < len(self._offsets) else self._end
            self._file.seek(begin)
            line = self._file.read(end - begin - 1)
            self._file.seek(self._end)
            yield line


_read_header = json.Decoder(Header).decode
_read_line = json.Decoder(Line).decode


def read_journal(file: BinaryIO) -> tuple[Header, Iterator[tuple[int, Line]]]:
    """Header and (line number, line) of a journal file; a torn last line is dropped. NotAJournal says what is wrong and where."""
    first = file.readline()
    try:
        header = _read_header(first)
    except DecodeError as error:
        raise NotAJournal(f"line 1 is no journal header: {error}") from error
    if header.journal != FORMAT:
        raise NotAJournal(f"journal format {header.journal} is not the one this version reads ({FORMAT})")
    return header, _lines(file)


def _lines(file: BinaryIO) -> Iterator[tuple[int, Line]]:
    for number, raw in enumerate(file, start=2):
        if not raw.endswith(b"\n"):
            return
        try:
            yield number, _read_line(raw)
        except DecodeError as error:
            raise NotAJournal(f"line {number} is no journal record: {error}") from error
