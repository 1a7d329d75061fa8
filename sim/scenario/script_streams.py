"""Subscriptions of a script: what came on them, and what a step expects of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import UNSET, json

from sim.api.traffic import Close, Outcome, Send
from sim.scenario.expectations import differences
from sim.scenario.steps import StreamExpect

# A frame of nothing else is a sign of life.
_SIGNS_OF_LIFE = frozenset({"heartbeat", "resumeToken", "processedSentTime", "eof"})


class _Followed:
    """One stream. `taken` is how many frames a step has looked at."""

    def __init__(self, decode: Callable[[bytes], Any]) -> None:
        self.decode = decode
        self.frames: list[Any] = []
        self.taken = 0
        self.end: Close | None = None


class ScriptStreams:
    """Streams by the name a script gave them. A name used again is the newer stream's."""

    def __init__(self) -> None:
        self._by_name: dict[str, _Followed] = {}
        self._by_id: dict[int, _Followed] = {}
        self._seen = (-1, 0)  # the input whose effects were read last, and how many of them

    def begin(self, name: str, stream: int, decode: Callable[[bytes], Any]) -> None:
        """Follow a stream."""
        self._by_name[name] = self._by_id[stream] = _Followed(decode)

    def absorb(self, outcome: Outcome) -> None:
        """Take what came; effects that joined an input's since the last time are read from there on."""
        if not self._by_id:
            return
        seq, start = self._seen
        if seq != outcome.seq:
            start = 0
        self._seen = (outcome.seq, len(outcome.effects))
        for effect in outcome.effects[start:]:
            if isinstance(effect, Send) and (found := self._by_id.get(effect.stream)) is not None:
                frame = found.decode(effect.frame)
                if not all(name in _SIGNS_OF_LIFE or not content for name, content in frame.items()):
                    found.frames.append(frame)
            elif isinstance(effect, Close) and (found := self._by_id.pop(effect.stream, None)) is not None:
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
        tried = [(list(differences(expect.has, frame, "frame", among=True)), frame) for frame in frames]
        if not tried:
            yield f"nothing came on {name}"
        elif all(wrong for wrong, _ in tried):
            wrong, frame = min(reversed(tried), key=lambda pair: len(pair[0]))
            yield f"none of {len(tried)} frames on {name} holds it; nearest: {'; '.join(wrong)}, in {json.encode(frame).decode()[:300]}"
    if expect.last is not UNSET:
        if frames:
            yield from (f"on {name}, {line}" for line in differences(expect.last, frames[-1], "last frame", among=True))
        else:
            yield f"nothing came on {name}"
    if expect.code is not None and (end is None or end.code != expect.code):
        yield f"{name} " + (f"ended with {end.code} {end.message}" if end else "is open") + f", not ended with {expect.code}"
