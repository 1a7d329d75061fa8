"""Converts text from outside to valid Unicode before anything reads it: text that cannot be encoded
as UTF-8 cannot be journalled.

| Where | Bytes that are not UTF-8 |
|---|---|
| request target of HTTP | refused with 400 by the parser, as is every byte above 0x7f (RFC 9112) |
| header names, control characters in headers | refused with 400 by the parser (RFC 9110, §5.5) |
| header values, gRPC metadata | read as ISO 8859-1, in which every byte is valid |
| percent-encoded text in paths, queries, forms | U+FFFD for each, as in browsers |
| JSON | refused with 400; lone surrogates too |
| strings of protobuf messages | INVALID_ARGUMENT |
| text frames of WebSockets | the socket is closed with 1007 (RFC 6455, §8.1) |

A credential or participant with such bytes does not exist, and is refused for that reason.
"""

from __future__ import annotations

from collections.abc import Mapping


def valid_text(text: str) -> str:
    """The text of a header as valid Unicode. If the parser kept bytes as surrogates (PEP 383), the
    text is read as ISO 8859-1 instead of UTF-8.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("latin-1")
    return text


class Headers:
    """The headers or metadata of a call, with values that are valid text and lower-case names."""

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
