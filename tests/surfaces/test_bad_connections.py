"""Bad input as bytes on real sockets, and every call of the control plane under bad bodies."""

from __future__ import annotations

import json
import socket
from urllib.parse import urlsplit

import pytest

from sim.server.control.call import NoBody
from sim.server.control.routes import ROUTES
from sim.testing.control import ControlError


def printed(address: str, sent: bytes) -> bytes:
    """Everything a listener says to some bytes before it closes, or waits for more in vain."""
    host, _, port = urlsplit(address).netloc.partition(":")
    with socket.create_connection((host, int(port)), timeout=5) as plain:
        plain.sendall(sent)
        plain.settimeout(0.3)
        result = bytearray()
        try:
            while piece := plain.recv(65536):
                result += piece
        except TimeoutError:
            pass
    return bytes(result)


HOST = b"Host: x\r\n"
RAW = {
    "no HTTP": b"hello\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/9": b"GET / HTTP/9.9\r\n" + HOST + b"\r\n",
    "a bad header": b"GET / HTTP/1.1\r\n" + HOST + b"no colon here\r\n\r\n",
    "a header of 100 KB": b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 100_000 + b"\r\n\r\n",
    "a path of 100 KB": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
    "two lengths": (
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"
    ),
    "a negative length": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
    "a length that is no number": b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: many\r\n\r\n",
    "length and chunks": (
        b"POST / HTTP/1.1\r\n"
        + HOST
        + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc"
    ),
    "a bad chunk": (
        b"POST /v1/orders HTTP/1.1\r\n"
        + HOST
        + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n0\r\n\r\n"
    ),
    "a body that never comes": (
        b"POST /v1/orders HTTP/1.1\r\n" + HOST + b"Content-Length: 100\r\n\r\n{"
    ),
    "bytes in the path": b"GET /\xff\xfe HTTP/1.1\r\n" + HOST + b"\r\n",
    "a NUL in a header": b"GET / HTTP/1.1\r\n" + HOST + b"X: a\x00b\r\n\r\n",
    "bytes in a header": (
        b"GET /v1/whoami HTTP/1.1\r\n"
        + HOST
        + b"Authorization: Bearer \xff\xfe\r\nConnection: close\r\n\r\n"
    ),
    "an endless request line": b"G" * 200_000,
}


@pytest.mark.parametrize("plane", ["gateway", "retail", "exchange", "auth"])
def test_what_is_no_sound_http_gets_a_4xx_or_nothing_and_the_listener_goes_on(exchange, plane):
    address = getattr(exchange, plane)
    answered = set()
    for name, sent in RAW.items():
        try:
            answer = printed(address, sent)
        except ConnectionError:
            continue
        head, _, body = answer.partition(b"\r\n\r\n")
        if head:
            assert head.startswith(b"HTTP/1.1 4"), (name, head)
            answered.add(name)
            if b"Content-Type: application/json" in head:  # missing credentials are plain text
                assert isinstance(json.loads(body), dict), (name, body)
        for word in (b"Traceback", b"aiohttp", b"Python"):
            assert word not in answer, name
    assert len(answered) > len(RAW) / 2
    good = printed(address, b"GET /v1/nothing HTTP/1.1\r\n" + HOST + b"Desk: close\r\n\r\n")
    assert good.split()[1] in (b"401", b"404")


def test_garbage_on_the_grpc_port_leaves_it_working(exchange):
    import grpc

    for sent in (
        b"hello\r\n\r\n",
        b"\x00" * 100,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 60,
    ):
        try:
            printed(f"http://{exchange.grpc}", sent)
        except (ConnectionError, TimeoutError):
            continue
    with grpc.insecure_channel(exchange.grpc) as channel:
        call = channel.unary_unary("/exchange.v1.AccountsAPI/GetWhoAmI")
        with pytest.raises(grpc.RpcError) as refused:
            call(b"", timeout=5)
        assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
        with pytest.raises(grpc.RpcError) as large:
            call(b"\x0a" + b"x" * (8 << 20), timeout=10)
        assert large.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        with pytest.raises(grpc.RpcError) as again:
            call(b"", timeout=5)
        assert again.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_a_compressed_grpc_message_is_inflated_to_its_limit_and_no_further(exchange):
    import grpc

    zipped = grpc.Compression.Gzip
    unbounded = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(exchange.grpc, unbounded, zipped) as channel:
        call = channel.unary_unary("/exchange.v1.AccountsAPI/GetWhoAmI")
        with pytest.raises(grpc.RpcError) as refused:
            call(b"\x0a" + bytes(64 << 20), timeout=20)
        assert refused.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        with pytest.raises(grpc.RpcError) as small:
            call(b"", timeout=5)
        assert small.value.code() == grpc.StatusCode.UNAUTHENTICATED


ODD = [
    {"unknown": 1},
    {"by": 5},
    {"to": "yesterday"},
    {"by": "-5m"},
    {"price": "NaN"},
    {"value": []},
    {"state": 7},
    {"seq": 10**30},
    {"mode": 0},
]
ODD_BODIES = [b"{", b"[]", b"7", b'"x"', b"\xff\xfe", b"null", b"[" * 5000, b'{"a": NaN}']


@pytest.mark.parametrize(
    "endpoint",
    [endpoint for endpoint in ROUTES if endpoint.route.verb != "GET"],
    ids=lambda endpoint: f"{endpoint.route.verb} {endpoint.route.path}",
)
def test_the_control_plane_refuses_odd_bodies_and_changes_nothing(exchange, endpoint):
    from http.client import HTTPConnection

    before = exchange.control("GET", "/digest")["seq"], exchange.clock.now
    route = endpoint.route
    path = route.path
    while "{" in path:
        start, _, rest = path.partition("{")
        path = f"{start}nothing{rest.partition('}')[2]}"
    accepted = 0
    for body in [*ODD_BODIES, *(json.dumps(value).encode() for value in ODD)]:
        connection = HTTPConnection(urlsplit(exchange.control).netloc)
        connection.request(route.verb, f"/_sim/v1{path}", body)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        assert answer.status < 500, (body, content)
        assert b"Traceback" not in content
        if answer.status >= 400:
            assert {"code", "message", "details"} <= set(json.loads(content)), content
        accepted += answer.status == 200
    if route.path.startswith("/snapshots") or route.path in ("/reset",):
        return
    assert accepted == 0 or endpoint.body in (NoBody, ()), route
    assert exchange.clock.now == before[1]


def test_reading_calls_of_the_control_plane_refuse_odd_queries(exchange):
    for path in (
        "/requests?status=x",
        "/requests?since=-1",
        "/journal?since=x",
        "/requests?nonsense=1",
        "/state/%ff",
        "/explain/zzz",
        "/catalogue/nothing",
    ):
        with pytest.raises(ControlError) as refused:
            exchange.control("GET", path)
        assert 400 <= refused.value.status < 500
