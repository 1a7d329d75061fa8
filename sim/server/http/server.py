"""What all HTTP listeners share: a server that never shows a traceback or a version, and
errors as JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aiohttp import HttpVersion10, HttpVersion11, web
from msgspec import json

from sim.kernel.instants import Instant
from sim.server.http.body import BodyTooSlow, BodyUnreadable, Uploads, read_body
from sim.server.http.fast_path import Handler, HttpConnection, ImmediateHandler
from sim.server.http.response import HttpResponse
from sim.server.logs import NO_MEMORY, lacking, log_failure
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
        now, retail = (server.now(), server.retail) if server else (0, False)
        return error_response(status, code, text, now=now, close=True, retail=retail)

    def log_exception(self, *args: Any, **details: Any) -> None:
        """Log a failure between requests, except a body that cannot be decompressed: its
        sender was answered.
        """
        if not isinstance(details.get("exc_info"), web.RequestPayloadError):
            super().log_exception(*args, **details)


class HttpServer(web.Server):
    """Low-level server of one listener, without router or middleware between parser and handler.
    `retail` selects the error format of the retail API. `cancels`: a request whose client is gone
    is handled no further.
    """

    def __init__(
        self,
        handler: Handler,
        now: Callable[[], Instant],
        *,
        immediate: ImmediateHandler | None = None,
        max_body: int = 0,
        retail: bool = False,
        cancels: bool = True,
    ) -> None:
        super().__init__(self._handle, handler_cancellation=cancels)
        self._handler = handler
        self.now = now
        self.retail = retail
        self._immediate = immediate
        self._max_body = max_body
        self._partial_messages = Uploads()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Refuse what the parser lets pass although HTTP/1.1 does not; hand on the rest."""
        problem = _unsupported(request)
        if problem is None:
            return await self._handler(request)
        status, text = problem
        return error_response(status, 12, text, now=self.now(), close=True, retail=self.retail)

    def __call__(self) -> web.RequestHandler:
        """A protocol for a new connection."""
        return _Connection(
            self, self._loop, self._immediate, self._max_body, self._partial_messages
        )


def _unsupported(request: web.BaseRequest) -> tuple[int, str] | None:
    """Status and message for a version or transfer coding that nothing here speaks (RFC 9112,
    sections 2.3 and 6.1).
    """
    if request.version not in (HttpVersion10, HttpVersion11):
        return 505, "only HTTP/1.0 and HTTP/1.1 are spoken here"
    coding = request.headers.get("Transfer-Encoding", "").strip().lower()
    if coding and request.version == HttpVersion10:
        return 400, "HTTP/1.0 has no transfer coding"
    if coding not in ("", "chunked"):
        return 501, "the only transfer coding is chunked"
    return None


def origin_form(target: str) -> str:
    """A request target without scheme and host, which clients may send (absolute form)."""
    if target.startswith("/"):
        return target
    _, scheme, rest = target.partition("://")
    slash = rest.find("/")
    return (rest[slash:] if slash >= 0 else "/") if scheme else target


def error_response(
    status: int,
    code: int,
    message: str,
    *,
    now: Instant,
    close: bool = False,
    retail: bool = False,
    headers: Sequence[tuple[str, str]] = (),
    extra: Mapping[str, str] | None = None,
) -> HttpResponse:
    """An error as `{"code", "message", "details": []}`, or in the retail API's format; `extra` adds
    keys for people.
    """
    fields: dict[str, object] = {"code": code, "message": message, "details": []}
    if retail:
        fields = {"status": status, "message": message}
    body = json.encode(fields | dict(extra or {}))
    return HttpResponse(
        status, body, content_type="application/json", now=now, headers=headers, close=close
    )


async def body_or_refusal(
    request: web.BaseRequest,
    limit: int,
    uploads: Uploads,
    *,
    now: Callable[[], Instant],
    retail: bool = False,
) -> tuple[bytes, int] | HttpResponse:
    """What `read_body` returns, or the answer to a body that did not arrive or cannot be read."""
    try:
        return await read_body(request, limit, uploads)
    except BodyTooSlow:
        status, code, text = 408, 4, "the body did not arrive in time"
    except BodyUnreadable:
        status, code, text = 400, 3, "bad request"
    except MemoryError:
        status, code, text = 503, 14, NO_MEMORY
    return error_response(status, code, text, now=now(), close=True, retail=retail)


def reset_connection(request: web.BaseRequest) -> None:
    """Reset the connection of a request: the client sees ECONNRESET."""
    transport = request.transport
    if transport is None:
        return
    raw = transport.get_extra_info("socket")
    if raw is not None:
        reset_on_close(raw)
    transport.abort()
