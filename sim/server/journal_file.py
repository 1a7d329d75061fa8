"""The journal's file. Each write has reached the kernel before it returns, so a killed process
leaves at most one incomplete line.

A server without `--journal` still needs a journal, for rewinds and for the control plane; it goes
to an unnamed temporary file, which bounds memory.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, cast

from sim.server.platforms import make_private

_SPOOL_BUFFER = 1 << 16


class JournalFile(io.FileIO):
    """A file of whole lines: what is written has reached the kernel before `write` returns, and a
    line that finds no room is cut off again.
    """

    def write(self, data: Any, /) -> int:
        """Write everything or nothing. Raises OSError, MemoryError."""
        start = self.tell()
        left = memoryview(data)
        try:
            while left:
                left = left[super().write(left) :]
        except BaseException:
            self._cut(start)
            raise
        return len(data)

    def _cut(self, size: int) -> None:
        """Take the beginning of a line back; left standing it would be a torn one, which reading
        drops.
        """
        with suppress(OSError):
            self.truncate(size)
            self.seek(size)


def open_journal(path: Path) -> JournalFile:
    """A new journal, replacing the file that was there. Raises BlockingIOError while another
    process writes it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = JournalFile(
        path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o600)
    )
    try:
        _lock(file, path)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate(0)
            make_private(file.fileno())
        return file
    except BaseException:
        file.close()
        raise


def _lock(file: io.FileIO, path: Path) -> None:
    """Lock the file until it is closed, where the platform can: two writers would corrupt it."""
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
    """A journal that ends with the process. It is buffered, since nobody reads it after a kill."""
    return cast(BinaryIO, tempfile.TemporaryFile(prefix="sim-journal-", buffering=_SPOOL_BUFFER))
