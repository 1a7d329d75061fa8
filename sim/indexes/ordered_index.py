"""Rows in order of a key, kept while their keys change. A row is a place, 0 to n - 1, and the order
of places is the order of equals.

Which rows a list wants is said by flags, one byte for each place. `pick` walks an ordering and
stops where the page ends, so a page costs what it skips and shows; nothing is compared for it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import compress, islice
from typing import Any


class Nothing:
    """The key of a row that has none, smaller than any other."""

    def __lt__(self, other: object) -> bool:
        return other is not self

    def __gt__(self, other: object) -> bool:
        return False


NOTHING = Nothing()
_FEW = 1024  # rows of one key that are put in order of the next key by comparing them


class KeyIndex:
    """Places by a key that some have in common."""

    def __init__(self, runs: Iterable[tuple[Any, int]]) -> None:
        """`runs` are keys, and how many places in a row have them."""
        self._keys: list[Any] = []
        self._places: dict[Any, list[int]] = {}
        for key, count in runs:
            start = len(self._keys)
            self._keys += [key] * count
            self._places.setdefault(key, []).extend(range(start, start + count))
        self._sorted = sorted(self._places)

    def key(self, place: int) -> Any:
        """The key of a place."""
        return self._keys[place]

    def move(self, place: int, key: Any) -> None:
        """The key of a place is another one."""
        was = self._keys[place]
        if was == key:
            return
        self._keys[place] = key
        left = self._places[was]
        del left[bisect_left(left, place)]
        if not left:
            del self._places[was]
            del self._sorted[bisect_left(self._sorted, was)]
        joined = self._places.get(key)
        if joined is None:
            self._places[key] = [place]
            insort(self._sorted, key)
        else:
            insort(joined, place)

    def groups(
        self, flags: bytes | bytearray, falling: bool, skipped: int = 0
    ) -> Iterator[Sequence[int]]:
        """Flagged places by key; those of one key ascending. The first so many keys are passed
        over.
        """
        for key in islice(reversed(self._sorted) if falling else self._sorted, skipped, None):
            places = self._places[key]
            if len(places) > 1:
                yield list(compress(places, map(flags.__getitem__, places)))
            elif flags[places[0]]:
                yield places

    def before(self, flags: bytes | bytearray, falling: bool, offset: int) -> tuple[int, int]:
        """How many keys come before that of the flagged row at an offset, and how many flagged rows
        have those; (0, 0) where counting costs more.
        """
        missing = flags.count(0)
        if missing > len(flags) // 4:
            return 0, 0
        without = Counter(map(self._keys.__getitem__, flagged(neither(flags)) if missing else ()))
        rows = 0
        for number, key in enumerate(reversed(self._sorted) if falling else self._sorted):
            size = len(self._places[key]) - without[key]
            if rows + size > offset:
                return number, rows
            rows += size
        return len(self._sorted), rows

    def between(self, low: Any, high: Any) -> Iterator[int]:
        """Places whose key lies within bounds, both inclusive where they are given; those without a
        key lie within none.
        """
        first = (
            bisect_right(self._sorted, NOTHING) if low is None else bisect_left(self._sorted, low)
        )
        last = len(self._sorted) if high is None else bisect_right(self._sorted, high)
        for key in self._sorted[first:last]:
            yield from self._places[key]


class SparseAmounts:
    """Places by an amount of which most have none: only the others are kept."""

    def __init__(self, count: int) -> None:
        self._amounts: dict[int, float] = {}
        self._none = bytearray(b"\1" * count)
        self._sorted: list[tuple[float, int]] = []

    def key(self, place: int) -> float:
        """The amount of a place."""
        return self._amounts.get(place, 0)

    def move(self, place: int, key: float) -> None:
        """The amount of a place is another one."""
        was = self._amounts.get(place, 0)
        if was == key:
            return
        if was:
            del self._sorted[bisect_left(self._sorted, (was, place))]
        if key:
            self._amounts[place] = key
            insort(self._sorted, (key, place))
        else:
            del self._amounts[place]
        self._none[place] = not key

    def groups(
        self, flags: bytes | bytearray, falling: bool, skipped: int = 0
    ) -> Iterator[Sequence[int]]:
        """Flagged places by amount; those without any ascending."""
        if not falling:
            yield from self._without(flags)
        first, last = 0, len(self._sorted)
        while first < last:
            amount = self._sorted[last - 1 if falling else first][0]
            low = bisect_left(self._sorted, (amount, -1), first, last)
            high = bisect_left(self._sorted, (amount, len(self._none)), low, last)
            yield [place for _, place in self._sorted[low:high] if flags[place]]
            first, last = (first, low) if falling else (high, last)
        if falling:
            yield from self._without(flags)

    def _without(self, flags: bytes | bytearray) -> Iterator[Sequence[int]]:
        yield flagged(both(flags, self._none))

    def within(self, low: float | None, high: float | None) -> bytearray:
        """Flags of the places whose amount lies within bounds, both inclusive."""
        nothing = (low is None or low <= 0) and (high is None or high >= 0)
        found = bytearray(self._none) if nothing else bytearray(len(self._none))
        first = 0 if low is None else bisect_left(self._sorted, (low, -1))
        last = (
            len(self._sorted)
            if high is None
            else bisect_left(self._sorted, (high, len(self._none)))
        )
        for _, place in self._sorted[first:last]:
            found[place] = 1
        return found


class Ranked:
    """Places by a key that each has for itself."""

    def __init__(
        self, ranks: Sequence[int], key: Callable[[int], Any], others: dict[int, Any]
    ) -> None:
        """`ranks` are places in order of their keys, which `key` tells; `others` have keys that
        must be kept, because they may move.
        """
        self._of = key
        self._others: dict[int, Any] = {}
        self._ranks: list[int] = []
        done = 0
        for place, mine in sorted(others.items(), key=lambda pair: pair[1]):
            self._others[place] = mine
            until = bisect_left(ranks, mine, done, key=key)
            self._ranks += ranks[done:until]
            self._ranks.append(place)
            done = until
        self._ranks += ranks[done:]

    def key(self, place: int) -> Any:
        """The key of a place."""
        found = self._others.get(place)
        return self._of(place) if found is None else found

    def move(self, place: int, key: Any) -> None:
        """The key of a place, one of the others, is another one; `NOTHING` takes it out."""
        if place in self._others:
            del self._ranks[bisect_left(self._ranks, self._others[place], key=self.key)]
            del self._others[place]
        if key != NOTHING:
            self._others[place] = key
            self._ranks.insert(bisect_left(self._ranks, key, key=self.key), place)

    def flagged(self, flags: bytes | bytearray, falling: bool) -> Iterator[int]:
        """Flagged places by key, found as they are taken."""
        if falling:
            return compress(reversed(self._ranks), map(flags.__getitem__, reversed(self._ranks)))
        return compress(self._ranks, map(flags.__getitem__, self._ranks))


Key = KeyIndex | SparseAmounts | Ranked


def pick(
    flags: bytes | bytearray, keys: Sequence[Key], falling: bool, offset: int, limit: int
) -> list[int]:
    """A page of the flagged places by keys, the first one deciding; equals ascending."""
    if not keys:
        return list(islice(compress(range(len(flags)), flags), offset, offset + limit))
    first, *others = keys
    if isinstance(first, Ranked):
        return list(islice(first.flagged(flags, falling), offset, offset + limit))
    found: list[int] = []
    skipped, rows = (
        first.before(flags, falling, offset) if isinstance(first, KeyIndex) and offset else (0, 0)
    )
    offset -= rows
    for group in first.groups(flags, falling, skipped):
        if offset >= len(group):
            offset -= len(group)
            continue
        left = limit - len(found)
        if others and len(group) > _FEW:
            found += pick(flags_of(group, len(flags)), others, falling, offset, left)
        else:
            found += _by(group, others, falling)[offset : offset + left]
        offset = 0
        if len(found) >= limit:
            break
    return found


def _by(group: Sequence[int], keys: Sequence[Key], falling: bool) -> Sequence[int]:
    for one in reversed(keys):
        group = sorted(group, key=one.key, reverse=falling)
    return group


# ---- flags


def flagged(flags: bytes | bytearray) -> list[int]:
    """The flagged places, ascending."""
    return list(compress(range(len(flags)), flags))


def flags_of(places: Iterable[int], count: int) -> bytearray:
    """Flags of some of so many places."""
    found = bytearray(count)
    for place in places:
        found[place] = 1
    return found


def both(one: bytes | bytearray, other: bytes | bytearray) -> bytes:
    """Flags of the places that are flagged in both."""
    return (int.from_bytes(one, "little") & int.from_bytes(other, "little")).to_bytes(
        len(one), "little"
    )


def neither(one: bytes | bytearray) -> bytes:
    """Flags of the places that are not flagged."""
    return (int.from_bytes(one, "little") ^ int.from_bytes(b"\1" * len(one), "little")).to_bytes(
        len(one), "little"
    )
