"""Positions in order of a key, kept up to date while keys change: the basis of sorted lists.

A *position* is the number of a row, 0 to n - 1. Rows with equal keys stay in order of position.
*Flags*, one byte per position, say which rows a list contains. `pick` sorts a few flagged rows
directly. Otherwise it walks an index and stops where the page ends, so a page costs as much as the
rows that it skips and shows. `KeyIndex` sorts and filters; `Codes` only filters, by small numbers,
at the speed of memory.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, compress, groupby, islice
from typing import Any


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

    The keys are sorted when somebody first asks for an order, once for each direction, because an
    ascending order read from its end has the positions of one key in the wrong order. A position
    takes 8 bytes, and 4 in each order, whether keys are all different or all the same.
    """

    def __init__(self, keys: Iterable[Any]) -> None:
        """Take the keys of the positions, in order."""
        self._keys = list(keys)
        self.key: Callable[[int], Any] = self._keys.__getitem__
        # Positions ascending by key. The order for descending lists is read from its end, so in it
        # the positions of one key descend.
        self._orders: dict[bool, array[int]] = {}

    def _order(self, descending: bool) -> array[int]:
        order = self._orders.get(descending)
        if order is None:
            positions = range(len(self._keys))[:: -1 if descending else 1]
            order = self._orders[descending] = array("I", sorted(positions, key=self.key))
        return order

    def _rank(self, descending: bool) -> Callable[[int], tuple[Any, int]]:
        sign = -1 if descending else 1
        return lambda position: (self.key(position), sign * position)

    def move(self, position: int, key: Any) -> None:
        """Change the key of a position."""
        if self.key(position) == key:
            return
        orders = [(order, self._rank(descending)) for descending, order in self._orders.items()]
        for order, rank in orders:
            del order[bisect_left(order, rank(position), key=rank)]
        self._keys[position] = key
        for order, rank in orders:
            insort(order, position, key=rank)

    def ordered(self, descending: bool) -> Sequence[int]:
        """Return all positions by key, ascending within one key."""
        order = self._order(descending)
        return order[::-1] if descending else order

    def between(self, low: Any, high: Any) -> Sequence[int]:
        """Return the positions whose key is within inclusive bounds (None: no bound), if they
        have a key.
        """
        order = self._order(False)
        if low is None:
            first = bisect_right(order, MISSING, key=self.key)
        else:
            first = bisect_left(order, low, key=self.key)
        last = len(order) if high is None else bisect_right(order, high, key=self.key)
        return order[first:last]

    def within(self, low: Any, high: Any) -> bytes | bytearray:
        """Return flags of the positions whose key is within inclusive bounds."""
        return flags_of(self.between(low, high), len(self._keys))

    def among(self, *keys: Any) -> bytes | bytearray:
        """Return flags of the positions that have any of some keys."""
        groups = (self.between(key, key) for key in keys)
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
    chosen = filter(flags.__getitem__, first.ordered(descending))
    if not others:
        yield from chosen
        return
    for _, positions in groupby(chosen, first.key):
        group = list(positions)
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
