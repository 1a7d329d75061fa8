"""What the law says of a run: disagreements, and the inputs that it could not decide."""

from __future__ import annotations

from collections import Counter
from typing import Any

from msgspec import Struct, field, to_builtins


class Disagreement(Struct, frozen=True):
    """The law expected one thing and the run shows another, at input `seq`, by `rule`."""

    seq: int
    rule: str
    expected: str
    observed: str
    sentence: str = field(name="says")

    def __str__(self) -> str:
        return f"input {self.seq}, rule {self.rule}: {self.sentence}"


class AuditVerdict(Struct):
    """The verdict on a run so far. `undecided` counts inputs by what made them undecidable."""

    inputs: int = 0
    decided: int = 0
    undecided: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """Return the verdict as a document for programs."""
        return {
            "inputs": self.inputs,
            "decided": self.decided,
            "undecided": dict(sorted(self.undecided.items())),
            "disagreements": to_builtins(self.disagreements),
        }
