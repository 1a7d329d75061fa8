"""WebSockets of the retail plane: the handshake is an input before the upgrade, frames are inputs,
what the simulation sends are text frames.

Protocol pings are answered by aiohttp and never reach the simulation; no timer of real time closes
a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING

from aiohttp import WSMsgType, web

from sim.api.pipeline.inputs import Close, Reply
from sim.api.streams.stream_faults import ABNORMAL_CLOSURE
from sim.server.http.response import SERVER, http_date
from sim.server.http.server import error_answer, reset
from sim.server.stream_buffer import Channel

if TYPE_CHECKING:
    from sim.server.host import Host
    from sim.server.http.rest import RestListener


async def serve_web_socket(
    host: Host, request: web.BaseRequest, path: str, listener: RestListener
) -> web.StreamResponse:
    """Serve one socket from handshake to close. A refused handshake is answered as plain HTTP."""
    # Compression would make frame sizes depend on zlib's version; autoping answers pings.
    socket = web.WebSocketResponse(
        autoping=True, heartbeat=None, compress=False, max_msg_size=host.settings.max_body
    )
    if not socket.can_prepare(request):
        return error_answer(
            400, 3, "no valid WebSocket handshake", now=host.simulation.now, close=True, retail=True
        )
    opened = host.open(path, request.headers, b"", request.remote or "", web_socket=True)
    if isinstance(opened, Reply):
        return await listener.render(request, opened)
    socket.headers["Date"] = http_date(host.simulation.now)
    socket.headers["Server"] = SERVER
    writer: asyncio.Task[None] | None = None
    try:
        await socket.prepare(request)
        opened.sink = _sink(request)
        writer = host.spawn(_write(socket, opened, request))
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                host.frame(opened, message.data.encode())
            elif message.type == WSMsgType.BINARY:
                host.frame(opened, message.data)
    finally:
        ended_by_us = opened.ended
        host.hangup(opened)
        if writer is not None:
            if ended_by_us:
                await writer
            else:
                writer.cancel()
    return socket


def _sink(request: web.BaseRequest) -> Callable[[bytes], bool]:
    """Writes a frame to a socket whose client reads; for one that does not, frames wait in the
    channel. A task for each frame costs as much again.
    """
    protocol = request.protocol

    def write(frame: bytes) -> bool:
        transport = request.transport
        if transport is None or transport.is_closing() or protocol.writing_paused:
            return False
        transport.write(_text_frame(frame))
        return True

    return write


@lru_cache(maxsize=4)  # one after the other all get the same; a snapshot may be large
def _text_frame(payload: bytes) -> bytes:
    """A whole text frame, unmasked (RFC 6455 §5.2). A payload that goes to many clients is framed
    once.
    """
    size = len(payload)
    if size < 126:
        return b"\x81%c%b" % (size, payload)
    if size < 1 << 16:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), payload)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), payload)


async def _write(socket: web.WebSocketResponse, channel: Channel, request: web.BaseRequest) -> None:
    try:
        while not isinstance(frame := await channel.take(), Close):
            await socket.send_frame(frame, WSMsgType.TEXT)
        if frame.web_socket_code == ABNORMAL_CLOSURE:
            reset(request)
            return
        await socket.close(code=frame.web_socket_code, message=_close_reason(frame.message))
    except ConnectionError:
        # The reading side notices too, and hangs up.
        return


def _close_reason(text: str) -> bytes:
    # A close frame carries at most 125 bytes, two of which are the code.
    return text.encode()[:123].decode("utf-8", "ignore").encode()
