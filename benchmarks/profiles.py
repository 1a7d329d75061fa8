"""Where the time of a hot path goes: `python -m benchmarks.profiles [PATH ...] [--keep FILE]`.

Each path runs in a loop in this process, without a socket, while a timer of processor time samples
the stack at the rate of the kernel's clock. A row gives the share of samples in which a function or
one below it ran ("all"), and the share in which the function itself ran, with the C code that it
called ("self"). Nothing is instrumented, so small functions do not look larger than they are.
"""

from __future__ import annotations

import argparse
import asyncio
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from multidict import CIMultiDict, CIMultiDictProxy

from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.areas.matching import run_trading
from benchmarks.areas.participants import busy
from benchmarks.flows import mixed
from sim import Simulation, load_scenario
from sim.kernel.instants import DAY, HOUR, MINUTE
from sim.run.client.client import Connection, connect
from sim.server.host import Host
from sim.server.journal_file import spooled_journal

SAMPLE_S = 0.001
ROWS = 24
ROOT = Path(__file__).parent.parent

Work: TypeAlias = Callable[[], object]

ORDER = (
    b'{"marketSlug":"bench-orders","intent":"ORDER_INTENT_BUY_LONG","type":"ORDER_TYPE_LIMIT","price":{"value":"0.01","currency":"USD"},'
    b'"quantity":1,"tif":"TIME_IN_FORCE_GOOD_TILL_CANCEL"}'
)


class _Message:
    """What a parser hands over for a request."""

    def __init__(self, method: str, path: str, headers: dict[str, str]) -> None:
        self.method, self.path = method, path
        self.headers = CIMultiDictProxy(CIMultiDict({"Host": "127.0.0.1", **headers}))


def _served() -> tuple[Connection, Host]:
    sim = Simulation(load_scenario(SCENARIO), journal=spooled_journal())
    return connect(sim), Host(sim)


def _http(
    plane: str, method: str, path: str, body: bytes, headers: Callable[[Connection], dict[str, str]]
) -> Work:
    from sim.server.http.rest import RestListener

    world, host = _served()
    listener = RestListener(host, plane)  # type: ignore[arg-type]
    message = _Message(method, path, headers(world))
    host.turns.note(plane + path, time.thread_time())  # known to be light

    def once() -> None:
        answer = listener.immediate(message, body, "127.0.0.1")  # type: ignore[arg-type]
        if answer.status != 200:  # type: ignore[union-attr]
            raise RuntimeError(f"{path} answers {answer}")
        answer.encode()  # type: ignore[union-attr]

    return once


def _bearer(world: Connection) -> dict[str, str]:
    firm = next(result for result in world.simulation.exchange.firms.all() if result.client_id)
    return world.bearer(firm, firm.users[0].name)


def _gateway() -> Work:
    return _http("gateway", "GET", f"/v1/markets/{SYMBOL}/book", b"", lambda world: {})


def _exchange() -> Work:
    return _http("exchange", "GET", f"/v1/orderbook/{SYMBOL}?depth=10", b"", _bearer)


def _order() -> Work:
    def headers(world: Connection) -> dict[str, str]:
        return world.retail_headers(
            world.simulation.exchange.firms.api_keys()[0], "POST", "/v1/orders"
        )

    return _http("retail", "POST", "/v1/orders", ORDER, headers)


def _rpc() -> Work:
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    world, host = _served()
    asked = protobuf_encoder(wire.GetOrderBookRequest)(
        wire.GetOrderBookRequest(symbol=SYMBOL, depth=10)
    )
    metadata = _bearer(world)

    def once() -> None:
        reply = host.rpc("/exchange.v1.OrderBookAPI/GetOrderBook", metadata, asked, "127.0.0.1")
        if reply.code:
            raise RuntimeError(reply.message)

    return once


def _day() -> Work:
    sim = busy()
    return lambda: sim.advance_to(sim.now + 15 * MINUTE)


def _commands() -> Work:
    ops = mixed(1, 1, 5_000)
    return lambda: run_trading(ops)


def _year() -> Work:
    sim = Simulation(load_scenario("quickstart"))
    return lambda: (
        sim.advance_to(sim.now + 7 * DAY) if sim.now < sim.start + 365 * DAY else sim.reset()
    )


def _stream() -> Work:
    """Market data of everything, a virtual hour of refreshes at a time; the frames go nowhere."""
    from sim.api.codecs.codecs import protobuf_encoder
    from sim.contract.messages import exchange_v1 as wire

    world, _ = _served()
    sim = world.simulation
    asked = protobuf_encoder(wire.CreateMarketDataSubscriptionRequest)(
        wire.CreateMarketDataSubscriptionRequest()
    )
    sim.open(
        "/exchange.v1.MarketDataSubscriptionAPI/CreateMarketDataSubscription", _bearer(world), asked
    )
    return lambda: sim.advance_to(sim.now + HOUR)


PATHS: dict[str, tuple[str, Callable[[], Work]]] = {
    "gateway": ("gateway GET book, 10 levels", _gateway),
    "exchange": ("exchange GET book, bearer token", _exchange),
    "order": ("retail POST order that rests, signed, journalled", _order),
    "rpc": ("gRPC unary GetOrderBook, behind grpc.aio", _rpc),
    "stream": ("market data of everything, an hour of it", _stream),
    "commands": ("5,000 whole commands of the 1 symbol flow of the matching goals", _commands),
    "day": ("busy virtual day of scripted participants", _day),
    "year": ("idle virtual year of the default world", _year),
}


def sampled(work: Work, seconds: float) -> tuple[float, int, Counter[str], Counter[str]]:
    """Microseconds of processor time a turn, samples, samples at or below each function, samples in
    itself.
    """
    below: Counter[str] = Counter()
    itself: Counter[str] = Counter()
    total = 0

    def sample(_: int, frame: FrameType | None) -> None:
        nonlocal total
        observed: set[str] = set()
        top = True
        while frame is not None and frame.f_code.co_filename != __file__:
            name = _name(frame)
            if top:
                itself[name] += 1
                top = False
            if name not in observed:
                observed.add(name)
                below[name] += 1
            frame = frame.f_back
        if not top:
            total += 1

    work()
    before = signal.signal(signal.SIGPROF, sample)
    signal.setitimer(signal.ITIMER_PROF, SAMPLE_S, SAMPLE_S)
    turns, start = 0, time.process_time()
    try:
        while time.process_time() - start < seconds:
            work()
            turns += 1
    finally:
        took = time.process_time() - start
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    return took / turns * 1e6, total, below, itself


def _name(frame: FrameType) -> str:
    code = frame.f_code
    file = Path(code.co_filename)
    displayed = file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file.name
    return f"{code.co_qualname.replace('.<locals>', '')} ({displayed})"


def report(title: str, result: tuple[float, int, Counter[str], Counter[str]]) -> str:
    """The table of one path, as Markdown."""
    each, total, below, itself = result
    lines = [
        f"## {title}",
        "",
        f"{each:,.1f} µs a turn, {total:,} samples.",
        "",
        "| all | self | function |",
        "|---|---|---|",
    ]
    for name, count in below.most_common(ROWS):
        lines.append(f"| {count / total:.1%} | {itself[name] / total:.1%} | `{name}` |")
    return "\n".join(lines) + "\n"


async def main() -> int:
    """Run inside an event loop, which a host requires although nothing here awaits."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.profiles",
        description="Where the processor time of a hot path goes.",
    )
    parser.add_argument(
        "paths", nargs="*", choices=[*PATHS, []], help="paths to sample (default: all)"
    )
    parser.add_argument(
        "--seconds", type=float, default=4.0, help="processor time for each (default 4)"
    )
    parser.add_argument("--keep", type=Path, metavar="FILE", help="write the tables to this file")
    args = parser.parse_args()
    tables = []
    for name in args.paths or PATHS:
        title, make = PATHS[name]
        tables.append(report(title, sampled(make(), args.seconds)))
        print(tables[-1])
    if args.keep:
        args.keep.parent.mkdir(parents=True, exist_ok=True)
        args.keep.write_text("# Where the time goes\n\n" + "\n".join(tables))
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
