"""Pages of requests, quotes and their trades.

A cursor contains the position of the last row of a page and a digest of the query. With other
filters, another limit of trades or another participant it is refused.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

from sim.api.pipeline.cursor import PAGE_MAX, bad_cursor, read_cursor, write_cursor
from sim.core.model.refusals import InvalidRequest

R = TypeVar("R")
_DIGITS_MAX = 18


def page_size(limit: int) -> int:
    """Return the number of rows of a page, 100 for 0. Refuses a number outside 0 to 100."""
    if not 0 <= limit <= PAGE_MAX:
        raise InvalidRequest(
            f"limit must be 1 to {PAGE_MAX}", rule="L13", remedy="leave limit out for 100 rows"
        )
    return limit or PAGE_MAX


def bound_cursor(index: int, *query: object) -> str:
    """Return a cursor for the position of a row, for this query only."""
    return write_cursor(index, _digest(query))


def place_of(cursor: str, *query: object) -> int | None:
    """Return the position in a cursor, None for the first page. Refuses the cursor
    of another query.
    """
    if not cursor:
        return None
    index, digest = read_cursor(cursor, 2)
    if digest != _digest(query) or not index.isdecimal() or len(index) > _DIGITS_MAX:
        raise bad_cursor()
    return int(index)


def page(
    rows: Iterable[tuple[int, R]], limit: int, cursor: str, *query: object
) -> tuple[list[R], str]:
    """Return a page of rows, which have rising positions, and the cursor of the next page."""
    size, first = page_size(limit), place_of(cursor, *query) or 0
    taken = list(islice((each for each in rows if each[0] >= first), size + 1))
    following = bound_cursor(taken[size][0], *query) if len(taken) > size else ""
    return [row for _, row in taken[:size]], following


def _digest(query: tuple[object, ...]) -> str:
    return blake2b(repr(query).encode(), digest_size=8, person=b"sim-cursor").hexdigest()
