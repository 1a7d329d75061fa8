"""Positions in order of a key, kept up to date while keys change: the basis of sorted lists.

A *position* is the number of a row, 0 to n - 1. Rows with equal keys stay in order of position.
*Flags*, one byte per position, say which rows a list contains. `pick` sorts a few flagged rows
directly. Otherwise it walks an index and stops where the page ends, so a page costs as much as the
rows that it skips and shows. `KeyIndex` sorts and filters; `Codes` only filters, by numbers that so
many positions share that moving one among them would cost more than the filter.
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
_FEW = 1024  # up to so many positions are sorted directly, not by an index


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
        self._ordered: dict[bool, list[int] | None] = {}

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

    def groups(self, descending: bool) -> Iterable[list[int]]:
        """Return the positions of each key, by key, ascending within one key."""
        keys = reversed(self._positions) if descending else self._positions
        return map(self._positions.__getitem__, keys)

    def ordered(self, descending: bool) -> Iterable[int]:
        """Return all positions by key.

        The first reader after a change walks as far as it reads. The second one makes a list, which
        is kept until a key changes.
        """
        ordered = self._ordered.get(descending)
        if ordered is not None:
            return ordered
        walk = chain.from_iterable(self.groups(descending))
        if descending not in self._ordered:
            self._ordered[descending] = None
            return walk
        ordered = self._ordered[descending] = list(walk)
        return ordered

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


class Codes:
    """A small number, 0 to 255, for each position: lists are filtered by it, never sorted."""

    def __init__(self, codes: Iterable[int]) -> None:
        self._codes = bytearray(codes)

    def key(self, position: int) -> int:
        """Return the number of a position."""
        return self._codes[position]

    def move(self, position: int, code: int) -> None:
        """Change the number of a position."""
        self._codes[position] = code

    def among(self, *codes: int) -> bytes | bytearray:
        """Return flags of the positions that have any of some numbers."""
        return self._codes.translate(_table(codes))


@lru_cache(maxsize=256)
def _table(codes: tuple[int, ...]) -> bytes:
    return bytes(code in codes for code in range(256))


# ---- flags and pages


def pick(
    flags: bytes | bytearray, keys: Sequence[KeyIndex], descending: bool, offset: int, limit: int
) -> list[int]:
    """Return a page of the flagged positions, sorted by several keys; the first key decides."""
    chosen: Iterable[int]
    if not keys:
        chosen = compress(range(len(flags)), flags)
    elif flags.count(1) <= _FEW:
        chosen = _by(flagged(flags), keys, descending)
    else:
        chosen = _sorted(flags, keys, descending)
    return list(islice(chosen, offset, offset + limit))


def _by(positions: list[int], keys: Sequence[KeyIndex], descending: bool) -> list[int]:
    for index in reversed(keys):
        positions.sort(key=index.key, reverse=descending)
    return positions


def _sorted(flags: bytes | bytearray, keys: Sequence[KeyIndex], descending: bool) -> Iterator[int]:
    first, *others = keys
    if not others:
        yield from filter(flags.__getitem__, first.ordered(descending))
        return
    for positions in first.groups(descending):
        group = list(filter(flags.__getitem__, positions))
        if len(group) > _FEW:
            yield from _sorted(flags_of(group, len(flags)), others, descending)
        else:
            yield from _by(group, others, descending)


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
