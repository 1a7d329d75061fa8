"""Draws without floats: ranges are kept, means come out, and a narrow range costs no more than a
wide one.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.entropy import Entropy
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
    found = [stream.log_between(1, 15).bit_length() for _ in range(4000)]
    assert all(900 < found.count(octave) < 1100 for octave in (1, 2, 3, 4))


def test_exponential_waits_have_their_mean_and_are_memoryless() -> None:
    stream = Entropy(7).stream("x")
    found = [stream.exponential(10**9) for _ in range(20_000)]
    assert 0.97e9 < sum(found) / len(found) < 1.03e9
    for times, share in ((1, 0.368), (2, 0.135), (4, 0.0183)):
        assert abs(sum(wait > times * 10**9 for wait in found) / len(found) - share) < 0.01
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
