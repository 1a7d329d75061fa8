"""A synchronous order on a slow engine, over sockets: its answer is held until the clock reaches
its instant, whatever moves the clock, and never longer than the order allows.
"""

from __future__ import annotations

import base64
import json
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PATH = "/v1/orders"


def signed(exchange, verb, path):
    """Headers of the retail API."""
    key = exchange.api_keys[0]
    stamp = str(int(exchange.now.timestamp() * 1000))
    secret = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key["secret_key"])[:32])
    signature = base64.b64encode(secret.sign(f"{stamp}{verb}{path}".encode())).decode()
    return {
        "X-PM-Access-Key": key["key_id"],
        "X-PM-Timestamp": stamp,
        "X-PM-Signature": signature,
        "Content-Type": "application/json",
    }


def body(exchange, seconds="5"):
    """A synchronous order that rests."""
    return json.dumps(
        {
            "marketSlug": exchange.symbols["open"][0],
            "intent": "ORDER_INTENT_BUY_LONG",
            "type": "ORDER_TYPE_LIMIT",
            "price": {"value": "0.01", "currency": "USD"},
            "quantity": 1,
            "tif": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
            "synchronousExecution": True,
            "maxBlockTime": seconds,
        }
    )


def ask(exchange, verb="POST", path=PATH, content=None):
    """(status, headers, body) of a retail call."""
    connection = HTTPConnection(urlsplit(exchange.retail).netloc, timeout=60)
    try:
        connection.request(verb, path, content, signed(exchange, verb, path))
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), json.loads(answer.read())
    finally:
        connection.close()


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
    assert (
        ask(exchange, "GET", f"/v1/order/{answer['id']}")[2]["order"]["state"]
        == "ORDER_STATE_PENDING_NEW"
    )
    exchange.clock.advance("2s")
    assert (
        ask(exchange, "GET", f"/v1/order/{answer['id']}")[2]["order"]["state"] == "ORDER_STATE_NEW"
    )


def test_autojump_jumps_to_the_outcome_and_stops_there(slow):
    exchange, _ = slow
    exchange.control("PUT", "/clock", {"mode": "autojump"})
    before = exchange.now
    status, headers, answer = ask(exchange, content=body(exchange))
    assert (status, types(answer), (exchange.now - before).total_seconds()) == (
        200,
        ["EXECUTION_TYPE_NEW"],
        2,
    )
    assert "x-sim-clock" not in headers


def test_a_client_that_hangs_up_is_forgotten_and_its_order_goes_on(slow):
    exchange, _ = slow
    content = body(exchange).encode()
    place = urlsplit(exchange.retail)
    with socket.create_connection((place.hostname, place.port)) as plug:
        head = "".join(
            f"{name}: {value}\r\n" for name, value in signed(exchange, "POST", PATH).items()
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
