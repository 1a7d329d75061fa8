"""Relays WebSockets between a client and a service: the handshake keeps its headers, a refused
handshake is answered as by the service, and messages, pings and closes pass in both directions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeAlias

from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    ClientWebSocketResponse,
    WSMsgType,
    web,
)
from multidict import CIMultiDict

from sim.evidence.recording.files import wall_clock
from sim.server.recorder.upstream import Upstream, cut, decoded_headers, end_to_end, outgoing


class SocketEnd(NamedTuple):
    """Which side closed a socket, and how; without a code the connection broke."""

    sender: str
    code: int | None
    reason: str

    def closed(self) -> dict[str, Any]:
        """Return the end as a recording holds it."""
        return {"from": self.sender, "code": self.code, "reason": self.reason}


Socket: TypeAlias = ClientWebSocketResponse | web.WebSocketResponse
MESSAGE_MAX = 0  # no limit, because the service has its own


def is_upgrade(request: web.BaseRequest) -> bool:
    """Whether a request asks for a WebSocket."""
    return request.headers.get("Upgrade", "").lower() == "websocket"


async def relay_socket(
    upstream: Upstream, request: web.BaseRequest, client: str
) -> web.StreamResponse:
    """Relay one socket from handshake to close."""
    refused: list[tuple[ClientResponse, bytes]] = []

    class Kept(ClientResponse):
        """Keeps the answer to a refused handshake, which aiohttp turns into an error."""

        async def start(self, connection: Any) -> ClientResponse:
            await super().start(connection)
            if self.status != 101:
                refused.append((self, await self.read()))
            return self

    began = wall_clock()
    asked = request.headers.get("Sec-WebSocket-Protocol", "")
    session = ClientSession(
        connector=upstream.session.connector,
        connector_owner=False,
        response_class=Kept,
        trust_env=upstream.session.trust_env,
        skip_auto_headers=("User-Agent",),
    )
    async with session:
        try:
            there = await session.ws_connect(
                upstream.url(request),
                headers=_handshake(request),
                protocols=[protocol.strip() for protocol in asked.split(",")] if asked else (),
                autoping=False,
                autoclose=False,
                max_msg_size=MESSAGE_MAX,
            )
        except (ClientError, OSError):
            return _refusal(upstream, request, client, began, refused)
        return await _relay(upstream, request, client, there)


def _handshake(request: web.BaseRequest) -> CIMultiDict[str]:
    headers = outgoing(request)
    for name in [name for name in headers if name.lower().startswith("sec-websocket-")]:
        headers.popall(name, None)
    return headers


def _refusal(
    upstream: Upstream,
    request: web.BaseRequest,
    client: str,
    began: int,
    refused: list[tuple[ClientResponse, bytes]],
) -> web.StreamResponse:
    writer = upstream.writer
    path, _, query = request.raw_path.partition("?")
    asked = writer.request(request.method, path, query, decoded_headers(request.raw_headers), b"")
    if not refused:
        writer.call(upstream.plane, began, client, asked, None, cut=True)
        return cut(request)
    answer, body = refused[0]
    kind = answer.headers.get("Content-Type", "")
    number = writer.answer(answer.status, decoded_headers(answer.raw_headers), body, kind)
    writer.call(upstream.plane, began, client, asked, number)
    passed = end_to_end(answer.raw_headers, "content-length")
    return web.Response(status=answer.status, reason=answer.reason, headers=passed, body=body)


async def _relay(
    upstream: Upstream, request: web.BaseRequest, client: str, there: ClientWebSocketResponse
) -> web.StreamResponse:
    writer, plane = upstream.writer, upstream.plane
    here = web.WebSocketResponse(
        autoping=False,
        autoclose=False,
        compress=False,
        max_msg_size=MESSAGE_MAX,
        protocols=(there.protocol,) if there.protocol else (),
    )
    await here.prepare(request)
    path, _, query = request.raw_path.partition("?")
    number = writer.request("GET", path, query, decoded_headers(request.raw_headers), b"")
    opened = {"path": number.path, "request": {"query": number.query, "headers": number.headers}}
    stream = writer.open(plane, client, opened)

    def keep(sender: Literal["client", "service"], body: bytes) -> None:
        writer.frame(plane, client, stream, writer.text_frame(sender, body))

    ended: list[SocketEnd] = []
    pumps = [
        asyncio.ensure_future(_pump("client", here, there, keep, ended)),
        asyncio.ensure_future(_pump("service", there, here, keep, ended)),
    ]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        writer.close(plane, client, stream, ended[0].closed())
        if ended[0].code is None:
            cut(request)
    finally:
        for pump in pumps:
            pump.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        await there.close()
    return here


async def _pump(
    sender: Literal["client", "service"],
    source: Socket,
    target: Socket,
    keep: Callable[[Literal["client", "service"], bytes], None],
    ended: list[SocketEnd],
) -> None:
    """Relay messages until one side closes. The first side that closes is noted in `ended`."""
    try:
        while True:
            message = await source.receive()
            if message.type is WSMsgType.TEXT:
                keep(sender, message.data.encode())
                await target.send_str(message.data)
            elif message.type is WSMsgType.BINARY:
                keep(sender, message.data)
                await target.send_bytes(message.data)
            elif message.type is WSMsgType.PING:
                await target.ping(message.data)
            elif message.type is WSMsgType.PONG:
                await target.pong(message.data)
            elif message.type is WSMsgType.CLOSE:
                code, reason = message.data or 1000, str(message.extra or "")
                ended.append(SocketEnd(sender, code, reason))
                await target.close(code=code, message=reason.encode())
                await source.close(code=code)
                return
            else:
                break
    except (ClientError, OSError):
        pass
    ended.append(SocketEnd(sender, None, "the connection broke"))
