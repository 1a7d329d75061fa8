"""A resume token is read by its own stream and by nobody else, and says nothing to anybody else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.api.streams.resume_tokens import TOKEN_BYTES, Place, ResumeTokens, binding_of
from sim.core.model.refusals import InvalidRequest

TOKENS = ResumeTokens(b"k" * 32)
BINDING = binding_of("Rpc", "firms/a", symbols=["x", "y"])
DAY = 86_400_000_000_000

places = st.builds(Place, st.integers(0, 2**63 - 1), st.integers(0, 2**63 - 1))


@given(place=places)
def test_a_token_gives_back_its_place_and_is_the_same_each_time(place: Place) -> None:
    token = TOKENS.issue(BINDING, place)
    assert len(token) == TOKEN_BYTES
    assert TOKENS.read(token, BINDING, now=place.at, lifetime=0) == place
    assert TOKENS.issue(BINDING, place) == token


@given(place=places, position=st.integers(0, TOKEN_BYTES - 1), flip=st.integers(1, 255))
def test_no_changed_byte_goes_unnoticed(place: Place, position: int, flip: int) -> None:
    token = bytearray(TOKENS.issue(BINDING, place))
    token[position] ^= flip
    with pytest.raises(InvalidRequest):
        TOKENS.read(bytes(token), BINDING, now=place.at, lifetime=DAY)


@given(token=st.binary(max_size=TOKEN_BYTES + 1))
def test_bytes_from_elsewhere_are_no_token(token: bytes) -> None:
    with pytest.raises(InvalidRequest):
        TOKENS.read(token, BINDING, now=0, lifetime=DAY)


@given(place=places)
def test_another_key_or_binding_does_not_read_it(place: Place) -> None:
    token = TOKENS.issue(BINDING, place)
    for reader, binding in (
        (ResumeTokens(b"j" * 32), BINDING),
        (TOKENS, binding_of("Rpc", "firms/a", symbols=["x"])),
    ):
        with pytest.raises(InvalidRequest):
            reader.read(token, binding, now=place.at, lifetime=DAY)


def test_a_token_lives_as_long_as_it_is_said_to_and_not_before_it_was_made() -> None:
    token = TOKENS.issue(BINDING, Place(3, 1000))
    assert TOKENS.read(token, BINDING, now=1000 + DAY, lifetime=DAY) == Place(3, 1000)
    for now in (1001 + DAY, 999):
        with pytest.raises(InvalidRequest):
            TOKENS.read(token, BINDING, now=now, lifetime=DAY)


def test_neighbouring_places_give_tokens_with_nothing_in_common() -> None:
    first, second = (TOKENS.issue(BINDING, Place(seq, 1000)) for seq in (7, 8))
    equal = sum(a == b for a, b in zip(first, second, strict=True))
    assert equal < TOKEN_BYTES // 16


def test_the_order_of_symbols_and_repeats_do_not_matter_but_where_names_end_does() -> None:
    assert binding_of("Rpc", "firms/a", symbols=["y", "x", "x"]) == BINDING
    assert binding_of("Rpc", "firms/ax", symbols=["y"]) != binding_of(
        "Rpc", "firms/a", symbols=["xy"]
    )
    assert binding_of("Rpcfirms/a", symbols=["x", "y"]) != BINDING
