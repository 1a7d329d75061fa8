"""`sim record` between a client and the exchange: requests and calls one after the other through
it. The floor is the direct path.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlsplit

import grpc

from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.credentials import token
from benchmarks.figures import Figure
from benchmarks.serving import running, served

CALLS = 1_000
BOOK = "/exchange.v1.OrderBookAPI/GetOrderBook"


def figures(rounds: int) -> list[Figure]:
    """A GET and a unary gRPC call, direct and through the recorder."""
    with served(SCENARIO) as ready, _recorder(ready) as through:
        metadata = (("authorization", f"Bearer {token(ready)}"),)
        rows = [
            ("gateway GET book", _gets(ready["gateway"]), _gets(through["gateway"])),
            ("gRPC book", _rpcs(ready["grpc"], metadata), _rpcs(through["grpc"], metadata)),
        ]
        return [_figure(*row, rounds) for row in rows]


def _figure(
    name: str, direct: Callable[[], float], through: Callable[[], float], rounds: int
) -> Figure:
    floor, ours = [], []
    for _ in range(rounds):
        floor.append(direct())
        ours.append(through())
    added_ms = median(1_000 / a - 1_000 / b for a, b in zip(ours, floor, strict=True))
    note = f"{added_ms:.2f} ms a call more"
    return Figure(f"{name} through the recorder", "/s", ours, floor, "direct", None, note)


def _gets(address: str) -> Callable[[], float]:
    url = urlsplit(address)

    def run() -> float:
        assert url.hostname is not None
        client = http.client.HTTPConnection(url.hostname, url.port)
        began = time.perf_counter()
        for _ in range(CALLS):
            client.request("GET", f"/v1/markets/{SYMBOL}/book")
            answer = client.getresponse()
            answer.read()
            assert answer.status == 200
        return CALLS / (time.perf_counter() - began)

    return run


def _rpcs(target: str, metadata: tuple[tuple[str, str], ...]) -> Callable[[], float]:
    request = b"\x0a" + bytes([len(SYMBOL)]) + SYMBOL.encode()

    def run() -> float:
        with grpc.insecure_channel(target) as opened:
            channel: Any = opened  # the stubs want serializers; bytes need none
            call = channel.unary_unary(BOOK)
            call(request, metadata=metadata)
            began = time.perf_counter()
            for _ in range(CALLS):
                call(request, metadata=metadata)
            return CALLS / (time.perf_counter() - began)

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
            yield json.loads(file.read_text())
