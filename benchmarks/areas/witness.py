"""How fast the witness looks at a recording, and that twice as many lines take twice as long.

The floor is reading the file alone; that of the second row is the cost of a line in a tenth of the
recording. Lines are what a bot sees: a fill on the order stream, then the book.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import json

from benchmarks.figures import Figure, Goal
from benchmarks.recordings import timed
from sim.evidence.recording.reading import read_recording, uncollected
from sim.evidence.witness.observation import observed
from sim.evidence.witness.witness import judge

COUNT = 100_000
SYMBOL = "aec-nfl-dal-phi-2026-09-10"


def figures(rounds: int) -> list[Figure]:
    """Lines per second."""
    sandbox, reading, total, tenth = timed(COUNT, rounds, _write, _seconds)
    size = f"{COUNT:,} lines, fills and books"
    goal = Goal(25_000, absolute=True)
    linear = Goal(1.3, lower=True)
    return [
        Figure(
            "a recording witnessed", "lines/s", sandbox, reading, "reading the file", goal, size
        ),
        Figure("a line in 100,000", "µs", total, tenth, "a line in 10,000", linear),
    ]


def _seconds(file: Path) -> tuple[float, float]:
    with uncollected():
        start = time.thread_time()
        recording = read_recording(file)
        read = time.thread_time()
        result = judge(observed(recording.entries))
    if not result.ok or not result.checks["fills once"].applied:
        raise RuntimeError("the witness found a contradiction where there is none")
    return read - start, time.thread_time() - read


def _write(file: Path, count: int) -> None:
    with file.open("wb") as lines:
        lines.write(json.encode({"recording": 1}) + b"\n")
        for number, line in enumerate(_lines(count), start=1):
            lines.write(
                json.encode({"n": number, "plane": "grpc", "client": "c-1", **line}) + b"\n"
            )


def _lines(count: int) -> Iterator[dict[str, Any]]:
    for stream, rpc in ((1, "OrderEntryAPI/CreateOrderSubscription"), (2, _BOOKS)):
        opened = {"rpc": f"/exchange.v1.{rpc}"}
        yield {"at": _at(0), "stream": stream, "opened": opened}
    for number in range((count - 2) // 2):
        at, cum = _at(number + 1), number % 10 + 1
        order = {
            "id": f"ORDER{number // 10}",
            "type": "ORDER_TYPE_LIMIT",
            "side": "SIDE_BUY",
            "symbol": SYMBOL,
            "account": "firms/atlas-fcm/accounts/8f3a61c4",
            "orderQty": "10",
            "cumQty": str(cum),
            "leavesQty": str(10 - cum),
            "avgPx": "50",
            "price": "50",
            "state": f"ORDER_STATE_{'FILLED' if cum == 10 else 'PARTIALLY_FILLED'}",
            "lastTransactTime": at,
        }
        execution = {
            "id": f"E{number}",
            "order": order,
            "lastShares": "1",
            "lastPx": "50",
            "type": f"EXECUTION_TYPE_{'FILL' if cum == 10 else 'PARTIAL_FILL'}",
            "transactTime": at,
            "tradeId": f"T{number}",
        }
        yield _frame(at, 1, {"update": {"executions": [execution]}})
        levels = [{"px": str(50 - depth), "qty": str(number + depth + 1)} for depth in range(5)]
        book = {"symbol": SYMBOL, "bids": levels, "state": "INSTRUMENT_STATE_OPEN"}
        yield _frame(at, 2, {"update": book | {"transactTime": at}})


_BOOKS = "MarketDataSubscriptionAPI/CreateMarketDataSubscription"


def _frame(at: str, stream: int, body: Any) -> dict[str, Any]:
    return {"at": at, "stream": stream, "frame": {"from": "service", "body": body}}


def _at(second: int) -> str:
    hours, rest = divmod(second, 3600)
    return f"2026-09-{8 + hours // 24:02d}T{hours % 24:02d}:{rest // 60:02d}:{rest % 60:02d}Z"
