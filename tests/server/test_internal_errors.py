"""Internal errors of the sandbox: the answer for each client, and that no answer comes from a state
that is not in the journal. `tests/run/test_fault_injection.py` covers every place that can fail.
"""

from __future__ import annotations

import errno
import http.client
import json
import signal
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from unittest.mock import ANY

import grpc
import pytest
from raw_sockets import connected, exchange_bytes, frame, request, status_of, upgrade

from sim.kernel.journal import JournalLost, RunEnded
from sim.read.replay import replay_file
from sim.server.logs import log_failure
from sim.testing.exchange_fixture import ServedExchange
from tests.kit.clients import MARKETS, bearer, served_exchange, signed
from tests.kit.http import call
from tests.kit.processes import Process, serve

# The first fill fails, in the middle of an order.
BROKEN = """
import sys
from sim.cli.main import main
from sim.core.matching.fills import Fills

def fail(*_, **__):
    raise ZeroDivisionError("on purpose")

Fills._apply = fail
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def broken(tmp_path):
    """A server whose first fill fails, and its journal."""
    journal = tmp_path / "run.ndjson"
    with serve(tmp_path, "--journal", str(journal), program=("-c", BROKEN)) as served:
        yield served, journal


def order(served: Process, party: str, side: str, price: str) -> tuple[int, Any]:
    symbol = served.ready["symbols"]["open"][-1]
    body = {"as": party, "symbol": symbol, "side": side, "price": price, "qty": "1"}
    answer = call(served.ready["control"] + "/_sim/v1/orders", body)
    return answer.status, answer.json()


def test_an_internal_error_stops_the_process_with_5_and_the_journal_holds_what_was_answered(broken):
    served, journal = broken
    status, first = order(served, "maker", "buy", "0.02")
    assert status == 200
    status, failed = order(served, "taker", "sell", "0.02")
    assert (status, failed) == (500, {"code": 13, "message": "internal error", "details": []})
    code, out, err = served.end()
    assert code == 5
    error = "internal error: ZeroDivisionError: on purpose: this exchange stops."
    assert err.rstrip().splitlines()[-1].startswith(f"sim: {journal}: {error}")
    again = replay_file(journal).simulation
    assert f"{again.seq} inputs, digest {again.digest}" in out
    assert f"sim replay {journal}" in out
    placed = {item.id for item in again.exchange.trading.orders.open()}
    assert first["order_id"] in placed


# ---- what clients of each surface see

UNARY = "/exchange.v1.OrderBookAPI/GetOrderBook"
STREAM = "/exchange.v1.OrderEntryAPI/CreateOrderSubscription"
BIDI = "/exchange.v1.MarketDataSubscriptionAPI/BiDirectionalStreamMarketData"
DOWNLOAD = "/exchange.v1.ReportAPI/DownloadOrders"
PLAIN = {"code": 13, "message": "internal error", "details": []}


def over_http(surface: str, target: bytes, verb: bytes = b"GET", body: bytes = b""):
    """A call that must get this plane's plain 500."""

    def call(served: ServedExchange) -> None:
        answer = exchange_bytes(served.ready[surface], request(verb, target, body=body))
        assert status_of(answer) == 500
        assert json.loads(answer.partition(b"\r\n\r\n")[2]) == PLAIN

    return call


def grpc_call(kind: str, method: str):
    """A call that must get INTERNAL and nothing that says more."""

    def call(served: ServedExchange) -> None:
        with grpc.insecure_channel(served.grpc) as channel:
            make = getattr(channel, kind)(method)
            sent = iter((b"",)) if kind.startswith("stream") else b""
            with pytest.raises(grpc.RpcError) as failed:
                answer = make(sent, timeout=10)
                list(answer)
            code, details = failed.value.code(), failed.value.details()
        assert (code, details) == (grpc.StatusCode.INTERNAL, "internal error")

    return call


@contextmanager
def upgraded(served: ServedExchange) -> Iterator[socket.socket]:
    """The connection of an open WebSocket."""
    with connected(served.retail) as connection:
        connection.sendall(upgrade(MARKETS, signed(served)))
        while b"\r\n\r\n" not in connection.recv(1 << 16):
            pass
        yield connection


def handshake(served: ServedExchange) -> None:
    answer = exchange_bytes(served.retail, upgrade(MARKETS, {}))
    assert status_of(answer) == 500


SEEN = {
    "gateway": over_http("gateway", b"/v1/health"),
    "retail": over_http("retail", b"/v1/orders/open"),
    "exchange": over_http("exchange", b"/v1/positions"),
    "auth": over_http("auth", b"/oauth/token", b"POST", b"{}"),
    "control": over_http("control", b"/_sim/v1/clock/advance", b"POST", b'{"by": "1s"}'),
    "unary": grpc_call("unary_unary", UNARY),
    "server stream": grpc_call("unary_stream", STREAM),
    "both streams": grpc_call("stream_stream", BIDI),
    "download": grpc_call("unary_stream", DOWNLOAD),
    "unknown method": grpc_call("unary_unary", "/exchange.v1.None/None"),
    "handshake": handshake,
}


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    yield from served_exchange(tmp_path_factory)


def fail(*_: object) -> None:
    raise ZeroDivisionError("secret detail")


def break_at(served: ServedExchange, part: str) -> None:
    """From the next input on, the engine of this exchange fails after its work was done."""
    simulation = served.running.simulation
    owner = (
        simulation.engine if hasattr(simulation.engine, part) else simulation.engine.input_effects
    )
    work = getattr(owner, part)

    def late(*value: object) -> None:
        work(*value)
        fail()

    served.running.call(lambda: setattr(owner, part, late))


@pytest.mark.parametrize("surface", SEEN)
def test_a_client_sees_a_plain_error_and_so_does_everybody_after_it(origin, surface, caplog):
    served = origin.fork()
    simulation = served.running.simulation
    before = (simulation.seq, simulation.digest)
    break_at(served, "finish")
    SEEN[surface](served)
    assert [record.exc_info[1] for record in caplog.records] == [simulation.ended]
    caplog.clear()
    for observed in SEEN.values():
        observed(served)
    assert not caplog.records
    again = replay_file(served.journal).simulation
    assert (again.seq, again.digest) == before


def test_streams_end_and_a_frame_that_fails_closes_its_socket_with_1011(origin):
    served = origin.fork()
    metadata = bearer(served)
    with grpc.insecure_channel(served.grpc) as channel:
        stream = channel.unary_stream(STREAM)(b"", metadata=metadata)
        next(stream)
        before = served.running.simulation.seq + 1  # the handshake below
        with upgraded(served) as connection:
            break_at(served, "_dispatch")
            connection.sendall(frame(1, b"{}"))
            closed = b""
            while b"internal error" not in closed:
                closed += connection.recv(1 << 16)
        assert (1011).to_bytes(2, "big") + b"internal error" in closed
        with pytest.raises(grpc.RpcError) as ended:
            list(stream)
    assert ended.value.code() is grpc.StatusCode.UNAVAILABLE
    assert replay_file(served.journal).simulation.seq == before


# ---- what the machine does not give

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_{name}, ({number}, {number}))
from sim.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def limited(tmp_path):
    """Starts a server that may have only so much of something."""
    with ExitStack() as started:

        def start(name: str, number: int) -> Process:
            program = ("-c", LIMITED.format(name=name, number=number))
            return started.enter_context(serve(tmp_path, "--quiet", program=program))

        yield start


def test_without_a_journal_of_its_own_too_it_stops_when_the_disk_is_full(limited):
    served = limited("FSIZE", 100_000)
    connection = http.client.HTTPConnection(served.ready["control"].removeprefix("http://"))
    status = 200
    with suppress(OSError, http.client.HTTPException):
        for _ in range(2_000):
            connection.request("PUT", "/_sim/v1/assumptions/engine.latency", b'{"value": "1ms"}')
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
            if status != 200:
                assert json.loads(body) == PLAIN
                break
    assert status == 500
    code, _, err = served.end()
    assert code == 2
    assert "the journal, a temporary file in " in err
    assert "the journal cannot be written any further, so this exchange stops" in err
    assert "Traceback" not in err


def test_a_fork_for_which_there_are_no_descriptors_is_refused_and_the_process_goes_on(limited):
    served = limited("NOFILE", 60)
    connection = http.client.HTTPConnection(served.ready["control"].removeprefix("http://"))
    for _ in range(20):
        connection.request("POST", "/_sim/v1/fork", b"{}")
        answer = connection.getresponse()
        body = json.loads(answer.read())
        if answer.status != 200:
            break
    assert answer.status == 503, body
    assert body["message"].endswith("Too many open files")
    assert "ulimit -n" in body["remedy"]
    connection.request("GET", "/_sim/v1/clock")
    assert connection.getresponse().status == 200
    connection.close()
    assert served.end(signal.SIGTERM)[0] == 0


# ---- clients that leave


def test_a_client_that_has_sent_everything_still_gets_its_answers(origin):
    for surface, target in (("gateway", b"/v1/health"), ("control", b"/_sim/v1/clock")):
        for last in (b"connection: close", b"x: y"):
            with connected(origin.ready[surface]) as connection:
                connection.sendall(
                    b"GET %b HTTP/1.1\r\nHost: localhost\r\n%b\r\n\r\n" % (target, last)
                )
                connection.shutdown(socket.SHUT_WR)
                received = b"".join(iter(lambda: connection.recv(1 << 16), b""))
            assert status_of(received) == 200


def test_a_socket_client_that_leaves_amid_its_pings_is_no_error(origin, caplog):
    for _ in range(20):
        with upgraded(origin) as connection:
            connection.sendall(frame(9, b"ping") * 50)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    origin.clock.advance("1s")
    assert [row["rpc"] for row in origin.control("GET", "/streams")["streams"]] == []
    assert not [record for record in caplog.records if record.levelname == "ERROR"]


@pytest.mark.parametrize(
    ("error", "text", "traced"),
    [
        (ZeroDivisionError("on purpose"), "a call failed: Insert: on purpose", True),
        (JournalLost(27, "File too large"), "a call failed: Insert: [Errno 27] File too", False),
        (OSError(errno.EMFILE, "Too many open files"), "no file descriptors left", False),
        (MemoryError(), "no memory left", False),
        (RunEnded("this run has ended early"), "", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_only_what_may_be_a_bug_is_logged_with_a_traceback(caplog, error, text, traced):
    log_failure(error, "a call failed: %s", "Insert")
    assert [record.getMessage() for record in caplog.records] == ([ANY] if text else [])
    for record in caplog.records:
        assert text in record.getMessage()
        assert bool(record.exc_info) is traced
