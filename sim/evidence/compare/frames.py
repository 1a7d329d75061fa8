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

from sim.evidence.compare.difference import ABSENT, Difference

AHEAD = 12
Fit: TypeAlias = Callable[[Any, Any], "list[Difference]"]


class RecordedFrame(Struct, frozen=True):
    """A recorded frame, and its differences from contract and specification."""

    n: int
    body: Any
    from_contract: list[Difference]


class FrameVerdict(Struct, frozen=True):
    """The verdict on a recorded frame, or (`seen` is False) on a frame that only we sent."""

    n: int
    differences: list[Difference]
    seen: bool = True


class FrameQueue:
    """Frames that wait for their counterpart. `fit` compares two bodies and keeps the identifier
    pairs that it finds; `trial` compares without keeping pairs.
    """

    def __init__(self, fit: Fit, trial: Fit) -> None:
        self._fit, self._trial = fit, trial
        self.recorded: deque[RecordedFrame] = deque()
        self.ours: deque[Any] = deque()
        self._last = 0
        self._undecided = (0, 0)  # lengths of both queues when the first frames did not fit

    def decided(self, *, final: bool = False) -> Iterator[FrameVerdict]:
        """Yield verdicts on what can be compared by now; with `final` on everything."""
        recorded, ours = self.recorded, self.ours
        if not final and (len(recorded), len(ours)) == self._undecided:
            return  # the same first frames were compared before, and did not fit
        while recorded and ours:
            if not self._trial(recorded[0].body, ours[0]):
                one = recorded.popleft()
                self._fit(one.body, ours.popleft())
                yield self._verdict(one, [])
                continue
            if not final and min(len(recorded), len(ours)) <= AHEAD:
                self._undecided = len(recorded), len(ours)
                return
            yield from self._resynchronised()
        if final:
            for one in recorded:
                alone = Difference("frame", _kind(one.body), ABSENT, "extra frame")
                yield self._verdict(one, [alone])
            yield from (self._missing(body) for body in ours)
            recorded.clear()
            ours.clear()

    def _resynchronised(self) -> Iterator[FrameVerdict]:
        recorded, ours = self.recorded, self.ours
        for ahead in range(1, AHEAD + 1):
            if ahead < len(ours) and not self._trial(recorded[0].body, ours[ahead]):
                for _ in range(ahead):
                    yield self._missing(ours.popleft())
                return
            if ahead < len(recorded) and not self._trial(recorded[ahead].body, ours[0]):
                for _ in range(ahead):
                    one = recorded.popleft()
                    alone = Difference("frame", _kind(one.body), ABSENT, "extra frame")
                    yield self._verdict(one, [alone])
                return
        one = recorded.popleft()
        differences = self._fit(one.body, ours.popleft())
        yield self._verdict(one, [difference.under("frame.body") for difference in differences])

    def _verdict(self, one: RecordedFrame, differences: list[Difference]) -> FrameVerdict:
        self._last = one.n
        return FrameVerdict(one.n, merged(one.from_contract, differences))

    def _missing(self, body: Any) -> FrameVerdict:
        n = self.recorded[0].n if self.recorded else self._last
        lacks = Difference("frame", ABSENT, _kind(body), "missing frame", culprit="recording")
        return FrameVerdict(n, [lacks], seen=False)


def merged(from_contract: list[Difference], further: list[Difference]) -> list[Difference]:
    """Merge differences from the contract with those from our answer. The former get our values;
    the latter count only at other places.
    """
    if not from_contract:
        return further
    ours = {one.where: one.ours for one in further}
    places = {one.where for one in from_contract}
    with_ours = [
        Difference(
            one.where,
            one.recorded,
            ours.get(one.where, one.ours),
            one.kind,
            one.switch,
            one.culprit,
        )
        for one in from_contract
    ]
    return with_ours + [one for one in further if not _within(one.where, places)]


def _within(where: str, places: set[str]) -> bool:
    """Return whether a place is one of these places or lies inside one."""
    while where:
        if where in places:
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
    dull = ("requestId", "subscriptionType", "sessionId", "processedSentTime")
    return f"a frame with {', '.join(name for name in body if name not in dull) or 'nothing'}"
