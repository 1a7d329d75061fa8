"""Rows that are only ever added to, with those of each account: how they are put back to an earlier
moment.
"""

from __future__ import annotations

from typing import Protocol, TypeVar


class _Owned(Protocol):
    @property
    def account(self) -> str: ...


Row = TypeVar("Row", bound=_Owned)


def put_back(rows: list[Row], by_account: dict[str, list[Row]], wanted: list[Row]) -> None:
    """Make `rows` and their index the wanted ones. Rows never change, so where the last wanted one
    stands in its place already, all before it do too.
    """
    count = len(wanted)
    if not 0 < count <= len(rows) or rows[count - 1] is not wanted[-1]:
        rows.clear()
        by_account.clear()
        count = 0
    for row in reversed(rows[count:]):
        by_account[row.account].pop()
    del rows[count:]
    for row in wanted[count:]:
        rows.append(row)
        by_account.setdefault(row.account, []).append(row)
