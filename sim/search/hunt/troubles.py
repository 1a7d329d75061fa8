"""What a hunt finds: kinds of troubles, and the sentences of those that no single judge owns."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from sim.api.pipeline.inputs import Advanced, Controlled, RestCall, RpcCall, StreamOpened
from sim.kernel.instants import format_instant
from sim.read.replay import Divergence

JUDGE_ERROR = "judge error"
KINDS = (
    *("invariant", "contradiction", "conformance", "internal error"),
    *("agreement", "law", "replay", JUDGE_ERROR),
)


class Trouble(Struct, frozen=True):
    """Something that must not be: its kind, and a sentence.

    `subject` is what it is about: two troubles of the same kind and subject are one finding.
    """

    kind: str
    subject: str
    text: str = field(name="says")

    def is_like(self, other: Trouble) -> bool:
        """Return whether both are the same finding."""
        return (self.kind, self.subject) == (other.kind, other.subject)


def internal_error(number: int, input_: Any, error: Exception) -> Trouble:
    """Return the find that the exchange fails at an input."""
    kind = type(error).__name__
    text = f"input {number}, {named(input_)}: {kind}: {error}"
    return Trouble("internal error", kind, text)


def judge_error(where: str, name: str, error: Exception) -> Trouble:
    """Return the find that a judge failed."""
    kind = type(error).__name__
    return Trouble(JUDGE_ERROR, f"{name} {kind}", f"{where}: {kind}: {error}")


def replay_trouble(difference: Divergence) -> Trouble:
    """Return the find that a replay differs from its journal."""
    text = f"input {difference.number - 1}: {'; '.join(difference.lines())}"
    return Trouble("replay", difference.part, text)


def named(input_: Any) -> str:
    """Describe an input."""
    match input_:
        case Controlled():
            return f"{input_.action} {input_.subject} {input_.arguments}".replace("  ", " ")
        case RestCall():
            return f"{input_.verb} {input_.path} {input_.body}".rstrip()
        case RpcCall() | StreamOpened():
            return input_.method
        case Advanced():
            return f"time to {format_instant(input_.to)}"
    return type(input_).__name__
