"""Files of earlier runs, which no command overwrites."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path

from sim.read.layout import put


def set_aside(path: Path) -> None:
    """Move a file that has content to the first free name of FILE.1, FILE.2, …, and say so.

    What is no regular file, such as a pipe, stays. Raises OSError.
    """
    if not path.is_file() or not path.stat().st_size:
        return
    aside = next(
        name
        for number in count(1)
        if not (name := path.with_name(f"{path.name}.{number}")).exists()
    )
    path.rename(aside)
    put(f"sim: {path} was there already; it is {aside} now", file=sys.stderr)
