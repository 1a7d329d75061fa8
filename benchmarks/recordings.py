"""Work on recordings: its rate beside reading alone, and that twice as much takes twice as long."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

Write = Callable[[Path, int], None]
Seconds = Callable[[Path], tuple[float, float]]


class Rounds(NamedTuple):
    """By round: lines a second with the work, and of reading alone; microseconds of a line in the
    whole recording and in one of a tenth.
    """

    sandbox: list[float]
    reading: list[float]
    total: list[float]
    tenth: list[float]


def timed(count: int, rounds: int, write: Write, seconds: Seconds) -> Rounds:
    """Work on recordings of `count` lines and of a tenth. `seconds` are those of reading a file and
    of the work on it.
    """
    result = Rounds([], [], [], [])
    with TemporaryDirectory() as folder:
        large, small = Path(folder) / "large.ndjson", Path(folder) / "small.ndjson"
        write(large, count)
        write(small, count // 10)
        for _ in range(max(1, rounds // 3)):
            read, worked = seconds(large)
            result.sandbox.append(count / (read + worked))
            result.reading.append(count / read)
            result.total.append((read + worked) / count * 1e6)
            read, worked = seconds(small)
            result.tenth.append((read + worked) / (count // 10) * 1e6)
    return result
