"""Text from outside is made Unicode before anything reads it: what cannot be encoded as UTF-8 could
be acted upon, but never journalled.

| Where | Bytes that are no UTF-8 |
|---|---|
| request target of HTTP | refused with 400 by the parser, as is every byte above 0x7f (RFC 9112) |
| header names, control characters in headers | refused with 400 by the parser (RFC 9110, §5.5) |
| header values, gRPC metadata | read as ISO 8859-1, which every byte sequence is |
| percent-encoded text in paths, queries, forms | U+FFFD for each, as browsers have it |
| JSON | refused with 400; lone surrogates too |
| strings of protobuf messages | INVALID_ARGUMENT |
| text frames of WebSockets | the socket is closed with 1007 (RFC 6455, §8.1) |

So a credential or participant of odd bytes is one that nobody has, and is refused as such.
"""

from __future__ import annotations

from collections.abc import Mapping


def valid_text(text: str) -> str:
    """Text of a header as Unicode: bytes that the parser kept as surrogates (PEP 383) make it be
    read as ISO 8859-1 instead of UTF-8.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    return text


class Headers:
    """Headers of a call, or its metadata, with values that are valid text; names in lower case."""

    __slots__ = ("_found",)

    def __init__(self, headers: Mapping[str, str]) -> None:
        self._found = headers

    def get(self, name: str, default: str = "") -> str:
        """The value of a header."""
        value = self._found.get(name)
        return default if value is None else valid_text(value)

    def optional(self, name: str) -> str | None:
        """The value of a header; None when it was not sent."""
        value = self._found.get(name)
        return value if value is None or value.isascii() else valid_text(value)
