"""Random draws without floats: ranges and means are correct, and a narrow range is as cheap as a
wide one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from hashlib import blake2b

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.entropy import Entropy, RandomStream
from tests.wide_numbers import wide


@given(
    wide(1, 1 << 60, 2, 1 << 31, 1 << 32), wide(0, 1 << 60, 1 << 16, 1 << 32), st.integers(0, 99)
)
def test_a_log_uniform_draw_stays_in_its_range_and_takes_two_draws(
    low: int, more: int, seed: int
) -> None:
    stream = Entropy(seed).stream("x")
    for high in (low, low + 1, low + more):
        before = stream.drawn
        assert low <= stream.log_between(low, high) <= high
        assert stream.drawn - before < 12, "no more than a repeated draw or two"


def test_each_octave_of_a_log_uniform_draw_is_equally_likely() -> None:
    stream = Entropy(7).stream("x")
    results = [stream.log_between(1, 15).bit_length() for _ in range(4000)]
    assert all(900 < results.count(octave) < 1100 for octave in (1, 2, 3, 4))


def test_exponential_waits_have_their_mean_and_are_memoryless() -> None:
    stream = Entropy(7).stream("x")
    results = [stream.exponential(10**9) for _ in range(20_000)]
    assert 0.97e9 < sum(results) / len(results) < 1.03e9
    for times, share in ((1, 0.368), (2, 0.135), (4, 0.0183)):
        assert abs(sum(wait > times * 10**9 for wait in results) / len(results) - share) < 0.01
    assert stream.exponential(1) >= 1


def test_a_draw_below_a_bound_that_does_not_divide_all_words_is_without_bias() -> None:
    """Three quarters of all words as bound: the remainder alone would double the first third."""
    stream, bound = Entropy(seed=1).stream("wide"), 3 << 62
    draws = [stream.below(bound) for _ in range(3000)]
    thirds = [
        sum(at * bound // 3 <= draw < (at + 1) * bound // 3 for draw in draws) for at in range(3)
    ]
    assert all(900 < third < 1100 for third in thirds), thirds
    assert stream.drawn > 3800  # every fourth word is drawn again


def words(seed: int, name: str) -> Iterator[int]:
    """The words of a stream by their definition: number by number, hashed with the stream's key."""
    key = blake2b(f"{seed}\0{name}".encode(), digest_size=32, person=b"sim-entropy").digest()
    for number in itertools.count():
        yield int.from_bytes(blake2b(number.to_bytes(8, "big"), digest_size=8, key=key).digest())


@given(wide(0, 2**63 - 1), st.text(max_size=9), st.lists(wide(1, 1 << 64, 2, 1 << 63), max_size=9))
def test_draws_are_the_words_of_a_stream_and_their_remainders(
    seed: int, name: str, bounds: list[int]
) -> None:
    stream, expected = Entropy(seed).stream(name), words(seed, name)
    drawn = 0
    for bound in bounds:
        limit = (1 << 64) // bound * bound
        word, drawn = next(expected), drawn + 1
        while word >= limit:
            word, drawn = next(expected), drawn + 1
        assert stream.below(bound) == word % bound
    assert stream.bits() == next(expected)
    assert stream.drawn == drawn + 1


def test_what_is_drawn_from_a_stream_never_changes_or_no_old_journal_would_replay() -> None:
    def draws(method: str, *args: object) -> list[object]:
        stream = Entropy(7).stream("x")
        return [getattr(stream, method)(*args) for _ in range(6)]

    assert draws("bits")[:2] == [14668972355122622967, 10389052852924908139]
    assert draws("below", 1000) == [967, 139, 709, 293, 229, 806]
    assert draws("between", -5, 5) == [-4, 5, 5, -3, 5, -1]
    assert draws("choice", "abcdefghijk") == [*"bkkcke"]
    assert draws("chance", 300, 1000) == [False, True, False, True, True, False]
    assert draws("chance", 293, 1000)[3] is False
    assert draws("log_between", 3, 10**6) == [98923, 11525, 879404, 69, 17, 187068]
    assert draws("exponential", 10**9) == [
        229162429,
        574138244,
        49984845,
        59091267,
        3988909115,
        428541253,
    ]
    key = "b0d1342a4d8653c946cac299e14fbdf0c9656bf0b86a3779806243e0616dfb01"
    assert Entropy(7).key("k").hex() == key


def test_a_wait_is_at_least_one_and_long_for_the_smallest_word() -> None:
    class Fixed(RandomStream):
        def bits(self) -> int:
            return self.drawn

    assert [Fixed(b"", (1 << 64) - 1).exponential(mean) for mean in (1, 10**9)] == [1, 10576]
    longest = Fixed(b"", 0).exponential(10**9)
    assert longest == Fixed(b"", 1).exponential(10**9)
    assert abs(longest / 10**9 - 64 * math.log(2)) < 0.001
    assert Fixed(b"", 2).exponential(10**9) == Fixed(b"", 3).exponential(10**9)
    assert abs(Fixed(b"", 1 << 63).exponential(10**9) / 10**9 - math.log(2)) < 0.0001


@pytest.mark.parametrize("bound", [0, -1, (1 << 64) + 1])
def test_a_bound_that_no_word_covers_is_refused(bound: int) -> None:
    stream = Entropy(1).stream("x")
    with pytest.raises(ValueError, match=f"^bound must be in 1..2\\*\\*64, not {bound}$"):
        stream.below(bound)
    assert stream.drawn == 0
    assert stream.below(1 << 64) == next(words(1, "x"))


def test_counts_of_draws_are_all_the_state_there_is() -> None:
    entropy = Entropy(7)
    item, other = entropy.stream("one"), entropy.stream("other")
    assert (item is entropy.stream("one"), entropy.save(), entropy.used()) == (True, {}, [])
    assert entropy.key("k") == entropy.key("k") != entropy.key("l")
    before = [item.bits(), item.bits(), other.bits()]
    assert entropy.save() == {"one": 2, "other": 1}
    assert entropy.used() == ["k", "l", "one", "other"]
    following = item.bits()
    entropy.load({"one": 2, "third": 5})
    assert (item.bits(), other.bits()) == (following, before[2])
    assert entropy.stream("third").drawn == 5
    entropy.load({})
    assert [item.bits(), item.bits(), other.bits()] == before
