"""What one client notices of hostile ones: the worst of many requests, each for the gateway's book,
while others send bombs, mistakes and half of everything. The floor is the same without them.
"""

from __future__ import annotations

import contextlib
import gzip
import itertools
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.areas.http import SCENARIO, SYMBOL
from benchmarks.figures import Figure, Goal
from benchmarks.serving import running, served

ATTACKERS = 16
ASKED_S = 1.0
STALLED = 300
MEBIBYTE = 1 << 20

WORST_MS = Goal(100, lower=True, absolute=True)
HELD_MB = Goal(64, lower=True, absolute=True)


def _post(path: str, body: bytes, *fields: str) -> bytes:
    head = "".join(f"{field}\r\n" for field in fields)
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        f"{head}Connection: close\r\n\r\n"
    ).encode() + body


_BOMB = _post("/v1/orders", gzip.compress(bytes(MEBIBYTE << 9), 9), "Content-Encoding: gzip")
_KEYS = json.dumps({f"unheard_of_{number}": 1 for number in range(4_000)}).encode()
_MISTAKES = json.dumps({"scenario": "name: x\nsteps:\n" + "- {cal: x}\n" * 10_000}).encode()

# What is sent, again and again, and to which listener.
ATTACKS = {
    "bombs of 512 MiB": ("exchange", _BOMB),
    "fault entries of 4,000 unknown keys": ("control", _post("/_sim/v1/faults", _KEYS)),
    "scenarios with 10,000 mistakes": ("control", _post("/_sim/v1/worlds", _MISTAKES)),
    "bodies nested 100,000 deep": ("exchange", _post("/v1/orders", b"[" * 100_000)),
}


def figures(rounds: int) -> list[Figure]:
    """The worst wait under each attack, and the memory that stalled bodies hold."""
    with served(SCENARIO, "--quiet") as ready:
        quiet = [_worst_ms(ready) for _ in range(rounds)]
        rows = [
            Figure(
                f"worst wait of a client beside {ATTACKERS} that send {name}",
                "ms",
                [_under(ready, plane, sent) for _ in range(rounds)],
                quiet,
                "ms alone",
                WORST_MS,
            )
            for name, (plane, sent) in ATTACKS.items()
        ]
        return [*rows, _stalled(ready)]


def _under(ready: dict[str, Any], plane: str, sent: bytes) -> float:
    """The worst wait while another process attacks."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(sent)
        file.flush()
        command = [sys.executable, "-m", "benchmarks.areas.edge", ready[plane], file.name]
        with running(command, stdout=subprocess.PIPE) as attackers:
            assert attackers.stdout is not None
            attackers.stdout.readline()  # the first of them was answered
            worst = _worst_ms(ready)
            attackers.kill()
    return worst


def _attack(address: str, sent: bytes) -> None:
    for number in itertools.count():
        with contextlib.suppress(OSError), _connected(address) as line:
            line.sendall(sent)
            while line.recv(65536):
                pass
            if not number:
                print("attacking", flush=True)


def _worst_ms(ready: dict[str, Any]) -> float:
    """The longest of the requests that fit into `ASKED_S`, in milliseconds."""
    ask = f"GET /v1/markets/{SYMBOL}/book HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    worst, ends = 0.0, time.perf_counter() + ASKED_S
    with _connected(ready["gateway"]) as line:
        while time.perf_counter() < ends:
            began = time.perf_counter()
            line.sendall(ask)
            line.recv(MEBIBYTE)
            worst = max(worst, time.perf_counter() - began)
    return worst * 1_000


def _stalled(ready: dict[str, Any]) -> Figure:
    """Bodies of which the last byte never comes."""
    part = _post("/v1/orders", bytes(MEBIBYTE))[:-1]
    before = _resident_mb(ready["pid"])
    with contextlib.ExitStack() as lines:
        for _ in range(STALLED):
            line = lines.enter_context(_connected(ready["exchange"]))
            with contextlib.suppress(OSError):
                line.sendall(part)
        ends, held = time.perf_counter() + ASKED_S, 0.0
        while time.perf_counter() < ends:
            held = max(held, _resident_mb(ready["pid"]) - before)
    return Figure(
        f"memory that {STALLED} stalled bodies of 1 MiB hold", "MB", [held], [], "", HELD_MB
    )


@contextlib.contextmanager
def _connected(address: str) -> Iterator[socket.socket]:
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname or "", parts.port or 0), timeout=60) as line:
        yield line


def _resident_mb(pid: int) -> float:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * 4096 / MEBIBYTE


if __name__ == "__main__":
    for _ in range(ATTACKERS):
        arguments = (sys.argv[1], Path(sys.argv[2]).read_bytes())
        threading.Thread(target=_attack, args=arguments).start()
