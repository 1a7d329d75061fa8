"""Compare the heartbeats of one stream: how many are expected, which are missing, which are extra.

A heartbeat carries an instant and no content, so heartbeats are counted and matched by time. At the
end of a stream, a second or two (TOLERANCE) decides nothing: ours may have come too late for the
recording, and theirs may have come where ours is due just after the end.
"""

from __future__ import annotations

from collections.abc import Iterator

from sim.evidence.compare.difference import ABSENT, Misfit
from sim.evidence.compare.frames import merged
from sim.evidence.compare.values import TOLERANCE
from sim.evidence.recording.recorded_events import RecordedEvent
from sim.kernel.instants import Instant

MISSING = Misfit("frame", ABSENT, "a heartbeat", "missing frame", culprit="recording")
EXTRA = Misfit("frame", "a heartbeat", ABSENT, "extra frame")


class StreamHeartbeats:
    """The heartbeats of one stream. Instants count from the beginning of each session."""

    def __init__(self) -> None:
        self.own: list[Instant] = []
        self._recorded: list[tuple[RecordedEvent, Instant, list[Misfit]]] = []
        self._last = 0

    def recorded(self, event: RecordedEvent, since: Instant, from_contract: list[Misfit]) -> None:
        """Add a recorded heartbeat: its instant, and its differences from the contract."""
        self._recorded.append((event, since, from_contract))

    def line(self, n: int) -> None:
        """Note the number of the stream's last line."""
        self._last = n

    def missing(self, end: Instant) -> Iterator[int]:
        """Yield, for each heartbeat missing in the recording, the line before which it belongs."""
        due = [at for at in self.own if at + TOLERANCE < end]
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

    def counted(self, end: Instant) -> Iterator[tuple[RecordedEvent, list[Misfit]]]:
        """Yield each recorded heartbeat with its differences. Those beyond the expected
        number are extra.
        """
        own = len(self.own) + self._is_owed(end)
        for number, (event, _, from_contract) in enumerate(self._recorded):
            yield event, from_contract if number < own else merged(from_contract, [EXTRA])

    def _is_owed(self, end: Instant) -> bool:
        """Return whether our next heartbeat is so near the end that theirs may precede it."""
        if len(self.own) < 2:
            return True
        return 2 * self.own[-1] - self.own[-2] <= end + TOLERANCE
