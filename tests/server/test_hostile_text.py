"""Bytes that are not valid text, wherever a client can send text: each plane answers as to any
other invalid value or refuses it, there is no internal error, and the journal has the answers.
"""

from __future__ import annotations

import base64
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlencode

import grpc
import pytest
from raw_http2 import call
from raw_sockets import exchange_bytes, frame, request, status_of, upgrade

from sim.read.replay import replay_file
from sim.testing.exchange_fixture import ServedExchange
from tests.kit.clients import MARKETS, Partner, bearer, place, served_exchange, signed
from tests.kit.processes import sim

HTTP = ("gateway", "retail", "exchange", "auth", "control", "docs")
READ = {
    "gateway": b"/v1/health",
    "retail": b"/v1/orders/open",
    "exchange": b"/v1/positions",
    "auth": b"/oauth/token",
    "control": b"/_sim/v1/health",
    "docs": b"/docv/x",
}
BYTES = (b"\xff", b"caf\xe9", b"\xed\xa0\x80", b"\xc0\x80", "é\N{SNOWMAN}".encode())


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    yield from served_exchange(tmp_path_factory)


@pytest.fixture(autouse=True)
def unharmed(served, caplog):
    """Check after each test that there was no internal error and that the run continues."""
    yield
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []
    assert served.running.simulation.ended is None


def address(served: ServedExchange, plane: str) -> str:
    return str(served.ready[plane])


# ---- HTTP

HEADERS = (
    *(b"x-participant-id: %b", b"authorization: Bearer %b", b"authorization: %b"),
    *(b"x-pm-access-key: %b", b"x-pm-timestamp: %b", b"x-pm-signature: %b", b"content-type: %b"),
    *(b"poly-correlation-id: %b", b"user-agent: %b", b"sec-fetch-site: %b"),
)


@pytest.mark.parametrize("plane", HTTP)
def test_a_header_of_odd_bytes_is_answered_like_any_other_wrong_value(served, plane):
    at = address(served, plane)
    for header in HEADERS:
        served.clock.advance("2s")  # the size is limited
        usual = status_of(exchange_bytes(at, request(b"GET", READ[plane], header % b"zz")))
        assert 200 <= usual < 500
        for odd in BYTES:
            answer = exchange_bytes(at, request(b"GET", READ[plane], header % odd))
            assert status_of(answer) == usual, (header, odd, answer)


MALFORMED = {
    "target": request(b"GET", b"/v1/\xff"),
    "target in UTF-8": request(b"GET", "/v1/é".encode()),
    "target with NUL": request(b"GET", b"/v1/\x00"),
    "query": request(b"GET", b"/v1/health?a=\xff"),
    "absolute target": request(b"GET", b"http://\xff/v1/health"),
    "verb": request(b"G\xff", b"/v1/health"),
    "header name": request(b"GET", b"/v1/health", b"x-\xff: a"),
    "NUL in a header": request(b"GET", b"/v1/health", b"x-participant-id: a\x00b"),
    "control in a header": request(b"GET", b"/v1/health", b"x-participant-id: a\x01b"),
    "length": request(b"POST", b"/v1/health", b"content-length: \xff"),
    "transfer coding": request(b"POST", b"/v1/health", b"transfer-encoding: \xff"),
}


@pytest.mark.parametrize("plane", HTTP)
def test_what_http_does_not_allow_is_a_400_and_no_input(served, plane):
    before = served.running.simulation.seq
    for name, sent in MALFORMED.items():
        answer = exchange_bytes(address(served, plane), sent)
        assert (status_of(answer), b"Traceback" in answer) == (400, False), (name, answer)
    assert served.running.simulation.seq == before


ESCAPED = ("%ff", "%00", "%ed%a0%80", "%c0%80", "caf%E9", "%u00e9", "%", "%zz")


@pytest.mark.parametrize("plane", HTTP)
def test_an_escaped_byte_that_is_no_text_is_refused_as_an_unknown_name(served, plane):
    for escaped in ESCAPED:
        for target in (
            f"/v1/markets/{escaped}/book",
            f"/v1/markets?limit={escaped}",
            f"/v1/{escaped}",
            f"/_sim/v1/requests?operation={escaped}",
            f"/_sim/v1/journal?since={escaped}",
            f"/docv/{escaped}",
        ):
            answer = exchange_bytes(address(served, plane), request(b"GET", target.encode()))
            assert 200 <= status_of(answer) < 500, (target, answer)


# Bodies that are not valid text, as JSON and as a form.
BODIES = (
    b"\xff",
    b"\x00",
    b'{"a": "\xff"}',
    b'{"a": "\\ud800"}',
    b'{"\\udfff": 1}',
    b'{"marketSlug": "\\u0000", "symbol": "\\u0000", "scenario": "\\u0000", "ssn": "\\u0000"}',
    b'{"marketSlug": "caf\xe9"}',
    b'{"client_id": "\\u0000", "grant_type": "client_credentials"}',
    b"a=%ff&b=%00&grant_type=\xff",
    b"\xef\xbb\xbf{}",
    b"[" * 30_000 + b"]" * 30_000,
)
POSTS = {
    "retail": (b"/v1/orders", b"/v1/order/x/cancel"),
    "exchange": (b"/v1/trading/orders", b"/v1/kyc/start", b"/v1/kyc/webhook"),
    "auth": (b"/oauth/token",),
    "control": (b"/_sim/v1/orders", b"/_sim/v1/worlds", b"/_sim/v1/faults", b"/_sim/v1/reset"),
    "docs": (b"/docv/x",),
    "gateway": (b"/v1/health",),
}


@pytest.mark.parametrize("plane", HTTP)
def test_a_body_that_is_no_text_is_refused(served, plane):
    pairs = (f"{name}: {value}" for name, value in bearer(served))
    credentials = tuple(pair.encode() for pair in pairs)
    for kind in (b"application/json", b"application/x-www-form-urlencoded"):
        for target in POSTS[plane]:
            for body in BODIES:
                sent = request(b"POST", target, b"content-type: " + kind, *credentials, body=body)
                answer = exchange_bytes(address(served, plane), sent)
                assert 400 <= status_of(answer) < 500, (target, body, answer)


def test_the_claims_of_an_assertion_that_are_no_text_are_refused(served):
    for claim in (b'{"iss":"\\ud800"}', b'{"iss":"\xff"}', b'{"iss":"\\u0000","sub":"\\u0000"}'):
        parts = (b'{"alg":"RS256"}', claim, b"x" * 256)
        token = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
        form = {
            "grant_type": "client_credentials",
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": token.decode(),
        }
        kind = b"content-type: application/x-www-form-urlencoded"
        sent = request(b"POST", b"/oauth/token", kind, body=urlencode(form).encode())
        assert status_of(exchange_bytes(served.auth, sent)) in (400, 401)


async def test_a_control_token_of_odd_bytes_is_a_401(serve):
    import asyncio

    guarded = await serve(control_token="right")
    host, _, port = guarded.at.control.removeprefix("http://").partition(":")
    for odd in (*BYTES, b"right\xff"):
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(request(b"GET", b"/_sim/v1/clock", b"authorization: Bearer " + odd))
        assert status_of(await reader.read()) == 401, odd
        writer.close()


# ---- gRPC

UNARY = b"/exchange.v1.OrderBookAPI/GetOrderBook"
STREAM = b"/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"


@pytest.mark.parametrize("method", [UNARY, STREAM])
def test_metadata_of_odd_bytes_are_credentials_that_nobody_has(served, method):
    names = (b"authorization", b"x-participant-id", b"user-agent", b"x-correlation-id")
    values = (*BYTES, b"Bearer \xff", b"a\x00b", b"a\x01b")
    for name in names:
        for value in values:
            assert b"grpc-status\x0216" in call(served.grpc, method, [(name, value)]), (name, value)


def test_a_string_of_a_message_that_is_no_text_is_an_invalid_argument(served):
    metadata = [(name.encode(), value.encode()) for name, value in bearer(served)]
    for text in (b"\xff", b"\xed\xa0\x80"):
        answer = call(served.grpc, UNARY, metadata, b"\x0a%c%b" % (len(text), text))
        assert b"grpc-status\x013" in answer


def code_of_the_next_call(address: str) -> grpc.StatusCode:
    """Return the code of a call that is retried while the listener reopens."""
    again = (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE)
    for _ in range(200):
        with grpc.insecure_channel(address) as channel:
            with pytest.raises(grpc.RpcError) as refused:
                channel.unary_unary(UNARY.decode())(b"", timeout=10)
            if refused.value.code() not in again:
                return refused.value.code()
    raise AssertionError("nobody listens any more")


def test_a_path_that_is_no_text_ends_its_own_connection_only(served):
    """grpcio closes its listener at such a path; the server reopens it, and streams continue."""
    metadata = bearer(served)
    symbol = served.symbols["open"][0]
    with grpc.insecure_channel(served.grpc) as channel:
        book = channel.unary_stream(STREAM.decode())(
            b"\x0a%c%b" % (len(symbol), symbol.encode()), metadata=metadata
        )
        next(book)
        for path in (b"/\xff/x", b"/exchange.v1.OrderBookAPI/\xed\xa0\x80"):
            assert b"grpc-status\x010" not in call(served.grpc, path)
            assert code_of_the_next_call(served.grpc) is grpc.StatusCode.UNAUTHENTICATED
        place(served, symbol, "buy", "0.02")
        assert next(book)
        book.cancel()


# ---- WebSockets


def test_a_handshake_of_odd_bytes_is_a_401(served):
    for name in ("X-PM-Access-Key", "X-PM-Timestamp", "X-PM-Signature"):
        for odd in BYTES:
            headers = signed(served) | {name: odd.decode("latin-1")}
            answer = exchange_bytes(served.retail, upgrade(MARKETS, headers), until=b"\r\n\r\n")
            assert status_of(answer) == 401
    assert served.control("GET", "/streams")["streams"] == []


TEXT, BINARY, CLOSE = 1, 2, 8


@pytest.mark.parametrize("odd", [b"\xff", b"\xed\xa0\x80", b'{"a":"\xff"}'])
def test_a_text_frame_that_is_no_utf_8_closes_the_socket_with_1007(served, odd):
    answer = exchange_bytes(served.retail, upgrade(MARKETS, signed(served)) + frame(TEXT, odd))
    assert status_of(answer) == 101
    assert b"\x88" in answer and (1007).to_bytes(2, "big") in answer


@pytest.mark.parametrize(
    "odd", [b"\xff", b"\x00", b'{"a":"\\ud800"}', b'{"subscribe":{"requestId":"\\u0000"}}']
)
def test_other_frames_of_odd_text_are_answered_and_the_socket_goes_on(served, odd):
    sent = frame(BINARY, odd) + frame(CLOSE, (1000).to_bytes(2, "big"))
    answer = exchange_bytes(served.retail, upgrade(MARKETS, signed(served)) + sent)
    assert status_of(answer) == 101
    assert b"error" in answer and b"\x88\x02\x03\xe8" in answer


# ---- receivers of webhooks

ANSWERS = (
    b"HTTP/1.1 200 \xff\xff\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nx-\xff: \xff\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 503 no\r\nRetry-After: \xff\r\nContent-Length: 0\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nSet-Cookie: caf\xe9\x00\r\nContent-Length: 0\r\n\r\n",
    b"\xff\x00\xff",
    b"HTTP/1.1 \xff OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\xff\xff",
    b"",
)


@contextmanager
def receiver(answer: bytes) -> Iterator[str]:
    """Return the URL of a receiver that answers with these bytes."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(1 << 16)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/hook"
        server.shutdown()


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_receiver_that_answers_no_text_is_one_that_answers_badly(served, answer):
    with receiver(answer) as url:
        status, body = Partner(served).register(url)
    assert status in (200, 400, 422) and isinstance(body, dict)


# ---- history and scenario afterwards


def test_history_and_the_scenario_of_the_session_hold_whatever_clients_sent(served):
    """A body that cannot be parsed is there as text, or omitted from the scenario."""
    for seq in range(1, served.running.simulation.seq + 1):
        assert served.control("GET", f"/history/{seq}")["seq"] == seq
    assert "steps:" in served.control("GET", "/scenario")


@pytest.mark.parametrize("verb", ["timeline", "witness", "conformance", "report", "explain"])
def test_every_command_reads_the_journal_of_all_this(served, tmp_path, verb):
    pairs = (*bearer(served), ("x-participant-id", served.firms[0]["users"][0]))
    body = b'{"orderId": "NONE", "symbol": "no-such"}'  # the exchange reports what it refused
    headers = (f"{name}: {value}".encode() for name, value in pairs)
    sent = request(b"POST", b"/v1/trading/orders/cancel", *headers, body=body)
    assert status_of(exchange_bytes(served.exchange, sent)) == 404
    more = {"report": ["--out", str(tmp_path / "page.html")]}
    output = sim(verb, served.journal, *more.get(verb, []))
    assert output.returncode in (0, 1) and "Traceback" not in output.stderr, output.stderr


def test_the_journal_of_all_this_replays_to_the_same_digest(served):
    served.control("GET", "/health")
    simulation = served.running.simulation
    again = replay_file(served.journal).simulation
    assert (again.seq, again.digest) == (simulation.seq, simulation.digest)
    assert simulation.seq > 100
