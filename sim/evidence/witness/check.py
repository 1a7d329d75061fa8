"""The base class of checks. A check receives facts one by one and reports contradictions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

from msgspec import Struct, field

from sim.evidence.witness.observation import ClientObservation, ObservedStream, Seen

EVIDENCE_MAX = 5  # lines that one contradiction names
KEPT_MAX = 100  # listed contradictions of one check; all are counted


class Contradiction(Struct, frozen=True):
    """A sentence, and the numbers of the lines that cannot all be true."""

    sentence: str = field(name="says")
    evidence: list[int]


class WitnessCheck:
    """Looks for one kind of contradiction. A method named after a kind of fact (`facts.py`) gets
    each fact of that kind with the observation that showed it; `finish` comes at the end.

    `applied` counts how often the check could have found a contradiction, `cannot_tell` how often
    something kept it from judging.
    """

    name: ClassVar[str]
    depends_on: ClassVar[str]

    def __init__(self) -> None:
        self.applied = 0
        self.cannot_tell = 0
        self.count = 0
        self.contradictions: list[Contradiction] = []
        self._first: dict[Hashable, tuple[Any, int]] = {}
        self._previous: dict[Hashable, tuple[Any, int]] = {}
        self._latest: dict[Hashable, tuple[Any, Seen, int]] = {}
        self._on_streams: list[tuple[ObservedStream, str, list[int]]] = []

    def contradict(
        self, text: str, evidence: Iterable[int], stream: ObservedStream | None = None
    ) -> None:
        """Report a contradiction. One on a stream is reported at the end, and only if no fault
        has disturbed the stream by then.
        """
        lines = sorted(set(evidence))[:EVIDENCE_MAX]
        if stream is not None:
            self._on_streams.append((stream, text, lines))
            return
        self.count += 1
        if len(self.contradictions) < KEPT_MAX:
            self.contradictions.append(Contradiction(text, lines))

    def first(self, key: Hashable, value: Any, line: int) -> tuple[Any, int]:
        """Return the first value under a key, with the line that showed it: perhaps this one."""
        return self._first.setdefault(key, (value, line))

    def other_content(self, key: Hashable, content: Any, line: int) -> tuple[Any, int] | None:
        """Return the first content under a key, with its line, if this one differs from it."""
        first = self._first.get(key)
        if first is None:
            self._first[key] = content, line
            return None
        self.applied += 1
        return None if first[0] == content else first

    def equal_everywhere(
        self, subject: str, contents: Mapping[Hashable, tuple[object, ...]], line: int
    ) -> None:
        """Report each content that differs from the first one under its key."""
        for key, content in contents.items():
            if (first := self.other_content(key, content, line)) is not None:
                pairs = zip(first[0], content, strict=True)
                values = next(f"{before} or {now}" for before, now in pairs if before != now)
                self.contradict(f"{subject} is reported with {values}", [first[1], line])

    def previous(self, key: Hashable, value: Any, line: int) -> tuple[Any, int]:
        """Return the value that came before this one under a key, with its line; None at first."""
        before = self._previous.get(key, (None, 0))
        self._previous[key] = value, line
        return before

    def state_before(
        self, key: Hashable, state: Any, observation: ClientObservation
    ) -> tuple[Any, int] | None:
        """Return the latest state under a key, with its line, if this one was observed after it.
        States that were observed at the same time have no order.
        """
        latest = self._latest.get(key)
        if latest is not None and latest[1] >= observation.began:
            return None
        self._latest[key] = state, observation.ended, observation.n
        if latest is None:
            return None
        self.applied += 1
        return latest[0], latest[2]

    def goes_on(
        self,
        subject: str,
        key: Hashable,
        state: str,
        ranks: Mapping[str, int],
        observation: ClientObservation,
    ) -> None:
        """Report a state under a key that was observed after one of a higher rank."""
        before = self.state_before(key, state, observation)
        if before is not None and ranks.get(state, 0) < ranks.get(before[0], 0):
            text = f"{subject} was {before[0]} and later {state}"
            self.contradict(text, [before[1], observation.n])

    def finish(self) -> None:
        """Judge what can be judged only when everything has been observed."""
        for stream, text, evidence in self._on_streams:
            if stream.disturbed:
                self.cannot_tell += 1
            else:
                self.contradict(text, evidence)


def short(value: Any) -> str:
    """A value as a sentence shows it."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
