"""Opens regular files only: a pipe, a terminal or a device could hold its reader for ever."""

from __future__ import annotations

import os
from errno import EINVAL, EISDIR
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. OSError if there is none, or if it is something else; never waits
    for whoever would write to it.
    """
    # Without O_NONBLOCK, opening a FIFO waits for a writer. Windows has neither.
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | _NONBLOCK))  # noqa: SIM115
    mode = os.fstat(file.fileno()).st_mode
    if not S_ISREG(mode):
        file.close()
        text = "Is a directory" if S_ISDIR(mode) else "not a regular file"
        raise OSError(EISDIR if S_ISDIR(mode) else EINVAL, text, str(path))
    return file


_NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
