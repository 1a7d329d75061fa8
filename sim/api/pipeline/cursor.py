"""Cursors of lists: opaque text that names the last row of a page, so that rows that are added in
the meantime are neither repeated nor skipped.
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
    """The parts of a cursor. Refuses text that `write_cursor` did not make from this
    number of parts.
    """
    try:
        parts = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split("\n")
    except (Error, ValueError):
        parts = []
    # The decoder ignores letters outside the alphabet
    if len(parts) != count or write_cursor(*parts) != cursor:
        raise bad_cursor()
    return parts


def bad_cursor() -> InvalidRequest:
    """The refusal of an invalid cursor."""
    return InvalidRequest(
        "cursor is not valid", remedy="send nextCursor of the page before as it is"
    )


def page_size(limit: int) -> int:
    """The number of rows of a page: 100 by default and at most."""
    if limit < 0:
        raise InvalidRequest(
            "limit must not be negative", remedy=f"send 1 to {PAGE_MAX}, or leave it out"
        )
    return min(limit or PAGE_MAX, PAGE_MAX)
