"""A value that changes on dates is, at every instant, that of the last change."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.dated import Dated
from sim.kernel.instants import eastern


@given(st.lists(st.integers(0, 30), unique=True).map(sorted), st.integers(-1, 31))
def test_a_dated_value_is_that_of_its_last_change(starts: list[int], now: int) -> None:
    dated = Dated(0, *((start, number) for number, start in enumerate(starts, 1)))
    begun = [start for start in starts if start <= now]
    assert dated.at(now) == len(begun)
    assert dated.since(now) == (begun[-1] if begun else None)
    assert dated.next_change(now) == next((start for start in starts if start > now), None)
    assert dated.starts == tuple(starts)
    assert list(dated.changes()) == [
        (start, number, number + 1) for number, start in enumerate(starts)
    ]


def test_a_date_is_midnight_eastern_and_a_rule_has_its_words() -> None:
    dated = Dated("a", ("2026-07-09", "b"), name="n", section="§1", title="t")
    assert dated.starts == (eastern(date(2026, 7, 9)),)
    assert (dated.name, dated.section, dated.title) == ("n", "§1", "t")
    assert (Dated(1).name, Dated(1).section, Dated(1).title) == ("", "", "")


@pytest.mark.parametrize("starts", [(2, 1), (1, 1), (1, 3, 3), (3, 4, 2)])
def test_changes_are_in_order(starts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="changes of a dated value must be in ascending order"):
        Dated("", *((start, "") for start in starts))
