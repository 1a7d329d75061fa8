"""An ordered index whose keys change returns the same pages as sorting all rows."""

from __future__ import annotations

from itertools import product
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.indexes.change_index import Changes
from sim.kernel.indexes.ordered_index import (
    MISSING,
    Codes,
    KeyIndex,
    both,
    flagged,
    flags_of,
    neither,
    pick,
)

COUNT = 30
places = st.integers(0, COUNT - 1)
keys = st.none() | st.integers(0, 4)
amounts = st.integers(0, 3)


def rank(key: Any) -> tuple[bool, Any]:
    return (False, 0) if key is None or key is MISSING else (True, key)


@given(
    start=st.lists(keys, min_size=COUNT, max_size=COUNT),
    moves=st.lists(st.tuples(places, keys, amounts, st.integers(0, 1000))),
    target=st.sets(places)
    | st.sets(places, max_size=5).map(lambda left_out: set(range(COUNT)) - left_out),
    by=st.lists(st.sampled_from([0, 1, 2]), max_size=3, unique=True),
    descending=st.booleans(),
    page=st.tuples(st.integers(0, COUNT), st.integers(1, COUNT)),
    few=st.sampled_from([0, 2, COUNT]),
    before=st.booleans(),
)
def test_a_page_is_that_of_sorting_everything(
    start: list[int | None],
    moves: list[tuple[int, int | None, int, int]],
    target: set[int],
    by: list[int],
    descending: bool,
    page: tuple[int, int],
    few: int,
    before: bool,
) -> None:
    """A key moves before somebody asks for an order, and in orders that were read `before`."""
    grouped = KeyIndex(MISSING if key is None else key for key in start)
    sums = KeyIndex([0] * COUNT)
    ranked = KeyIndex((10_000 if index % 2 else 20_000) + index for index in range(COUNT))
    displayed: list[list[Any]] = [
        list(start),
        [0] * COUNT,
        [20_000 + index if index % 2 == 0 else 10_000 + index for index in range(COUNT)],
    ]
    orders: list[KeyIndex] = [grouped, sums, ranked]
    for index, direction in product(orders if before else (), (True, False)):
        index.ordered(direction)
    for position, key, amount, own in moves:
        grouped.move(position, MISSING if key is None else key)
        sums.move(position, amount)
        displayed[0][position], displayed[1][position] = key, amount
        if position % 2 == 0:
            displayed[2][position] = own * COUNT + position + 100_000
            ranked.move(position, displayed[2][position])
    expected = sorted(target)
    for number in reversed(by):
        expected.sort(
            key=lambda index, number=number: rank(displayed[number][index]), reverse=descending
        )  # type: ignore[misc]
    offset, limit = page
    with patch("sim.kernel.indexes.ordered_index._FEW", few):
        for _ in range(2):  # as the order is sorted, and read again
            assert (
                pick(
                    flags_of(target, COUNT),
                    [orders[number] for number in by],
                    descending,
                    offset,
                    limit,
                )
                == expected[offset : offset + limit]
            )
    assert [orders[number].key(index) for number in (1, 2) for index in range(COUNT)] == [
        *displayed[1],
        *displayed[2],
    ]


@given(
    moves=st.lists(st.tuples(places, keys, amounts)),
    low=st.none() | amounts,
    high=st.none() | amounts,
)
def test_bounds_leave_what_lies_within_them(
    moves: list[tuple[int, int | None, int]], low: int | None, high: int | None
) -> None:
    grouped, sums, displayed = (
        KeyIndex([MISSING] * COUNT),
        KeyIndex([0] * COUNT),
        dict.fromkeys(range(COUNT), (None, 0)),
    )
    for position, key, amount in moves:
        grouped.move(position, MISSING if key is None else key)
        sums.move(position, amount)
        displayed[position] = (key, amount)  # type: ignore[assignment]

    def within(value: int | None) -> bool:
        return (
            value is not None and (low is None or value >= low) and (high is None or value <= high)
        )

    assert sorted(grouped.between(low, high)) == [
        index for index in range(COUNT) if within(displayed[index][0])
    ]
    assert flagged(sums.within(low, high)) == [
        index for index in range(COUNT) if within(displayed[index][1])
    ]


@given(item=st.sets(places), other=st.sets(places))
def test_flags_are_sets_of_places(item: set[int], other: set[int]) -> None:
    first, second = flags_of(item, COUNT), flags_of(other, COUNT)
    assert flagged(both(first, second)) == sorted(item & other)
    assert flagged(neither(first)) == sorted(set(range(COUNT)) - item)


@given(names=st.lists(st.sampled_from("abcdef")), since=st.integers(0, 20))
def test_changes_are_told_latest_first_and_once(names: list[str], since: int) -> None:
    changes = Changes()
    for version, name in enumerate(names, 1):
        changes.note(name, version)
    late = names[since:]
    assert list(changes.since(since)) == sorted(set(late), key=late[::-1].index)
    assert [changes.get(name, -1) for name in "abcdef"] == [
        len(names) - names[::-1].index(name) if name in names else -1 for name in "abcdef"
    ]


@pytest.mark.parametrize("kind", [KeyIndex, Codes])
@given(
    codes=st.lists(st.integers(0, 255), min_size=1, max_size=9),
    moves=st.lists(st.tuples(st.integers(0, 8), st.integers(0, 255)), max_size=5),
    requested=st.sets(st.sampled_from([0, 1, 254, 255])),
)
def test_rows_are_found_by_their_keys(
    kind: type[KeyIndex] | type[Codes],
    codes: list[int],
    moves: list[tuple[int, int]],
    requested: set[int],
) -> None:
    index = kind(codes)
    for position, code in moves:
        codes[position % len(codes)] = code
        index.move(position % len(codes), code)
    requested |= {codes[0]}
    assert [index.key(position) for position in range(len(codes))] == codes
    assert list(index.among(*sorted(requested))) == [code in requested for code in codes]


def test_an_index_gives_a_page_without_sorting() -> None:
    """Where sorting would compare every key, an index compares none."""
    compared = []

    class Key(int):
        def __lt__(self, other: object) -> bool:
            compared.append(other)
            return int(self) < int(other)  # type: ignore[call-overload]

    index, flags = KeyIndex(Key(at % 300) for at in range(1100)), flags_of(range(1025), 1100)
    assert pick(flags, [index], False, 0, 2) == [0, 300]
    assert pick(flags, [index], True, 0, 2) == [299, 599]
    compared.clear()
    assert pick(flags, [index], False, 0, 2) == [0, 300]
    assert pick(flags, [index], True, 0, 2) == [299, 599]
    assert not compared
    index.move(5, Key(7))
    assert len(compared) < 100  # a binary search of the place it leaves and of the one it takes
    assert list(index.ordered(False))[:5] == [0, 300, 600, 900, 1]
    assert list(index.ordered(True))[-4:] == [0, 300, 600, 900]
    assert 5 in list(index.ordered(False))[24:33]


def test_a_row_without_a_key_is_the_smallest_and_equal_to_others_without() -> None:
    assert MISSING < 0 and not MISSING < MISSING and not MISSING > 0
    assert sorted([3, MISSING, 1], key=lambda key: key) == [MISSING, 1, 3]
    index = KeyIndex([MISSING, 2, MISSING, 1])
    assert (list(index.between(None, None)), index.key(0)) == ([3, 1], MISSING)
    assert pick(b"\1" * 4, [index], False, 0, 4) == [0, 2, 3, 1]
    assert pick(b"\1\0\1\1", [index], True, 0, 4) == [3, 0, 2]
    amounts = KeyIndex([0, 5, 0.5])
    assert [amounts.key(at) for at in range(3)] == [0, 5, 0.5]
    amounts.move(1, 0)
    assert list(amounts.within(0, 0)) == [1, 1, 0]
    assert list(amounts.within(-1, None)) == [1, 1, 1]
    assert list(amounts.within(None, -1)) == [0, 0, 0]


def test_changes_that_are_forgotten_are_no_changes() -> None:
    changes = Changes()
    changes.note("a", 1)
    changes.clear()
    assert (list(changes.since(0)), changes.get("a", 5)) == ([], 5)
