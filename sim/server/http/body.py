"""Reads request bodies so that no client can block or exhaust the process with one.

| What a client may do | What bounds it |
|---|---|
| send a small body that inflates to a large one | inflating stops at the listener's limit, and |
| | yields to other requests after every `PIECE` bytes |
| send an endless body | reading stops at the limit; `fast_path` discards a little, then closes |
| stop in the middle of a body | `STALL_S` without a byte, `WHOLE_S` in total: 408 |
| stop in the middle of many bodies | those of a listener share `HELD_MAX` bytes: beyond it the |
| | body that has waited longest for its next byte is given up, 408 |

aiohttp would inflate bodies itself, even a refused one to its end, so its parser is told not to.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable

from aiohttp import HttpVersion10, web

from sim.server.http.response import HttpError
from sim.server.logs import NO_MEMORY

PIECE = 64 * 1024
STALL_S, WHOLE_S = 10.0, 60.0
HELD_MAX = 32 << 20
# A gzip body may have several members; each needs a new decompressor.
MEMBERS_MAX = 32

_AT_ONCE = 0.0
_GZIP = 16 + zlib.MAX_WBITS
_CODINGS = frozenset({"gzip", "deflate"})


class Uploads:
    """The bodies and socket messages that a listener is receiving, and the number of bytes that
    wait for the rest.
    """

    def __init__(self, held_max: int = HELD_MAX) -> None:
        self._held_max = held_max
        # By the time of the last byte: the first has waited longest.
        self._uploads: dict[Upload, None] = {}
        self.held = 0

    def begin(self, give_up: Callable[[], None]) -> Upload:
        """Note that an upload begins; `give_up` is called when its space is needed."""
        return Upload(self, give_up)

    def grew(self, upload: Upload, size: int) -> None:
        """Note that bytes arrived, and make room for them."""
        upload.size += size
        self.held += size
        if upload.given_up:
            return
        self._uploads.pop(upload, None)
        self._uploads[upload] = None
        room = self.held
        for other in list(self._uploads):
            if room <= self._held_max or other is upload:
                break
            room -= other.size
            del self._uploads[other]
            other.given_up = True
            other.give_up()

    def ended(self, upload: Upload) -> None:
        """Remove an upload that has arrived or was given up."""
        self._uploads.pop(upload, None)
        self.held -= upload.size
        upload.size = 0


class Upload:
    """One body or message that is arriving."""

    __slots__ = ("_uploads", "give_up", "given_up", "size")

    def __init__(self, uploads: Uploads, give_up: Callable[[], None]) -> None:
        self._uploads = uploads
        self.give_up = give_up
        self.given_up = False
        self.size = 0

    def grew(self, size: int) -> None:
        """Bytes arrived."""
        self._uploads.grew(self, size)

    def end(self) -> None:
        """It has arrived completely, or will not arrive."""
        self._uploads.ended(self)


async def read_body(request: web.BaseRequest, limit: int, uploads: Uploads) -> tuple[bytes, int]:
    """`(body, 0)`; or `(b"", size)` for a body over `limit` bytes: its declared size, or `limit` +
    1 if the size is not known without reading it. HttpError if it does
    not arrive in time, if its space was needed, or if it ended early or does not have its
    Content-Encoding.
    """
    if not request.body_exists:
        return b"", 0
    declared = request.content_length
    if declared is not None and declared > limit:
        return b"", declared
    send_continue(request)
    coding = request.headers.get("Content-Encoding", "").lower()
    body = bytearray()
    loop = asyncio.get_running_loop()
    ends = loop.time() + WHOLE_S
    try:
        async with asyncio.timeout(STALL_S) as deadline:
            upload = uploads.begin(lambda: _end(deadline))
            try:
                pieces = _raw(request)
                if coding in _CODINGS:
                    pieces = _inflated(pieces, coding, limit)
                async for piece in pieces:
                    body += piece
                    upload.grew(len(piece))
                    if len(body) > limit:
                        return b"", limit + 1
                    if deadline.when() != _AT_ONCE:
                        deadline.reschedule(min(loop.time() + STALL_S, ends))
            finally:
                upload.end()
        return bytes(body), 0
    except TimeoutError:
        raise HttpError(408, 4, "the body did not arrive in time", close=True) from None
    except (web.RequestPayloadError, ValueError, zlib.error) as problem:
        raise HttpError(400, 3, "bad request", close=True) from problem
    except MemoryError:
        raise HttpError(503, 14, NO_MEMORY, close=True) from None


def send_continue(request: web.BaseRequest) -> None:
    """Answer 100 to a client that waits for it before it sends its body."""
    expects = request.headers.get("Expect", "").lower()
    if (
        expects == "100-continue"
        and request.version != HttpVersion10
        and request.transport is not None
    ):
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


def _end(deadline: asyncio.Timeout) -> None:
    if not deadline.expired():
        deadline.reschedule(_AT_ONCE)


async def _raw(request: web.BaseRequest) -> AsyncIterator[bytes]:
    content = request.content
    while piece := await content.readany():
        yield piece


async def _inflated(pieces: AsyncIterator[bytes], coding: str, limit: int) -> AsyncIterator[bytes]:
    """A compressed body in pieces of at most `PIECE` bytes. ValueError and zlib.error if it is
    truncated, damaged, or longer than `limit` in compressed form.
    """
    inflater, members, arrived = None, 0, 0
    async for piece in pieces:
        arrived += len(piece)
        if arrived > limit:
            raise ValueError("the compressed body is longer than an inflated one may be")
        rest, inflated = piece, b""
        while rest or len(inflated) == PIECE:  # a full piece may leave some of its match behind
            if inflater is None or inflater.eof:
                if not rest:
                    break
                members += 1
                if members > (MEMBERS_MAX if coding == "gzip" else 1):
                    raise ValueError("too many members, or bytes after the end")
                inflater = zlib.decompressobj(_window_bits(coding, rest))
            inflated = inflater.decompress(rest, PIECE)
            yield inflated
            rest = inflater.unconsumed_tail or inflater.unused_data
            await asyncio.sleep(0)
    if inflater is not None and not inflater.eof:
        raise ValueError("the compressed body ends in its middle")


def _window_bits(coding: str, start: bytes) -> int:
    """The window bits for zlib. "deflate" is zlib's own format by the standard, and raw
    deflate in practice.
    """
    if coding == "gzip":
        return _GZIP
    return zlib.MAX_WBITS if start[0] & 0xF == zlib.DEFLATED else -zlib.MAX_WBITS
