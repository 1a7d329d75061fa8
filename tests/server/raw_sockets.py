"""HTTP and WebSocket byte by byte, for what no client library sends."""

from __future__ import annotations

import os
import socket


def connected(address: str) -> socket.socket:
    """A connection to a listener, which gives up after a while."""
    host, _, port = address.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), 10)


def exchange_bytes(address: str, sent: bytes, *, until: bytes = b"") -> bytes:
    """Everything that a listener answers until it closes, or until these bytes."""
    with connected(address) as connection:
        connection.sendall(sent)
        received = b""
        while piece := connection.recv(1 << 16):
            received += piece
            if until and until in received:
                break
    return received


def request(verb: bytes, target: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    """A request after which the connection closes. Each header is a line."""
    lines = (b"%b %b HTTP/1.1" % (verb, target), b"Host: localhost", b"Connection: close", *headers)
    if body:
        lines = (*lines, b"Content-Length: %d" % len(body))
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


def status_of(answer: bytes) -> int:
    """The status of a whole answer, 0 when there is none."""
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


def upgrade(path: str, headers: dict[str, str]) -> bytes:
    """A WebSocket handshake."""
    lines = (f"{name}: {value}".encode("latin-1") for name, value in headers.items())
    return b"\r\n".join(
        (
            b"GET %b HTTP/1.1" % path.encode(),
            b"Host: localhost",
            b"Upgrade: websocket",
            b"Connection: Upgrade",
            b"Sec-WebSocket-Version: 13",
            b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
            *lines,
            b"\r\n",
        )
    )


def frame(opcode: int, payload: bytes) -> bytes:
    """A whole client's frame (RFC 6455, section 5.2), at most 125 bytes."""
    mask = os.urandom(4)
    masked = bytes(byte ^ mask[position % 4] for position, byte in enumerate(payload))
    return bytes((0x80 | opcode, 0x80 | len(payload))) + mask + masked
