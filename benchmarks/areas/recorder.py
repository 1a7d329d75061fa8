"""`sim record` between a client and the exchange: requests, calls and messages of a stream through
it, by the processor time of exchange and recorder together. The floor is that of the exchange on
the direct path.
"""

from __future__ import annotations

import http.client
import json
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import grpc

from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.credentials import token
from benchmarks.figures import Figure
from benchmarks.serving import processor_s, running, served

CALLS = 1_000
LISTS = 100
BOOK = "/exchange.v1.OrderBookAPI/GetOrderBook"
TALK = "/exchange.v1.MarketDataSubscriptionAPI/BiDirectionalStreamMarketData"
_EACH = 3  # messages of the service that a subscription and its end bring


class _Row(NamedTuple):
    """Work of a client, at the address of a plane; returns how many answers came."""

    name: str
    plane: str
    work: Callable[[str], int]


def figures(rounds: int) -> list[Figure]:
    """Each row direct and through the recorder."""
    with served(SCENARIO) as ready, _recorder(ready) as through:
        metadata = (("authorization", f"Bearer {token(ready)}"),)
        rows = [
            _Row("gateway GET book", "gateway", _gets(f"/v1/markets/{SYMBOL}/book", CALLS)),
            _Row("a page of 20 markets", "gateway", _gets("/v1/markets?limit=20", LISTS)),
            _Row("gRPC book", "grpc", _rpcs(metadata)),
            _Row("gRPC stream message", "grpc", _messages(metadata)),
        ]
        return [_figure(row, ready, through, rounds) for row in rows]


def _figure(row: _Row, ready: dict[str, Any], through: dict[str, Any], rounds: int) -> Figure:
    floor, sandbox, added = [], [], []
    exchange, recorder = ready["pid"], through["pid"]
    for _ in range(rounds):
        begin = processor_s(exchange)
        count = row.work(ready[row.plane])
        floor.append(count / (processor_s(exchange) - begin))
        begin, between = processor_s(exchange), processor_s(recorder)
        count = row.work(through[row.plane])
        spent = processor_s(recorder) - between
        sandbox.append(count / (processor_s(exchange) - begin + spent))
        added.append(spent / count * 1_000)
    note = f"{median(added):.2f} ms of the recorder each"
    return Figure(f"{row.name} through the recorder", "/s", sandbox, floor, "direct", None, note)


def _gets(path: str, count: int) -> Callable[[str], int]:
    def run(address: str) -> int:
        url = urlsplit(address)
        assert url.hostname is not None
        client = http.client.HTTPConnection(url.hostname, url.port)
        for _ in range(count):
            client.request("GET", path)
            answer = client.getresponse()
            answer.read()
            assert answer.status == 200
        return count

    return run


def _rpcs(metadata: tuple[tuple[str, str], ...]) -> Callable[[str], int]:
    request = b"\x0a" + bytes([len(SYMBOL)]) + SYMBOL.encode()

    def run(target: str) -> int:
        with grpc.insecure_channel(target) as opened:
            call: Any = opened.unary_unary(BOOK, None, None)
            for _ in range(CALLS):
                call(request, metadata=metadata)
        return CALLS

    return run


def _messages(metadata: tuple[tuple[str, str], ...]) -> Callable[[str], int]:
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    encode = protobuf_encoder(wire.BiDirectionalStreamMarketDataRequest)
    asked = (
        wire.BiDirectionalStreamMarketDataRequest(
            subscribe=wire.SubscribeCommand(symbols=[SYMBOL])
        ),
        wire.BiDirectionalStreamMarketDataRequest(
            unsubscribe=wire.UnsubscribeCommand(symbols=[SYMBOL])
        ),
    )
    begin, end = map(encode, asked)

    def run(target: str) -> int:
        output: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        with grpc.insecure_channel(target) as opened:
            talk: Any = opened.stream_stream(TALK, None, None)
            call = talk(iter(output.get, None), metadata=metadata)
            for _ in range(CALLS // _EACH):
                output.put(begin)
                next(call), next(call)  # that it is subscribed, and the book
                output.put(end)
                next(call)
            output.put(None)
            call.cancel()
        return CALLS // _EACH * _EACH

    return run


@contextmanager
def _recorder(ready: dict[str, Any]) -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "ready.json"
        command = [sys.executable, "-m", "sim", "record", "--to", f"{folder}/session.ndjson"]
        command += ["--gateway", ready["gateway"], "--grpc", ready["grpc"], "--port-base", "0"]
        command += ["--ready-file", str(file)]
        with running(command, stdout=subprocess.DEVNULL) as process:
            while not file.exists():
                assert process.poll() is None, "the recorder did not start"
                time.sleep(0.05)
            yield json.loads(file.read_text()) | {"pid": process.pid}
