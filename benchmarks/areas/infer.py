"""`sim infer`: replays per second, and that a session four times as long takes four times the time.

The floor of the second row is the cost of a call in the short session.
"""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import json

from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.evidence.infer.infer import infer
from sim.evidence.recording.reading import read_recording
from sim.run.client.client import connect

SHORT, LONG = 50, 200
_PATHS = ("/v1/markets?limit=1", "/v2/leagues", "/v1/nothing", "/v1/events?limit=1")
_SMALL = "extends: quickstart\nname: small\nworld: {games: 0, automated_windows: false}\n"


def figures(rounds: int) -> list[Figure]:
    """A recording of ourselves: what is asked for is tried to the end, because all of it fits."""
    speed, long, short = [], [], []
    with TemporaryDirectory() as folder:
        files = {count: Path(folder) / f"{count}.ndjson" for count in (SHORT, LONG)}
        for count, file in files.items():
            _write(file, count)
        for _ in range(max(1, rounds // 3)):
            seconds, replays = _inferred(files[LONG])
            speed.append(replays / seconds)
            long.append(seconds / replays / LONG * 1e6)
            seconds, replays = _inferred(files[SHORT])
            short.append(seconds / replays / SHORT * 1e6)
    return [
        Figure("replays of sim infer", "/s", speed, [], "", None, f"{LONG} calls of the gateway"),
        Figure(
            f"a call of a replay, session of {LONG}",
            "µs",
            long,
            short,
            f"session of {SHORT}",
            Goal(1.3, lower=True),
        ),
    ]


def _inferred(file: Path) -> tuple[float, int]:
    recording, scenario = read_recording(file), load_scenario(_SMALL)
    start = time.thread_time()
    result = infer(file, recording, scenario, None)
    seconds = time.thread_time() - start
    if not result.explained:
        raise RuntimeError("a recording of ourselves was not explained by our own values")
    return seconds, result.session.trials


def _write(file: Path, count: int) -> None:
    """A recording of calls to the gateway, over and over."""
    gateway = connect(Simulation(load_scenario(_SMALL))).gateway
    with file.open("wb") as out:
        out.write(json.encode({"recording": 1}) + b"\n")
        for n in range(1, count + 1):
            address, _, query = (path := _PATHS[n % len(_PATHS)]).partition("?")
            answer = gateway.get(path)
            reported = {
                "status": answer.status,
                "body": answer.json(),
                "now": "2026-09-08T18:00:00Z",
            }
            call = {
                "request": {"method": "GET", "path": address, "query": query},
                "answer": reported,
            }
            line = {"n": n, "at": reported["now"], "plane": "gateway", "client": "client-1", **call}
            out.write(json.encode(line) + b"\n")
