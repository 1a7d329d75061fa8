"""One order in, book updates out to many WebSocket clients.

Two crowds are measured: a hundred clients of one market, and a thousand clients of a hundred
markets. The floor is a bare aiohttp server that sends the same bytes to as many clients. Every
client checks that each book has exactly one order more than the one before, so a frame that is
lost, doubled or reordered ends the measurement.

`python -m benchmarks.areas.fanout` is the client process of both: it reads its task as JSON from
standard input and prints the rate.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
import subprocess
import sys
import time
from functools import partial
from typing import Any, NamedTuple

from benchmarks.areas.http import SCENARIO
from benchmarks.credentials import token
from benchmarks.figures import Figure, Goal
from benchmarks.serving import (
    HERE,
    control,
    floor,
    port_of,
    processor_s,
    request,
    resident_kb,
    served,
)

MARKETS = "/v1/ws/markets"
ROOM, CROWD = 100, 1_000  # clients
FRAMES = 20_000  # in a round
SYMBOLS = [f"crowd-{number}" for number in range(100)]


class Group(NamedTuple):
    """Clients who follow the same market: how they come in, what they ask for, and the order that
    moves their book.
    """

    handshake: str
    subscribe: str
    post: str


def figures(rounds: int) -> list[Figure]:
    """Frames a second that reach the clients, and what the server keeps of each."""
    with served(SCENARIO) as ready:
        for symbol in SYMBOLS:
            control(ready, "/instruments", {"symbol": symbol, "tick_size": "0.01", "state": "OPEN"})
        room, _ = _figure(
            ready,
            ["bench-orders"],
            ROOM,
            rounds,
            "order in, book update out to 100 WebSockets",
            Goal(0.7),
        )
        crowd, kept = _figure(
            ready,
            SYMBOLS,
            CROWD,
            rounds,
            "orders in 100 markets, book updates out to 1,000 WebSockets",
            None,
        )
    orders = CROWD // len(SYMBOLS)
    note = f"in {rounds * FRAMES:,} updates; one in {orders} is a resting order, which takes 2.4 kB"
    return [
        room,
        crowd,
        Figure(
            "memory kept per book update to 1,000 WebSockets", "bytes", [kept], [], "", None, note
        ),
    ]


def _figure(
    ready: dict[str, Any],
    symbols: list[str],
    clients: int,
    rounds: int,
    work: str,
    goal: Goal | None,
) -> tuple[Figure, float]:
    """A row, and the bytes of memory that the server kept per frame after the first round."""
    firm, key = ready["firms"][0], ready["api_keys"][0]
    bearer = {"Authorization": f"Bearer {token(ready)}", "x-participant-id": firm["users"][0]}
    sandbox: list[float] = []
    bare: list[float] = []

    def measure() -> tuple[float, bytes]:
        door = _handshake(MARKETS, _signed(key))
        groups = [
            Group(
                door,
                _subscribe(symbol),
                request("POST", "/v1/trading/orders", _order(symbol), **bearer).decode(),
            )
            for symbol in symbols
        ]
        return _run(
            ready["pid"], port_of(ready["retail"]), port_of(ready["exchange"]), groups, clients
        )

    frame = measure()[1]
    before = resident_kb(ready["pid"])
    others = [
        Group(
            _handshake(f"/{symbol}", {}), "", request("POST", f"/{symbol}", _order(symbol)).decode()
        )
        for symbol in symbols
    ]
    with floor("fanout", frame) as other:
        for _ in range(rounds):
            sandbox.append(measure()[0])
            bare.append(_run(other.pid, other.port, other.port, others, clients)[0])
    kept = (resident_kb(ready["pid"]) - before) * 1024 / (rounds * FRAMES)
    return (
        Figure(
            work,
            "/s",
            sandbox,
            bare,
            "bare aiohttp",
            goal,
            f"{clients:,} clients, frames of {len(frame)} bytes",
        ),
        kept,
    )


def _subscribe(symbol: str) -> str:
    return f'{{"subscribe":{{"requestId":"r","subscriptionType":1,"marketSlugs":["{symbol}"]}}}}'


def _order(symbol: str) -> bytes:
    terms = '"orderQty":"1","price":"1","timeInForce":"TIME_IN_FORCE_GOOD_TILL_CANCEL"'
    return f'{{"type":"ORDER_TYPE_LIMIT","side":"SIDE_BUY","symbol":"{symbol}",{terms}}}'.encode()


def _handshake(path: str, headers: dict[str, str]) -> str:
    upgrade: dict[str, Any] = {
        "Upgrade": "websocket",
        "Connection": "Upgrade",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    return request("GET", path, **(upgrade | headers)).decode()


def _signed(key: dict[str, str]) -> dict[str, str]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    signer = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key["secret_key"])[:32])
    stamp = str(time.time_ns() // 1_000_000)
    signature = base64.b64encode(signer.sign(f"{stamp}GET{MARKETS}".encode())).decode()
    return {"X-PM-Access-Key": key["key_id"], "X-PM-Timestamp": stamp, "X-PM-Signature": signature}


def _run(
    server: int, listen: int, to: int, groups: list[Group], clients: int
) -> tuple[float, bytes]:
    """Frames per second of a server's processor time, and the last frame."""
    orders = {"server": server, "listen": listen, "to": to, "groups": groups, "clients": clients}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.areas.fanout"],
        cwd=HERE.parent,
        input=json.dumps(orders).encode(),
        capture_output=True,
        check=True,
    )
    result = json.loads(done.stdout)
    return float(result["rate"]), base64.b64decode(result["frame"])


# ---- the client


_CONTRACTS = re.compile(rb'"qty":"(\d+)')


class _Listener(asyncio.Protocol):
    """Counts the frames of one WebSocket, and looks whether each shows one order more than the one
    before.
    """

    def __init__(self, handshake: bytes, subscribe: bytes, client: _Client) -> None:
        self._handshake, self._subscribe, self._client = handshake, subscribe, client
        self._buffer = b""
        self._upgraded = False
        self._contracts = -1
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(self._handshake)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._upgraded:
            head, result, rest = self._buffer.partition(b"\r\n\r\n")
            if not result:
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
            if self._subscribe:
                result = _CONTRACTS.search(buffer, begin, at)
                contracts = int(result[1]) if result is not None else 0
                assert self._contracts in (-1, contracts - 1), (
                    f"{contracts} contracts after {self._contracts}"
                )
                self._contracts = contracts
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
        groups, clients = (
            [Group(*group) for group in self._orders["groups"]],
            self._orders["clients"],
        )
        each = clients // len(groups)
        for group in groups:
            text = group.subscribe.encode()
            # Masked with zeros, which is what the text is anyway.
            subscribe = bytes((0x81, 0x80 | len(text))) + bytes(4) + text if text else b""
            handshake = group.handshake.encode()
            for _ in range(each):
                listener = partial(_Listener, handshake, subscribe, self)
                await loop.create_connection(listener, "127.0.0.1", self._orders["listen"])
        await self._reached(
            lambda: self.opened == clients and (not groups[0].subscribe or self.frames >= clients)
        )
        await asyncio.sleep(0.2)
        reader, writer = await asyncio.open_connection("127.0.0.1", self._orders["to"])
        before, start = self.frames, processor_s(self._orders["server"])
        for number in range(FRAMES // each):
            writer.write(groups[number % len(groups)].post.encode())
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            await reader.readexactly(
                int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
            )
        await self._reached(lambda: self.frames - before >= FRAMES)
        took = processor_s(self._orders["server"]) - start
        assert self.frames - before == FRAMES, "a frame each, no more"
        buffer, begin, end = self.last
        return {"rate": FRAMES / took, "frame": base64.b64encode(buffer[begin:end]).decode()}

    async def _reached(self, condition: Any, within_s: float = 30.0) -> None:
        until = time.perf_counter() + within_s
        while not condition():
            assert time.perf_counter() < until, f"{self.opened} sockets, {self.frames} frames"
            await asyncio.sleep(0.0005)


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_Client(json.load(sys.stdin)).run())))
