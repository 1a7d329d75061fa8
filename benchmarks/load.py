"""A cheap load generator: raw HTTP/1.1 over keep-alive connections, in a process of its own.

`drive` sends prepared requests one after another on each connection and counts whole answers.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Iterator
from pathlib import Path


class _Connection(asyncio.Protocol):
    def __init__(self, requests: Iterator[bytes], counter: list[int]) -> None:
        self._requests = requests
        self._counter = counter
        self._buffer = b""
        self._transport: asyncio.Transport
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.write(next(self._requests))

    def connection_lost(self, problem: Exception | None) -> None:
        if not self.lost.done():
            self.lost.set_result(None)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        head = buffer.find(b"\r\n\r\n")
        if head < 0:
            self._buffer = buffer
            return
        lower = buffer[:head].lower()
        at = lower.find(b"content-length:")
        end = lower.find(b"\r\n", at)
        size = int(lower[at + 15 : end if end > 0 else head])
        if len(buffer) < head + 4 + size:
            self._buffer = buffer
            return
        self._buffer = b""
        self._counter[0] += 1
        if buffer[9:10] != b"2":
            self._counter[1] += 1
        if buffer.startswith(b"HTTP/1.0") or b"connection: close" in lower:
            self._transport.close()
        else:
            self._transport.write(next(self._requests))


async def drive(
    host: str, port: int, requests: list[bytes], seconds: float, connections: int
) -> tuple[int, int]:
    """(answers, answers that were no success) over a stretch of real time."""
    loop = asyncio.get_running_loop()
    counter = [0, 0]
    endless = itertools.cycle(requests)
    until = loop.time() + seconds

    async def keep_asking() -> None:
        """One connection after another: some servers close each after its answer."""
        while loop.time() < until:
            transport, connection = await loop.create_connection(
                lambda: _Connection(endless, counter), host, port
            )
            done, _ = await asyncio.wait([connection.lost], timeout=max(0.0, until - loop.time()))
            if not done:
                transport.abort()

    await asyncio.gather(*(keep_asking() for _ in range(connections)))
    return counter[0], counter[1]


def main() -> None:
    """`python -m benchmarks.load HOST PORT FILE SECONDS CONNECTIONS`: FILE holds length-prefixed
    requests; prints JSON.
    """
    host, port, file, seconds, connections = sys.argv[1:]
    raw = Path(file).read_bytes()
    requests = []
    while raw:
        size = int.from_bytes(raw[:4], "big")
        requests.append(raw[4 : 4 + size])
        raw = raw[4 + size :]
    answers, failed = asyncio.run(
        drive(host, int(port), requests, float(seconds), int(connections))
    )
    print(json.dumps({"answers": answers, "failed": failed}))


if __name__ == "__main__":
    main()
