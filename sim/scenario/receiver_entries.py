"""Scripted receivers of webhooks (`world.receivers` and the step `receiver`): where they stand, and
how they answer each attempt.

An answer is spelled as a fault's act is: `status`, `delay`, `hang`, `reset`, `retry_after`.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from sim.kernel.instants import Span
from sim.scenario.scalar_types import BOOLEAN, NAME, ORDINAL, SPAN
from sim.scenario.value_types import Text


def _status(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) == 3 and 200 <= int(text) <= 599):
        raise ValueError(f"200 to 599, not {text[:40]!r}")
    return int(text)


STATUS = Text("an HTTP status", _status, schema={"type": "integer", "minimum": 200, "maximum": 599})


class ReceiverAnswer(Struct, frozen=True, kw_only=True):
    """What a scripted receiver answers to an attempt."""

    status: Annotated[int, STATUS, "HTTP status; any 2xx acknowledges the event"] = 200
    delay: Annotated[
        Span, SPAN, "virtual time the answer takes; from `webhook.timeout` on it comes too late"
    ] = 0
    hang: Annotated[bool, BOOLEAN, "never answer: the attempt ends at `webhook.timeout`"] = False
    reset: Annotated[bool, BOOLEAN, "reset the connection instead of answering"] = False
    retry_after: Annotated[
        Span | None, SPAN, "Retry-After of a 408 or 429: replaces the wait before the next attempt"
    ] = None
    times: Annotated[
        int, ORDINAL, "how many attempts in a row; the last answer of a list goes on for ever"
    ] = 1


class ReceiverEntry(Struct, frozen=True, kw_only=True):
    """A scripted receiver of webhooks. Nothing is sent to its URL; it answers as it is told."""

    name: Annotated[str, NAME, "what steps and the control plane call it"]
    url: Annotated[
        str, "where a firm registers it; https://<name>.receiver.invalid/ when left out"
    ] = ""
    firm: Annotated[
        str,
        "firm whose webhook it is from the beginning; none when left out, then call"
        " POST /v1/kyc/webhook",
    ] = ""
    answers: Annotated[
        tuple[ReceiverAnswer, ...], "one after the other; 200 at once when left out"
    ] = ()

    @property
    def address(self) -> str:
        """Its URL."""
        return self.url or f"https://{self.name}.receiver.invalid/"


class ReceiverStep(Struct, frozen=True, kw_only=True):
    """What a scripted receiver answers from now on."""

    name: Annotated[str, "its name in `world.receivers`"]
    answers: Annotated[
        tuple[ReceiverAnswer, ...], "one after the other; 200 at once when left out"
    ] = ()
