"""Requests of unusual shape: what RFC 9110 and 9112 say, and above all that two readers of the same
bytes cannot come to different requests.
"""

from __future__ import annotations

import pytest

HOST = b"Host: localhost\r\n"
GET = b"GET /x HTTP/1.1\r\n" + HOST
POST = b"POST /x HTTP/1.1\r\n" + HOST
CLOSE = b"Connection: close\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
HANDSHAKE = (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)

# The status, and how many requests reach the exchange.
SHAPES = {
    "no host": (b"GET /x HTTP/1.1\r\n" + CLOSE, 400, 0),
    "two hosts": (GET + b"Host: b\r\n" + CLOSE, 400, 0),
    "no host in HTTP/1.0": (b"GET /x HTTP/1.0\r\n\r\n", 200, 1),
    "HTTP/0.9": (b"GET /x\r\n\r\n", 505, 0),
    "HTTP/1.2": (b"GET /x HTTP/1.2\r\n" + HOST + CLOSE, 400, 0),
    "HTTP/2.0 in words": (b"GET /x HTTP/2.0\r\n" + HOST + CLOSE, 505, 0),
    "two equal lengths": (POST + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400, 0),
    "a list of lengths": (POST + b"Content-Length: 2, 2\r\n\r\n{}", 400, 0),
    "a length with a sign": (POST + b"Content-Length: +2\r\n\r\n{}", 400, 0),
    "a length in hex": (POST + b"Content-Length: 0x2\r\n\r\n{}", 400, 0),
    "length and chunks": (POST + b"Content-Length: 2\r\n" + CHUNKED + b"\r\n0\r\n\r\n", 400, 0),
    "chunks and length": (POST + CHUNKED + b"Content-Length: 2\r\n\r\n0\r\n\r\n", 400, 0),
    "a coding below chunks": (POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, 0),
    "a coding above chunks": (
        POST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
        400,
        0,
    ),
    "a coding that looks like chunks": (
        POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        400,
        0,
    ),
    "chunks before the colon": (POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400, 0),
    "chunks in HTTP/1.0": (
        b"POST /x HTTP/1.0\r\n" + HOST + CHUNKED + b"\r\n2\r\n{}\r\n0\r\n\r\n",
        400,
        0,
    ),
    "a chunk with an extension": (POST + CHUNKED + CLOSE + b"2;a=b\r\n{}\r\n0\r\n\r\n", 200, 1),
    "a chunk that ends in a bare LF": (POST + CHUNKED + b"\r\n2\n{}\r\n0\r\n\r\n", 400, 0),
    "lines that end in a bare LF": (b"GET /x HTTP/1.1\nHost: localhost\n\n", 400, 0),
    "a bare CR": (GET + b"X: a\rb\r\n\r\n", 400, 0),
    "a folded field": (GET + b"X: a\r\n b\r\n\r\n", 400, 0),
    "a blank before the method": (b" " + GET + CLOSE, 400, 0),
    "an absolute target": (b"GET http://other/x HTTP/1.1\r\n" + HOST + CLOSE, 200, 1),
    "an upgrade to HTTP/2": (GET + b"Upgrade: h2c\r\nConnection: Upgrade, close\r\n\r\n", 200, 1),
    "a handshake by POST": (
        b"POST /v1/ws/markets HTTP/1.1\r\n" + HOST + HANDSHAKE + b"Content-Length: 0\r\n\r\n",
        400,
        0,
    ),
    "a handshake in HTTP/1.0": (
        b"GET /v1/ws/markets HTTP/1.0\r\n" + HOST + HANDSHAKE + b"\r\n",
        400,
        0,
    ),
    "a handshake of another version": (
        GET.replace(b"/x", b"/v1/ws/markets") + HANDSHAKE.replace(b"13", b"12") + b"\r\n",
        400,
        0,
    ),
    "a handshake with a short key": (
        GET.replace(b"/x", b"/v1/ws/markets")
        + HANDSHAKE.replace(b"dGhlIHNhbXBsZSBub25jZQ==", b"abc")
        + b"\r\n",
        400,
        0,
    ),
}


@pytest.mark.parametrize(("sent", "status", "requests"), SHAPES.values(), ids=SHAPES)
async def test_a_shape_has_one_reading(served, raw_http, sent, status, requests):
    answer = await raw_http(served.at.retail, sent)
    assert answer.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert len(served.sim.inputs) == requests


SMUGGLED = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        POST + b"Content-Length: 5\r\n" + CHUNKED + b"\r\n0\r\n\r\n" + SMUGGLED,
        POST + b"Content-Length: 6\r\nContent-Length: 5\r\n\r\n0\r\n\r\n" + SMUGGLED,
        POST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n" + SMUGGLED,
        POST + CHUNKED + b"\r\n0\n\r\n" + SMUGGLED,
        POST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n" + SMUGGLED,
    ],
)
async def test_nothing_behind_an_ambiguous_request_is_a_request(served, raw_http, sent):
    answer = await raw_http(served.at.exchange, sent)
    assert answer.count(b"HTTP/1.1 ") == 1
    assert answer.split()[1] in (b"400", b"501")
    assert not [value for value in served.sim.inputs if value[3] == "/smuggled"]
