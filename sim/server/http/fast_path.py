"""One HTTP connection. A request whose answer is there at once is answered in the callback in which
its last byte arrived.

aiohttp hands every request to a task, which costs several objects and two turns of the event loop:
about half of a small request (measured: 33 µs with them, 16 µs without). The simulation answers
synchronously, so a task is needed only by what takes time: a body still on its way, a reply that is
held, a stream, a WebSocket, an injected fault. Parsing, time-outs and everything out of the
ordinary stay aiohttp's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol, TypeAlias

from aiohttp import HttpVersion10, web
from aiohttp.http import HttpRequestParser, RawRequestMessage
from aiohttp.streams import EMPTY_PAYLOAD, StreamReader

from sim.server.http.response import Answer

if TYPE_CHECKING:
    import asyncio

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

# What this module knows of aiohttp's insides. With a version that is built otherwise, every request
# goes aiohttp's own way.
_INSIDES = {
    "_messages",
    "_waiter",
    "_request_handler",
    "_next_keepalive_close_time",
    "_paused",
    "_buffer_paused",
    "_parser",
}
_SLOTS = {name for kind in web.RequestHandler.__mro__ for name in getattr(kind, "__slots__", ())}
AT_ONCE = _INSIDES <= _SLOTS and hasattr(HttpRequestParser, "message_consumed")


class Immediate(Protocol):
    """A handler that need not wait: a whole request in; out comes its answer, or who goes on with
    it in a task.
    """

    def __call__(self, message: RawRequestMessage, body: bytes, peer: str) -> Answer | Handler: ...


class Connection(web.RequestHandler):
    """A connection of a server. `immediate` is asked first, if there is one; bodies over `max_body`
    bytes are not its business.
    """

    __slots__ = ("_immediate", "_max_body", "_server", "_unfinished")

    def __init__(
        self,
        server: web.Server,
        loop: asyncio.AbstractEventLoop,
        immediate: Immediate | None,
        max_body: int,
    ) -> None:
        super().__init__(server, loop=loop, access_log=None)  # type: ignore[arg-type]  # its stub forgets that None means none
        self._server = server
        self._immediate = immediate if AT_ONCE else None
        self._max_body = max_body
        self._unfinished: Handler | None = None
        if self._immediate is not None:
            self._request_handler = self._go_on

    def data_received(self, data: bytes) -> None:
        """Answer what can be answered at once, in order, and leave the rest to aiohttp's task."""
        waiter = self._waiter
        if self._immediate is None or waiter is None or waiter.done() or self._paused:
            # The task is busy with an earlier request, or the client does not read: requests queue
            # up.
            super().data_received(data)
            return
        # aiohttp only parses and queues, its task sleeps on; so too when reading a body makes it
        # parse more
        self._waiter = None
        super().data_received(data)
        messages = self._messages
        while (
            messages
            and not self._paused
            and not self._buffer_paused
            and self._answered(*messages[0], self._immediate)
        ):
            messages.popleft()
            if self._parser is not None:
                self._parser.message_consumed()
        self._waiter = waiter
        if messages and not waiter.done():
            waiter.set_result(None)

    def _answered(self, message: object, payload: StreamReader, immediate: Immediate) -> bool:
        """Whether the first request of the queue is dealt with."""
        if (
            not isinstance(message, RawRequestMessage)
            or message.should_close
            or "Upgrade" in message.headers
            or self.transport is None
        ):
            return False
        if payload is EMPTY_PAYLOAD:
            body = b""
        elif (
            payload.is_eof()
            and payload.total_bytes <= self._max_body
            and not message.compression
            and payload.exception() is None
        ):
            body = payload.read_nowait()
        else:
            return False
        peer = self.peername
        try:
            found = immediate(message, body, peer[0] if isinstance(peer, tuple) else "")
        except Exception as problem:
            found = _failing(problem)
        if not isinstance(found, Answer):
            self._unfinished = found
            return False
        self.transport.write(
            found.encode(head_only=message.method == "HEAD", old=message.version == HttpVersion10)
        )
        self._server.requests_count += 1
        self._next_keepalive_close_time = self._loop.time() + self._keepalive_timeout
        return True

    async def _go_on(self, request: web.BaseRequest) -> web.StreamResponse:
        """aiohttp's task: what an immediate handler began, or a request from its beginning."""
        handler, self._unfinished = self._unfinished or self._server.request_handler, None
        return await handler(request)


def _failing(problem: Exception) -> Handler:
    """A handler that fails as the immediate one did, where aiohttp catches it."""

    async def fail(request: web.BaseRequest) -> web.StreamResponse:
        raise problem

    return fail
