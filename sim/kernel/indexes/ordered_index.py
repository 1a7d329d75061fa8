"""Places in order of a key, kept up to date while keys change: the basis of sorted lists.

A *place* is the number of a row, 0 to n - 1. Rows with equal keys stay in order of place. *Flags*,
one byte per place, say which rows a list contains. `pick` walks an index and stops where the page
ends, so a page costs as much as the rows that it skips and shows; only a few flagged rows are
sorted.

| Index | For |
|---|---|
| `KeyIndex` | keys that several places share |
| `SparseAmounts` | amounts that most places lack |
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


# Places by key, with the keys in order. The places of one key are a plain list: there may be as
# many keys as places, and a sorted container takes 1.6 kB where a list with one element takes 64
# bytes.


def _join(groups: SortedDict[Any, list[int]], key: Any, place: int) -> None:
    places = groups.get(key)
    if places is None:
        groups[key] = [place]
    else:
        insort(places, place)


def _leave(groups: SortedDict[Any, list[int]], key: Any, place: int) -> None:
    places = groups[key]
    if len(places) == 1:
        del groups[key]
    else:
        del places[bisect_left(places, place)]


class KeyIndex:
    """Places by a key that several of them share."""

    def __init__(self, keys: Iterable[Any]) -> None:
        """Build the index from the keys of the places, in order."""
        self._keys = list(keys)
        places: dict[Any, list[int]] = {}
        for place, key in enumerate(self._keys):
            places.setdefault(key, []).append(place)
        self._places: SortedDict[Any, list[int]] = SortedDict(places)
        self._ordered: dict[bool, list[int]] = {}

    def key(self, place: int) -> Any:
        """Return the key of a place."""
        return self._keys[place]

    def move(self, place: int, key: Any) -> None:
        """Change the key of a place."""
        was = self._keys[place]
        if was != key:
            self._keys[place] = key
            self._ordered.clear()
            _leave(self._places, was, place)
            _join(self._places, key, place)

    def groups(self, flags: bytes | bytearray, descending: bool) -> Iterator[Sequence[int]]:
        """Yield the flagged places by key, ascending within one key."""
        for key in reversed(self._places) if descending else self._places:
            places = self._places[key]
            if len(places) > 1:
                yield list(compress(places, map(flags.__getitem__, places)))
            elif flags[places[0]]:
                yield places

    def ordered(self, descending: bool) -> list[int]:
        """Return all places by key. The result is cached until a key changes."""
        if descending not in self._ordered:
            keys = reversed(self._places) if descending else self._places
            places = chain.from_iterable(map(self._places.__getitem__, keys))
            self._ordered[descending] = list(places)
        return self._ordered[descending]

    def between(self, low: Any, high: Any) -> Iterator[int]:
        """Yield the places whose key is within inclusive bounds (None: no bound), if it
        has a key.
        """
        inclusive = (low is not None, True)
        for key in self._places.irange(MISSING if low is None else low, high, inclusive):
            yield from self._places[key]


class SparseAmounts:
    """Places by an amount that most of them lack. Only places with an amount are stored."""

    def __init__(self, amounts: Iterable[float]) -> None:
        """Build the index from the amounts of the places, in order; 0 means none."""
        listed = list(amounts)
        self._amounts: dict[int, float] = {}
        self._without = bytearray(b"\1" * len(listed))
        self._places: SortedDict[float, list[int]] = SortedDict()
        for place in flagged(bytes(map(bool, listed))):
            self.move(place, listed[place])

    def key(self, place: int) -> float:
        """Return the amount of a place."""
        return self._amounts.get(place, 0)

    def move(self, place: int, key: float) -> None:
        """Change the amount of a place."""
        was = self._amounts.pop(place, 0)
        if key:
            self._amounts[place] = key
        if was != key:
            if was:
                _leave(self._places, was, place)
            if key:
                _join(self._places, key, place)
            self._without[place] = not key

    def groups(self, flags: bytes | bytearray, descending: bool) -> Iterator[Sequence[int]]:
        """Yield the flagged places by amount, ascending within one amount."""
        if not descending:
            yield flagged(both(flags, self._without))
        for amount in reversed(self._places) if descending else self._places:
            yield [place for place in self._places[amount] if flags[place]]
        if descending:
            yield flagged(both(flags, self._without))

    def within(self, low: float | None, high: float | None) -> bytearray:
        """Return flags of the places whose amount is within inclusive bounds."""
        zero = (low is None or low <= 0) and (high is None or high >= 0)
        flags = bytearray(self._without) if zero else bytearray(len(self._without))
        for amount in self._places.irange(low, high):
            for place in self._places[amount]:
                flags[place] = 1
        return flags


class Codes:
    """A small number, 0 to 255, for each place."""

    def __init__(self, values: Iterable[int]) -> None:
        self._codes = bytearray(values)

    def key(self, place: int) -> int:
        """Return the number of a place."""
        return self._codes[place]

    def move(self, place: int, key: int) -> None:
        """Change the number of a place."""
        self._codes[place] = key

    def among(self, *codes: int) -> bytes | bytearray:
        """Return flags of the places that have any of some numbers."""
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
    """Return a page of the flagged places, sorted by several keys, the first one being decisive."""
    if not keys:
        return list(islice(compress(range(len(flags)), flags), offset, offset + limit))
    if flags.count(1) <= _FEW:
        return list(_sorted(flagged(flags), keys, descending)[offset : offset + limit])
    first, *others = keys
    if isinstance(first, KeyIndex) and not others:
        places = first.ordered(descending)
        chosen = compress(places, map(flags.__getitem__, places))
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
    """Return the flagged places, ascending."""
    return list(compress(range(len(flags)), flags))


def flags_of(places: Iterable[int], count: int) -> bytearray:
    """Return flags for some of `count` places."""
    flags = bytearray(count)
    for place in places:
        flags[place] = 1
    return flags


def both(one: bytes | bytearray, other: bytes | bytearray) -> bytes:
    """Return flags of the places that are flagged in both."""
    bits = int.from_bytes(one, "little") & int.from_bytes(other, "little")
    return bits.to_bytes(len(one), "little")


def neither(flags: bytes | bytearray) -> bytes:
    """Return flags of the places that are not flagged."""
    bits = int.from_bytes(flags, "little") ^ int.from_bytes(b"\1" * len(flags), "little")
    return bits.to_bytes(len(flags), "little")
