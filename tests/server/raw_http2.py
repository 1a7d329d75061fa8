"""gRPC calls byte by byte, for what no client library sends."""

from __future__ import annotations

import socket
from collections.abc import Iterable

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _GOAWAY = 0, 1, 3, 4, 7
_END_STREAM, _END_HEADERS = 1, 4


PREFACE, GOAWAY = _PREFACE, _GOAWAY


def call(
    address: str, path: bytes, metadata: Iterable[tuple[bytes, bytes]] = (), message: bytes = b""
) -> bytes:
    """Make a unary call; the last header block of the answer, b"" when there was none.

    A server writes short headers as they are, so `b"grpc-status\\x0216"` can be looked for.
    """
    host, _, port = address.rpartition(":")
    headers = (
        (b":method", b"POST"),
        (b":scheme", b"http"),
        (b":authority", b"x"),
        (b":path", path),
        (b"te", b"trailers"),
        (b"content-type", b"application/grpc"),
        *metadata,
    )
    block = b"".join(_literal(name, value) for name, value in headers)
    body = b"\0" + len(message).to_bytes(4, "big") + message
    with socket.create_connection((host, int(port)), 10) as connection:
        connection.sendall(
            _PREFACE
            + _frame(_SETTINGS, 0, 0)
            + _frame(_HEADERS, _END_HEADERS, 1, block)
            + _frame(_DATA, _END_STREAM, 1, body)
        )
        return _answer(connection)


def kinds(connection: socket.socket, until: int) -> list[int]:
    """The kinds of the frames that arrive, up to one of a kind."""
    received, kinds = b"", []
    while until not in kinds and (piece := connection.recv(1 << 16)):
        received += piece
        while len(received) >= (end := 9 + int.from_bytes(received[:3], "big")) and received:
            kinds.append(received[3])
            received = received[end:]
    return kinds


def _answer(connection: socket.socket) -> bytes:
    received, last = b"", b""
    while piece := connection.recv(1 << 16):
        received += piece
        while len(received) >= 9 and len(received) >= 9 + int.from_bytes(received[:3], "big"):
            end = 9 + int.from_bytes(received[:3], "big")
            kind, flags, stream = received[3], received[4], int.from_bytes(received[5:9], "big")
            content, received = received[9:end], received[end:]
            if kind == _HEADERS and stream == 1:
                last = content
            if kind == _GOAWAY or (stream == 1 and (kind == _RESET or flags & _END_STREAM)):
                return last
    return last


def _frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return (
        len(content).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + content
    )


def _literal(name: bytes, value: bytes) -> bytes:
    """A header, neither indexed nor compressed (RFC 7541, section 6.2.2)."""
    return b"\0" + _length(name) + name + _length(value) + value


def _length(text: bytes) -> bytes:
    left = len(text) - 127
    if left < 0:
        return bytes((len(text),))
    size = bytearray((127,))
    while left > 127:
        size.append(left & 127 | 128)
        left >>= 7
    return bytes((*size, left))


SETTINGS, SETTINGS_ACK = _frame(_SETTINGS, 0, 0), _frame(_SETTINGS, 1, 0)
