"""A small share of the fuzzer of the network edge, and what each of its checks is good for."""

from __future__ import annotations

import logging

import pytest

from tools.soak import edge

SEED, CASES = 1, 250


def test_almost_http_and_almost_frames_harm_nobody(exchange, caplog):
    addresses = {plane: getattr(exchange, plane) for plane in (*edge.HTTP_PLANES, "grpc")}
    assert edge.run(addresses, SEED, iter(range(CASES)), show=print) == CASES
    assert [line for line in caplog.records if line.levelno >= logging.ERROR] == []


def test_cases_repeat_and_reach_every_listener():
    cases = [edge.case(SEED, number) for number in range(CASES)]
    assert cases == [edge.case(SEED, number) for number in range(CASES)]
    assert {item.plane for item in cases} == {*edge.HTTP_PLANES, "grpc"}


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 500 Internal Server Error\r\n", b"HTTP/1.1 200 OK\r\n\r\nTraceback (most recent"],
)
def test_a_wrong_answer_is_found(answer):
    with pytest.raises(edge.Found):
        edge.check_answer(edge.Case("retail", []), answer)


def test_a_listener_that_is_gone_is_found(exchange):
    addresses = {plane: getattr(exchange, plane) for plane in (*edge.HTTP_PLANES, "grpc")}
    with pytest.raises(edge.Found):
        edge.check_alive(addresses | {"docs": exchange.grpc})
