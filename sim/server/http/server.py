"""What every HTTP listener shares: a server that never shows a traceback or a version, bodies read
up to a bound, errors as JSON.
"""

from __future__ import annotations

import logging
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any

from aiohttp import web
from msgspec import json

from sim.kernel.instants import Instant
from sim.server.http.fast_path import Connection, Handler, Immediate
from sim.server.http.response import Answer

log = logging.getLogger("sim.server")


class _Connection(Connection):
    """A connection that answers errors our way."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer to what is no HTTP, or to a failure of ours; the reason of the latter goes to the
        log, not to the client.
        """
        if status >= 500:
            ours = None if isinstance(exc, OSError) else exc  # a full disk is no mistake of ours
            log.error(
                "a request failed: %s %s: %s", request.method, request.path, exc, exc_info=ours
            )
        server = self._manager if isinstance(self._manager, HttpServer) else None
        code, text = (13, "internal error") if status >= 500 else (3, "bad request")
        return error_answer(
            status,
            code,
            text,
            now=server.now() if server else 0,
            close=True,
            retail=bool(server and server.retail),
        )

    def log_exception(self, *args: Any, **details: Any) -> None:
        """A failure between requests. A body that cannot be unpacked is its sender's: that was
        answered, and the rest of it is of no interest.
        """
        if not isinstance(details.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **details)


class HttpServer(web.Server):
    """Low-level server of one listener: no router and no middleware between the parser and the
    handler. `retail`: its errors have the shape of that API.
    """

    def __init__(
        self,
        handler: Handler,
        now: Callable[[], Instant],
        *,
        immediate: Immediate | None = None,
        max_body: int = 0,
        retail: bool = False,
    ) -> None:
        super().__init__(handler, handler_cancellation=True)
        self.now = now
        self.retail = retail
        self._immediate = immediate
        self._max_body = max_body

    def __call__(self) -> web.RequestHandler:
        """A protocol for a new connection."""
        return _Connection(self, self._loop, self._immediate, self._max_body)


def error_answer(
    status: int,
    code: int,
    message: str,
    *,
    now: Instant,
    close: bool = False,
    retail: bool = False,
    why: Mapping[str, str] | None = None,
) -> Answer:
    """An error in the common shape `{"code", "message", "details": []}`, or in the retail API's;
    `why` holds further keys, for people.
    """
    told = (
        {"status": status, "message": message}
        if retail
        else {"code": code, "message": message, "details": []}
    )
    body = json.encode({**told, **(why or {})})
    return Answer(status, body, content_type="application/json", now=now, close=close)


async def read_body(request: web.BaseRequest, limit: int) -> tuple[bytes, int]:
    """Body of a request and 0; or nothing and the size it has (as far as it was read) when that is
    over the limit.
    """
    if not request.body_exists:
        return b"", 0
    declared = request.content_length
    if declared is not None and declared > limit:
        return b"", declared
    if (
        request.headers.get("Expect", "").lower() == "100-continue"
        and request.transport is not None
    ):
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await request.content.readany()
    while not request.content.at_eof():
        body += await request.content.readany()
        if len(body) > limit:
            return b"", len(body)
    return (body, 0) if len(body) <= limit else (b"", len(body))


def reset(request: web.BaseRequest) -> None:
    """Reset the connection of a request: its client sees ECONNRESET."""
    transport = request.transport
    if transport is None:
        return
    plug = transport.get_extra_info("socket")
    if plug is not None:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
