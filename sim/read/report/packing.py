"""Packed parts of a report: JSON, compressed, as base64.

Each part is an element of the page that only the page's own script reads. Base64 contains no
character with a meaning in HTML, so no text of a client can end the element.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any, BinaryIO
from zlib import DEFLATED, MAX_WBITS, compressobj

from msgspec import json

_GZIP_WBITS = MAX_WBITS | 16  # with a gzip header, whose time is 0
_encode = json.Encoder().encode
PART_BYTES = 96 << 10  # JSON bytes in a part that grows row by row


class Parts:
    """Writes the parts of a report, numbered from 0 in the order in which they are completed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.count = 0

    def add(self, content: bytes, name: str = "") -> int:
        """Write a part of JSON and return its number. A named part is found by its name only."""
        packer = compressobj(9, DEFLATED, _GZIP_WBITS)
        packed = b64encode(packer.compress(content) + packer.flush())
        number = self.count
        self.count += not name
        tag = f'<script type="text/plain" id="{name or f"part-{number}"}">'
        self._file.write(tag.encode() + packed + b"</script>\n")
        return number


class PackedSeries:
    """Rows by the position from which they apply, in parts that can be read separately."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._rows: list[bytes] = []
        self._size = self._room = self._first = 0
        self.index: list[tuple[int, int]] = []  # (first position, number of the part)

    @property
    def empty(self) -> bool:
        """Whether the next row begins a part."""
        return not self._rows

    @property
    def begun(self) -> bool:
        """Whether there are any rows."""
        return bool(self._rows or self.index)

    def add(self, position: int, row: Any) -> None:
        """Add a row.

        A part that begins with a large row is full at twice the size of that row, so that the data
        needed to read parts separately is at most half of the total.
        """
        text = _encode(row)
        if not self._rows:
            self._first, self._size, self._room = position, 0, max(PART_BYTES, 2 * len(text))
        self._rows.append(text)
        self._size += len(text)
        if self._size >= self._room:
            self.end()

    def end(self) -> None:
        """Write the pending rows."""
        if self._rows:
            number = self._parts.add(b"[" + b",".join(self._rows) + b"]")
            self.index.append((self._first, number))
            self._rows = []
