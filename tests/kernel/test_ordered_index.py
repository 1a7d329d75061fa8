"""Orders kept while keys change give the pages that sorting all rows anew would."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sim.indexes.change_index import Changes
from sim.indexes.ordered_index import (
    MISSING,
    KeyIndex,
    OrderedIndex,
    SparseAmounts,
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
    wanted=st.sets(places)
    | st.sets(places, max_size=5).map(lambda left_out: set(range(COUNT)) - left_out),
    by=st.lists(st.sampled_from([0, 1, 2]), max_size=3, unique=True),
    descending=st.booleans(),
    page=st.tuples(st.integers(0, COUNT), st.integers(1, COUNT)),
)
def test_a_page_is_that_of_sorting_everything(
    start: list[int | None],
    moves: list[tuple[int, int | None, int, int]],
    wanted: set[int],
    by: list[int],
    descending: bool,
    page: tuple[int, int],
) -> None:
    grouped = KeyIndex(MISSING if key is None else key for key in start)
    sums = SparseAmounts([0] * COUNT)
    ranked = KeyIndex((10_000 if place % 2 else 20_000) + place for place in range(COUNT))
    shown: list[list[Any]] = [
        list(start),
        [0] * COUNT,
        [20_000 + place if place % 2 == 0 else 10_000 + place for place in range(COUNT)],
    ]
    for place, key, amount, own in moves:
        grouped.move(place, MISSING if key is None else key)
        sums.move(place, amount)
        shown[0][place], shown[1][place] = key, amount
        if place % 2 == 0:
            shown[2][place] = own * COUNT + place + 100_000
            ranked.move(place, shown[2][place])
    orders: list[OrderedIndex] = [grouped, sums, ranked]
    expected = sorted(wanted)
    for number in reversed(by):
        expected.sort(
            key=lambda place, number=number: rank(shown[number][place]), reverse=descending
        )  # type: ignore[misc]
    offset, limit = page
    assert (
        pick(flags_of(wanted, COUNT), [orders[number] for number in by], descending, offset, limit)
        == expected[offset : offset + limit]
    )
    assert [orders[number].key(place) for number in (1, 2) for place in range(COUNT)] == [
        *shown[1],
        *shown[2],
    ]


@given(
    moves=st.lists(st.tuples(places, keys, amounts)),
    low=st.none() | amounts,
    high=st.none() | amounts,
)
def test_bounds_leave_what_lies_within_them(
    moves: list[tuple[int, int | None, int]], low: int | None, high: int | None
) -> None:
    grouped, sums, shown = (
        KeyIndex([MISSING] * COUNT),
        SparseAmounts([0] * COUNT),
        dict.fromkeys(range(COUNT), (None, 0)),
    )
    for place, key, amount in moves:
        grouped.move(place, MISSING if key is None else key)
        sums.move(place, amount)
        shown[place] = (key, amount)  # type: ignore[assignment]

    def within(value: int | None) -> bool:
        return (
            value is not None and (low is None or value >= low) and (high is None or value <= high)
        )

    assert sorted(grouped.between(low, high)) == [
        place for place in range(COUNT) if within(shown[place][0])
    ]
    assert flagged(sums.within(low, high)) == [
        place for place in range(COUNT) if within(shown[place][1])
    ]


@given(one=st.sets(places), other=st.sets(places))
def test_flags_are_sets_of_places(one: set[int], other: set[int]) -> None:
    first, second = flags_of(one, COUNT), flags_of(other, COUNT)
    assert flagged(both(first, second)) == sorted(one & other)
    assert flagged(neither(first)) == sorted(set(range(COUNT)) - one)


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
