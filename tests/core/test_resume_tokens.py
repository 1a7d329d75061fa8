"""A resume token is read by its own stream and by nobody else, and says nothing to anybody else."""

from __future__ import annotations

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.api.streams.resume_tokens import TOKEN_BYTES, ResumePoint, ResumeTokens, binding_of
from sim.core.model.refusals import InvalidRequest
from tests.wide_numbers import wide

DAY = 86_400_000_000_000

points = st.builds(ResumePoint, *[wide(0, 2**63 - 1, 2**8, 2**32)] * 2)


def tokens() -> ResumeTokens:
    return ResumeTokens(b"k" * 32)


def binding() -> bytes:
    return binding_of("Rpc", "firms/a", symbols=["x", "y"])


@given(point=points)
def test_a_token_gives_back_its_point_and_is_the_same_each_time(point: ResumePoint) -> None:
    token = tokens().issue(binding(), point)
    assert len(token) == TOKEN_BYTES
    assert tokens().read(token, binding(), now=point.at, lifetime=0) == point
    assert tokens().issue(binding(), point) == token


@given(
    point=points,
    position=wide(0, TOKEN_BYTES - 1, 16, 32, TOKEN_BYTES - 16),
    flip=wide(1, 255, 128),
)
def test_no_changed_byte_goes_unnoticed(point: ResumePoint, position: int, flip: int) -> None:
    token = bytearray(tokens().issue(binding(), point))
    token[position] ^= flip
    with pytest.raises(InvalidRequest):
        tokens().read(bytes(token), binding(), now=point.at, lifetime=DAY)


@given(token=st.binary(max_size=TOKEN_BYTES + 1))
def test_bytes_from_elsewhere_are_no_token(token: bytes) -> None:
    with pytest.raises(InvalidRequest):
        tokens().read(token, binding(), now=0, lifetime=DAY)


@given(point=points)
def test_another_key_or_binding_does_not_read_it(point: ResumePoint) -> None:
    token = tokens().issue(binding(), point)
    for reader, bound in (
        (ResumeTokens(b"j" * 32), binding()),
        (tokens(), binding_of("Rpc", "firms/a", symbols=["x"])),
    ):
        with pytest.raises(InvalidRequest):
            reader.read(token, bound, now=point.at, lifetime=DAY)


def test_a_token_lives_as_long_as_it_is_said_to_and_not_before_it_was_made() -> None:
    token = tokens().issue(binding(), ResumePoint(3, 1000))
    assert tokens().read(token, binding(), now=1000 + DAY, lifetime=DAY) == ResumePoint(3, 1000)
    for now in (1001 + DAY, 999):
        with pytest.raises(InvalidRequest):
            tokens().read(token, binding(), now=now, lifetime=DAY)


def test_neighbouring_places_give_tokens_with_nothing_in_common() -> None:
    first, second = (tokens().issue(binding(), ResumePoint(seq, 1000)) for seq in (7, 8))
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    assert equal < TOKEN_BYTES // 16


def test_the_order_of_symbols_and_repeats_do_not_matter_but_where_names_end_does() -> None:
    assert binding_of("Rpc", "firms/a", symbols=["y", "x", "x"]) == binding()
    assert binding_of("Rpc", "firms/ax", symbols=["y"]) != binding_of(
        "Rpc", "firms/a", symbols=["xy"]
    )
    assert binding_of("Rpcfirms/a", symbols=["x", "y"]) != binding()


def test_every_list_of_names_and_every_set_of_symbols_is_a_binding_of_its_own() -> None:
    texts = ("", "a", "b", "ab", "ba")
    names = [result for length in range(3) for result in product(texts, repeat=length)]
    sets = [combination for length in range(3) for combination in combinations(texts, length)]
    bindings = {binding_of(*name, symbols=symbols) for name in names for symbols in sets}
    assert len(bindings) == len(names) * len(sets)
