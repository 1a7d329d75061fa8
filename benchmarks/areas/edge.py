"""What one client notices of others: the worst of many requests, each for the gateway's book, while
others send bombs, mistakes and half of everything, ask for lists without a limit and heavy reports,
read a long run on the control plane, do not read their answers, or answer webhooks with nothing
but informational responses. The floor is the same without them.
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
from benchmarks.credentials import token
from benchmarks.figures import Figure, Goal
from benchmarks.serving import running, served

ATTACKERS, READERS, HOLDERS = 16, 8, 40
INPUTS = 100_000
ASKED_S = 1.0
STALLED = 300
MEBIBYTE = 1 << 20

WORST_MS = Goal(100, lower=True, absolute=True)
HELD_MB = Goal(64, lower=True, absolute=True)
TWICE = Goal(2, lower=True)


def _post(path: str, body: bytes, *fields: str) -> bytes:
    head = "".join(f"{field}\r\n" for field in fields)
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n"
        f"{head}Connection: close\r\n\r\n"
    ).encode() + body


def _get(path: str, *fields: str) -> bytes:
    head = "".join(f"{field}\r\n" for field in ("Host: localhost", "Connection: close", *fields))
    return f"GET {path} HTTP/1.1\r\n{head}\r\n".encode()


_BOMB = _post("/v1/orders", gzip.compress(bytes(MEBIBYTE << 9), 9), "Content-Encoding: gzip")
_KEYS = json.dumps({f"unheard_of_{number}": 1 for number in range(4_000)}).encode()
_MISTAKES = json.dumps({"scenario": "name: x\nsteps:\n" + "- {cal: x}\n" * 10_000}).encode()

_LISTS = [_get(f"/v1/{name}?limit=1000000") for name in ("markets", "events", "search")]
_READS = (
    *("conformance", "requests", "explain/bench-book", "scenario", "journal"),
    *("state/instruments", "state?view=orders&view=trades&view=quotes", "history/50000"),
)

# What is sent, again and again, and to which listener.
ATTACKS = {
    "bombs of 512 MiB": ("exchange", [_BOMB]),
    "fault entries of 4,000 unknown keys": ("control", [_post("/_sim/v1/faults", _KEYS)]),
    "scenarios with 10,000 mistakes": ("control", [_post("/_sim/v1/worlds", _MISTAKES)]),
    "bodies nested 100,000 deep": ("exchange", [_post("/v1/orders", b"[" * 100_000)]),
    "bodies of 200,000 orders": (
        "exchange",
        [_post("/v1/trading/orders/list", b'{"requests":[%b{}]}' % (b"{}," * 200_000))],
    ),
    "requests for lists without a limit": ("gateway", _LISTS),
}


def figures(rounds: int) -> list[Figure]:
    """The worst wait under each attack, and the memory that unread and stalled bytes hold."""
    with served(SCENARIO, "--quiet") as ready:
        quiet = [_worst_ms(ready) for _ in range(rounds)]

        def waits(work: str, kind: str, plane: str, requests: list[bytes], count: int) -> Figure:
            worst = [_under(ready, kind, plane, requests, count)[0] for _ in range(rounds)]
            name = f"worst wait of a client beside {work}"
            return Figure(name, "ms", worst, quiet, "ms alone", WORST_MS)

        rows = [
            waits(f"{ATTACKERS} that send {name}", "send", plane, requests, ATTACKERS)
            for name, (plane, requests) in ATTACKS.items()
        ]
        bearer = f"Authorization: Bearer {token(ready)}"
        reports = [_post("/v1/refdata/instruments", b'{"pageSize":1000}', bearer)]
        rows.append(
            waits(f"{ATTACKERS} that ask for heavy reports", "send", "exchange", reports, ATTACKERS)
        )
        rows += [*_unread(ready, quiet), _stalled(ready)]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        receiver = json.dumps({"webhook_url": f"http://127.0.0.1:{port}/"}).encode()
        hook = [_post("/v1/kyc/webhook", receiver, bearer)]
        rows.append(waits("a receiver of endless 103s", f"hints:{port}", "exchange", hook, 1))
        _make_inputs(ready)
        reads = [_get(f"/_sim/v1/{path}") for path in _READS]
        work = f"{READERS} control reads after {INPUTS:,} inputs"
        return [*rows, waits(work, "send", "control", reads, READERS)]


def _unread(ready: dict[str, Any], quiet: list[float]) -> list[Figure]:
    """Clients that do not read, each at another page."""
    paths = [f"/v1/events?limit=1000000&offset={5 * number}" for number in range(HOLDERS)]
    requests = [_get(path) for path in paths]
    _under(ready, "send", "gateway", requests, 1)  # what is encoded once is kept
    rest = _resident_mb(ready["pid"])
    worst, held = _under(ready, "hold", "gateway", requests, HOLDERS)
    name = f"{HOLDERS} clients that do not read"
    wait = f"worst wait of a client beside {name}"
    return [
        Figure(wait, "ms", [worst], quiet[:1], "ms alone", WORST_MS),
        Figure(f"memory beside {name}", "MB", [held], [rest], "MB at rest", TWICE),
    ]


def _make_inputs(ready: dict[str, Any]) -> None:
    """Let a client make a long run."""
    ask = f"GET /v1/markets/{SYMBOL}/book HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with _connected(ready["gateway"]) as line:
        line.sendall(ask)
        size = len(line.recv(MEBIBYTE))
        for _ in range(INPUTS // 100):
            line.sendall(ask * 100)
            left = 100 * size
            while left > 0:
                left -= len(line.recv(MEBIBYTE))


def _under(
    ready: dict[str, Any], kind: str, plane: str, requests: list[bytes], count: int
) -> tuple[float, float]:
    """The worst wait, and the most memory, while another process attacks."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(b"%d\n%b" % (len(sent), sent) for sent in requests))
        file.flush()
        module = "benchmarks.areas.edge"
        command = [sys.executable, "-m", module, kind, str(count), ready[plane], file.name]
        with running(command, stdout=subprocess.PIPE) as attackers:
            assert attackers.stdout is not None
            attackers.stdout.readline()  # they have begun
            worst, memory = _worst_ms(ready), _resident_mb(ready["pid"])
            attackers.kill()
    return worst, memory


def _attack(address: str, requests: list[bytes], first: int) -> None:
    for number in itertools.count(first):
        with contextlib.suppress(OSError), _connected(address) as line:
            line.sendall(requests[number % len(requests)])
            while line.recv(65536):
                pass
            if number == first:
                print("attacking", flush=True)


def _hold(address: str, request: bytes) -> None:
    """Ask, and do not read the answer."""
    while True:
        with contextlib.suppress(OSError), _connected(address) as line:
            line.sendall(request)
            time.sleep(60)


def _give_hints(port: int) -> None:
    """Answer with informational responses only."""
    with socket.create_server(("127.0.0.1", port)) as listening:
        while True:
            line, _ = listening.accept()
            with contextlib.suppress(OSError), line:
                while True:
                    line.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000)


def _requests(file: Path) -> list[bytes]:
    requests, rest = [], file.read_bytes()
    while rest:
        size, _, rest = rest.partition(b"\n")
        requests.append(rest[: int(size)])
        rest = rest[int(size) :]
    return requests


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


def main() -> None:
    """Attack: `KIND COUNT ADDRESS FILE`."""
    kind, count, address, file = sys.argv[1:]
    requests = _requests(Path(file))
    if kind.startswith("hints:"):
        threading.Thread(target=_give_hints, args=(int(kind[6:]),)).start()
    for number in range(int(count)):
        if kind == "hold":
            arguments: tuple[Any, ...] = (address, requests[number % len(requests)])
            threading.Thread(target=_hold, args=arguments).start()
        else:
            arguments = (address, requests, number)
            threading.Thread(target=_attack, args=arguments).start()
    if kind != "send":
        print("attacking", flush=True)


if __name__ == "__main__":
    main()
