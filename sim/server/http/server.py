"""What all HTTP listeners share: a server that never shows a traceback or a version."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from aiohttp import HttpVersion10, HttpVersion11, web

from sim.kernel.instants import Instant
from sim.server.http.body import Uploads
from sim.server.http.fast_path import Handler, HttpConnection, ImmediateHandler
from sim.server.http.response import HttpError, HttpResponse
from sim.server.http.unread import UnreadAnswers
from sim.server.logs import lacking, log_failure
from sim.server.platforms import reset_on_close


class _Connection(HttpConnection):
    """A connection that reports errors in the service's format."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer malformed HTTP or an internal failure; the cause of the latter is
        logged, not sent.
        """
        if exc is not None and (status >= 500 or lacking(exc)):
            log_failure(exc, "a request failed: %s %s", request.method, request.path)
        if lack := lacking(exc):
            return self._error(503, 14, lack)
        code, text = (13, "internal error") if status >= 500 else (3, "bad request")
        return self._error(status, code, text)

    def refused_head(self, status: int) -> HttpResponse:
        """The response to a request whose head came too slowly (408) or is too large (431)."""
        text = "the head did not arrive in time" if status == 408 else "the head is too large"
        return self._error(status, 4 if status == 408 else 3, text)

    def _error(self, status: int, code: int, text: str) -> HttpResponse:
        server = self._manager if isinstance(self._manager, HttpServer) else None
        return HttpError(status, code, text, close=True).response(server.now() if server else 0)

    def log_exception(self, *args: Any, **details: Any) -> None:
        """Log a failure between requests, except a body that cannot be decompressed: its
        sender was answered.
        """
        if not isinstance(details.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **details)


class HttpServer(web.Server):
    """Low-level server of one listener, without router or middleware between parser and handler.
    `cancels`: a request whose client is gone is handled no further.
    """

    def __init__(
        self,
        handler: Handler,
        now: Callable[[], Instant],
        *,
        immediate: ImmediateHandler | None = None,
        max_body: int = 0,
        cancels: bool = True,
    ) -> None:
        super().__init__(self._handle, handler_cancellation=cancels)
        self._handler = handler
        self.now = now
        self._immediate = immediate
        self._max_body = max_body
        self._partial_messages = Uploads()
        self._unread = UnreadAnswers()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Refuse what the parser lets pass although HTTP/1.1 does not; hand on the rest."""
        try:
            _require_supported(request)
            return await self._handler(request)
        except HttpError as error:
            return error.response(self.now())

    def __call__(self) -> web.RequestHandler:
        """A protocol for a new connection."""
        return _Connection(
            self,
            self._loop,
            self._immediate,
            self._max_body,
            self._partial_messages,
            self._unread,
            self.now,
        )


def _require_supported(request: web.BaseRequest) -> None:
    """Refuse a version or transfer coding that nothing here speaks (RFC 9112, 2.3 and 6.1)."""
    if request.version not in (HttpVersion10, HttpVersion11):
        raise HttpError(505, 12, "only HTTP/1.0 and HTTP/1.1 are spoken here", close=True)
    coding = request.headers.get("Transfer-Encoding", "").strip().lower()
    if coding and request.version == HttpVersion10:
        raise HttpError(400, 12, "HTTP/1.0 has no transfer coding", close=True)
    if coding not in ("", "chunked"):
        raise HttpError(501, 12, "the only transfer coding is chunked", close=True)


def origin_form(target: str) -> str:
    """A request target without scheme and host, which clients may send (absolute form)."""
    if target.startswith("/"):
        return target
    _, scheme, rest = target.partition("://")
    slash = rest.find("/")
    return (rest[slash:] if slash >= 0 else "/") if scheme else target


def reset_connection(request: web.BaseRequest) -> None:
    """Reset the connection of a request: the client sees ECONNRESET."""
    if request.transport is not None:
        reset_transport(request.transport)


def reset_transport(transport: asyncio.Transport) -> None:
    """Reset a connection."""
    raw = transport.get_extra_info("socket")
    if raw is not None:
        reset_on_close(raw)
    transport.abort()
