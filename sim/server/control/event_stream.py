"""Server-Sent Events on a connection, as long as its reader keeps up."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable

from aiohttp import web

from sim.kernel.instants import Instant
from sim.server.control.live import LiveReader
from sim.server.http.response import stream_response

# Real time without progress after which a connection ends, and the interval of the checks.
_PATIENCE_S, _LOOK_S = 20.0, 0.25
# Real time for a slow reader to read the remaining data after the end.
_LINGER_S = 60.0
_SEND_BUFFER = 256 * 1024


async def send_events(
    request: web.BaseRequest, reader: LiveReader, now: Instant
) -> web.StreamResponse:
    """Send events until the reader disconnects. A slow reader gets a last event that says so."""
    response = stream_response("text/event-stream", now)
    response.headers["Cache-Control"] = "no-store"
    await response.prepare(request)
    _bound(request)
    await response.write(b": here\n\n")  # send the head at once
    async for piece in reader:
        if not await _taken(response.write(piece), reader):
            _end(request, response, reader.last_words)
            break
    return response


def _bound(request: web.BaseRequest) -> None:
    """Limit the system's send buffer, so that a slow reader is noticed."""
    raw = request.transport.get_extra_info("socket") if request.transport is not None else None
    if raw is not None:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)


async def _taken(write: Awaitable[None], reader: LiveReader) -> bool:
    """Whether a piece could be written before its reader fell behind."""
    writing = asyncio.ensure_future(write)
    try:
        waited = 0.0
        while not writing.done():
            await asyncio.wait((writing,), timeout=_LOOK_S)
            waited += _LOOK_S
            if not writing.done() and (reader.behind or waited > _PATIENCE_S):
                return False
        writing.result()
        return not reader.behind
    finally:
        writing.cancel()


def _end(request: web.BaseRequest, response: web.StreamResponse, last_words: bytes) -> None:
    """Write the last event to the connection's buffer and close it, which sends the buffer."""
    transport = request.transport
    if transport is None or transport.is_closing():
        return
    chunk = last_words
    if "Transfer-Encoding" in response.headers:
        chunk = b"%x\r\n%b\r\n0\r\n\r\n" % (len(last_words), last_words)
    transport.write(chunk)
    transport.close()
    asyncio.get_running_loop().call_later(_LINGER_S, transport.abort)
