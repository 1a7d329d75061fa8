"""Compare the frames of one stream, recorded and ours, in order.

If two frames do not fit, a fitting later frame is searched on both sides, up to AHEAD frames on.
The skipped frames count as missing in the recording, or as sent by the service alone. Heartbeats
carry only an instant and are counted (`StreamHeartbeats`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sim.evidence.replay.identifier_map import IdentifierMap
from sim.evidence.replay.values import TOLERANCE
from sim.evidence.validation.difference import ABSENT, LineVerdict, Misfit
from sim.kernel.instants import Instant

AHEAD = 12
Fit: TypeAlias = Callable[[Any, Any], "list[Misfit]"]


class RecordedFrame(Struct, frozen=True):
    """A recorded frame, and its differences from contract and specification."""

    n: int
    body: Any
    from_contract: list[Misfit]


class FrameQueue:
    """Frames of an operation's stream that wait for their counterpart. `fit` compares two bodies
    and keeps the pairs of identifiers that it finds.
    """

    def __init__(self, name: str, names: IdentifierMap, fit: Fit) -> None:
        self._name, self._names, self._fit = name, names, fit
        self.recorded: deque[RecordedFrame] = deque()
        self.own: deque[Any] = deque()
        self._last = 0
        self._undecided = (0, 0)  # lengths of both queues when the first frames did not fit

    def _trial(self, recorded: Any, own: Any) -> list[Misfit]:
        """Compare two bodies, and forget the pairs of identifiers."""
        mark = self._names.mark()
        differences = self._fit(recorded, own)
        self._names.undo_to(mark)
        return differences

    def decided(self, *, final: bool = False) -> Iterator[LineVerdict]:
        """Yield verdicts on what can be compared by now; with `final` on everything."""
        recorded, own = self.recorded, self.own
        if not final and (len(recorded), len(own)) == self._undecided:
            return  # the same first frames were compared before, and did not fit
        while recorded and own:
            if not self._trial(recorded[0].body, own[0]):
                yield self._paired()
                continue
            if not final and min(len(recorded), len(own)) <= AHEAD:
                self._undecided = len(recorded), len(own)
                return
            yield from self._resynchronised()
        if final:
            yield from self._skipped(len(recorded), len(own))

    def _resynchronised(self) -> Iterator[LineVerdict]:
        recorded, own = self.recorded, self.own
        for ahead in range(1, AHEAD + 1):
            if ahead < len(own) and not self._trial(recorded[0].body, own[ahead]):
                return self._skipped(0, ahead)
            if ahead < len(recorded) and not self._trial(recorded[ahead].body, own[0]):
                return self._skipped(ahead, 0)
        return iter((self._paired(),))

    def _paired(self) -> LineVerdict:
        """Compare the first frame of each side."""
        frame = self.recorded.popleft()
        differences = self._fit(frame.body, self.own.popleft())
        return self._verdict(frame, [misfit.under("frame.body") for misfit in differences])

    def _skipped(self, recorded: int, own: int) -> Iterator[LineVerdict]:
        """Take so many frames of each side that the other side lacks."""
        for _ in range(recorded):
            frame = self.recorded.popleft()
            alone = Misfit("frame", _kind(frame.body), ABSENT, "extra frame")
            yield self._verdict(frame, [alone])
        for _ in range(own):
            n = self.recorded[0].n if self.recorded else self._last
            kind = _kind(self.own.popleft())
            lacks = Misfit("frame", ABSENT, kind, "missing frame", culprit="recording")
            yield LineVerdict(self._name, n, [lacks], is_recorded=False)

    def _verdict(self, frame: RecordedFrame, differences: list[Misfit]) -> LineVerdict:
        self._last = frame.n
        return LineVerdict(self._name, frame.n, merged(frame.from_contract, differences))


def merged(from_contract: list[Misfit], further: list[Misfit]) -> list[Misfit]:
    """Merge differences from the contract with those from our answer. The former get our values;
    the latter count only at other places.
    """
    if not from_contract:
        return further
    values = {difference.where: difference.own for difference in further}
    paths = {difference.where for difference in from_contract}
    return [
        *(replace(rule, own=values.get(rule.where, rule.own)) for rule in from_contract),
        *(difference for difference in further if not _within(difference.where, paths)),
    ]


def _within(where: str, paths: set[str]) -> bool:
    """Return whether a path is one of these paths or lies inside one."""
    while where:
        if where in paths:
            return True
        where = where[: max(where.rfind("."), where.rfind("["), 0)]
    return False


def is_heartbeat(body: Any) -> bool:
    """Return whether a frame only says that the stream is alive."""
    return isinstance(body, dict) and "heartbeat" in body


def _kind(body: Any) -> str:
    """Return a short description of a frame's contents."""
    if not isinstance(body, dict):
        return "a frame"
    common = ("requestId", "subscriptionType", "sessionId", "processedSentTime")
    return f"a frame with {', '.join(name for name in body if name not in common) or 'nothing'}"


MISSING = Misfit("frame", ABSENT, "a heartbeat", "missing frame", culprit="recording")
EXTRA = Misfit("frame", "a heartbeat", ABSENT, "extra frame")


class StreamHeartbeats:
    """The heartbeats of one stream. Instants count from the beginning of each session."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._own: list[Instant] = []
        self._recorded: list[tuple[int, Instant, list[Misfit]]] = []
        self._last = 0

    def recorded(self, n: int, since: Instant, from_contract: list[Misfit]) -> None:
        """Add a recorded heartbeat: its line, its instant, its differences from the contract."""
        self._recorded.append((n, since, from_contract))

    def line(self, n: int) -> None:
        """Note the number of the stream's last line."""
        self._last = n

    def verdicts(self, own: list[Instant], end: Instant) -> Iterator[LineVerdict]:
        """Yield, at the end of the stream, what our heartbeats show missing in the recording, and
        each recorded heartbeat. Those beyond the expected number are extra.
        """
        self._own = own
        for n in self._missing(end):
            yield LineVerdict(self._name, n, [MISSING], is_recorded=False)
        expected = len(own) + self._is_owed(end)
        for number, (n, _, from_contract) in enumerate(self._recorded):
            extra = [] if number < expected else [EXTRA]
            yield LineVerdict(self._name, n, merged(from_contract, extra))

    def _missing(self, end: Instant) -> Iterator[int]:
        """Yield, for each heartbeat missing in the recording, the line before which it belongs."""
        due = [at for at in self._own if at + TOLERANCE < end]
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

    def _is_owed(self, end: Instant) -> bool:
        """Return whether our next heartbeat is so near the end that theirs may precede it."""
        if len(self._own) < 2:
            return True
        return 2 * self._own[-1] - self._own[-2] <= end + TOLERANCE
