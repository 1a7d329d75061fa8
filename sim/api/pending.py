"""An answer that depends on an input still to come, such as a webhook registration that waits for its test delivery."""

from __future__ import annotations

from msgspec import Struct


class Pending(Struct, frozen=True):
    """Returned by a handler instead of a response: `awaits` names what will bring it."""

    awaits: str
