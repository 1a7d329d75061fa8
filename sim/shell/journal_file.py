"""The journal's file: read and write, each write in the kernel's hands before it returns, so that a killed process leaves at most one torn line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any


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
