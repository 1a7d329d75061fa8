"""GET book and POST order over HTTP against bare aiohttp handlers that answer the same bytes."""

from __future__ import annotations

import base64
import time
import urllib.request
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from benchmarks.figures import Figure, Goal
from benchmarks.serving import Server, floor, load, port_of, request, served

SCENARIO = str(Path(__file__).parent / "bench.yaml")
SYMBOL = "bench-book"


def figures(rounds: int) -> list[Figure]:
    """The HTTP rows."""
    with served(SCENARIO) as ready:
        return [_book(ready, rounds), _exchange_book(ready, rounds), _order(ready, rounds)]


def fetched(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as answer:
        return bytes(answer.read())


def pair(
    sandbox: Server, other: Server, requests: list[bytes], rounds: int
) -> tuple[list[float], list[float]]:
    figures: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for server, result in ((sandbox, figures[0]), (other, figures[1])):
            result.append(load(server, requests))
    return figures


def _book(ready: dict[str, Any], rounds: int) -> Figure:
    path = f"/v1/markets/{SYMBOL}/book"
    answer = fetched(ready["gateway"] + path)
    with floor("get", answer) as other:
        sandbox, bare = pair(
            Server(port_of(ready["gateway"]), ready["pid"]), other, [request("GET", path)], rounds
        )
    return Figure(
        "gateway GET book, 10 levels",
        "/s",
        sandbox,
        bare,
        "bare aiohttp",
        Goal(0.85),
        f"{len(answer)} bytes",
    )


def _exchange_book(ready: dict[str, Any], rounds: int) -> Figure:
    from benchmarks.credentials import token

    path = f"/v1/orderbook/{SYMBOL}?depth=10"
    bearer = f"Bearer {token(ready)}"
    answer = fetched(ready["exchange"] + path, Authorization=bearer)
    with floor("get", answer) as other:
        sandbox, bare = pair(
            Server(port_of(ready["exchange"]), ready["pid"]),
            other,
            [request("GET", path, Authorization=bearer)],
            rounds,
        )
    return Figure(
        "exchange GET book, bearer token", "/s", sandbox, bare, "bare aiohttp", Goal(0.75)
    )


def _order(ready: dict[str, Any], rounds: int) -> Figure:
    key = ready["api_keys"][0]
    signer = Ed25519PrivateKey.from_private_bytes(base64.b64decode(key["secret_key"])[:32])
    public = base64.b64encode(signer.public_key().public_bytes_raw()).decode()
    body = (
        b'{"marketSlug":"bench-orders","intent":"ORDER_INTENT_BUY_LONG","type":"ORDER_TYPE_LIMIT","price":{"value":"0.01","currency":"USD"},'
        b'"quantity":1,"tif":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'
    )

    def signed() -> list[bytes]:
        start = time.time_ns() // 1_000_000
        created = []
        for number in range(2_000):
            stamp = str(start + number % 1_000)
            signature = base64.b64encode(signer.sign(f"{stamp}POST/v1/orders".encode())).decode()
            headers = {
                "X-PM-Access-Key": key["key_id"],
                "X-PM-Timestamp": stamp,
                "X-PM-Signature": signature,
                "X-Public-Key": public,
            }
            created.append(request("POST", "/v1/orders", body, **headers))
        return created

    with floor("post", b'{"id":"AB12CD34EF56","executions":[]}') as other:
        sandbox: list[float] = []
        bare: list[float] = []
        for _ in range(rounds):
            requests = signed()
            sandbox.append(load(Server(port_of(ready["retail"]), ready["pid"]), requests))
            bare.append(load(other, requests))
    return Figure(
        "retail POST order that rests, signed, journalled",
        "/s",
        sandbox,
        bare,
        "bare aiohttp + Ed25519",
        Goal(0.75),
    )
