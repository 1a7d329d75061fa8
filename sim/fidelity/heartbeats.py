"""Heartbeats of one stream, recorded and ours: how many there must be, and where one lacks.

They say when and not what, so they are counted: which of them is missing, nobody could tell from
their contents. A heartbeat of ours within a second or two of the end may not have come in time.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.fidelity.difference import ABSENT, Difference
from sim.fidelity.values import TOLERANCE
from sim.kernel.instants import Instant

MISSING = Difference("frame", ABSENT, "a heartbeat", "missing frame", culprit="recording")


class Heartbeats:
    """Instants are counted from the begin of each session."""

    def __init__(self) -> None:
        self.ours: list[Instant] = []
        self._recorded: list[tuple[int, Instant]] = []
        self._last = 0

    def recorded(self, n: int, since: Instant) -> None:
        """Note a recorded heartbeat: its line, and when it came."""
        self._recorded.append((n, since))

    def line(self, n: int) -> None:
        """Note the last line of the stream."""
        self._last = n

    def missing(self, end: Instant) -> Iterator[int]:
        """The line before which each heartbeat lacks that the recording should have."""
        due = [at for at in self.ours if at + TOLERANCE < end]
        left = iter(self._recorded)
        lacking = len(due) - len(self._recorded)
        following = next(left, None)
        for at in due:
            if lacking <= 0:
                return
            if following is None or following[1] > at + TOLERANCE:
                lacking -= 1
                yield self._last if following is None else following[0]
            else:
                following = next(left, None)
        yield from (self._last for _ in range(lacking))
