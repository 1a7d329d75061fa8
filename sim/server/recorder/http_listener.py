"""Relays HTTP between a client and a service and records each call when its answer is complete.

Heads and bodies keep their spelling and order. The headers of one connection (`Host`, `Connection`,
transfer coding) are set on each side separately. An answer is relayed piece by piece, so a slow or
broken answer is slow or broken for the client too.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable

from aiohttp import ClientError, ClientResponse, web

from sim.evidence.recording.files import RecordedMessage, wall_clock
from sim.evidence.recording.writer import BODY_MAX
from sim.kernel.instants import Instant
from sim.server.http.body import send_continue
from sim.server.http.response import HttpError
from sim.server.http.server import HttpServer, origin_form
from sim.server.recorder.socket_relay import is_upgrade, relay_socket
from sim.server.recorder.upstream import Upstream, cut, decoded_headers, end_to_end, outgoing

log = logging.getLogger("sim.evidence.recording")


class _RelayedResponse(web.StreamResponse):
    """An answer with the headers of the service and none that aiohttp adds."""

    def __init__(self, answer: ClientResponse) -> None:
        passed = end_to_end(answer.raw_headers)
        super().__init__(status=answer.status, reason=answer.reason, headers=passed)
        self._given = {name.lower() for name in passed}

    async def _prepare_headers(self) -> None:
        await super()._prepare_headers()
        for name in ("Server", "Date", "Content-Type"):
            if name.lower() not in self._given:
                self.headers.popall(name, None)


class HttpListener:
    """Handles the requests of one plane."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self.server = HttpServer(self._handle, wall_clock, cancels=False)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        upstream = self._upstream
        if not origin_form(request.raw_path).startswith("/"):
            text = f"the recorder relays requests with a path, not {request.raw_path[:80]}"
            return HttpError(400, 3, text, close=True).response(wall_clock())
        peer = request.transport.get_extra_info("peername") if request.transport else None
        headers = {name.lower(): value for name, value in decoded_headers(request.raw_headers)}
        client = upstream.writer.client(headers, f"{upstream.plane} {peer}")
        if is_upgrade(request):
            return await relay_socket(upstream, request, client)
        return await _Call(upstream, request, client).pass_on()


class _Call:
    """One relayed request and its answer."""

    def __init__(self, upstream: Upstream, request: web.BaseRequest, client: str) -> None:
        self._upstream, self._request, self._client = upstream, request, client
        self._began: Instant = wall_clock()
        self._sent, self._got = bytearray(), bytearray()
        self._written = False

    async def pass_on(self) -> web.StreamResponse:
        """Relay the request and its answer."""
        upstream, request = self._upstream, self._request
        has_body = request.body_exists
        try:
            answer = await upstream.session.request(
                request.method,
                upstream.url(request),
                headers=outgoing(request),
                data=self._body() if has_body else None,
                allow_redirects=False,
            )
        except (ClientError, OSError) as error:
            self._record(lambda: None, broken=True)
            log.warning("%s did not answer: %s", upstream.address, error)
            return cut(request)
        async with answer:
            return await self._relay_answer(answer)

    async def _body(self) -> AsyncIterator[bytes]:
        send_continue(self._request)
        async for piece in self._request.content.iter_any():
            _keep(self._sent, piece)
            yield piece

    async def _relay_answer(self, answer: ClientResponse) -> web.StreamResponse:
        """Relay an answer. It is recorded before its last bytes are sent, so the file contains
        every answer that a client has received completely.
        """
        passed = _RelayedResponse(answer)
        # With the head, if it has already arrived; a head is not delayed for its body.
        passed._send_headers_immediately = not answer.content.total_bytes
        left = answer.content_length
        try:
            await passed.prepare(self._request)
            async for piece in answer.content.iter_any():
                _keep(self._got, piece)
                left = None if left is None else left - len(piece)
                if left == 0:
                    self._write(answer)
                await passed.write(piece)
            self._write(answer)
            await passed.write_eof()
        except (ClientError, OSError) as error:
            log.info("%s broke off: %s", self._request.path, error)
            cut(self._request)
        finally:
            self._write(answer, broken=True)
        return passed

    def _write(self, answer: ClientResponse, *, broken: bool = False) -> None:
        """Record the call, unless that was done before."""
        if self._written:
            return
        kind, writer = answer.headers.get("Content-Type", ""), self._upstream.writer
        headers, body = decoded_headers(answer.raw_headers), bytes(self._got)
        self._record(lambda: writer.answer(answer.status, headers, body, kind), broken=broken)

    def _record(self, answer: Callable[[], RecordedMessage | None], *, broken: bool) -> None:
        self._written = True
        request, writer = self._request, self._upstream.writer
        path, _, query = origin_form(request.raw_path).partition("?")
        kind = request.headers.get("Content-Type", "")
        headers, body = decoded_headers(request.raw_headers), bytes(self._sent)
        asked, got = writer.settled(
            lambda: (writer.request(request.method, path, query, headers, body, kind), answer())
        )
        writer.call(self._upstream.plane, self._began, self._client, asked, got, cut=broken)


def _keep(kept: bytearray, piece: bytes) -> None:
    """Keep a piece for the recording, up to a little over the limit."""
    if len(kept) <= BODY_MAX:
        kept += piece
