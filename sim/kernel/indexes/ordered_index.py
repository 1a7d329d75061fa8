"""Positions in order of a key, kept up to date while keys change: the basis of sorted lists.

A *position* is the number of a row, 0 to n - 1. Rows with equal keys stay in order of position.
*Flags*, one byte per position, say which rows a list contains. `pick` walks an index and stops
where the page ends, so a page sorted by one key costs as much as the rows that it skips and shows.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, islice
from typing import Any

from sortedcontainers import SortedDict


class Missing:
    """The key of a row without one. It is smaller than any other key."""

    def __lt__(self, other: object) -> bool:
        return other is not self

    def __gt__(self, other: object) -> bool:
        return False


MISSING = Missing()


class KeyIndex:
    """Positions by a key that several of them may share.

    The positions of one key are a plain list: there may be as many keys as positions, and a sorted
    container takes 1.6 kB where a list with one element takes 64 bytes.
    """

    def __init__(self, keys: Iterable[Any]) -> None:
        """Build the index from the keys of the positions, in order."""
        self._keys = list(keys)
        positions: dict[Any, list[int]] = {}
        for position, key in enumerate(self._keys):
            positions.setdefault(key, []).append(position)
        self._positions: SortedDict[Any, list[int]] = SortedDict(positions)
        self._ordered: dict[bool, list[int]] = {}

    def key(self, position: int) -> Any:
        """Return the key of a position."""
        return self._keys[position]

    def move(self, position: int, key: Any) -> None:
        """Change the key of a position."""
        was = self._keys[position]
        if was != key:
            self._keys[position] = key
            self._ordered.clear()
            positions = self._positions[was]
            if len(positions) == 1:
                del self._positions[was]
            else:
                del positions[bisect_left(positions, position)]
            insort(self._positions.setdefault(key, []), position)

    def ordered(self, descending: bool) -> list[int]:
        """Return all positions by key. The result is cached until a key changes."""
        if descending not in self._ordered:
            keys = reversed(self._positions) if descending else self._positions
            positions = chain.from_iterable(map(self._positions.__getitem__, keys))
            self._ordered[descending] = list(positions)
        return self._ordered[descending]

    def between(self, low: Any, high: Any) -> Iterator[int]:
        """Yield the positions whose key is within inclusive bounds (None: no bound), if it
        has a key.
        """
        inclusive = (low is not None, True)
        for key in self._positions.irange(MISSING if low is None else low, high, inclusive):
            yield from self._positions[key]

    def within(self, low: Any, high: Any) -> bytes | bytearray:
        """Return flags of the positions whose key is within inclusive bounds."""
        return flags_of(self.between(low, high), len(self._keys))

    def among(self, *keys: Any) -> bytes | bytearray:
        """Return flags of the positions that have any of some keys."""
        groups = (self._positions.get(key, ()) for key in keys)
        return flags_of(chain.from_iterable(groups), len(self._keys))


# ---- flags and pages


def pick(
    flags: bytes | bytearray, keys: Sequence[KeyIndex], descending: bool, offset: int, limit: int
) -> list[int]:
    """Return a page of the flagged positions, sorted by several keys; the first key decides."""
    positions = keys[-1].ordered(descending) if keys else range(len(flags))
    chosen: Iterable[int] = compress(positions, map(flags.__getitem__, positions))
    for index in reversed(keys[:-1]):
        chosen = sorted(chosen, key=index.key, reverse=descending)
    return list(islice(chosen, offset, offset + limit))


def flagged(flags: bytes | bytearray) -> list[int]:
    """Return the flagged positions, ascending."""
    return list(compress(range(len(flags)), flags))


def flags_of(positions: Iterable[int], count: int) -> bytearray:
    """Return flags for some of `count` positions."""
    flags = bytearray(count)
    for position in positions:
        flags[position] = 1
    return flags


def both(left: bytes | bytearray, right: bytes | bytearray) -> bytes:
    """Return flags of the positions that are flagged in both."""
    bits = int.from_bytes(left, "little") & int.from_bytes(right, "little")
    return bits.to_bytes(len(left), "little")


def neither(flags: bytes | bytearray) -> bytes:
    """Return flags of the positions that are not flagged."""
    bits = int.from_bytes(flags, "little") ^ int.from_bytes(b"\1" * len(flags), "little")
    return bits.to_bytes(len(flags), "little")
