"""A long run over a fixed working set: `python -m benchmarks --soak MINUTES`. Memory must not grow.

A served simulation repeats one round, as a test suite does: reset, token, orders that rest, trade
and are canceled over REST, books over gateway and gRPC, WebSockets and gRPC streams that open,
listen and close, an hour of virtual time. Its resident memory is read after each reset. What an
exchange remembers within a round (orders, trades, calls) is measured by `memory`; here it is the
same in every round, so what remains is a leak.
"""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import Any

from benchmarks.areas.fanout import MARKETS, _signed, _subscribe
from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.credentials import token
from benchmarks.figures import Figure, Goal
from benchmarks.serving import served

ORDERS, READS, UNARY, SOCKETS, STREAMS = 400, 400, 100, 10, 5
CALLERS, CANCELLED = 4, 3
MB = 1 << 20


def figures(minutes: float) -> list[Figure]:
    """The middle of the last fifth of the samples, beside that of the second fifth: the first warms
    up.
    """
    with served(SCENARIO) as ready:
        samples, calls = asyncio.run(_soak(ready, minutes))
    fifth = len(samples) // 5
    early, late = _middle(samples[fifth : 2 * fifth] or samples), _middle(samples[-fifth:])
    note = (
        f"{len(samples)} rounds, {calls:,} calls; {samples[0]:.1f} MB after the first reset,"
        f" {max(samples):.1f} MB at most"
    )
    return [
        Figure(
            f"resident memory in a soak of {minutes:g} minutes",
            "MB",
            [late],
            [early],
            "MB early on",
            Goal(1.02, lower=True),
            note,
        )
    ]


def _middle(samples: list[float]) -> float:
    return sorted(samples)[len(samples) // 2]


async def _soak(ready: dict[str, Any], minutes: float) -> tuple[list[float], int]:
    import grpc
    from aiohttp import ClientSession

    samples: list[float] = []
    calls, end = 0, time.monotonic() + 60 * minutes
    async with ClientSession() as session, grpc.aio.insecure_channel(ready["grpc"]) as channel:
        while not samples or time.monotonic() < end:
            calls += await _round(ready, session, channel)
            await _control(session, ready, "/reset")
            samples.append(_resident(ready["pid"]))
    return samples, calls


def _resident(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MB


async def _control(session: Any, ready: dict[str, Any], path: str, body: object = None) -> None:
    async with session.post(ready["control"] + "/_sim/v1" + path, json=body or {}) as answer:
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {await answer.text()}")


async def _round(ready: dict[str, Any], session: Any, channel: Any) -> int:
    """The same calls every time; how many there were."""
    bearer = f"Bearer {await asyncio.to_thread(token, ready)}"
    headers = {"Authorization": bearer, "x-participant-id": ready["firms"][0]["users"][0]}
    sockets = [
        await session.ws_connect(ready["retail"] + MARKETS, headers=_signed(ready["api_keys"][0]))
        for _ in range(SOCKETS)
    ]
    for socket in sockets:
        await socket.send_str(_subscribe("bench-orders"))
    streams = [_follow(channel, bearer) for _ in range(STREAMS)]
    await asyncio.gather(*(stream.read() for stream in streams))
    await _shared(ORDERS, lambda number: _order(session, ready, headers, number))
    await _shared(
        READS, lambda number: _fetched(session, f"{ready['gateway']}/v1/markets/{SYMBOL}/book")
    )
    await _shared(UNARY, lambda number: _book(channel, bearer))
    for socket in sockets:
        await socket.receive(timeout=10)
        await socket.close()
    for stream in streams:
        stream.cancel()
    await _control(session, ready, "/clock/advance", {"by": "1h"})
    return ORDERS + (ORDERS - 1) // CANCELLED + 1 + READS + UNARY + SOCKETS + STREAMS + 3


async def _shared(count: int, call: Any) -> None:
    """So many calls, a few callers at a time."""
    numbers = iter(range(count))

    async def caller() -> None:
        for number in numbers:
            await call(number)

    await asyncio.gather(*(caller() for _ in range(CALLERS)))


async def _order(session: Any, ready: dict[str, Any], headers: dict[str, str], number: int) -> None:
    """An order that rests or trades with one that does; every third is cancelled, and a cancel that
    comes too late is an answer too.
    """
    body = {
        "type": "ORDER_TYPE_LIMIT",
        "side": "SIDE_BUY" if number % 2 else "SIDE_SELL",
        "symbol": "bench-orders",
        "orderQty": "1",
        "price": str(30 + number * 7 % 40),
        "timeInForce": "TIME_IN_FORCE_GOOD_TILL_CANCEL",
    }
    async with session.post(
        ready["exchange"] + "/v1/trading/orders", json=body, headers=headers
    ) as answer:
        if answer.status != 200:
            raise RuntimeError(f"order: {answer.status} {await answer.text()}")
        order = (await answer.json())["orderId"]
    cancel = {"orderId": order, "symbol": "bench-orders"}
    if number % CANCELLED:
        return
    async with session.post(
        ready["exchange"] + "/v1/trading/orders/cancel", json=cancel, headers=headers
    ) as answer:
        if answer.status not in (200, 409):
            raise RuntimeError(f"cancel: {answer.status} {await answer.text()}")


async def _fetched(session: Any, url: str) -> None:
    async with session.get(url) as answer:
        await answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{url}: {answer.status}")


def _follow(channel: Any, bearer: str) -> Any:
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    asked = protobuf_encoder(wire.CreateMarketDataSubscriptionRequest)(
        wire.CreateMarketDataSubscriptionRequest(symbols=["bench-orders"])
    )
    return channel.unary_stream(
        "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription"
    )(asked, metadata=(("authorization", bearer),))


async def _book(channel: Any, bearer: str) -> None:
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    asked = protobuf_encoder(wire.GetOrderBookRequest)(
        wire.GetOrderBookRequest(symbol=SYMBOL, depth=10)
    )
    await channel.unary_unary("/exchange.v1.OrderBookAPI/GetOrderBook")(
        asked, metadata=(("authorization", bearer),)
    )
