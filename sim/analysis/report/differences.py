"""What changes in a table of rows from one moment to the next.

A difference is a list of splices `[place, removed, rows]`, to be carried out in their order: each
takes `removed` rows away at a place and puts `rows` there. The page does the same in JavaScript
(`recorded.js`).
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, TypeAlias

Row: TypeAlias = "dict[str, Any]"
Splice: TypeAlias = "tuple[int, int, list[Row]]"
Key: TypeAlias = "tuple[Any, ...]"


def splices(before: list[Row], after: list[Row]) -> list[Splice]:
    """The splices that make one table of another: few where rows were changed in their places,
    were added at one place, or were removed at one.
    """
    most = min(len(before), len(after))
    start = next((n for n in range(most) if before[n] != after[n]), most)
    end = next((n for n in range(most - start) if before[-1 - n] != after[-1 - n]), most - start)
    removed, added = before[start : len(before) - end], after[start : len(after) - end]
    if len(removed) != len(added):
        return [(start, len(removed), added)]
    return [
        (start + place, 1, [row])
        for place, (old, row) in enumerate(zip(removed, added, strict=True))
        if old != row
    ]


class Keyed:
    """A table in the order of its rows' keys, for views that are long and change in few rows."""

    def __init__(self) -> None:
        self._keys: list[Key] = []
        self.rows: list[Row] = []

    def put(self, key: Key, row: Row | None) -> list[Splice]:
        """Have a row under a key, or none; what that changes."""
        place = bisect_left(self._keys, key)
        unchanged = place < len(self._keys) and self._keys[place] == key
        if unchanged and row is None:
            del self._keys[place], self.rows[place]
            return [(place, 1, [])]
        if row is None or (unchanged and self.rows[place] == row):
            return []
        if unchanged:
            self.rows[place] = row
            return [(place, 1, [row])]
        self._keys.insert(place, key)
        self.rows.insert(place, row)
        return [(place, 0, [row])]

    def replace(self, keyed: list[tuple[Key, Row]]) -> list[Splice]:
        """Have these rows and no others, in the order of their keys; what that changes."""
        keyed.sort(key=lambda pair: pair[0])
        rows = [row for _, row in keyed]
        changes = splices(self.rows, rows)
        self._keys, self.rows = [key for key, _ in keyed], rows
        return changes
