"""One difference between a recording and us, and which side is wrong (the culprit).

| Culprit | When |
|---|---|
| `recording` | we follow the contract, the recording does not, and no observation explains it |
| `specification` | the recording confirms an observation that contradicts the specification |
| `contract` | the recording follows the specification and contradicts an observation |
| `us` | the recording follows the contract, our answer does not |
| `unknown` | both follow every document, and their values differ |
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

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
    "relation",
    "value",
    "order",
    "missing frame",
    "extra frame",
    "no answer",
    "time",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
ABSENT = "(absent)"
SECRET = "fp:"  # prefix of the fingerprint that replaces a secret
_REPORTED_MAX = 200  # characters of a value that a report shows
_SHORT = 60  # the same on one line of output


class Misfit(Struct, frozen=True):
    """A difference at one place. `where` is a path such as "answer.body.order.avgPx". `switch` is
    the assumption or quirk whose other value would give the recorded answer; "" if there is none.
    """

    where: str
    recorded: Any
    own: Any
    kind: Kind
    switch: str = ""
    culprit: Culprit = "unknown"

    def under(self, parent: str) -> Misfit:
        """Return the same difference with the path seen from a parent."""
        dot = "" if not self.where or self.where[0] == "[" else "."
        return replace(self, where=f"{parent}{dot}{self.where}")

    def with_culprit(self, culprit: Culprit) -> Misfit:
        """Return the same difference with another culprit."""
        return replace(self, culprit=culprit)

    def document(self) -> dict[str, Any]:
        """Return the difference for `--json`."""
        return {
            "where": self.where,
            "recorded": reported(self.recorded),
            "ours": reported(self.own),
            "kind": self.kind,
            "culprit": self.culprit,
        }

    def __str__(self) -> str:
        """Return kind, culprit and both values, each short enough for a line of output."""
        values = f"recorded {_short(self.recorded)}, ours {_short(self.own)}"
        return f"{self.kind}, {self.culprit}: {values}"


def _short(value: Any) -> str:
    text = str(reported(value))
    if isinstance(value, str) and value[:1] != "(":
        text = repr(text)
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}…"


def reported(value: Any) -> Any:
    """Return a value as a report shows it: shortened, and without types that JSON lacks."""
    if isinstance(value, Decimal):
        text = str(value)
        return (
            float(text) if len(text) < 30 and abs(value.adjusted()) < 300 else text[:_REPORTED_MAX]
        )
    if isinstance(value, str):
        return value if len(value) <= _REPORTED_MAX else f"{value[:_REPORTED_MAX]}…"
    if isinstance(value, dict):
        return f"an object of {len(value)} members" if value else {}
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else []
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return f"a number of {value.bit_length()} bits"
    return value


class LineVerdict(NamedTuple):
    """The verdict on an answer or frame: its operation, its line, and what differs, if anything. A
    frame that only we sent is not recorded, and has the number of the next line of its stream.
    """

    name: str
    n: int
    differences: list[Misfit]
    is_recorded: bool = True
