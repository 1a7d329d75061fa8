"""The file of a journal. Each write has reached the kernel before it returns, so a killed process
leaves at most one incomplete line.

A server without `--journal` still needs a journal, for rewinds and for the control plane. It uses
an unnamed temporary file, which limits the memory.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
from contextlib import suppress
from errno import EIO
from pathlib import Path
from typing import Any, BinaryIO, cast

from sim.read.earlier_files import set_aside
from sim.server.platforms import make_private

_SPOOL_BUFFER = 1 << 16


class JournalFile(io.FileIO):
    """A file of whole lines. A write has reached the kernel before `write` returns, and a line for
    which there is no space is removed again.
    """

    def write(self, data: Any, /) -> int:
        """Write everything or nothing. Raises OSError, MemoryError.

        A file that another program has shortened or extended would no longer replay: EIO.
        """
        start = self.tell()
        status = os.fstat(self.fileno())
        if status.st_size != start and stat.S_ISREG(status.st_mode):
            raise OSError(EIO, "another program has changed the journal", str(self.name))
        left = memoryview(data)
        try:
            while left:
                left = left[super().write(left) :]
        except BaseException:
            self._cut(start)
            raise
        return len(data)

    def _cut(self, size: int) -> None:
        """Remove the beginning of an incomplete line, which would end the journal for readers."""
        with suppress(OSError):
            self.truncate(size)
            self.seek(size)


def open_journal(path: Path) -> JournalFile:
    """A new journal. An existing file moves aside.

    Raises BlockingIOError if another process writes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file():
        with _opened(path):  # nobody writes it
            set_aside(path)
    file = _opened(path)
    try:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate(0)
            make_private(file.fileno())
        return file
    except BaseException:
        file.close()
        raise


def _opened(path: Path) -> JournalFile:
    file = JournalFile(
        path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o600)
    )
    try:
        _lock(file, path)
        return file
    except BaseException:
        file.close()
        raise


def _lock(file: io.FileIO, path: Path) -> None:
    """Lock the file until it is closed, if the platform supports it: two writers
    would corrupt it.
    """
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise BlockingIOError(
            error.errno, "another process is writing this journal: give each its own", str(path)
        ) from None


def spooled_journal() -> BinaryIO:
    """A journal that ends with the process. It is buffered, because nobody reads it
    after a kill.
    """
    return cast(BinaryIO, tempfile.TemporaryFile(prefix="sim-journal-", buffering=_SPOOL_BUFFER))
