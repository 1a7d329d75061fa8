"""gRPC unary and server stream against a bare grpc.aio server that answers the same bytes; the client is grpc.aio on both sides."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from benchmarks.credentials import token
from benchmarks.figures import Figure
from benchmarks.http import SCENARIO, SYMBOL
from benchmarks.serving import floor, served

CALLS = 1_500


def figures(rounds: int) -> list[Figure]:
    """The gRPC rows."""
    return asyncio.run(_figures(rounds))


async def _figures(rounds: int) -> list[Figure]:
    import grpc

    from sim.api.transcode import protobuf_encoder
    from sim.messages import exchange_v1 as wire

    asked = protobuf_encoder(wire.GetOrderBookRequest)(wire.GetOrderBookRequest(symbol=SYMBOL, depth=10))
    with served(SCENARIO) as ready:
        metadata = (("authorization", f"Bearer {token(ready)}"),)
        async with grpc.aio.insecure_channel(ready["grpc"]) as ours:
            unary = ours.unary_unary("/exchange.v1.OrderBookAPI/GetOrderBook")
            answer = await unary(asked, metadata=metadata)
            with floor("grpc", answer) as port:
                async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as bare:
                    other = bare.unary_unary("/floor.Floor/Unary")
                    figures: tuple[list[float], list[float]] = ([], [])
                    for _ in range(rounds):
                        figures[0].append(await _calls(unary, asked, metadata))
                        figures[1].append(await _calls(other, asked, metadata))
    return [Figure("gRPC unary GetOrderBook", "/s", *figures, "bare grpc.aio", "0.85")]


async def _calls(method: Any, message: bytes, metadata: Any) -> float:
    start = time.perf_counter()

    async def one(count: int) -> None:
        for _ in range(count):
            await method(message, metadata=metadata)

    await asyncio.gather(*(one(CALLS // 8) for _ in range(8)))
    return CALLS // 8 * 8 / (time.perf_counter() - start)
