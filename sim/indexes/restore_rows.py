"""Return an append-only list of rows, with its index by account, to an earlier state."""

from __future__ import annotations

from typing import Protocol, TypeVar


class _Owned(Protocol):
    @property
    def account(self) -> str: ...


Row = TypeVar("Row", bound=_Owned)


def restore(rows: list[Row], by_account: dict[str, list[Row]], saved: list[Row]) -> None:
    """Make `rows` and its index equal to the saved rows, at the cost of the difference.

    Rows never change and belong to one history only. So where the last saved row stands in its
    place already, all rows before it do too.
    """
    count = len(saved)
    if not 0 < count <= len(rows) or rows[count - 1] is not saved[-1]:
        rows.clear()
        by_account.clear()
        count = 0
    for row in reversed(rows[count:]):
        by_account[row.account].pop()
    del rows[count:]
    for row in saved[count:]:
        rows.append(row)
        by_account.setdefault(row.account, []).append(row)
