"""How fast recordings are compared, and that twice as many calls take twice as long.

The floor is reading the file alone; that of the second row is the cost of a call in a tenth of the
recording.
"""

from __future__ import annotations

import time
from pathlib import Path

from msgspec import json

from benchmarks.figures import Figure, Goal
from benchmarks.recordings import timed
from sim import Simulation, load_scenario
from sim.evidence.compare.compare import compare
from sim.evidence.recording.reading import read_recording, uncollected
from sim.run.client.client import connect

COUNT = 100_000
_PATHS = ("/v1/markets?limit=1", "/v2/leagues", "/v1/nothing", "/v1/events?limit=1")


def figures(rounds: int) -> list[Figure]:
    """Calls per second against contract and specification."""
    sandbox, reading, total, tenth = timed(COUNT, rounds, _write, _seconds)
    return [
        Figure(
            "a recording compared with the contract",
            "calls/s",
            sandbox,
            reading,
            "reading the file",
            Goal(0.1),
            f"{COUNT} calls of the gateway",
        ),
        Figure(
            "a call in a recording of 100,000",
            "µs",
            total,
            tenth,
            "a call in one of 10,000",
            Goal(1.3, lower=True),
        ),
    ]


def _seconds(file: Path) -> tuple[float, float]:
    with uncollected():
        start = time.thread_time()
        recording = read_recording(file)
        read = time.thread_time()
        result = compare(file, recording, "documented")
    if not result.tally.same:
        raise RuntimeError("what we answer differs from the contract")
    return read - start, time.thread_time() - read


def _write(file: Path, count: int) -> None:
    """A recording of calls to the gateway, over and over."""
    gateway = connect(Simulation(load_scenario("quickstart"))).gateway
    calls = []
    for path in _PATHS:
        answer = gateway.get(path)
        reported = {"status": answer.status, "body": answer.json(), "now": "2026-09-08T18:00:00Z"}
        address, _, query = path.partition("?")
        calls.append(
            {"request": {"method": "GET", "path": address, "query": query}, "answer": reported}
        )
    begin = {"at": "2026-09-08T18:00:00Z", "plane": "gateway", "client": "client-1"}
    with file.open("wb") as out:
        out.write(json.encode({"recording": 1}) + b"\n")
        for n in range(1, count + 1):
            out.write(json.encode({"n": n, **begin, **calls[n % len(calls)]}) + b"\n")
