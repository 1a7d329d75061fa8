"""A finished run: its journal's file as a source of rows, and the replay that reconstructs its
states.

The file is scanned once, so that its rows are available at once. The cause of an input and the
state right after it are available as soon as the replay has reached it.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import copyfileobj
from typing import BinaryIO, cast

from sim.api.pipeline.inputs import Outcome
from sim.api.pipeline.settings import Settings
from sim.kernel.branches import Branch, LinePosition, Tree, grow
from sim.kernel.journal import Line
from sim.kernel.journal_reader import NotAJournal, read_journal, read_line, unreadable
from sim.kernel.work import Work
from sim.read.errors import MALFORMED, UnreadableJournal
from sim.read.replay import naming, replaying, simulation_of
from sim.run.simulation import Simulation

_MARK = b'{"mark":'
_GZIP = b"\x1f\x8b"


class RecordedRun:
    """The rows of a journal's file, and the progress of its replay: `inputs` of `total`."""

    def __init__(self, path: Path) -> None:
        """Scan the file. Raises UnreadableJournal."""
        try:
            self._file = _plain(path)
            self.header, _ = read_journal(self._file)
        except OSError as error:
            raise UnreadableJournal(path, f"cannot read: {unreadable(error)}", 0) from error
        except (EOFError, NotAJournal) as error:
            raise UnreadableJournal(path, unreadable(error)) from error
        self.path = path
        self.branches: Tree = {}
        self.branch: Branch = grow(self.branches, self.header.seed, "start")
        self.inputs = self.total = 0
        try:
            self._scan()
        except NotAJournal as error:
            raise UnreadableJournal(path, str(error), error.line) from error

    def _scan(self) -> None:
        """Find every line and every branch."""
        self._file.seek(0)
        offset = self.head = len(self._file.readline())
        named: dict[str, tuple[Branch, int]] = {}
        seq = 0
        for number, raw in enumerate(self._file, start=2):
            if not raw.endswith(b"\n"):
                break
            if raw.startswith(_MARK):
                try:
                    seq = self._travel(read_line(raw), seq, named)
                except MALFORMED:
                    raise NotAJournal("not a mark of a journal", number) from None
            else:
                if not raw.startswith(b'{"seq":'):
                    raise NotAJournal("not a journal record", number)
                seq += 1
                self.total += 1
                self.branch.add(offset, len(raw) - 1, 0, 0, 0)
            offset += len(raw)

    def _travel(self, mark: Line, seq: int, named: dict[str, tuple[Branch, int]]) -> int:
        """Follow a mark. Return the number of inputs before the moment that it leads to."""
        match mark.mark:
            case "snapshot":
                named[mark.argument] = self.branch, seq
                return seq
            case "failure":
                return seq
            case "reset":
                self.branch = grow(self.branches, int(mark.argument), "reset")
                return 0
            case "rewind":
                seq = int(mark.argument)
            case "restore":
                self.branch, seq = named[mark.argument]
        parent = self.branch.holder(seq)
        self.branch = grow(self.branches, parent.seed, mark.mark, parent, seq)
        return seq

    def line_at(self, position: LinePosition, /) -> bytes:
        """The line at a position, without its newline."""
        self._file.seek(position.offset)
        return self._file.read(position.size)

    @property
    def finished(self) -> bool:
        """Whether the replay has reached the end."""
        return self.inputs == self.total

    def begin(self, settings: Settings) -> Simulation:
        """Return the simulation at its start.

        Its journal is this file: what the replay writes is compared with what the file holds.
        Raises UnreadableJournal or Divergence.
        """
        file = cast(BinaryIO, _ComparingFile(self._file, self.head))
        try:
            return simulation_of(self.header, settings, file)
        except NotAJournal as error:
            raise UnreadableJournal(self.path, str(error), error.line) from error

    def replay(
        self, simulation: Simulation, on_outcome: Callable[[Outcome], None] | None = None
    ) -> Work[None]:
        """Repeat every input from the start, calling `on_outcome` with the outcome of each.

        Raises Divergence, or UnreadableJournal at a damaged line.
        """
        with _plain(self.path) as file, naming(self.path):
            _, lines = read_journal(file)
            for _, entry in replaying(simulation, lines, on_outcome=on_outcome):
                if not entry.mark:
                    branch = simulation.journal.branch
                    self.branches[branch.name].learn(entry.seq, branch.position(entry.seq))
                    self.inputs += 1
                yield

    def reached(self, simulation: Simulation, branch: str, seq: int) -> bool:
        """Return whether the replay has reached a moment."""
        if self.finished:
            return True
        replayed = simulation.journal.branches.get(branch)
        return replayed is not None and replayed.seq >= seq


def _plain(path: Path) -> BinaryIO:
    """Open a journal's file for random access. A compressed one becomes a temporary file."""
    file = path.open("rb")
    if file.peek(2)[:2] != _GZIP:
        return file
    with file:
        spooled = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  (the run keeps it)
        copyfileobj(gzip.GzipFile(fileobj=file), spooled)
        spooled.seek(0)
        return spooled


class _ComparingFile:
    """A recorded journal, used as the file of the journal that a replay writes.

    Nothing is written. What the replay writes is read from the recorded file, unless it differs.
    The header may have another length than the recorded one, because the versions of
    libraries may differ.
    """

    def __init__(self, file: BinaryIO, head: int) -> None:
        self._file = file
        self._head = head
        self._shift: int | None = None  # offset of lines in the file
        self._at = 0
        self._other: tuple[int, bytes] = (-1, b"")

    def write(self, data: bytes) -> int:
        """Compare a line with the recorded one."""
        if self._shift is None:
            self._shift = self._head - len(data)
        else:
            self._file.seek(self._at + self._shift)
            if self._file.read(len(data)) != data:
                self._other = (self._at, data)
        self._at += len(data)
        return len(data)

    def seek(self, at: int) -> int:
        """Move to a position of the journal."""
        self._at = at
        return at

    def read(self, size: int) -> bytes:
        """Read from the recorded file."""
        offset, line = self._other
        if self._at == offset:
            data = line[:size]
        else:
            self._file.seek(self._at + (self._shift or 0))
            data = self._file.read(size)
        self._at += len(data)
        return data
