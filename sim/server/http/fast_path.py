"""The fast HTTP path: a request whose reply is ready at once is answered in the callback that
delivered its last byte. The only module that knows aiohttp's internals.

aiohttp hands every request to a task, which costs several objects and two turns of the event loop:
about half of a small request (measured: 33 µs with the task, 16 µs without). The simulation replies
synchronously, so a task is needed only by what takes time: a body still on its way, a held reply, a
stream, a WebSocket, an injected fault. Parsing, time-outs and every unusual request stay with
aiohttp.

**Supported releases.** Tested with aiohttp 3.14.4 and 3.14.5; `pyproject.toml` bounds the range. On
a release whose request handler is built differently (`AVAILABLE` is false) every request takes
aiohttp's own path: same answers, about twice the cost, and `sim serve` prints a warning at start.
`tests/server/test_rest.py` runs with the fast path on and off.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from aiohttp import HttpVersion11, web
from aiohttp.http import HttpRequestParser, RawRequestMessage, WebSocketReader
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from sim.kernel.instants import Instant
from sim.server.http.body import Uploads
from sim.server.http.frames import StrictFrames
from sim.server.http.response import HttpResponse
from sim.server.http.unread import UnreadAnswers

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

# A larger head, or one that takes longer to arrive, is refused.
_HEAD_MAX, _HEAD_S = 64 * 1024, 10.0
# Longest time that a client which has closed its side can wait for its answers.
_HALF_CLOSED_S = 1.0
# Bytes of an unread body that are discarded before the connection is closed: many clients send all
# of it before they read, and would see a reset instead of the refusal.
_DISCARD_MAX, _DISCARD_S = 32 << 20, 2.0

_INTERNALS = {
    "_messages",
    "_waiter",
    "_request_handler",
    "_next_keepalive_close_time",
    "_paused",
    "_buffer_paused",
    "_parser",
}
_SLOTS = {name for kind in web.RequestHandler.__mro__ for name in getattr(kind, "__slots__", ())}
AVAILABLE = _INTERNALS <= _SLOTS and hasattr(HttpRequestParser, "message_consumed")


class ImmediateHandler(Protocol):
    """Answers a complete request at once, or returns the handler that continues in a task."""

    def __call__(
        self, message: RawRequestMessage, body: bytes, peer: str
    ) -> HttpResponse | Handler: ...


class HttpConnection(web.RequestHandler):
    """A server connection. `immediate`, if given, gets each complete request first; bodies
    over `max_body` bytes go to aiohttp's path. `partial_messages` counts the incomplete
    messages of sockets, `unread` the bytes that clients do not read. `used` is the instant at which
    it was last used.
    """

    __slots__ = (
        *("_continuation", "_immediate", "_max_body", "_server"),
        *("_head_size", "_head_timer", "_half_closed", "_partial_messages", "unread"),
        *("_now", "used"),
    )

    def __init__(
        self,
        server: web.Server,
        loop: asyncio.AbstractEventLoop,
        immediate: ImmediateHandler | None,
        max_body: int,
        partial_messages: Uploads,
        unread: UnreadAnswers,
        now: Callable[[], Instant],
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            access_log=None,  # type: ignore[arg-type]  # the stub lacks None
            auto_decompress=False,
            lingering_time=0,
        )
        self._server = server
        self._immediate = immediate if AVAILABLE else None
        self._max_body = max_body
        self._partial_messages = partial_messages
        self.unread = unread
        self._now = now
        self.used = now()
        self._continuation: Handler | None = None
        self._half_closed = False
        self._head_size = 0
        self._head_timer: asyncio.TimerHandle | None = None
        if self._immediate is not None:
            self._request_handler = self._continue

    def refused_head(self, status: int) -> HttpResponse:
        """The response to a request whose head came too slowly (408) or is too large (431)."""
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        """Handle received bytes, and limit the time of an incomplete head."""
        requests = self._request_count
        self.used = self._now()
        self._receive(data)
        if self._request_count == requests and self._is_between_requests():
            self._head_grew(len(data))
        elif self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer, self._head_size = None, 0

    def eof_received(self) -> bool:  # type: ignore[override]  # the base class says nothing
        """The client has closed its side. Answer its complete requests that take no time; a client
        that has disconnected looks the same.
        """
        request = self._current_request
        is_complete = request is None or request.content.is_eof()
        socket = self._payload_parser is not None
        if socket or self._is_idle() or not is_complete or self.ssl_context is not None:
            return False
        self._half_closed = True
        self._loop.call_later(_HALF_CLOSED_S, self.force_close)
        return True

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        super().pause_writing()
        self.unread.add(self)

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self.unread.remove(self)

    @property
    def unsent(self) -> int:
        """Number of bytes that wait for the client."""
        return 0 if self.transport is None else self.transport.get_write_buffer_size()

    def abort(self) -> None:
        """Close the connection without waiting for the client."""
        if self.transport is not None:
            self.transport.abort()

    def connection_lost(self, exc: BaseException | None) -> None:
        """Clean up."""
        self.unread.remove(self)
        if self._head_timer is not None:
            self._head_timer.cancel()
        super().connection_lost(exc)

    def set_parser(
        self, parser: WebSocketReader, data_received_cb: Callable[[], None] | None = None
    ) -> None:
        """The connection becomes a WebSocket."""
        upload = self._partial_messages.begin(self.force_close)
        strict = StrictFrames(parser, upload)
        super().set_parser(strict, data_received_cb)  # type: ignore[arg-type]  # same methods

    @property
    def idle(self) -> bool:
        """Whether it waits for a request; a WebSocket never does."""
        return self._payload_parser is None and self._is_between_requests()

    def _is_between_requests(self) -> bool:
        return not self._upgraded and not self._close and self._is_idle()

    def _is_idle(self) -> bool:
        """Whether there is no request to answer."""
        if self._messages:
            return False
        waiter = self._waiter
        return self._request_count == 0 or (waiter is not None and not waiter.done())

    def _head_grew(self, size: int) -> None:
        self._head_size += size
        if self._head_size > _HEAD_MAX:
            self._refuse_head(431)
        elif self._head_timer is None:
            self._head_timer = self._loop.call_later(_HEAD_S, self._refuse_head, 408)

    def _refuse_head(self, status: int) -> None:
        if self.transport is not None and self._is_between_requests():
            self.transport.write(self.refused_head(status).encode())
            self.force_close()

    def _receive(self, data: bytes) -> None:
        """Answer every request that can be answered now, in order; leave the rest to the task."""
        waiter = self._waiter
        if self._immediate is None or waiter is None or waiter.done() or self._paused:
            # The task is busy with an earlier request, or the client does not read: queue.
            super().data_received(data)
            return
        # Without a waiter aiohttp parses and queues but does not wake its task, also when reading
        # a body makes it parse more.
        self._waiter = None
        super().data_received(data)
        messages = self._messages
        while (
            messages
            and not self._paused
            and not self._buffer_paused
            and self._answer(*messages[0], self._immediate)
        ):
            messages.popleft()
            if self._parser is not None:
                self._parser.message_consumed()
        self._waiter = waiter
        if messages and not waiter.done():
            waiter.set_result(None)

    def _answer(self, message: object, payload: StreamReader, immediate: ImmediateHandler) -> bool:
        """Answer the first queued request; False if the task has to."""
        if (
            not isinstance(message, RawRequestMessage)
            or message.should_close
            or message.version != HttpVersion11
            or message.chunked
            or "Upgrade" in message.headers
            or self.transport is None
        ):
            return False
        body = self._whole_body(message, payload)
        if body is None:
            return False
        peer = self.peername
        try:
            response = immediate(message, body, peer[0] if isinstance(peer, tuple) else "")
        except Exception as error:
            response = _raising(error)
        if not isinstance(response, HttpResponse):
            self._continuation = response
            return False
        self.transport.write(response.encode(head_only=message.method == "HEAD"))
        self._server.requests_count += 1
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        return True

    def _whole_body(self, message: RawRequestMessage, payload: StreamReader) -> bytes | None:
        """The request's body if it has arrived and needs no decoding, else None."""
        if payload is EMPTY_PAYLOAD:
            return b""
        if (
            payload.is_eof()
            and payload.total_bytes <= self._max_body
            and not message.compression
            and payload.exception() is None
        ):
            return payload.read_nowait()
        return None

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send a response. If the request's body has not arrived completely, the response announces
        the end of the connection. Some of the body is discarded, because a client that is still
        sending would see a reset instead of the response.
        """
        if isinstance(resp, HttpResponse) and not request.content.is_eof():
            resp.force_close()
        sent, reset = await super().finish_response(request, resp, start_time)
        if not reset and resp.status != 408 and not request.content.is_eof():
            await _discard(request.content)
        if self._half_closed and not self._messages:
            self.close()
        return sent, reset

    async def _continue(self, request: web.BaseRequest) -> web.StreamResponse:
        """aiohttp's task: continue a request that `immediate` began, or handle one
        from the start.
        """
        handler, self._continuation = self._continuation or self._server.request_handler, None
        return await handler(request)


async def _discard(content: StreamReader) -> None:
    left = _DISCARD_MAX
    try:
        async with asyncio.timeout(_DISCARD_S):
            while left > 0 and not content.is_eof():
                left -= len(await content.readany())
    except (TimeoutError, web.RequestPayloadError):
        return


def _raising(error: Exception) -> Handler:
    """A handler that raises the exception of the immediate one, so that aiohttp reports it."""

    async def handler(request: web.BaseRequest) -> web.StreamResponse:
        raise error

    return handler
