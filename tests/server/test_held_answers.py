"""A synchronous order on a slow engine, over sockets: its answer is held until the clock reaches
its instant, whatever moves the clock, and never longer than the order allows.
"""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from tests.kit.bodies import retail_order
from tests.kit.clients import signed
from tests.kit.http import call

PATH = "/v1/orders"


def body(exchange, seconds="5"):
    """A synchronous order that rests."""
    waits = {"synchronousExecution": True, "maxBlockTime": seconds}
    return json.dumps(retail_order(exchange.symbols["open"][0], "BUY_LONG", 1, **waits)).encode()


def ask(exchange, verb="POST", path=PATH, content=None):
    """(status, headers, body) of a retail call."""
    headers = signed(exchange, path, verb) | {"Content-Type": "application/json"}
    answer = call(f"{exchange.retail}{path}", content, verb=verb, headers=headers, timeout=60)
    return answer.status, dict(answer.headers), answer.json()


def until(condition: Callable[[], bool]) -> None:
    """Let the service's thread work until something is so."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.002)


def parked(exchange) -> bool:
    return exchange.running.call(lambda: bool(exchange.running.host.replies))


@pytest.fixture
def slow(exchange):
    exchange.control("PUT", "/assumptions/engine.latency", {"value": "2s"})
    with ThreadPoolExecutor(1) as pool:
        yield exchange, pool


def types(answer):
    return [execution["type"] for execution in answer["executions"]]


def test_moving_the_clock_answers_a_call_that_waits_for_it(slow):
    exchange, pool = slow
    waiting = pool.submit(ask, exchange, content=body(exchange))
    until(lambda: parked(exchange))
    exchange.clock.advance("1s")
    assert not waiting.done()
    exchange.clock.advance("1s")
    status, headers, answer = waiting.result(20)
    assert (status, types(answer), "x-sim-clock" in headers) == (200, ["EXECUTION_TYPE_NEW"], False)
    assert not parked(exchange)


def test_a_clock_that_nobody_moves_holds_a_call_no_longer_than_it_said_and_the_answer_says_why(
    slow,
):
    exchange, _ = slow
    status, headers, answer = ask(exchange, content=body(exchange, "1"))
    assert (status, answer["executions"], headers["x-sim-clock"]) == (200, [], "stood still")
    assert not parked(exchange)
    for state in ("ORDER_STATE_PENDING_NEW", "ORDER_STATE_NEW"):
        order = ask(exchange, "GET", f"/v1/order/{answer['id']}")[2]["order"]
        assert order["state"] == state
        exchange.clock.advance("2s")


def test_autojump_jumps_to_the_outcome_and_stops_there(slow):
    exchange, _ = slow
    exchange.control("PUT", "/clock", {"mode": "autojump"})
    before = exchange.now
    status, headers, answer = ask(exchange, content=body(exchange))
    waited = (exchange.now - before).total_seconds()
    assert (status, types(answer), waited) == (200, ["EXECUTION_TYPE_NEW"], 2)
    assert "x-sim-clock" not in headers


def test_a_client_that_hangs_up_is_forgotten_and_its_order_goes_on(slow):
    exchange, _ = slow
    content = body(exchange)
    position = urlsplit(exchange.retail)
    with socket.create_connection((position.hostname, position.port)) as plug:
        head = "".join(
            f"{name}: {value}\r\n" for name, value in signed(exchange, PATH, "POST").items()
        )
        plug.sendall(
            f"POST {PATH} HTTP/1.1\r\nHost: x\r\n{head}Content-Length: {len(content)}\r\n\r\n".encode()
            + content
        )
        until(lambda: parked(exchange))
    until(lambda: not parked(exchange))
    exchange.clock.advance("10s")
    (row,) = ask(exchange, "GET", "/v1/orders/open")[2]["orders"]
    assert row["state"] == "ORDER_STATE_NEW"


@pytest.mark.parametrize("journey", ["reset", "rewind"])
def test_time_travel_ends_a_call_that_is_held(slow, journey):
    exchange, pool = slow
    waiting = pool.submit(ask, exchange, content=body(exchange))
    until(lambda: parked(exchange))
    exchange.reset() if journey == "reset" else exchange.rewind(seq=0)
    assert waiting.result(20)[0] == 503
    assert not parked(exchange)
