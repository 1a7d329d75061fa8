"""gRPC unary calls and a server stream, beside a bare grpc.aio server that answers the same bytes.

The client is grpc.aio on both sides.
"""

from __future__ import annotations

import asyncio
import json
import urllib.request
from typing import Any

from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.credentials import token
from benchmarks.figures import Figure, Goal
from benchmarks.serving import channel, floor, processor_s, served

CALLS = 1_500
# Market data of every instrument is sent again each virtual minute: this many minutes make some ten
# thousand frames.
MINUTES = 40


def figures(rounds: int) -> list[Figure]:
    """The gRPC rows."""
    return asyncio.run(_figures(rounds))


async def _figures(rounds: int) -> list[Figure]:
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    asked = protobuf_encoder(wire.GetOrderBookRequest)(
        wire.GetOrderBookRequest(symbol=SYMBOL, depth=10)
    )
    with served(SCENARIO) as ready:
        metadata = (("authorization", f"Bearer {token(ready)}"),)
        async with channel(ready["grpc"]) as sandbox:
            unary = sandbox.unary_unary("/exchange.v1.OrderBookAPI/GetOrderBook")
            answer = await unary(asked, metadata=metadata)
            with floor("grpc", answer) as bare_server:
                async with channel(f"127.0.0.1:{bare_server.port}") as bare:
                    other = bare.unary_unary("/floor.Floor/Unary")
                    figures: tuple[list[float], list[float]] = ([], [])
                    for _ in range(rounds):
                        figures[0].append(await _calls(ready["pid"], unary, asked, metadata))
                        figures[1].append(await _calls(bare_server.pid, other, asked, metadata))
        unary_row = Figure("gRPC unary GetOrderBook", "/s", *figures, "bare grpc.aio", Goal(0.85))
        return [unary_row, await _stream(ready, metadata, rounds)]


async def _stream(ready: dict[str, Any], metadata: Any, rounds: int) -> Figure:
    """Frames a second of one market data stream, from the moment the clock is told to move: books
    read, encoded and journalled on the way.
    """
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    everything = protobuf_encoder(wire.CreateMarketDataSubscriptionRequest)(
        wire.CreateMarketDataSubscriptionRequest()
    )
    figures: tuple[list[float], list[float]] = ([], [])
    async with channel(ready["grpc"]) as sandbox:
        call = sandbox.unary_stream(
            "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"
        )(everything, metadata=metadata)
        frame = await call.read()
        snapshot = (await asyncio.to_thread(_control, ready, "GET", "/streams"))["streams"][0][
            "sent"
        ]
        await _read(call, snapshot - 1)
        await _advance(ready)
        frames = (await asyncio.to_thread(_control, ready, "GET", "/streams"))["streams"][0][
            "sent"
        ] - snapshot
        await _read(call, frames)
        with floor("grpc", frame) as bare_server:
            async with channel(f"127.0.0.1:{bare_server.port}") as bare:
                for _ in range(rounds):
                    start = processor_s(ready["pid"])
                    await asyncio.gather(_advance(ready), _read(call, frames))
                    figures[0].append(frames / (processor_s(ready["pid"]) - start))
                    start = processor_s(bare_server.pid)
                    other = bare.unary_stream("/floor.Floor/Stream")(everything)
                    await _read(other, frames)
                    figures[1].append(frames / (processor_s(bare_server.pid) - start))
                    other.cancel()
    return Figure(
        "gRPC server stream, market data of all",
        "/s",
        *figures,
        "bare grpc.aio",
        Goal(0.8),
        f"{frames} frames of about {len(frame)} bytes",
    )


async def _read(call: Any, count: int) -> None:
    for _ in range(count):
        await call.read()


async def _advance(ready: dict[str, Any]) -> None:
    await asyncio.to_thread(_control, ready, "POST", "/clock/advance", {"by": f"{MINUTES}m"})


def _control(ready: dict[str, Any], verb: str, path: str, body: object = None) -> Any:
    content = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(
        urllib.request.Request(f"{ready['control']}/_sim/v1{path}", content, method=verb)
    ) as answer:
        return json.load(answer)


async def _calls(server: int, method: Any, message: bytes, metadata: Any) -> float:
    start = processor_s(server)

    async def single(count: int) -> None:
        for _ in range(count):
            await method(message, metadata=metadata)

    await asyncio.gather(*(single(CALLS // 8) for _ in range(8)))
    return CALLS // 8 * 8 / (processor_s(server) - start)
