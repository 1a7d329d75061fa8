"""Checks the frames that a client sends over a WebSocket, before aiohttp reads them.

aiohttp is lenient where RFC 6455 requires a server to fail the connection. A client with such a bug
would pass here and fail at the service. This module checks the rules that aiohttp does not.

| Rule | Section |
|---|---|
| a client masks every frame | 5.1 |
| a started message continues with continuation frames only, also after an empty frame | 5.4 |
| a close frame has a code that may be sent | 7.4 |

aiohttp checks reserved bits and opcodes, fragmented or long control frames (1002), text that is not
UTF-8 (1007) and messages that are too large (1009). The bytes of an incomplete message count as
held by the listener.
"""

from __future__ import annotations

from typing import Protocol

from sim.server.http.body import Upload

_CONTINUATION, _TEXT, _BINARY, _CLOSE = 0, 1, 2, 8
_FINAL, _MASKED = 0x80, 0x80
# A complete frame with a reserved opcode, for which aiohttp fails with 1002.
_VIOLATION = b"\x83\x80\0\0\0\0"


class FrameReader(Protocol):
    """aiohttp's reader, or a filter before it."""

    def feed_data(self, data: bytes) -> tuple[bool, bytes]: ...

    def feed_eof(self) -> None: ...


class StrictFrames:
    """Passes frames to a reader as long as they keep the rules. The first frame that does not is
    replaced by one that violates the protocol.
    """

    def __init__(self, reader: FrameReader, upload: Upload) -> None:
        self._reader = reader
        self._upload = upload
        self._head = b""  # of a frame with an incomplete head
        self._payload_left = 0  # remaining bytes of a frame whose head was passed on
        self._final = True  # whether that frame ends its message
        self._in_message = False
        self._failed = False

    def feed_eof(self) -> None:
        """The client has closed its side."""
        self._upload.end()
        self._reader.feed_eof()

    def feed_data(self, data: bytes) -> tuple[bool, bytes]:
        """Handle received bytes."""
        if self._failed:
            return False, b""
        data = self._head + data
        size, checked = len(data), min(self._payload_left, len(data))
        self._payload_left -= checked
        while checked < size and not self._payload_left:
            length = _head_length(data, checked, size)
            if checked + length > size:
                break
            if not self._keeps_the_rules(data, checked):
                self._failed = True
                return self._reader.feed_data(data[:checked] + _VIOLATION)
            end = checked + length + self._payload_left
            checked = min(end, size)
            self._payload_left = end - checked
        self._head = data[checked:]
        self._count(checked)
        return self._reader.feed_data(data[:checked])

    def _keeps_the_rules(self, data: bytes, start: int) -> bool:
        """Whether the frame whose head begins at `start` is allowed now. Notes the beginning
        of a message.
        """
        opcode, final = data[start] & 0x0F, bool(data[start] & _FINAL)
        if not data[start + 1] & _MASKED:
            return False
        length = data[start + 1] & 0x7F
        mask = start + 2
        if length >= 126:
            mask += 2 if length == 126 else 8
            shortest = 126 if length == 126 else 1 << 16
            length = int.from_bytes(data[start + 2 : mask], "big")
            if length < shortest:  # written in more bytes than it needs
                return False
        if opcode in (_TEXT, _BINARY) and self._in_message:
            return False
        if opcode <= _BINARY:
            self._in_message = not final
        elif opcode == _CLOSE and 2 <= length <= 125:
            code = bytes(
                byte ^ key
                for byte, key in zip(data[mask + 4 : mask + 6], data[mask : mask + 2], strict=True)
            )
            if not _may_be_sent(int.from_bytes(code, "big")):
                return False
            length -= 2
        self._payload_left = length
        return True

    def _count(self, size: int) -> None:
        """Count the bytes of an incomplete message or frame that were passed on."""
        if self._in_message or self._payload_left:
            self._upload.grew(size)
        elif self._upload.size:
            self._upload.end()


def _head_length(data: bytes, start: int, size: int) -> int:
    """Bytes that are needed to check a frame: its head, and the code of a close frame. More than
    are available if the length itself is incomplete.
    """
    if size - start < 2:
        return 2
    short = data[start + 1] & 0x7F
    length = 2 + {126: 2, 127: 8}.get(short, 0)
    if data[start + 1] & _MASKED:
        length += 4
        if data[start] & 0x0F == _CLOSE and 2 <= short <= 125:
            length += 2
    return length


def _may_be_sent(code: int) -> bool:
    """Whether a close frame may have a code (RFC 6455, 7.4; the registry up to 1014)."""
    return 1000 <= code <= 1003 or 1007 <= code <= 1014 or 3000 <= code <= 4999
