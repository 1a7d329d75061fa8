"""Pages of lists: offset tokens, which are base64 of {"offset":N} (rule R7), and cursors.

With an offset, rows are read again for every page, so pages shift if rows are added or removed in
between (§4.3). A cursor is opaque text that names the last row of a page, so that rows that are
added in the meantime are neither repeated nor skipped.
"""

from __future__ import annotations

from base64 import b64decode, b64encode, urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

from msgspec import DecodeError, Struct, json

from sim.core.model.refusals import InvalidRequest

PAGE_DEFAULT, PAGE_MAX = 100, 1000
OFFSET_MAX = 2**53

R = TypeVar("R")


class _Token(Struct, frozen=True, forbid_unknown_fields=True):
    offset: int


_read = json.Decoder(_Token).decode


def token_of(offset: int) -> str:
    """Return the token of the page that begins at a row."""
    return b64encode(json.encode(_Token(offset))).decode()


def offset_of(token: str) -> int:
    """Return the row of a token; 0 without one. InvalidRequest for an invalid token."""
    if not token:
        return 0
    try:
        offset = _read(b64decode(token + "=" * (-len(token) % 4), validate=True)).offset
    except (Error, ValueError, DecodeError):
        offset = -1
    if not 0 <= offset <= OFFSET_MAX:
        raise InvalidRequest(
            "page_token is not valid",
            rule="R7",
            remedy=(
                "send the nextPageToken of the page before, unchanged, or none for the first page"
            ),
        )
    return offset


def page_length(requested: int, default: int, *, refuse: bool = False) -> int:
    """Return the length of a page: `default` for 0, at most 1000.

    A longer page is shortened, or with `refuse` refused (rule P24).
    """
    if refuse and not 0 <= requested <= PAGE_MAX:
        raise InvalidRequest(
            f"page_size must be between 1 and {PAGE_MAX}, or 0 for {default}", rule="P24"
        )
    if requested < 0:
        raise InvalidRequest(
            f"page_size must not be negative: 0 means {default}, and {PAGE_MAX} is the most",
            rule="P24",
        )
    return min(requested or default, PAGE_MAX)


def page_of(rows: Iterable[R], token: str, length: int) -> tuple[Sequence[R], str]:
    """Return the rows of a page, and the token of the next one or "" on the last.

    At most one row past the end of the page is read.
    """
    start = offset_of(token)
    end = start + length
    page = list(islice(rows, start, end + 1))
    return page[:length], token_of(end) if len(page) > length else ""


def paged(rows: Iterable[R], request: Any, *, refuse: bool = False) -> tuple[Sequence[R], Any]:
    """Return the rows of the page that a request asks for, 100 without a size, and the fields of
    its answer about the next page, by name. `refuse`: see `page_length`.
    """
    length = page_length(request.page_size, PAGE_DEFAULT, refuse=refuse)
    page, token = page_of(rows, request.page_token, length)
    return page, {"next_page_token": token, "eof": not token}


# ---- cursors

CURSOR_PAGE_MAX = 100


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
            "limit must not be negative", remedy=f"send 1 to {CURSOR_PAGE_MAX}, or leave it out"
        )
    return min(limit or CURSOR_PAGE_MAX, CURSOR_PAGE_MAX)
