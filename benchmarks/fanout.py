"""One order in, a book update out to a hundred WebSocket clients, against a bare aiohttp server that sends the same bytes to as many.

`python -m benchmarks.fanout` is the client of both: it reads its orders as JSON from stdin and prints the rate.
"""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import sys
import time
from typing import Any

from benchmarks.credentials import token
from benchmarks.figures import Figure, Goal
from benchmarks.http import SCENARIO
from benchmarks.serving import HERE, floor, port_of, processor_s, request, served

CLIENTS = 100
POSTS = 200
MARKETS = "/v1/ws/markets"
SUBSCRIBE = '{"subscribe":{"requestId":"r","subscriptionType":1,"marketSlugs":["bench-orders"]}}'
ORDER = b'{"type":"ORDER_TYPE_LIMIT","side":"SIDE_BUY","symbol":"bench-orders","orderQty":"1","price":"1","timeInForce":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'


def figures(rounds: int) -> list[Figure]:
    """Frames a second that reach the clients."""
    ours: list[float] = []
    bare: list[float] = []
    with served(SCENARIO) as ready:
        firm = ready["firms"][0]
        headers = {"Authorization": f"Bearer {token(ready)}", "x-participant-id": firm["users"][0]}
        post = request("POST", "/v1/trading/orders", ORDER, **headers)

        def measure() -> tuple[float, bytes]:
            listen, to = port_of(ready["retail"]), port_of(ready["exchange"])
            return _run(ready["pid"], listen, _signed(ready["api_keys"][0]), SUBSCRIBE, to, post)

        frame = measure()[1]
        with floor("fanout", frame) as other:
            for _ in range(rounds):
                ours.append(measure()[0])
                bare.append(_run(other.pid, other.port, {}, "", other.port, request("POST", "/", ORDER))[0])
    note = f"{CLIENTS} clients, frames of {len(frame)} bytes"
    return [Figure("order in, book update out to 100 WebSockets", "/s", ours, bare, "bare aiohttp", Goal(0.7), note)]


def _signed(key: dict[str, str]) -> dict[str, str]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signer = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key["secret_key"])[:32])
    stamp = str(time.time_ns() // 1_000_000)
    signature = base64.b64encode(signer.sign(f"{stamp}GET{MARKETS}".encode())).decode()
    return {"X-PM-Access-Key": key["key_id"], "X-PM-Timestamp": stamp, "X-PM-Signature": signature}


def _run(server: int, listen: int, headers: dict[str, str], subscribe: str, to: int, post: bytes) -> tuple[float, bytes]:
    """Frames per second of a server's processor time, and the last frame."""
    upgrade = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA=="}
    handshake = request("GET", MARKETS, **upgrade, **headers)
    orders = {"server": server, "listen": listen, "handshake": handshake.decode(), "subscribe": subscribe, "to": to, "post": post.decode()}
    done = subprocess.run([sys.executable, "-m", "benchmarks.fanout"], cwd=HERE.parent, input=json.dumps(orders).encode(), capture_output=True, check=True)
    found = json.loads(done.stdout)
    return float(found["rate"]), base64.b64decode(found["frame"])


# ---- the client


class _Listener(asyncio.Protocol):
    """Counts the frames of one WebSocket."""

    def __init__(self, handshake: bytes, subscribe: bytes, client: _Client) -> None:
        self._handshake, self._subscribe, self._client = handshake, subscribe, client
        self._buffer = b""
        self._upgraded = False
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._handshake)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._upgraded:
            head, found, rest = self._buffer.partition(b"\r\n\r\n")
            if not found:
                return
            assert head.startswith(b"HTTP/1.1 101 "), head
            self._upgraded, self._buffer = True, rest
            if self._subscribe:
                self._transport.write(self._subscribe)
            self._client.opened += 1
        self._frames()

    def _frames(self) -> None:
        buffer, at = self._buffer, 0
        while len(buffer) >= at + 4:
            size, begin = buffer[at + 1], at + 2
            if size == 126:
                size, begin = int.from_bytes(buffer[at + 2 : at + 4], "big"), at + 4
            if len(buffer) < begin + size:
                break
            at = begin + size
            self._client.frames += 1
            self._client.last = (buffer, begin, at)
        self._buffer = buffer[at:]


class _Client:
    """All listeners and the one who posts."""

    def __init__(self, orders: dict[str, Any]) -> None:
        self._orders = orders
        self.opened = self.frames = 0
        self.last = (b"", 0, 0)

    async def run(self) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        text = self._orders["subscribe"].encode()
        # Masked with zeros, which is what the text is anyway.
        subscribe = bytes((0x81, 0x80 | len(text))) + bytes(4) + text if text else b""
        handshake = self._orders["handshake"].encode()
        for _ in range(CLIENTS):
            await loop.create_connection(lambda: _Listener(handshake, subscribe, self), "127.0.0.1", self._orders["listen"])
        await self._reached(lambda: self.opened == CLIENTS and (not text or self.frames >= CLIENTS))
        await asyncio.sleep(0.2)
        reader, writer = await asyncio.open_connection("127.0.0.1", self._orders["to"])
        before, start = self.frames, processor_s(self._orders["server"])
        for _ in range(POSTS):
            writer.write(self._orders["post"].encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0]))
        await self._reached(lambda: self.frames - before >= CLIENTS * POSTS)
        took = processor_s(self._orders["server"]) - start
        assert self.frames - before == CLIENTS * POSTS, "a frame each, no more"
        buffer, begin, end = self.last
        return {"rate": CLIENTS * POSTS / took, "frame": base64.b64encode(buffer[begin:end]).decode()}

    async def _reached(self, condition: Any, within_s: float = 30.0) -> None:
        until = time.perf_counter() + within_s
        while not condition():
            assert time.perf_counter() < until, f"{self.opened} sockets, {self.frames} frames"
            await asyncio.sleep(0.0005)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_Client(json.load(sys.stdin)).run())))
