"""Subscriptions of a script: the frames that arrived on them, and the expectations about these.

Each stream counts the frames that a step has checked. The next step that checks the stream sees
only later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import UNSET, Struct, json

from sim.api.pipeline.inputs import Close, Outcome, Send
from sim.core.model.refusals import Conflict, NotFound
from sim.run.actors.script.expectations import differences, shortened
from sim.world.format.expectations_format import StreamExpect
from sim.world.format.steps import SubscribeStep

# A frame with nothing but these keys is a heartbeat.
_HEARTBEAT_KEYS = frozenset({"heartbeat", "resumeToken", "processedSentTime", "eof"})


class ScriptStream(Struct):
    """A stream of the script: the step that opened it, its frames, how many of these have been
    checked, and its end.
    """

    step: SubscribeStep
    id: int
    frames: list[Any] = []
    checked: int = 0
    end: Close | None = None
    is_open: bool = True


class Encode(Protocol):
    """Makes the bytes of a client's frame. InvalidRequest if it does not fit its message; with
    `strict` also if it has unknown names.
    """

    def __call__(self, content: Any, *, strict: bool) -> bytes: ...


# How frames become JSON values, and JSON values frames of the client.
Coding: TypeAlias = tuple[Callable[[bytes], Any], Encode]


class ScriptStreams:
    """Streams by the name that a step gave them. If a name is used again, it means
    the newer stream.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, ScriptStream] = {}
        self._open_by_id: dict[int, ScriptStream] = {}
        self._codings: dict[int, Coding] = {}

    def follow(self, subscription: ScriptStream, coding: Coding) -> None:
        """Follow a stream that a step opened, or one of a snapshot, in the order of `save`."""
        self._by_name[subscription.step.name] = subscription
        self._codings[subscription.id] = coding
        if subscription.is_open:
            self._open_by_id[subscription.id] = subscription

    def save(self) -> list[ScriptStream]:
        """Every stream that a later step may still check, and every open one, in order of id."""
        every = {each.id: each for each in (*self._by_name.values(), *self._open_by_id.values())}
        return [every[stream] for stream in sorted(every)]

    def encoded(self, name: str, frames: Sequence[Any], *, strict: bool) -> tuple[int, list[bytes]]:
        """The id of a stream, and frames of its client as bytes.

        NotFound if no step opened a stream of this name; Conflict if it has ended.
        """
        stream = self._open(name).id
        encode = self._codings[stream][1]
        return stream, [encode(frame, strict=strict) for frame in frames]

    def id_of(self, name: str) -> int:
        """The id of an open stream. Refused like `encoded`."""
        return self._open(name).id

    def leave(self, stream: int) -> None:
        """Stop following a stream that its client or the exchange has ended."""
        subscription = self._open_by_id.pop(stream, None)
        if subscription is not None:
            subscription.is_open = False

    def _open(self, name: str) -> ScriptStream:
        subscription = self._by_name.get(name)
        if subscription is None:
            remedy = "use the `name` of an earlier `subscribe` step"
            raise NotFound(f"there is no stream {name!r}", rule="T1", remedy=remedy)
        if not subscription.is_open:
            raise Conflict(f"the stream {name!r} has ended", rule="T1")
        return subscription

    def absorb(self, outcome: Outcome) -> None:
        """Keep the frames and ends among the effects of an input."""
        if not self._open_by_id:
            return
        for effect in outcome.effects:
            if not isinstance(effect, Send | Close):
                continue
            subscription = self._open_by_id.get(effect.stream)
            if subscription is None:
                continue
            if isinstance(effect, Close):
                subscription.end = effect
                self.leave(effect.stream)
            elif not _is_heartbeat(frame := self._codings[effect.stream][0](effect.frame)):
                subscription.frames.append(frame)

    def failures(self, expectations: tuple[StreamExpect, ...]) -> Iterator[str]:
        """The expectations that do not hold for the frames that arrived since the last check."""
        for expect in expectations:
            subscription = self._by_name.get(expect.name)
            if subscription is None:
                yield f"there is no stream {expect.name!r}"
                continue
            frames = subscription.frames[subscription.checked :]
            subscription.checked = len(subscription.frames)
            yield from _failures(expect, frames, subscription.end)


def _is_heartbeat(frame: dict[str, Any]) -> bool:
    return all(name in _HEARTBEAT_KEYS or not content for name, content in frame.items())


def _failures(expect: StreamExpect, frames: list[Any], end: Close | None) -> Iterator[str]:
    name = expect.name
    if expect.count is not None and len(frames) != expect.count:
        word = "frame" if len(frames) == 1 else "frames"
        yield f"{len(frames)} {word} arrived on {name}, not {expect.count}{_listed(frames)}"
    if not frames and (expect.has is not UNSET or expect.last is not UNSET):
        yield f"no frame arrived on {name}"
    elif expect.has is not UNSET:
        yield from _frame_mismatch(expect, frames)
    if frames and expect.last is not UNSET:
        for line in differences(expect.last, frames[-1], "last frame", anywhere=True):
            yield f"on {name}, {line}"
    if expect.code is not None and (end is None or end.code != expect.code):
        state = f"ended with {end.code} {end.message}" if end else "is open"
        yield f"{name} {state}, not ended with {expect.code}"


def _listed(frames: list[Any]) -> str:
    """The keys of frames and the last frame, as text; "" for no frames."""
    if not frames:
        return ""
    kinds = (
        "+".join(key for key, content in frame.items() if isinstance(content, dict | list))
        for frame in frames[:20]
    )
    more = ", …" if len(frames) > 20 else ""
    last = shortened(json.encode(frames[-1]).decode())
    return f": {', '.join(kinds)}{more}; the last: {last}"


def _frame_mismatch(expect: StreamExpect, frames: list[Any]) -> Iterator[str]:
    """Nothing if some frame matches, else the differences of the nearest one."""
    misses = [list(differences(expect.has, each, "frame", anywhere=True)) for each in frames]
    if all(misses):
        # The latest of the nearest.
        latest_first = zip(reversed(misses), reversed(frames), strict=True)
        miss, frame = min(latest_first, key=lambda pair: len(pair[0]))
        nearest = f"{'; '.join(miss)}, in {shortened(json.encode(frame).decode())}"
        which = f"none of {len(frames)} frames" if len(frames) > 1 else "not the one frame"
        yield f"{which} on {expect.name} matches; nearest: {nearest}"
