"""Identifiers: unique, the same for the same seed, and readable backwards into their number (rule
M8).
"""

from __future__ import annotations

import re
import uuid

import pytest
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
    assert all(re.fullmatch(r"[0-9A-Z]{12}", result) for result in drawn)
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
    existing = ids.next("order")
    assert ids.sequence("order").number(text) == (1 if text == existing else 0)


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


@pytest.mark.parametrize(
    ("number", "identifier"),
    [
        (1, "CH40V8PPFF3C"),
        (2, "SK40V8PPFF3C"),
        (1295, "6E40V8PPFF3C"),
        (1296, "0C6R3V2HM5BH"),
        (1297, "CH6R3V2HM5BH"),
        (10**6, "MW60F01VELP0"),
        (10**9, "M81B87S7AT6A"),
        (10**12, "N19030W43O75"),
    ],
)
def test_an_identifier_never_changes_or_no_old_journal_would_replay(
    number: int, identifier: str
) -> None:
    ids = Identifiers(Entropy(7))
    ids.load({"order": number - 1})
    sequence = ids.sequence("order")
    assert sequence.number(identifier) == 0, "not yet issued"
    assert ids.next("order") == identifier
    assert sequence.number(identifier) == sequence.count == number
    assert ids.save() == {"order": number}


def test_uuids_have_the_form_of_version_4_and_never_change() -> None:
    ids = Identifiers(Entropy(7))
    assert [ids.uuid("funding"), ids.uuid("funding")] == [
        "26815cb1-1258-40fc-b35e-802ceed06e4f",
        "ea4651ca-e23e-4e76-ac35-4b60924c15b5",
    ]
    results = [ids.uuid("funding") for _ in range(300)]
    assert all(uuid.UUID(text).version == 4 for text in results)
    assert {text[19] for text in results} == set("89ab")
    assert len(set(results)) == 300


def test_counts_begin_at_one_and_only_what_was_issued_is_saved() -> None:
    ids = Identifiers(Entropy(7))
    ids.sequence("b")
    assert [ids.count("c"), ids.count("c"), ids.count("a")] == [1, 2, 1]
    assert [*ids.save().items()] == [("a", 1), ("c", 2)]
    sequence = ids.sequence("c")
    ids.load({"b": 4})
    assert (ids.sequence("c"), sequence.count, ids.count("b")) == (sequence, 0, 5)


@pytest.mark.parametrize(
    "text", ["", "CH40V8PPFF3", "ch40v8ppff3c", "CH40V8PPFF3CC", "ZZZZZZZZZZZZ"]
)
def test_text_in_another_form_has_no_number(text: str) -> None:
    sequence = Identifiers(Entropy(7)).sequence("order")
    sequence.count = 1 << 80
    assert sequence.number(text) == 0
    assert sequence.number("CH0000000000") > 0
