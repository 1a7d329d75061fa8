"""The changes in a table of rows from one moment to the next.

A difference is a list of splices `[index, removed, rows]`, to be applied in order: each removes
`removed` rows at an index and inserts `rows` there. The page applies them in JavaScript, in
`recorded.js` of the room.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, TypeAlias

Row: TypeAlias = "dict[str, Any]"
Splice: TypeAlias = "tuple[int, int, list[Row]]"
Key: TypeAlias = "tuple[Any, ...]"


def splices(before: list[Row], after: list[Row]) -> list[Splice]:
    """Return the splices that turn one table into another.

    They are few if rows were changed in place, or inserted or removed at one place.
    """
    most = min(len(before), len(after))
    start = next((n for n in range(most) if before[n] != after[n]), most)
    end = next((n for n in range(most - start) if before[-1 - n] != after[-1 - n]), most - start)
    removed, added = before[start : len(before) - end], after[start : len(after) - end]
    if len(removed) != len(added):
        return [(start, len(removed), added)]
    return [
        (start + index, 1, [row])
        for index, (old, row) in enumerate(zip(removed, added, strict=True))
        if old != row
    ]


class Keyed:
    """A table in the order of its rows' keys, for long views of which few rows change."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self.rows: list[Row] = []

    def put(self, key: Key, row: Row | None) -> list[Splice]:
        """Set or remove the row of a key. Return the splices."""
        index = bisect_left(self._keys, key)
        unchanged = index < len(self._keys) and self._keys[index] == key
        if unchanged and row is None:
            del self._keys[index], self.rows[index]
            return [(index, 1, [])]
        if row is None or (unchanged and self.rows[index] == row):
            return []
        if unchanged:
            self.rows[index] = row
            return [(index, 1, [row])]
        self._keys.insert(index, key)
        self.rows.insert(index, row)
        return [(index, 0, [row])]

    def replace(self, keyed: list[tuple[Key, Row]]) -> list[Splice]:
        """Replace all rows by these, in the order of their keys. Return the splices."""
        keyed.sort(key=lambda pair: pair[0])
        rows = [row for _, row in keyed]
        changes = splices(self.rows, rows)
        self._keys, self.rows = [key for key, _ in keyed], rows
        return changes
