"""Compares two lists of rows, and adapts the index of rows by account to another moment."""

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
    """Return how many leading rows two lists share: as objects, or in what `of` returns for a row.

    Rows never change and belong to one history only. Where two lists share a row, they share all
    rows before it, so a binary search finds the end of the common part. A run that handles inputs
    again creates new rows from where it began, even if they are equal.
    """
    most = min(len(rows), len(saved))
    return bisect_left(range(most), True, key=lambda at: of(rows[at]) is not of(saved[at]))


def restore(by_account: dict[str, list[Row]], rows: Sequence[Row], saved: Sequence[Row]) -> None:
    """Turn the index of some rows into that of saved ones, at a cost proportional
    to the difference.
    """
    count = shared(rows, saved)
    if count:
        for row in reversed(rows[count:]):
            by_account[row.account].pop()
    else:
        by_account.clear()
    for row in saved[count:]:
        by_account.setdefault(row.account, []).append(row)
