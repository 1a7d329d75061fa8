"""Subscriptions of a script: what came on them, and what a step expects of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import UNSET, json

from sim.actors.script.expectations import differences
from sim.api.pipeline.inputs import Close, Outcome, Send
from sim.core.model.refusals import Conflict, NotFound
from sim.scenario.expectations_format import StreamExpect

# A frame of nothing else is a sign of life.
_SIGNS_OF_LIFE = frozenset({"heartbeat", "resumeToken", "processedSentTime", "eof"})


class _FollowedStream:
    """One stream. `encode` makes a frame of a client of JSON; `taken` is how many frames a step has
    looked at.
    """

    def __init__(
        self, stream: int, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]
    ) -> None:
        self.id = stream
        self.decode = decode
        self.encode = encode
        self.frames: list[Any] = []
        self.taken = 0
        self.end: Close | None = None


class ScriptStreams:
    """Streams by the name a script gave them. A name used again is the newer stream's."""

    def __init__(self) -> None:
        self._by_name: dict[str, _FollowedStream] = {}
        self._by_id: dict[int, _FollowedStream] = {}
        self._seen = (-1, 0)  # the input whose effects were read last, and how many of them

    def begin(
        self, name: str, stream: int, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]
    ) -> None:
        """Follow a stream."""
        self._by_name[name] = self._by_id[stream] = _FollowedStream(stream, decode, encode)

    def frames(self, name: str) -> list[Any]:
        """All that came on a stream so far, signs of life left out."""
        return self._require(name).frames

    def encoded(self, name: str, frames: Sequence[Any]) -> tuple[int, list[bytes]]:
        """A stream's id, and frames of its client as bytes. NotFound when the script has opened
        none of this name; Conflict when it has ended.
        """
        found = self._open(name)
        return found.id, [found.encode(frame) for frame in frames]

    def leave(self, name: str) -> int:
        """Follow a stream no longer; its id. NotFound when the script has opened none of this name;
        Conflict when it has ended.
        """
        return self._by_id.pop(self._open(name).id).id

    def _require(self, name: str) -> _FollowedStream:
        found = self._by_name.get(name)
        if found is None:
            raise NotFound(
                f"no stream is called {name!r}",
                rule="script",
                remedy="a name that an earlier `subscribe` gave",
            )
        return found

    def _open(self, name: str) -> _FollowedStream:
        found = self._require(name)
        if self._by_id.get(found.id) is not found:
            raise Conflict(f"the stream {name!r} has ended", rule="script")
        return found

    def absorb(self, outcome: Outcome) -> None:
        """Take what came; effects that joined an input's since the last time are read from there
        on.
        """
        if not self._by_id:
            return
        seq, start = self._seen
        if seq != outcome.seq:
            start = 0
        self._seen = (outcome.seq, len(outcome.effects))
        for effect in outcome.effects[start:]:
            if isinstance(effect, Send) and (found := self._by_id.get(effect.stream)) is not None:
                frame = found.decode(effect.frame)
                if not all(
                    name in _SIGNS_OF_LIFE or not content for name, content in frame.items()
                ):
                    found.frames.append(frame)
            elif (
                isinstance(effect, Close)
                and (found := self._by_id.pop(effect.stream, None)) is not None
            ):
                found.end = effect

    def failures(self, wanted: tuple[StreamExpect, ...]) -> Iterator[str]:
        """What does not hold of the frames since the last look."""
        for expect in wanted:
            found = self._by_name.get(expect.name)
            if found is None:
                yield f"no stream is called {expect.name!r}"
                continue
            frames, found.taken = found.frames[found.taken :], len(found.frames)
            yield from _failures(expect, frames, found.end)


def _failures(expect: StreamExpect, frames: list[Any], end: Close | None) -> Iterator[str]:
    name = expect.name
    if expect.count is not None and len(frames) != expect.count:
        yield f"{len(frames)} frames came on {name}, not {expect.count}"
    if expect.has is not UNSET:
        tried = [
            (list(differences(expect.has, frame, "frame", among=True)), frame) for frame in frames
        ]
        if not tried:
            yield f"nothing came on {name}"
        elif all(wrong for wrong, _ in tried):
            wrong, frame = min(reversed(tried), key=lambda pair: len(pair[0]))
            yield (
                f"none of {len(tried)} frames on {name} holds it; nearest: {'; '.join(wrong)}, in"
                f" {json.encode(frame).decode()[:300]}"
            )
    if expect.last is not UNSET:
        if frames:
            yield from (
                f"on {name}, {line}"
                for line in differences(expect.last, frames[-1], "last frame", among=True)
            )
        else:
            yield f"nothing came on {name}"
    if expect.code is not None and (end is None or end.code != expect.code):
        yield (
            f"{name} "
            + (f"ended with {end.code} {end.message}" if end else "is open")
            + f", not ended with {expect.code}"
        )
