"""A difference between a recording and us, and whose it is.

| Culprit | When |
|---|---|
| `recording` | contract and we agree, and the specification does not say otherwise |
| `specification` | the recording does as an observation says that the specification contradicts |
| `contract` | the recording does as the specification says, and what was observed elsewhere not |
| `us` | the recording fits the contract, and our answer does not |
| `unknown` | both answers fit every document, and their values differ |
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, TypeAlias, get_args

from msgspec import Struct
from msgspec.structs import replace

Culprit: TypeAlias = Literal["us", "contract", "specification", "recording", "unknown"]
CULPRITS: tuple[Culprit, ...] = ("us", "contract", "specification", "recording", "unknown")
Kind: TypeAlias = Literal[
    "missing name",
    "unknown name",
    "type",
    "null",
    "enum",
    "format",
    "date",
    "status",
    "error form",
    "header",
    "bytes",
    "value",
    "order",
    "missing frame",
    "extra frame",
    "no answer",
    "time",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
ABSENT = "(absent)"
SECRET = "fp:"  # how a fingerprint of a secret begins
_SHOWN_MAX = 200  # characters of a value in a report


class Difference(Struct, frozen=True):
    """What differs at one place. `where` is a path such as "answer.body.order.avgPx"; `switch` is
    the assumption or quirk with whose other value we do as recorded, "" where there is none.
    """

    where: str
    recorded: Any
    ours: Any
    kind: Kind
    switch: str = ""
    culprit: Culprit = "unknown"

    def under(self, parent: str) -> Difference:
        """The same difference as seen from what contains it."""
        dot = "" if not self.where or self.where[0] == "[" else "."
        return replace(self, where=f"{parent}{dot}{self.where}")

    def with_culprit(self, culprit: Culprit) -> Difference:
        """The same difference with its culprit."""
        return replace(self, culprit=culprit)


def shown(value: Any) -> Any:
    """A value as a report shows it: short, and without what JSON does not know."""
    if isinstance(value, Decimal):
        text = str(value)
        return float(text) if len(text) < 30 and abs(value.adjusted()) < 300 else text[:_SHOWN_MAX]
    if isinstance(value, str):
        return value if len(value) <= _SHOWN_MAX else f"{value[:_SHOWN_MAX]}…"
    if isinstance(value, dict):
        return f"an object of {len(value)} members" if value else {}
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else []
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return f"a number of {value.bit_length()} bits"
    return value
