"""What two lists of rows share, and the index of rows by account at another moment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar


class _Owned(Protocol):
    @property
    def account(self) -> str: ...


T = TypeVar("T")
Row = TypeVar("Row", bound=_Owned)


def shared(
    rows: Sequence[T], saved: Sequence[T], of: Callable[[T], object] = lambda row: row
) -> int:
    """How many of their first rows two lists share: as objects, or in what `of` gives of a row.

    Rows never change and belong to one history only, so where two lists share a row they share all
    rows before it, and the end of what they share can be searched by halves. A run that was handled
    again has rows of its own, though equal ones, from where it began.
    """
    most = min(len(rows), len(saved))
    return bisect_left(range(most), True, key=lambda at: of(rows[at]) is not of(saved[at]))


def restore(by_account: dict[str, list[Row]], rows: Sequence[Row], saved: Sequence[Row]) -> None:
    """Make the index of some rows that of saved ones, at the cost of the difference."""
    count = shared(rows, saved)
    if count:
        for row in reversed(rows[count:]):
            by_account[row.account].pop()
    else:
        by_account.clear()
    for row in saved[count:]:
        by_account.setdefault(row.account, []).append(row)
