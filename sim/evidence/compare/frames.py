"""Compare the frames of one stream, recorded and ours, in order.

If two frames do not fit, a fitting later frame is searched on both sides, up to AHEAD frames on.
The skipped frames count as missing in the recording, or as sent by the service alone. Heartbeats
carry only an instant and are compared in `heartbeats.py`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from sim.evidence.compare.difference import ABSENT, Misfit

AHEAD = 12
Fit: TypeAlias = Callable[[Any, Any], "list[Misfit]"]


class RecordedFrame(Struct, frozen=True):
    """A recorded frame, and its differences from contract and specification."""

    n: int
    body: Any
    from_contract: list[Misfit]


class FrameVerdict(Struct, frozen=True):
    """The verdict on a recorded frame, or (`seen` is False) on a frame that only we sent."""

    n: int
    differences: list[Misfit]
    is_recorded: bool = True


class FrameQueue:
    """Frames that wait for their counterpart. `fit` compares two bodies and keeps the identifier
    pairs that it finds; `trial` compares without keeping pairs.
    """

    def __init__(self, fit: Fit, trial: Fit) -> None:
        self._fit, self._trial = fit, trial
        self.recorded: deque[RecordedFrame] = deque()
        self.own: deque[Any] = deque()
        self._last = 0
        self._undecided = (0, 0)  # lengths of both queues when the first frames did not fit

    def decided(self, *, final: bool = False) -> Iterator[FrameVerdict]:
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

    def _resynchronised(self) -> Iterator[FrameVerdict]:
        recorded, own = self.recorded, self.own
        for ahead in range(1, AHEAD + 1):
            if ahead < len(own) and not self._trial(recorded[0].body, own[ahead]):
                return self._skipped(0, ahead)
            if ahead < len(recorded) and not self._trial(recorded[ahead].body, own[0]):
                return self._skipped(ahead, 0)
        return iter((self._paired(),))

    def _paired(self) -> FrameVerdict:
        """Compare the first frame of each side."""
        frame = self.recorded.popleft()
        differences = self._fit(frame.body, self.own.popleft())
        return self._verdict(frame, [misfit.under("frame.body") for misfit in differences])

    def _skipped(self, recorded: int, own: int) -> Iterator[FrameVerdict]:
        """Take so many frames of each side that the other side lacks."""
        for _ in range(recorded):
            frame = self.recorded.popleft()
            alone = Misfit("frame", _kind(frame.body), ABSENT, "extra frame")
            yield self._verdict(frame, [alone])
        for _ in range(own):
            n, kind = (
                self.recorded[0].n if self.recorded else self._last,
                _kind(self.own.popleft()),
            )
            lacks = Misfit("frame", ABSENT, kind, "missing frame", culprit="recording")
            yield FrameVerdict(n, [lacks], is_recorded=False)

    def _verdict(self, frame: RecordedFrame, differences: list[Misfit]) -> FrameVerdict:
        self._last = frame.n
        return FrameVerdict(frame.n, merged(frame.from_contract, differences))


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
