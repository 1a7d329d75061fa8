"""Cursors of lists: opaque text that names the last row of a page, so that rows added
meanwhile neither repeat nor vanish.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error

from sim.core.model.refusals import InvalidRequest

PAGE_MAX = 100


def write_cursor(*parts: str | int) -> str:
    """A cursor that holds these parts."""
    return urlsafe_b64encode("\n".join(map(str, parts)).encode()).decode().rstrip("=")


def read_cursor(cursor: str, count: int) -> list[str]:
    """The parts of a cursor. Refuses one that `write_cursor` did not make with as many."""
    try:
        parts = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split("\n")
    except (Error, ValueError):
        parts = []
    if len(parts) != count or write_cursor(*parts) != cursor:  # the decoder skips foreign letters
        raise bad_cursor()
    return parts


def bad_cursor() -> InvalidRequest:
    """The refusal of a cursor nobody gave out."""
    return InvalidRequest(
        "cursor is not valid", remedy="send nextCursor of the page before as it is"
    )


def page_size(limit: int) -> int:
    """How many rows a page has: 100 where nothing is asked, and at most 100."""
    if limit < 0:
        raise InvalidRequest(
            "limit must not be negative", remedy=f"send 1 to {PAGE_MAX}, or leave it out"
        )
    return min(limit or PAGE_MAX, PAGE_MAX)
