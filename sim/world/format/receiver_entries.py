"""Scripted receivers of webhooks (`world.receivers` and the step `receiver`): their URL, and their
answer to each attempt.

The keys of an answer have the names of a fault's acts: `status`, `delay`,
`hang`, `reset`, `retry_after`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from sim.kernel.instants import Span
from sim.world.format.scalar_types import NAME, ORDINAL, SPAN
from sim.world.format.value_types import Text


def _status(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) == 3 and 200 <= int(text) <= 599):
        raise ValueError(f"write a number from 200 to 599, not {text[:80]!r}")
    return int(text)


STATUS = Text("an HTTP status", _status, schema={"type": "integer", "minimum": 200, "maximum": 599})


class ReceiverAnswer(Struct, frozen=True, kw_only=True):
    """The answer of a scripted receiver to a delivery attempt."""

    status: Annotated[int, STATUS] = 200
    """HTTP status; any 2xx acknowledges the event; 200 by default"""
    delay: Annotated[Span, SPAN] = 0
    """virtual time until the answer; the attempt fails if it reaches `webhook.timeout`"""
    hang: bool = False
    """true: never answer; the attempt ends at `webhook.timeout`"""
    reset: bool = False
    """true: reset the connection instead of answering"""
    retry_after: Annotated[Span | None, SPAN] = None
    """header Retry-After of a 408 or 429, which replaces the wait before the next attempt"""
    times: Annotated[int, ORDINAL] = 1
    """number of attempts that get this answer; all later attempts get the last answer
    of the list"""


class ReceiverEntry(Struct, frozen=True, kw_only=True):
    """A scripted receiver of webhooks. The exchange sends nothing to its URL; the receiver gives
    its answers inside the sandbox.
    """

    name: Annotated[str, NAME]
    """name of the receiver, for steps and for the control plane"""
    url: str = ""
    """URL that a firm registers; https://<name>.receiver.invalid/ by default"""
    firm: str = ""
    """firm whose webhook it is from the beginning. Without it, register the URL
    with POST /v1/kyc/webhook"""
    answers: tuple[ReceiverAnswer, ...] = ()
    """its answers, in order; by default 200 at once"""

    @property
    def address(self) -> str:
        """Its URL."""
        return self.url or f"https://{self.name}.receiver.invalid/"


class ReceiverStep(Struct, frozen=True, kw_only=True):
    """Change the answers of a scripted receiver."""

    name: str
    """name of the receiver in `world.receivers`"""
    answers: tuple[ReceiverAnswer, ...] = ()
    """its answers from now on, in order; by default 200 at once"""
