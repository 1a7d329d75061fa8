"""The REST listener of one plane: HTTP in, `Host.rest`, HTTP out. Routing, methods and errors
belong to the simulation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING

from aiohttp import HttpVersion10, web

from sim.api.pipeline.inputs import Reply
from sim.api.rendering.document_links import with_links
from sim.contract.contract import Plane
from sim.core.model.refusals import Refusal
from sim.kernel.instants import NS_PER_S, Instant, format_seconds
from sim.server.event_loop import in_slices
from sim.server.host import Host
from sim.server.http.body import Uploads, read_body
from sim.server.http.conditional import Modifications, is_unchanged
from sim.server.http.cors import PLANES, CrossOrigin
from sim.server.http.fast_path import Handler, HttpConnection
from sim.server.http.response import (
    AlreadySent,
    HttpResponse,
    header_lines,
    header_text,
    stream_response,
)
from sim.server.http.server import HttpServer, origin_form, reset_connection
from sim.server.listeners import caller_address

if TYPE_CHECKING:
    from aiohttp.http import RawRequestMessage

# A slow body arrives in this many pieces with a pause in real time after each: the virtual clock
# has no part in how bytes trickle.
_SLOW_PIECES = 8
_SLOW_PAUSE_S = 0.1

# Answers below this path may contain a link to the page on which a tester uploads a document.
_KYC = "/v1/kyc/"
_CACHE_CONTROL = "Cache-Control"
_HEAVY = 128 * 1024  # bytes of an answer


def rest_server(host: Host, plane: Plane) -> HttpServer:
    """The server of a plane's listener ("gateway", "retail", "exchange", "auth"). The retail
    one accepts WebSockets.
    """
    listener = RestListener(host, plane)
    return HttpServer(
        listener, lambda: host.now, immediate=listener.immediate, max_body=host.settings.max_body
    )


class RestListener:
    """Handles the requests of one plane."""

    def __init__(self, host: Host, plane: Plane) -> None:
        self._host = host
        self._plane = plane
        self._max_body = host.settings.max_body
        self._debug_headers = not host.settings.opaque
        self._traced = plane in ("gateway", "retail")
        self._prefix = "pm-" if host.settings.vendor_prefix else ""
        self._cached = plane == "gateway"
        self._modified = Modifications()
        self._uploads = Uploads()
        self._cross_origin = CrossOrigin(host) if plane in PLANES else None

    def immediate(
        self, message: RawRequestMessage, body: bytes, peer: str
    ) -> HttpResponse | Handler:
        """The response to a complete request, or a handler that waits for what takes time."""
        if self._cross_origin is not None and message.method == "OPTIONS":
            preflight = self._cross_origin.preflight(message.method, message.headers)
            if preflight is not None:
                return preflight
        if self._must_wait(message.path):
            return lambda request: self._in_turn(request, body, peer)
        reply = self._reply(message.method, message.path, message.headers, body, peer)
        host = self._host
        now = host.now
        late = reply.ready_at > now  # rare: only then is anything else asked about the clock
        if (
            reply.pending_on
            or reply.connection_fault
            or reply.chunks is not None
            or (late and host.replies.must_wait(reply))
        ):
            return lambda request: self.render(request, reply)
        elided = host.replies.elided_time(reply) if late else ""
        return self._response(reply, message.path, message.headers, elided, now)

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Handle a request that aiohttp dispatched to a task."""
        host = self._host
        if self._plane == "retail" and request.headers.get("Upgrade", "").lower() == "websocket":
            from sim.server.http.websocket import serve_web_socket

            path = origin_form(request.raw_path).partition("?")[0]
            return await serve_web_socket(host, request, path, self.render)
        body, oversize = await read_body(request, self._max_body, self._uploads)
        if self._cross_origin is not None:
            preflight = self._cross_origin.preflight(request.method, request.headers)
            if preflight is not None:
                return preflight
        response = await self._in_turn(request, body, request.remote or "", oversize)
        if oversize:
            response.force_close()
        return response

    def _must_wait(self, target: str) -> bool:
        """Whether a request has to wait for its turn. On the gateway nobody is known who could be
        limited, so only requests that are known to be light are handled at once.
        """
        return self._host.turns.must_wait(self._plane + target, new=self._plane == "gateway")

    async def _in_turn(
        self, request: web.BaseRequest, body: bytes, peer: str, oversize: int = 0
    ) -> web.StreamResponse:
        """Answer a request when it is its turn."""
        verb, target, headers = request.method, request.raw_path, request.headers
        turns, heavy = self._host.turns, False
        if self._must_wait(target):
            path, _, query = target.partition("?")
            preparation = self._host.simulation.prepare(self._plane, verb, path, query)
            size = await in_slices(preparation)
            heavy = size > _HEAVY or turns.is_heavy(self._plane + target)
        async with turns.turn() if heavy else nullcontext():
            if heavy and isinstance(request.protocol, HttpConnection):
                await request.protocol.unread.room()
            reply = self._reply(verb, target, headers, body, peer, oversize)
        return await self.render(request, reply)

    def _reply(
        self,
        verb: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes,
        peer: str,
        oversize: int = 0,
    ) -> Reply:
        if not target.startswith("/"):
            target = origin_form(target)
        began, name = time.thread_time(), self._plane + target
        path, _, query = target.partition("?")
        caller = caller_address(peer)
        reply = self._host.rest(self._plane, verb, path, query, headers, body, caller, oversize)
        self._host.turns.note(name, began)
        return reply

    async def render(self, request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
        """The HTTP response of a reply, once that is complete and may leave."""
        began = self._host.now
        reply, elided = await self._host.replies.complete(reply)
        waited = self._host.now - began
        latency = format_seconds(waited) if waited else elided
        if reply.chunks is not None and reply.connection_fault in ("", "slow_body"):
            lines = self._lines(request.headers, reply, elided, latency)
            return await self._stream(request, reply, lines)
        if reply.chunks is not None:
            reply.body = next(reply.chunks, b"")
        now = self._host.now
        response = self._response(reply, request.raw_path, request.headers, elided, now, latency)
        if not reply.connection_fault:
            return response
        return await _apply_connection_fault(request, response, reply.connection_fault)

    def _response(
        self,
        reply: Reply,
        target: str,
        request: Mapping[str, str],
        elided: str,
        now: Instant,
        latency: str = "",
    ) -> HttpResponse:
        body = reply.body
        if _KYC in target:
            body = with_links(body, f"{self._host.settings.docs_url}/docv")
        status, lines = reply.status, self._lines(request, reply, elided, latency or elided)
        if self._cached and status == 200 and _CACHE_CONTROL in dict(reply.headers):
            version = self._modified.since(target, body, now // NS_PER_S)
            lines += f"\r\nLast-Modified: {version.date}"
            if is_unchanged(version, request.get("If-Modified-Since", "")):
                status, body = 304, b""
        return HttpResponse(status, body, content_type=reply.content_type, now=now, lines=lines)

    def _lines(self, request: Mapping[str, str], reply: Reply, elided: str, latency: str) -> str:
        """The header lines of a reply, each after a line break. `latency` is how long the caller
        waited in virtual time, or would have.
        """
        headers = reply.headers
        if headers and not self._debug_headers:
            headers = tuple(pair for pair in headers if not pair[0].lower().startswith("x-sim-"))
        if self._cross_origin is not None:
            headers = self._cross_origin.headers(request) + headers
        lines = header_lines(headers) if headers else ""
        request_id, correlation = reply.request_id, request.get("poly-correlation-id")
        if request_id:
            lines += f"\r\nx-request-id: {request_id}"
            if self._traced:
                prefix = self._prefix
                lines += (
                    f"\r\nx-{prefix}trace-id: {request_id:0>32}"
                    f"\r\nx-{prefix}server-latency: {latency or '0'}"
                )
        if correlation:
            lines += f"\r\npoly-correlation-id: {header_text(correlation)}"
        if self._debug_headers and (hint := headers and self._host.clock_hint(reply)):
            lines += f"\r\nx-sim-clock: {hint}"
        if elided and self._debug_headers:
            lines += f"\r\nx-sim-elapsed: {elided}"
        return lines

    async def _stream(
        self, request: web.BaseRequest, reply: Reply, lines: str
    ) -> web.StreamResponse:
        """Send a download chunk by chunk."""
        response = stream_response(reply.content_type, self._host.now, status=reply.status)
        for line in lines.split("\r\n")[1:]:
            name, _, value = line.partition(": ")
            response.headers.add(name, value)
        await response.prepare(request)
        try:
            for chunk in reply.chunks or ():
                await response.write(chunk)
                # A client that reads fast must not keep the others waiting.
                await asyncio.sleep(_SLOW_PAUSE_S if reply.connection_fault else 0)
        except Refusal:
            reset_connection(request)  # the status has left already
            return AlreadySent()
        await response.write_eof()
        return response


async def _apply_connection_fault(
    request: web.BaseRequest, response: HttpResponse, fault: str
) -> web.StreamResponse:
    """Carry out a connection fault, such as "close" or "half_close"."""
    transport = request.transport
    if transport is None:
        return AlreadySent()
    old = request.version == HttpVersion10
    encoded = response.encode(head_only=request.method == "HEAD", http_1_0=old)
    match fault:
        case "half_close":
            head = encoded.index(b"\r\n\r\n") + 4
            body = len(encoded) - head  # none after HEAD, for which half of the head must do
            transport.write(encoded[: head + body // 2 if body else head // 2])
            if transport.can_write_eof():
                transport.write_eof()
        case "slow_body":
            piece = max(1, -(-len(encoded) // _SLOW_PIECES))
            for start in range(0, len(encoded), piece):
                transport.write(encoded[start : start + piece])
                await asyncio.sleep(_SLOW_PAUSE_S)
            return AlreadySent(keep_alive=request.keep_alive)
        case "close":
            pass
        case "hang":
            await asyncio.get_running_loop().create_future()
        case _:
            # A connection that was accepted cannot be refused any more: for "refuse" as for
            # "reset" the client sees a reset before the first byte.
            reset_connection(request)
    return AlreadySent()
