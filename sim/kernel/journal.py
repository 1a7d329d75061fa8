"""The journal: one JSON line for the header, then one for each input with everything that came of
it, chained by a running SHA-256.

A line is written before its outcome leaves the process, in one unbuffered write, so a journal left
behind by a killed process holds everything that was acknowledged and at most one torn last line.
The digest covers the header's scenario and seed and each record's `seq`, `at`, `in` and `out`; the
header's library versions and each record's `aside` (what clients drew at random) stay outside it,
so equal runs have equal digests.
"""

from __future__ import annotations

import re
from array import array
from binascii import hexlify
from bisect import bisect_right
from collections.abc import Iterator
from copy import copy
from hashlib import sha256
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple, Protocol
from zlib import crc32
from zlib import error as ZlibError

from msgspec import DecodeError, Raw, Struct, ValidationError, json, structs

FORMAT = 1
_PIECE = 1 << 20
_PACKED = b"\x1f\x8b"
_FORMAT = re.compile(rb'\{"journal":\d+')


class Header(Struct, kw_only=True):
    """First line of a journal. `scenario` is the fully resolved scenario, so a journal needs no
    other file to be replayed.

    `settings` are the settings of the process that change what comes out. `check` is the CRC-32 of
    the line with an empty `check`.
    """

    journal: int = FORMAT
    name: str
    seed: int
    start: int
    scenario: Raw
    scenario_digest: str
    libraries: dict[str, str]
    settings: dict[str, Any] = {}
    check: str = ""


class Line(Struct, kw_only=True, omit_defaults=True):
    """A line as read back: a record, or a mark of a jump (reset, rewind, snapshot, restore, fork)
    that a replay has to make too.

    `check` is the CRC-32 of `aside`, which the digest does not cover.
    """

    seq: int = 0
    at: int = 0
    input: Raw = Raw(b"")
    out: Raw = Raw(b"")
    aside: Raw = Raw(b"")
    check: str = ""
    digest: str = ""
    mark: str = ""
    argument: str = ""


class Chain(Protocol):
    """The part of a hashlib object that a journal needs."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Chain: ...


class Checkpoint(NamedTuple):
    """A point of a branch: how many inputs led to it, the digest so far, and where their lines are
    (three numbers each: offset, size, instant after).

    `places` may go on beyond the point: it is the branch's own list, which only grows, so keeping a
    point costs nothing however long the branch is.
    """

    seq: int
    chain: Chain
    places: array[int]


class NotAJournal(ValueError):
    """The file is no journal of this format."""


def unreadable(error: Exception) -> str:
    """Why a journal cannot be read, in words."""
    return error.strerror or str(error) if isinstance(error, OSError) else str(error)


class Journal:
    """Append-only record of one run. The file keeps every line ever written; `lines` shows those of
    the present branch.
    """

    def __init__(self, header: Header, file: BinaryIO | None = None) -> None:
        self.header = header
        self.shadow = False  # while a rewind re-runs inputs: their lines are in the file already
        self._file: BinaryIO = file if file is not None else BytesIO()
        self._past: Journal | None = None  # of a fork: whose file holds the bytes before `_start`
        self._start = self._end = 0
        self.seq = 0
        self._places = array("q")
        self._chain: Chain = sha256()
        self._write(encode_header(header) + b"\n")
        self.restart(header.seed)

    @property
    def file(self) -> BinaryIO:
        """Where lines are written."""
        return self._file

    @property
    def digest(self) -> str:
        """Running digest, 64 hexadecimal digits."""
        return self._chain.hexdigest()

    def restart(self, seed: int) -> None:
        """Count and chain from the beginning, as a fresh start with this seed would; earlier lines
        stay in the file.
        """
        self.seq = 0
        self._places = array("q")
        self._chain = sha256(
            f"{self.header.scenario_digest}\n{seed}\n{self.header.start}\n".encode()
        )

    def _write(self, line: bytes) -> None:
        """Add a line, its newline included."""
        self._file.write(line)
        self._end += len(line)

    def append(self, at: int, sealed: bytes, out: bytes, aside: bytes, after: int) -> None:
        """Add the next record: instant before it, JSON of the sealed input and of the outcome,
        instant after it.
        """
        self.seq += 1
        head = b'{"seq":%d,"at":%d,"input":%b,"out":' % (self.seq, at, sealed)
        self._chain.update(head)
        self._chain.update(out)  # where it lies: a page of a large catalogue is megabytes
        if self.shadow:
            return
        tail = b',"aside":%b,"check":"%08x"' % (aside, crc32(aside)) if aside else b""
        line = b'%b%b%b,"digest":"%b"}\n' % (head, out, tail, hexlify(self._chain.digest()[:8]))
        size = len(line)
        self._places.extend((self._end, size - 1, after))
        self._file.write(line)
        self._end += size

    def mark(self, mark: str, argument: str) -> None:
        """Note a jump."""
        self._write(json.encode(Line(mark=mark, argument=argument)) + b"\n")

    def checkpoint(self) -> Checkpoint:
        """What `resume` needs to continue from here."""
        return Checkpoint(self.seq, self._chain.copy(), self._places)

    @property
    def places(self) -> array[int]:
        """Where the lines of the present branch are, for the checkpoint a rewind arrives at."""
        return self._places

    def resume(self, checkpoint: Checkpoint) -> None:
        """Continue from a checkpoint of any branch."""
        self.seq = checkpoint.seq
        self._chain = checkpoint.chain.copy()
        self._places = checkpoint.places[: 3 * checkpoint.seq]

    def on_branch(self, checkpoint: Checkpoint) -> bool:
        """Whether a checkpoint lies on the present branch."""
        end = 3 * checkpoint.seq
        return checkpoint.places is self._places or (
            end <= len(self._places) and checkpoint.places[:end] == self._places[:end]
        )

    def seq_at(self, at: int) -> int:
        """How many inputs of this branch were complete at an instant, those at exactly that instant
        included.
        """
        return bisect_right(
            range(len(self._places) // 3), at, key=lambda index: self._places[3 * index + 2]
        )

    def lines(self, start: int = 0, end: int | None = None) -> Iterator[bytes]:
        """Lines of the inputs `start`+1 … `end` of the present branch, without newlines."""
        places = self._places[3 * start : None if end is None else 3 * end]
        for index in range(0, len(places), 3):
            yield self._read(places[index], places[index + 1])

    def fork(self, file: BinaryIO | None = None) -> Journal:
        """A journal that goes on from here by itself. With a file everything so far is copied
        there, byte for byte; without, it is read from this one's.
        """
        made = copy(self)
        made._places = self._places[:]
        made._chain = self._chain.copy()
        if file is None:
            made._file, made._past, made._start = BytesIO(), self, self._end
        else:
            made._file, made._past, made._start = file, None, 0
            for offset in range(0, self._end, _PIECE):
                file.write(self._read(offset, min(_PIECE, self._end - offset)))
        return made

    def _read(self, offset: int, size: int) -> bytes:
        """Bytes of the file; a fork's begins in the file of its origin, which only grows."""
        if self._past is not None and offset < self._start:
            found = self._past._read(offset, min(size, self._start - offset))
            return (
                found if len(found) == size else found + self._read(self._start, size - len(found))
            )
        self._file.seek(offset - self._start)
        found = self._file.read(size)
        self._file.seek(self._end - self._start)
        return found


def encode_header(header: Header) -> bytes:
    """The header's line with its check filled in."""
    bare = json.encode(structs.replace(header, check=""))
    return json.encode(structs.replace(header, check=f"{crc32(bare):08x}"))


_read_header = json.Decoder(Header).decode
read_line = json.Decoder(Line).decode


def read_journal(file: BinaryIO) -> tuple[Header, Iterator[tuple[int, bytes]]]:
    """Header and (line number, line) of a journal file, which gzip may have packed; a torn last
    line is dropped. NotAJournal says what is wrong.
    """
    lines = _lines(file)
    first = next(lines, b"")
    if not first:
        raise NotAJournal("the file is empty, no journal")
    if first.endswith(b"\r\n"):
        raise NotAJournal(
            "its lines end in CR LF: something has rewritten the journal, and its digests no longer"
            " fit; take the original"
        )
    try:
        header = _read_header(first)
    except ValidationError as error:
        if _FORMAT.match(first) and (found := json.decode(first)["journal"]) != FORMAT:
            raise NotAJournal(
                f"journal format {found} is not the one this version reads ({FORMAT})"
            ) from error
        raise NotAJournal(f"line 1 is no journal header: {error}") from error
    except DecodeError as error:
        if _FORMAT.match(first) and not first.endswith(b"\n"):
            raise NotAJournal(
                "the journal ends within its first line: nothing of the run is left"
            ) from error
        raise NotAJournal(f"line 1 is no journal header: {error}") from error
    if header.journal != FORMAT:
        raise NotAJournal(
            f"journal format {header.journal} is not the one this version reads ({FORMAT})"
        )
    return header, (
        (number, raw[:-1]) for number, raw in enumerate(lines, start=2) if raw.endswith(b"\n")
    )


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """Lines of a file or pipe, unpacked where gzip has packed them; a packed file that is cut
    yields what is whole.
    """
    peek = getattr(file, "peek", None)
    if peek is None or peek(2)[:2] != _PACKED:
        yield from file
        return
    from gzip import BadGzipFile, GzipFile

    try:
        yield from GzipFile(fileobj=file)
    except (EOFError, BadGzipFile, ZlibError):
        return
