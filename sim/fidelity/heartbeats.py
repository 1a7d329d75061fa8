"""Heartbeats of one stream, recorded and ours: how many there must be, where one is missing, and
which are too many.

They say when and not what, so they are counted: their contents do not tell which of them is
missing. A heartbeat of ours within a second or two of the end may have been too late for the
recording, and theirs may have come where ours is due within a second or two after the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.fidelity.difference import ABSENT, Difference
from sim.fidelity.frames import merged
from sim.fidelity.values import TOLERANCE
from sim.kernel.instants import Instant
from sim.recording.recorded_events import RecordedEvent

MISSING = Difference("frame", ABSENT, "a heartbeat", "missing frame", culprit="recording")
EXTRA = Difference("frame", "a heartbeat", ABSENT, "extra frame")


class Heartbeats:
    """Instants are counted from the beginning of each session."""

    def __init__(self) -> None:
        self.ours: list[Instant] = []
        self._recorded: list[tuple[RecordedEvent, Instant, list[Difference]]] = []
        self._last = 0

    def recorded(
        self, event: RecordedEvent, since: Instant, from_contract: list[Difference]
    ) -> None:
        """Note a recorded heartbeat: when it came, and what contract and specification say."""
        self._recorded.append((event, since, from_contract))

    def line(self, n: int) -> None:
        """Note the last line of the stream."""
        self._last = n

    def missing(self, end: Instant) -> Iterator[int]:
        """The line before which each heartbeat belongs that the recording does not have."""
        due = [at for at in self.ours if at + TOLERANCE < end]
        left = iter(self._recorded)
        lacking = len(due) - len(self._recorded)
        following = next(left, None)
        for at in due:
            if lacking <= 0:
                return
            if following is None or following[1] > at + TOLERANCE:
                lacking -= 1
                yield self._last if following is None else following[0].entry.n
            else:
                following = next(left, None)
        yield from (self._last for _ in range(lacking))

    def counted(self, end: Instant) -> Iterator[tuple[RecordedEvent, list[Difference]]]:
        """Each recorded heartbeat with its differences: the last ones, once ours are counted, are
        too many.
        """
        ours = len(self.ours) + self._is_owed(end)
        for number, (event, _, from_contract) in enumerate(self._recorded):
            yield event, from_contract if number < ours else merged(from_contract, [EXTRA])

    def _is_owed(self, end: Instant) -> bool:
        """Whether our next heartbeat is so near that theirs may have come before it."""
        if len(self.ours) < 2:
            return True
        return 2 * self.ours[-1] - self.ours[-2] <= end + TOLERANCE
