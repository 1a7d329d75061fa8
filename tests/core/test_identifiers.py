"""Identifiers: unique, the same for the same seed, and readable backwards into their number (rule
M8).
"""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from sim.kernel.entropy import Entropy
from sim.kernel.identifiers import Identifiers
from tests.wide_numbers import wide


def test_identifiers_are_twelve_capitals_and_digits_and_never_repeat() -> None:
    """M8."""
    ids = Identifiers(Entropy(7))
    drawn = [ids.next("order") for _ in range(20_000)]
    assert len(set(drawn)) == len(drawn)
    assert all(re.fullmatch(r"[0-9A-Z]{12}", found) for found in drawn)
    assert drawn[:5] == [Identifiers(Entropy(7)).next("order"), *drawn[1:5]]
    assert drawn[0] != Identifiers(Entropy(8)).next("order")
    assert drawn[0] != ids.next("execution")


@given(wide(1, 10**9, 36, 1024, 2**16, 36**5))
def test_an_identifier_tells_its_number(count: int) -> None:
    ids = Identifiers(Entropy(7))
    ids.load({"order": count - 1})
    assert ids.sequence("order").number(ids.next("order")) == count


@given(st.text(max_size=14))
def test_what_was_never_given_out_has_no_number(text: str) -> None:
    ids = Identifiers(Entropy(7))
    known = ids.next("order")
    assert ids.sequence("order").number(text) == (1 if text == known else 0)


def test_a_loaded_count_goes_on_in_the_same_sequence() -> None:
    ids = Identifiers(Entropy(7))
    sequence = ids.sequence("trade")
    first = [sequence.next() for _ in range(1500)]
    saved = ids.save()
    after = sequence.next()
    ids.load(saved)
    assert sequence.next() == after
    ids.load({})
    assert sequence.next() == first[0]
    assert ids.count("trade") == 2


@settings(max_examples=20)
@given(st.integers(0, 2**63 - 1), st.integers(0, 3000))
def test_the_first_identifiers_of_a_purpose_are_those_that_are_given_out(
    seed: int, count: int
) -> None:
    ids = Identifiers(Entropy(seed))
    first, uuids = ids.sequence("order").first(count), ids.first_uuids("funding", count % 20)
    assert first == [ids.next("order") for _ in range(count)]
    assert uuids == [ids.uuid("funding") for _ in range(count % 20)]
