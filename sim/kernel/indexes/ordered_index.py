"""Positions in order of a key, kept up to date while keys change: the basis of sorted lists.

A *position* is the number of a row, 0 to n - 1. Rows with equal keys stay in order of position.
*Flags*, one byte per position, say which rows a list contains. `pick` walks an index and stops
where the page ends, so a page costs as much as the rows that it skips and shows; only a few flagged
rows are sorted.

| Index | For |
|---|---|
| `KeyIndex` | keys that several positions share |
| `SparseAmounts` | amounts that most positions lack |
| `Codes` | small numbers for filtering, not for sorting |
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
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
_FEW = 1024  # up to so many rows are sorted directly, not by an index


# Positions by key, with the keys in order. The positions of one key are a plain list: there may be
# as many keys as positions, and a sorted container takes 1.6 kB where a list with one element takes
# 64 bytes.


def _join(groups: SortedDict[Any, list[int]], key: Any, position: int) -> None:
    positions = groups.get(key)
    if positions is None:
        groups[key] = [position]
    else:
        insort(positions, position)


def _leave(groups: SortedDict[Any, list[int]], key: Any, position: int) -> None:
    positions = groups[key]
    if len(positions) == 1:
        del groups[key]
    else:
        del positions[bisect_left(positions, position)]


class KeyIndex:
    """Places by a key that several of them share."""

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
            _leave(self._positions, was, position)
            _join(self._positions, key, position)

    def groups(self, flags: bytes | bytearray, descending: bool) -> Iterator[Sequence[int]]:
        """Yield the flagged positions by key, ascending within one key."""
        for key in reversed(self._positions) if descending else self._positions:
            positions = self._positions[key]
            if len(positions) > 1:
                yield list(compress(positions, map(flags.__getitem__, positions)))
            elif flags[positions[0]]:
                yield positions

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


class SparseAmounts:
    """Positions by an amount that most of them lack. Only positions with an amount are stored."""

    def __init__(self, amounts: Iterable[float]) -> None:
        """Build the index from the amounts of the positions, in order; 0 means none."""
        listed = list(amounts)
        self._amounts: dict[int, float] = {}
        self._without = bytearray(b"\1" * len(listed))
        self._positions: SortedDict[float, list[int]] = SortedDict()
        for position in flagged(bytes(map(bool, listed))):
            self.move(position, listed[position])

    def key(self, position: int) -> float:
        """Return the amount of a position."""
        return self._amounts.get(position, 0)

    def move(self, position: int, key: float) -> None:
        """Change the amount of a position."""
        was = self._amounts.pop(position, 0)
        if key:
            self._amounts[position] = key
        if was != key:
            if was:
                _leave(self._positions, was, position)
            if key:
                _join(self._positions, key, position)
            self._without[position] = not key

    def groups(self, flags: bytes | bytearray, descending: bool) -> Iterator[Sequence[int]]:
        """Yield the flagged positions by amount, ascending within one amount."""
        if not descending:
            yield flagged(both(flags, self._without))
        for amount in reversed(self._positions) if descending else self._positions:
            yield [position for position in self._positions[amount] if flags[position]]
        if descending:
            yield flagged(both(flags, self._without))

    def within(self, low: float | None, high: float | None) -> bytearray:
        """Return flags of the positions whose amount is within inclusive bounds."""
        zero = (low is None or low <= 0) and (high is None or high >= 0)
        flags = bytearray(self._without) if zero else bytearray(len(self._without))
        for amount in self._positions.irange(low, high):
            for position in self._positions[amount]:
                flags[position] = 1
        return flags


class Codes:
    """A small number, 0 to 255, for each position."""

    def __init__(self, values: Iterable[int]) -> None:
        self._codes = bytearray(values)

    def key(self, position: int) -> int:
        """Return the number of a position."""
        return self._codes[position]

    def move(self, position: int, key: int) -> None:
        """Change the number of a position."""
        self._codes[position] = key

    def among(self, *codes: int) -> bytes | bytearray:
        """Return flags of the positions that have any of some numbers."""
        return self._codes.translate(_table(codes))


@lru_cache(maxsize=256)
def _table(codes: tuple[int, ...]) -> bytes:
    return bytes(code in codes for code in range(256))


OrderedIndex = KeyIndex | SparseAmounts


def pick(
    flags: bytes | bytearray,
    keys: Sequence[OrderedIndex],
    descending: bool,
    offset: int,
    limit: int,
) -> list[int]:
    """Return a page of the flagged positions, sorted by several keys; the first key decides."""
    if not keys:
        return list(islice(compress(range(len(flags)), flags), offset, offset + limit))
    if flags.count(1) <= _FEW:
        return list(_sorted(flagged(flags), keys, descending)[offset : offset + limit])
    first, *others = keys
    if isinstance(first, KeyIndex) and not others:
        positions = first.ordered(descending)
        chosen = compress(positions, map(flags.__getitem__, positions))
        return list(islice(chosen, offset, offset + limit))
    page: list[int] = []
    for group in first.groups(flags, descending):
        if offset >= len(group):
            offset -= len(group)
            continue
        left = limit - len(page)
        if others and len(group) > _FEW:
            page += pick(flags_of(group, len(flags)), others, descending, offset, left)
        else:
            page += _sorted(group, others, descending)[offset : offset + left]
        offset = 0
        if len(page) >= limit:
            break
    return page


def _sorted(group: Sequence[int], keys: Sequence[OrderedIndex], descending: bool) -> Sequence[int]:
    for index in reversed(keys):
        group = sorted(group, key=index.key, reverse=descending)
    return group


# ---- flags


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
