"""The journal's file: read and write, each write in the kernel's hands before it returns, so that a
killed process leaves at most one torn line.

A server that keeps no journal still needs one, for rewinds and for those who ask; it goes to an
unnamed temporary file, so that memory stays bounded.
"""

from __future__ import annotations

import io
import os
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, cast

_SPOOL_BUFFER = 1 << 16


class JournalFile(io.BufferedRandom):
    """A file that buffers reads only. `lost` is called when something cannot be written: what
    happens from then on has no journal.
    """

    lost: Callable[[OSError], None] | None = None

    def write(self, data: Any, /) -> int:
        """Write through."""
        try:
            written = super().write(data)
            self.flush()
        except OSError as error:
            if self.lost is not None:
                self.lost(error)
            raise
        return written


def open_journal(path: Path) -> JournalFile:
    """A new journal at a path, replacing what was there; BlockingIOError while somebody else is
    writing it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = io.FileIO(
        path, "r+", opener=lambda name, flags: os.open(name, flags | os.O_CREAT, 0o666)
    )
    try:
        _lock(file, path)
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            file.truncate(0)
        return JournalFile(file)
    except BaseException:
        file.close()
        raise


def _lock(file: io.FileIO, path: Path) -> None:
    """Two processes that write one journal would spoil it for both. Held until the file is closed;
    not everywhere to be had.
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
    """A journal that is gone with the process. It is buffered: nobody will look for what a killed
    process had acknowledged.
    """
    return cast(BinaryIO, tempfile.TemporaryFile(prefix="sim-journal-", buffering=_SPOOL_BUFFER))
