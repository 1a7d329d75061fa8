"""A hundred market data subscribers of one busy book.

The floor is a bare grpc.aio server that puts the same bytes into a hundred queues.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.areas.http import SYMBOL
from benchmarks.credentials import token
from benchmarks.figures import Figure, Goal
from benchmarks.serving import channel, floor, processor_s, served

SCENARIO = str(Path(__file__).parent / "subscribers.yaml")
FIRMS = 5
EACH = 20  # what a firm's pool holds
CHANGES = 60  # of the book, in one round


def figures(rounds: int) -> list[Figure]:
    """The row of the subscribers."""
    return [asyncio.run(_figure(rounds))]


async def _figure(rounds: int) -> Figure:
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    def encoded(message: Any) -> bytes:
        return protobuf_encoder(type(message))(message)

    follow = encoded(wire.CreateMarketDataSubscriptionRequest(symbols=[SYMBOL]))
    with served(SCENARIO) as ready:
        bearers = [
            ("authorization", f"Bearer {token(ready, f'firms/fan-{number + 1}')}")
            for number in range(FIRMS)
        ]
        trading = (bearers[0], ("x-participant-id", "firms/fan-1/users/reader"))
        async with channel(ready["grpc"]) as sandbox:
            subscribe = sandbox.unary_stream(
                "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"
            )
            streams = [
                subscribe(follow, metadata=(bearer,)) for bearer in bearers for _ in range(EACH)
            ]
            frame = (await _everywhere(streams, 1))[0]
            insert = sandbox.unary_unary("/exchange.v1.OrderEntryAPI/InsertOrder")
            order = encoded(
                wire.InsertOrderRequest(
                    type=2, side=1, price=10, order_qty=100, symbol=SYMBOL, time_in_force=2
                )
            )
            with floor("grpc", frame) as server:
                async with channel(f"127.0.0.1:{server.port}") as bare:
                    others = [bare.unary_stream("/floor.Floor/Follow")(b"") for _ in streams]
                    await _everywhere(others, 1)
                    push = bare.unary_unary("/floor.Floor/Push")
                    result: tuple[list[float], list[float]] = ([], [])
                    for _ in range(rounds):
                        result[0].append(
                            await _round(
                                ready["pid"], streams, lambda: insert(order, metadata=trading)
                            )
                        )
                        result[1].append(await _round(server.pid, others, lambda: push(b"")))
    work = f"market data to {FIRMS * EACH} gRPC subscribers"
    return Figure(
        work,
        "/s",
        *result,
        "bare grpc.aio",
        Goal(0.8),
        f"{CHANGES} orders a round, frames of about {len(frame)} bytes",
    )


async def _round(server: int, streams: list[Any], change: Callable[[], Awaitable[bytes]]) -> float:
    """Frames that reach the subscribers per second of a server's processor time."""
    start = processor_s(server)
    reading = asyncio.ensure_future(_everywhere(streams, CHANGES))
    for _ in range(CHANGES):
        await change()
    await reading
    return CHANGES * len(streams) / (processor_s(server) - start)


async def _everywhere(streams: list[Any], count: int) -> list[bytes]:
    """Read so many frames from each stream; the last of each."""

    async def read(stream: Any) -> bytes:
        frame = b""
        for _ in range(count):
            frame = await stream.read()
        return frame

    return list(await asyncio.gather(*map(read, streams)))
