"""The journal's file: read and write, each write in the kernel's hands before it returns, so that a killed process leaves at most one torn line.

A server that keeps no journal still needs one, for rewinds and for those who ask; it goes to an unnamed temporary file, so that memory stays bounded."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path
from typing import Any, BinaryIO, cast

_SPOOL_BUFFER = 1 << 16


class JournalFile(io.BufferedRandom):
    """A file that buffers reads only."""

    def write(self, data: Any, /) -> int:
        """Write through."""
        written = super().write(data)
        self.flush()
        return written


def open_journal(path: Path) -> JournalFile:
    """A new journal at a path, replacing what was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return JournalFile(io.FileIO(path, "w+"))


def spooled_journal() -> BinaryIO:
    """A journal that is gone with the process. It is buffered: nobody will look for what a killed process had acknowledged."""
    return cast(BinaryIO, tempfile.TemporaryFile(prefix="sim-journal-", buffering=_SPOOL_BUFFER))
