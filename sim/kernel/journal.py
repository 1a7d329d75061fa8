"""The journal: a header line, then one JSON line for each input with everything that resulted.

| Line | Holds | In the digest |
|---|---|---|
| header | scenario, seed, start | yes, by the scenario's own digest |
| | name, settings, versions of the sandbox and of libraries | no |
| record | `seq`, `at`, `input`, `out` | yes, byte for byte |
| | `aside`: random values of the client | no, so that equal runs have equal digests |
| mark | a jump: reset, rewind, snapshot, restore, fork | no; it says where the chain continues |
| | failure: the input at which the run failed, the last line | no; it has no outcome |

The digest is a running SHA-256 over the records of the current branch. A line is written before its
outcome leaves the process, in one unbuffered write. A killed process therefore leaves a journal
that holds everything that was acknowledged, and at most one torn last line, which readers drop.

The file is append-only. A rewind removes no lines; it resumes the chain at an earlier checkpoint,
and `lines` shows the current branch only. The engine defines the form of inputs and outcomes; this
module handles bytes. `engine/snapshots.py` explains branches and checkpoints.
"""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import copy
from errno import EIO
from hashlib import sha256
from io import BytesIO
from sys import maxsize
from typing import Any, BinaryIO, NamedTuple, Protocol
from zlib import crc32

from msgspec import Raw, Struct, json, structs

from sim.kernel.branches import Branch, LinePosition, Tree, grow

FORMAT = 3
_COPY_BYTES = 1 << 20


class Header(Struct, kw_only=True):
    """First line of a journal.

    `scenario` is fully resolved, so a replay needs no other file. `places` are the positions of its
    steps, such as "file.yaml:12". `settings` are those settings of the process that affect the
    output. `check` is the CRC-32 of the line with an empty `check`.
    """

    journal: int = FORMAT
    name: str
    seed: int
    start: int
    scenario: Raw
    scenario_digest: str
    places: list[str] = []
    libraries: dict[str, str]
    settings: dict[str, Any] = {}
    check: str = ""


class Line(Struct, kw_only=True, omit_defaults=True):
    """A line that was read: a record, the mark of a jump that a replay has to repeat, or that of a
    failure.

    `digest` is the first 16 digits of the digest after the record; `check` is the
    CRC-32 of `aside`.
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
    """The methods of a hashlib object that a journal needs."""

    def update(self, data: bytes, /) -> None: ...
    def digest(self) -> bytes: ...
    def hexdigest(self) -> str: ...
    def copy(self) -> Chain: ...


class Checkpoint(NamedTuple):
    """A point on a branch: how many inputs led to it, and the digest so far.

    `branch` is the name of the branch, which may continue beyond the point.
    """

    seq: int
    chain: Chain
    branch: str


class JournalLost(OSError):
    """The journal's file accepts no more lines, or does not return what was written to it."""


class RunEnded(RuntimeError):
    """The run has ended early, because further inputs would depend on something that no journal
    records.

    The cause says why.
    """


class Journal:
    """Append-only record of one run.

    `last_line` is the line of the latest input, including its newline.
    """

    def __init__(self, header: Header, file: BinaryIO | None = None) -> None:
        self.header = header
        self.shadow = False  # set while a rewind repeats inputs whose lines already exist
        self._file: BinaryIO = file if file is not None else BytesIO()
        self._origin: Journal | None = None  # for a fork: its file holds the bytes before `_start`
        self._start = self._end = 0
        self.ended: BaseException | None = None
        self.failure = b""  # the line of the input at which the run failed
        self._on_end: Callable[[BaseException], None] | None = None
        self.seq: int
        self.last_line = b""
        self.branches: Tree = {}  # all past and present ones, oldest first
        self.branch: Branch
        self._chain: Chain = sha256()
        self._write(encode_header(header) + b"\n")
        self.restart(header.seed)

    @property
    def file(self) -> BinaryIO:
        """The file to which lines are written."""
        return self._file

    @property
    def digest(self) -> str:
        """The running digest, 64 hexadecimal digits."""
        return self._chain.hexdigest()

    def restart(self, seed: int) -> None:
        """Start counting and chaining anew on an independent branch, like a new run
        with this seed.
        """
        self.stand_at_start(grow(self.branches, seed, "reset" if self.branches else "start"))

    def stand_at_start(self, branch: Branch) -> None:
        """Move to the beginning of a branch that begins at a start."""
        self.seq, self.branch = 0, branch
        text = f"{self.header.scenario_digest}\n{branch.seed}\n{self.header.start}\n"
        self._chain = sha256(text.encode())

    def end(self, cause: BaseException) -> None:
        """Accept no more lines, because `cause` interrupted something that no line records.

        The lines written so far stay valid.
        """
        if self.ended is None:
            self.ended = cause
            if self._on_end is not None:
                self._on_end(cause)

    def fail(self, at: int, redacted: bytes, aside: bytes, cause: Exception) -> None:
        """Add the next input, which has no outcome because the run failed at it with `cause`, and
        end. A replay stops before this line.
        """
        if self.ended is None and not self.shadow and not isinstance(cause, JournalLost):
            reason = json.encode(f"{type(cause).__name__}: {cause}")
            tail = b',"aside":%b,"check":"%08x"' % (aside, crc32(aside)) if aside else b""
            self.failure = b'{"mark":"failure","argument":%b,"at":%d,"input":%b%b}\n' % (
                *(reason, at, redacted, tail),
            )
            with suppress(JournalLost):
                self._write(self.failure)
        self.end(cause)

    def set_end_listener(self, listener: Callable[[BaseException], None] | None) -> None:
        """Set the only listener, which is called when the journal stops accepting lines."""
        self._on_end = listener

    def check_open(self) -> None:
        """Raise RunEnded if the journal accepts no more lines."""
        if self.ended is not None:
            raise RunEnded("this run has ended early") from self.ended

    def _write(self, line: bytes) -> None:
        """Add a line, including its newline. Raises JournalLost."""
        self.check_open()
        try:
            self._file.write(line)
        except OSError as error:
            raise JournalLost(*error.args) from error
        except BaseException as error:
            self.end(error)  # it is unknown how much of the line was written
            raise
        self._end += len(line)

    def append(
        self,
        at: int,
        redacted: bytes,
        out: bytes,
        aside: bytes,
        after: int,
        timers: int = 0,
        cause: int = 0,
        trades: int = 0,
    ) -> None:
        """Add the next record.

        `at` and `after` are the instants before and after the input; `redacted` and `out` are input
        and outcome as JSON; for the others see `LinePosition`. Raises JournalLost, after
        which nothing can be appended.
        """
        self.seq += 1
        head = b'{"seq":%d,"at":%d,"input":%b,"out":' % (self.seq, at, redacted)
        self._chain.update(head)
        # not joined to the head, because a page of a catalogue takes megabytes
        self._chain.update(out)
        if self.shadow:
            return
        tail = b',"aside":%b,"check":"%08x"' % (aside, crc32(aside)) if aside else b""
        line = b'%b%b%b,"digest":"%b"}\n' % (head, out, tail, hexlify(self._chain.digest()[:8]))
        start = self._end
        self._write(line)
        self.last_line = line
        self.branch.add(start, len(line) - 1, after, timers, cause, trades)

    def mark(self, mark: str, argument: str) -> None:
        """Add the mark of a jump."""
        self._write(json.encode(Line(mark=mark, argument=argument)) + b"\n")

    def checkpoint(self) -> Checkpoint:
        """Return what `resume` needs in order to continue from here."""
        return Checkpoint(self.seq, self._chain.copy(), self.branch.name)

    def resume(self, checkpoint: Checkpoint) -> None:
        """Move to a checkpoint of any branch.

        Begin a branch (`branch_off`) before writing there.
        """
        self.seq = checkpoint.seq
        self._chain = checkpoint.chain.copy()
        self.branch = self.branches[checkpoint.branch]

    def branch_off(self, begun: str) -> None:
        """Begin a branch here; it shares the lines so far with the current one."""
        parent = self.branch.holder(self.seq)
        self.branch = grow(self.branches, parent.seed, begun, parent, self.seq)

    def on_branch(self, checkpoint: Checkpoint, branch: Branch | None = None) -> bool:
        """Return whether a checkpoint is on a branch, by default the current one.

        All starts with the same seed are equal.
        """
        branch, seq = branch or self.branch, checkpoint.seq
        holder = self.branches.get(checkpoint.branch)
        if holder is None or seq > branch.seq:
            return False
        if not seq:
            return holder.seed == branch.seed
        return branch.holder(seq) is holder.holder(seq)

    def seq_at(self, at: int) -> int:
        """Return the number of inputs of this branch that were complete at
        an instant, inclusive.
        """
        return min(self.branch.seq_at(at), self.seq)

    def lines(
        self, start: int = 0, end: int | None = None, branch: Branch | None = None
    ) -> Iterator[bytes]:
        """Yield the lines of the inputs `start`+1 … `end`, without newlines.

        By default, those of the current branch up to now.
        """
        last = self.seq if branch is None else branch.seq
        branch = branch or self.branch
        for position in branch.positions(start, last if end is None else min(end, last)):
            yield self.line_at(position)

    def line_at(self, position: LinePosition) -> bytes:
        """Return the line at a position, without its newline."""
        return self._read(position.offset, position.size)

    def fork(self, file: BinaryIO | None = None) -> Journal:
        """Return a journal that continues from here independently.

        With a file, everything so far is copied to it, byte for byte. Without one, the fork reads
        from the file of this journal, which only grows.
        """
        forked = copy(self)
        forked.branches = {}
        for name, branch in self.branches.items():
            parent = forked.branches[branch.parent.name] if branch.parent is not None else None
            forked.branches[name] = branch.copy(parent)
        forked.branch = forked.branches[self.branch.name]
        forked._chain = self._chain.copy()
        forked._on_end = None
        if file is None:
            forked._file, forked._origin, forked._start = BytesIO(), self, self._end
        else:
            forked._file, forked._origin, forked._start = file, None, 0
            for offset in range(0, self._end, _COPY_BYTES):
                file.write(self._read(offset, min(_COPY_BYTES, self._end - offset)))
        return forked

    def along(self, branch: Branch, file: BinaryIO) -> Journal:
        """Return a separate journal with the lines of a branch up to the current point of this one.

        It holds nothing else and can be replayed alone. Where the run moved from branch to branch,
        it has the mark of a fork, which ends streams as that move did.
        """
        along = Journal(self.header, file)
        if branch.seed != self.header.seed:
            along.mark("reset", str(branch.seed))
            along.restart(branch.seed)
        along.branch.timers = branch.timers
        for part, first, last in branch.parts(0, self.seq):
            if along.seq:
                along.mark("fork", part.name)
                along.branch_off("fork")
            for position in part.positions(first, last):
                line = self.line_at(position) + b"\n"
                along.branch.add(along._end, *position[1:])
                along._write(line)
            along.seq = last
        if self.failure:
            along._write(self.failure)
        along._chain = self._chain.copy()
        return along

    def view(self) -> Journal:
        """Return a journal for views of the past, which can move to any point
        but writes nothing.
        """
        view = copy(self)
        view.shadow, view.ended, view._on_end = True, None, None
        view._origin, view._start = self, maxsize
        return view

    def _read(self, offset: int, size: int) -> bytes:
        if self._origin is not None and offset < self._start:
            before = self._origin._read(offset, min(size, self._start - offset))
            rest = size - len(before)
            return before + self._read(self._start, rest) if rest else before
        try:
            try:
                self._file.seek(offset - self._start)
                text = self._file.read(size)
            finally:  # even after a failure, the next line must go to the end
                self._stand_at_end()
            if len(text) < size:
                raise OSError(EIO, "the journal was truncated by another process")
        except OSError as error:
            lost = JournalLost(*error.args)
            self.end(lost)
            raise lost from error
        return text

    def _stand_at_end(self) -> None:
        try:
            self._file.seek(self._end - self._start)
        except BaseException as error:
            self.end(error)  # else the next line would overwrite an earlier one
            raise


def encode_header(header: Header) -> bytes:
    """Return the header's line, with its check filled in."""
    bare = json.encode(structs.replace(header, check=""))
    return json.encode(structs.replace(header, check=f"{crc32(bare):08x}"))
