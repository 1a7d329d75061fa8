"""WebSockets of the retail plane: the handshake is an input before the upgrade, client frames are
inputs, and what the simulation sends are text frames.

aiohttp answers protocol pings, which never reach the simulation. No real-time timer
closes a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import TypeAlias

from aiohttp import HttpVersion11, WSMsgType, web

from sim.api.pipeline.inputs import Close, Reply
from sim.api.streams.stream_faults import ABNORMAL_CLOSURE
from sim.core.model.refusals import Code
from sim.server.host import Host
from sim.server.http.response import HttpError, stamp
from sim.server.http.server import reset_connection
from sim.server.listeners import caller_address
from sim.server.logs import log_failure
from sim.server.stream_buffer import StreamBuffer

FAILED = Close(0, Code.INTERNAL, "internal error", 1011)

Render: TypeAlias = Callable[[web.BaseRequest, Reply], Awaitable[web.StreamResponse]]


async def serve_web_socket(
    host: Host, request: web.BaseRequest, path: str, render: Render
) -> web.StreamResponse:
    """Serve one socket from handshake to close. `render` answers a refused handshake as HTTP."""
    # Compression would make the size of frames depend on zlib's version.
    # aiohttp refuses a message of the maximum itself.
    socket = web.WebSocketResponse(
        autoping=True, heartbeat=None, compress=False, max_msg_size=host.settings.max_body + 1
    )
    if not _is_handshake(request, socket):
        raise HttpError(400, 3, "no valid WebSocket handshake", close=True)
    caller = caller_address(request.remote or "")
    stream = host.open(path, request.headers, b"", caller, web_socket=True)
    if isinstance(stream, Reply):
        return await render(request, stream)
    stamp(socket, host.now)
    writer: asyncio.Task[None] | None = None
    try:
        admission, elided = await host.replies.complete(stream.admission)
        if not host.settings.opaque:
            socket.headers.update(admission.headers)
            socket.headers.update({"x-sim-elapsed": elided} if elided else {})
        await socket.prepare(request)
        stream.sink = _sink(request)
        writer = host.tasks.spawn(_write(socket, stream, request))
        async for message in socket:
            if message.type == WSMsgType.TEXT:
                host.frame(stream, message.data.encode())
            elif message.type == WSMsgType.BINARY:
                host.frame(stream, message.data)
    except ConnectionError:
        pass  # the client has left while a ping of its own was answered
    except Exception as error:
        # The upgrade is over, so this cannot be answered as HTTP any more.
        log_failure(error, "a frame failed: %s", path)
        stream.end(FAILED, at_once=True)
    finally:
        ended_by_us = stream.ended_by is not None
        host.hangup(stream)
        if writer is not None:
            if ended_by_us:
                await writer
            else:
                writer.cancel()
    return socket


def _is_handshake(request: web.BaseRequest, socket: web.WebSocketResponse) -> bool:
    return (
        request.method == "GET"
        and request.version == HttpVersion11
        and bool(socket.can_prepare(request))
    )


def _sink(request: web.BaseRequest) -> Callable[[bytes], bool]:
    """Writes a frame straight to a socket whose client reads; otherwise frames wait in the buffer.
    A task for each frame would double its cost.
    """
    protocol = request.protocol

    def write(frame: bytes) -> bool:
        transport = request.transport
        if transport is None or transport.is_closing() or protocol.writing_paused:
            return False
        transport.write(_text_frame(frame))
        return True

    return write


@lru_cache(maxsize=4)  # subscribers get the same frame one after the other; it may be large
def _text_frame(payload: bytes) -> bytes:
    """A complete, unmasked text frame (RFC 6455, section 5.2)."""
    size = len(payload)
    if size < 126:
        return b"\x81%c%b" % (size, payload)
    if size < 1 << 16:
        return b"\x81\x7e%b%b" % (size.to_bytes(2, "big"), payload)
    return b"\x81\x7f%b%b" % (size.to_bytes(8, "big"), payload)


async def _write(
    socket: web.WebSocketResponse, stream: StreamBuffer, request: web.BaseRequest
) -> None:
    try:
        while not isinstance(frame := await stream.take(), Close):
            await socket.send_frame(frame, WSMsgType.TEXT)
        if frame.web_socket_code == ABNORMAL_CLOSURE:
            if frame.resets is True:
                reset_connection(request)
            elif request.transport is not None:
                request.transport.close()
            return
        await socket.close(code=frame.web_socket_code, message=_close_reason(frame.message))
    except ConnectionError:
        # The reading side notices too and hangs up.
        return


def _close_reason(text: str) -> bytes:
    # A close frame carries at most 125 bytes, two of which are the code.
    return text.encode()[:123].decode("utf-8", "ignore").encode()
