"""The base class of checks. A check receives facts one by one and reports contradictions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from msgspec import Struct

EVIDENCE_MAX = 5  # lines that one contradiction names
KEPT_MAX = 100  # listed contradictions of one check; all are counted


class Contradiction(Struct, frozen=True):
    """A sentence, and the numbers of the lines that cannot all be true."""

    says: str
    evidence: list[int]


class Check:
    """Looks for one kind of contradiction. A method named after a kind of fact (`facts.py`) gets
    each fact of that kind with the observation that showed it; `finish` comes at the end.

    `applied` counts how often the check could have found a contradiction, `cannot_tell` how often
    something kept it from judging.
    """

    name: ClassVar[str]
    rests_on: ClassVar[str]

    def __init__(self) -> None:
        self.applied = 0
        self.cannot_tell = 0
        self.count = 0
        self.contradictions: list[Contradiction] = []

    def contradict(self, says: str, evidence: Iterable[int]) -> None:
        """Report a contradiction."""
        self.count += 1
        if len(self.contradictions) < KEPT_MAX:
            lines = sorted(set(evidence))[:EVIDENCE_MAX]
            self.contradictions.append(Contradiction(says, lines))

    def finish(self) -> None:
        """Judge what can be judged only when everything has been seen."""


def short(value: Any) -> str:
    """A value as a sentence shows it."""
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
