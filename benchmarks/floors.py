"""The floors: the least that a server on the same stack can do.

`python -m benchmarks.floors KIND FILE` prints its port and serves until it is stopped:

- get: an aiohttp application whose one handler returns the bytes of FILE;
- post: one that reads JSON, verifies an Ed25519 signature and answers the bytes of FILE;
- fanout: one whose POST sends the bytes of FILE to every WebSocket on the same path;
- grpc: a grpc.aio server. Its unary method returns the bytes of FILE, its stream method sends them
  without end, and its method Push sends them once to every stream of its method Follow.
"""

from __future__ import annotations

import asyncio
import base64
import sys
from pathlib import Path
from typing import Any

import msgspec


async def _http(kind: str, answer: bytes) -> int:
    from aiohttp import WSMsgType, web
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    async def get(request: web.Request) -> web.Response:
        return web.Response(body=answer, content_type="application/json")

    keys: dict[str, Ed25519PublicKey] = {}

    async def post(request: web.Request) -> web.Response:
        headers = request.headers
        msgspec.json.decode(await request.read())
        public = headers["X-Public-Key"]
        key = keys.get(public) or keys.setdefault(
            public, Ed25519PublicKey.from_public_bytes(base64.b64decode(public))
        )
        key.verify(
            base64.b64decode(headers["X-PM-Signature"]),
            f"{headers['X-PM-Timestamp']}POST{request.path}".encode(),
        )
        return web.Response(body=answer, content_type="application/json")

    listeners: dict[str, set[web.WebSocketResponse]] = {}

    async def listen(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(compress=False)
        await socket.prepare(request)
        listeners.setdefault(request.path, set()).add(socket)
        async for _ in socket:
            pass
        listeners[request.path].discard(socket)
        return socket

    async def tell(request: web.Request) -> web.Response:
        await request.read()
        for socket in listeners.get(request.path, ()):
            await socket.send_frame(answer, WSMsgType.TEXT)
        return web.Response(body=b"{}", content_type="application/json")

    fanout = kind == "fanout"
    app = web.Application()
    app.router.add_get("/{tail:.*}", listen if fanout else get)
    app.router.add_post("/{tail:.*}", tell if fanout else post)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    return int(runner.addresses[0][1])


async def _grpc(answer: bytes) -> int:
    import grpc

    async def unary(request: bytes, context: Any) -> bytes:
        return answer

    async def stream(request: bytes, context: Any) -> Any:
        while True:
            yield answer

    followers: list[asyncio.Queue[bytes]] = []

    async def push(request: bytes, context: Any) -> bytes:
        for follower in followers:
            follower.put_nowait(answer)
        return b""

    async def follow(request: bytes, context: Any) -> Any:
        queue: asyncio.Queue[bytes] = asyncio.Queue()
        followers.append(queue)
        yield answer
        while True:
            yield await queue.get()

    server = grpc.aio.server()
    handlers = {
        "Unary": grpc.unary_unary_rpc_method_handler(unary),
        "Stream": grpc.unary_stream_rpc_method_handler(stream),
        "Push": grpc.unary_unary_rpc_method_handler(push),
        "Follow": grpc.unary_stream_rpc_method_handler(follow),
    }
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("floor.Floor", handlers),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    _keep.append(server)
    return int(port)


_keep: list[object] = []


async def main() -> None:
    kind, file = sys.argv[1:]
    answer = Path(file).read_bytes()
    port = await (_grpc(answer) if kind == "grpc" else _http(kind, answer))
    print(port, flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    try:
        import uvloop

        uvloop.run(main())
    except ImportError:
        asyncio.run(main())
