"""Places in order of a key, kept up to date while keys change: what sorted lists are read from.

A *place* is the number of a row, 0 to n - 1, and rows with equal keys stay in order of place. Which
rows a list wants is said by *flags*, one byte for each place. `pick` walks an index and stops where
the page ends, so a page costs what it skips and shows, and nothing is sorted for it.

| Index | For |
|---|---|
| `KeyIndex` | keys that several places share |
| `SparseAmounts` | amounts that most places lack |
| `UniqueKeyIndex` | keys that each place has for itself, mostly computed when needed |
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, islice
from typing import Any

from sortedcontainers import SortedDict


class Missing:
    """The key of a row that has none: smaller than any other key."""

    def __lt__(self, other: object) -> bool:
        return other is not self

    def __gt__(self, other: object) -> bool:
        return False


MISSING = Missing()
_FEW = 1024  # rows of one key that are ordered by the next key with a sort, not with its index


# Places by key, the keys in order. The places of one key are a plain list: there may be as many
# keys as places, and a sorted container takes 1.6 kB where a list of one takes 64 bytes.


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

    def __init__(self, runs: Iterable[tuple[Any, int]]) -> None:
        """`runs` are keys, each with the number of consecutive places that have it."""
        self._keys: list[Any] = []
        places: dict[Any, list[int]] = {}
        for key, count in runs:
            start = len(self._keys)
            self._keys += [key] * count
            places.setdefault(key, []).extend(range(start, start + count))
        self._places: SortedDict[Any, list[int]] = SortedDict(places)

    def key(self, place: int) -> Any:
        """The key of a place."""
        return self._keys[place]

    def move(self, place: int, key: Any) -> None:
        """Give a place another key."""
        was = self._keys[place]
        if was != key:
            self._keys[place] = key
            _leave(self._places, was, place)
            _join(self._places, key, place)

    def groups(
        self, flags: bytes | bytearray, descending: bool, skipped: int = 0
    ) -> Iterator[Sequence[int]]:
        """Flagged places by key, ascending within one key, without the first `skipped` keys."""
        keys = reversed(self._places) if descending else self._places
        for key in islice(keys, skipped, None):
            places = self._places[key]
            if len(places) > 1:
                yield list(compress(places, map(flags.__getitem__, places)))
            elif flags[places[0]]:
                yield places

    def before(self, flags: bytes | bytearray, descending: bool, offset: int) -> tuple[int, int]:
        """How many keys precede the key of the flagged row at an offset, and how many flagged rows
        have those keys; (0, 0) where counting them would cost more than it saves.
        """
        unflagged = flags.count(0)
        if unflagged > len(flags) // 4:
            return 0, 0
        without = Counter(map(self._keys.__getitem__, flagged(neither(flags)) if unflagged else ()))
        rows = 0
        for number, key in enumerate(reversed(self._places) if descending else self._places):
            size = len(self._places[key]) - without[key]
            if rows + size > offset:
                return number, rows
            rows += size
        return len(self._places), rows

    def between(self, low: Any, high: Any) -> Iterator[int]:
        """Places whose key lies within inclusive bounds (None: no bound); never a missing key."""
        inclusive = (low is not None, True)
        for key in self._places.irange(MISSING if low is None else low, high, inclusive):
            yield from self._places[key]


class SparseAmounts:
    """Places by an amount that most of them lack; only the others are kept."""

    def __init__(self, count: int) -> None:
        self._amounts: dict[int, float] = {}
        self._without = bytearray(b"\1" * count)
        self._places: SortedDict[float, list[int]] = SortedDict()

    def key(self, place: int) -> float:
        """The amount of a place."""
        return self._amounts.get(place, 0)

    def move(self, place: int, key: float) -> None:
        """Give a place another amount."""
        was = self._amounts.pop(place, 0)
        if key:
            self._amounts[place] = key
        if was != key:
            if was:
                _leave(self._places, was, place)
            if key:
                _join(self._places, key, place)
            self._without[place] = not key

    def groups(
        self, flags: bytes | bytearray, descending: bool, skipped: int = 0
    ) -> Iterator[Sequence[int]]:
        """Flagged places by amount, ascending within one amount."""
        if not descending:
            yield flagged(both(flags, self._without))
        for amount in reversed(self._places) if descending else self._places:
            yield [place for place in self._places[amount] if flags[place]]
        if descending:
            yield flagged(both(flags, self._without))

    def within(self, low: float | None, high: float | None) -> bytearray:
        """Flags of the places whose amount lies within inclusive bounds."""
        zero = (low is None or low <= 0) and (high is None or high >= 0)
        found = bytearray(self._without) if zero else bytearray(len(self._without))
        for amount in self._places.irange(low, high):
            for place in self._places[amount]:
                found[place] = 1
        return found


class UniqueKeyIndex:
    """Places by a key that each has for itself.

    A plain list in order, because a sorted container would compute and keep the key of every
    place, and of most of them it is computed only when a search comes upon it.
    """

    def __init__(
        self, ranks: Sequence[int], key: Callable[[int], Any], others: dict[int, Any]
    ) -> None:
        """`ranks` are places in order of their computed keys; `others` have keys that may move."""
        self._computed_key = key
        self._others: dict[int, Any] = {}
        self._ranks: list[int] = []
        done = 0
        for place, own in sorted(others.items(), key=lambda pair: pair[1]):
            self._others[place] = own
            until = bisect_left(ranks, own, done, key=key)
            self._ranks += ranks[done:until]
            self._ranks.append(place)
            done = until
        self._ranks += ranks[done:]

    def key(self, place: int) -> Any:
        """The key of a place."""
        own = self._others.get(place)
        return self._computed_key(place) if own is None else own

    def move(self, place: int, key: Any) -> None:
        """Give one of the others another key; `MISSING` takes it out."""
        if place in self._others:
            del self._ranks[bisect_left(self._ranks, self._others[place], key=self.key)]
            del self._others[place]
        if key != MISSING:
            self._others[place] = key
            self._ranks.insert(bisect_left(self._ranks, key, key=self.key), place)

    def flagged(self, flags: bytes | bytearray, descending: bool) -> Iterator[int]:
        """Flagged places by key, searched as they are taken."""
        if descending:
            return compress(reversed(self._ranks), map(flags.__getitem__, reversed(self._ranks)))
        return compress(self._ranks, map(flags.__getitem__, self._ranks))


OrderedIndex = KeyIndex | SparseAmounts | UniqueKeyIndex


def pick(
    flags: bytes | bytearray,
    keys: Sequence[OrderedIndex],
    descending: bool,
    offset: int,
    limit: int,
) -> list[int]:
    """A page of the flagged places by several keys, of which the first decides."""
    if not keys:
        return list(islice(compress(range(len(flags)), flags), offset, offset + limit))
    first, *others = keys
    if isinstance(first, UniqueKeyIndex):
        return list(islice(first.flagged(flags, descending), offset, offset + limit))
    page: list[int] = []
    skipped = rows = 0
    if isinstance(first, KeyIndex) and offset:
        skipped, rows = first.before(flags, descending, offset)
    offset -= rows
    for group in first.groups(flags, descending, skipped):
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
    """The flagged places, ascending."""
    return list(compress(range(len(flags)), flags))


def flags_of(places: Iterable[int], count: int) -> bytearray:
    """Flags of some of `count` places."""
    found = bytearray(count)
    for place in places:
        found[place] = 1
    return found


def both(one: bytes | bytearray, other: bytes | bytearray) -> bytes:
    """Flags of the places that are flagged in both."""
    bits = int.from_bytes(one, "little") & int.from_bytes(other, "little")
    return bits.to_bytes(len(one), "little")


def neither(flags: bytes | bytearray) -> bytes:
    """Flags of the places that are not flagged."""
    bits = int.from_bytes(flags, "little") ^ int.from_bytes(b"\1" * len(flags), "little")
    return bits.to_bytes(len(flags), "little")
