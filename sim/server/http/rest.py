"""One plane's REST listener: HTTP in, `Host.rest`, HTTP out. Routing, methods and errors belong to
the simulation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from aiohttp import HttpVersion10, web

from sim.api.pipeline.inputs import Reply
from sim.contract.contract import Plane
from sim.core.identity.kyc import DOCV_BASE
from sim.core.model.refusals import Refusal
from sim.kernel.instants import Instant
from sim.server.http.response import SERVER, Answer, Gone, header_text, http_date
from sim.server.http.server import HttpServer, error_answer, read_body, reset

if TYPE_CHECKING:
    from aiohttp.http import RawRequestMessage

    from sim.server.host import Host
    from sim.server.http.fast_path import Handler

# A slow body takes about this long in real time; the virtual clock has no part in how bytes
# trickle.
_SLOW_PIECES = 8
_SLOW_PAUSE_S = 0.1

# Answers under this path may hold a link to the page on which a tester uploads a document.
_KYC = "/v1/kyc/"
_DOCV_BASE = DOCV_BASE.encode()


def rest_server(host: Host, plane: Plane) -> HttpServer:
    """Server of the listener of a plane ("gateway", "retail", "exchange", "auth"). The retail one
    upgrades WebSockets.
    """
    listener = RestListener(host, plane)
    return HttpServer(
        listener,
        lambda: host.simulation.now,
        immediate=listener.immediate,
        max_body=host.settings.max_body,
        retail=plane == "retail",
    )


class RestListener:
    """Requests of one plane."""

    def __init__(self, host: Host, plane: Plane) -> None:
        self._host = host
        self._plane = plane
        self._max_body = host.settings.max_body
        self._opaque = host.settings.opaque

    def immediate(self, message: RawRequestMessage, body: bytes, peer: str) -> Answer | Handler:
        """The answer to a whole request; or, where it takes time, who waits for it."""
        reply = self._reply(message.method, message.path, message.headers, body, peer)
        now = self._host.simulation.now
        late = reply.ready_at > now  # seldom: the rest of the clock is asked only then
        if (
            reply.pending_on
            or reply.connection_fault
            or reply.chunks is not None
            or (late and self._host.replies.holds(reply))
        ):
            return lambda request: self.render(request, reply)
        return self._answer(
            reply,
            message.path,
            message.headers,
            self._host.replies.elides(reply) if late else "",
            now,
        )

    async def __call__(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request."""
        host = self._host
        if self._plane == "retail" and request.headers.get("Upgrade", "").lower() == "websocket":
            from sim.server.http.websocket import serve_web_socket

            return await serve_web_socket(
                host, request, _origin_form(request.raw_path).partition("?")[0], self
            )
        try:
            body, oversize = await read_body(request, self._max_body)
        except (web.RequestPayloadError, ValueError):
            return error_answer(
                400,
                3,
                "bad request",
                now=host.simulation.now,
                close=True,
                retail=self._plane == "retail",
            )
        reply = self._reply(
            request.method, request.raw_path, request.headers, body, request.remote or "", oversize
        )
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
            target = _origin_form(target)
        path, _, query = target.partition("?")
        return self._host.rest(self._plane, verb, path, query, headers, body, peer, oversize)

    async def render(self, request: web.BaseRequest, reply: Reply) -> web.StreamResponse:
        """HTTP answer of a reply, once it is complete and may leave."""
        host = self._host
        if reply.pending_on:
            reply = await host.replies.answer(reply)
        elided = host.replies.elides(reply)
        if host.replies.holds(reply):
            await host.replies.ready(reply)
        if reply.chunks is not None and reply.connection_fault in ("", "slow_body"):
            return await self._stream(request, reply, self._headers(request.headers, reply, elided))
        if reply.chunks is not None:
            reply.body = next(reply.chunks, b"")
        answer = self._answer(reply, request.raw_path, request.headers, elided, host.simulation.now)
        return (
            await _disturbed(request, answer, reply.connection_fault)
            if reply.connection_fault
            else answer
        )

    def _answer(
        self, reply: Reply, target: str, asked: Mapping[str, str], elided: str, now: Instant
    ) -> Answer:
        body = reply.body
        if _KYC in target:
            body = body.replace(_DOCV_BASE, f"{self._host.settings.docs_url}/docv".encode())
        return Answer(
            reply.status,
            body,
            content_type=reply.content_type,
            now=now,
            headers=self._headers(asked, reply, elided),
        )

    def _headers(
        self, asked: Mapping[str, str], reply: Reply, elided: str
    ) -> list[tuple[str, str]]:
        headers: list[tuple[str, str]] = []
        if reply.headers:
            headers += [
                (name, value)
                for name, value in reply.headers
                if not (self._opaque and name.lower().startswith("x-sim-"))
            ]
        if reply.request_id:
            headers.append(("x-request-id", reply.request_id))
        correlation = asked.get("poly-correlation-id")
        if correlation:
            headers.append(("poly-correlation-id", correlation))
        if elided and not self._opaque:
            headers.append(("x-sim-elapsed", elided))
        return headers

    async def _stream(
        self, request: web.BaseRequest, reply: Reply, headers: list[tuple[str, str]]
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=reply.status)
        response.headers.update(
            {
                "Content-Type": reply.content_type,
                "Date": http_date(self._host.simulation.now),
                "Server": SERVER,
            }
        )
        for name, value in headers:
            response.headers.add(name, header_text(value))
        await response.prepare(request)
        try:
            for chunk in reply.chunks or ():
                await response.write(chunk)
                # A client that reads fast must not keep the others waiting.
                await asyncio.sleep(_SLOW_PAUSE_S if reply.connection_fault else 0)
        except Refusal:
            reset(request)  # too late for a status
            return Gone()
        await response.write_eof()
        return response


def _origin_form(target: str) -> str:
    """A request target without scheme and host, where a client sent them (absolute form)."""
    if target.startswith("/"):
        return target
    _, found, rest = target.partition("://")
    slash = rest.find("/")
    return (rest[slash:] if slash >= 0 else "/") if found else target


async def _disturbed(
    request: web.BaseRequest, answer: Answer, disturbance: str
) -> web.StreamResponse:
    """Carry out a connection-level fault: "reset", "refuse", "half_close", "hang" or "slow_body"."""
    transport = request.transport
    if transport is None:
        return Gone()
    whole = answer.encode(head_only=request.method == "HEAD", old=request.version == HttpVersion10)
    match disturbance:
        case "half_close":
            transport.write(whole[: whole.index(b"\r\n\r\n") + 4 + len(answer.content) // 2])
            if transport.can_write_eof():
                transport.write_eof()
        case "slow_body":
            piece = max(1, -(-len(whole) // _SLOW_PIECES))
            for start in range(0, len(whole), piece):
                transport.write(whole[start : start + piece])
                await asyncio.sleep(_SLOW_PAUSE_S)
            return Gone(keep_alive=request.keep_alive)
        case "hang":
            await asyncio.get_running_loop().create_future()
        case _:
            # A connection that was accepted cannot be refused any more; a reset before the first
            # byte is what the client sees of either.
            reset(request)
    return Gone()
