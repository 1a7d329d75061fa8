"""Processes to measure: a served simulation, a floor and a load generator, each a process.

The work of a server is divided by its own processor time over all its threads, that is, what one
busy core does. Other work on the machine disturbs that figure far less than a wall clock.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import Request, urlopen

HERE = Path(__file__).parent


class Server(NamedTuple):
    """A port to ask and the process behind it."""

    port: int
    pid: int


def channel(target: str) -> Any:
    """A gRPC channel whose messages are bytes. Not typed: the stubs of grpc want serializers."""
    import grpc

    return grpc.aio.insecure_channel(target)


@contextlib.contextmanager
def served(scenario: str, *options: str) -> Iterator[dict[str, Any]]:
    """The ready file of a served scenario, with the process id as "pid"."""
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "ready.json"
        command = [
            sys.executable,
            "-m",
            "sim",
            "serve",
            scenario,
            "--port-base",
            "0",
            "--clock",
            "manual",
            "--ready-file",
            str(ready),
            "--quiet",  # a line for each call is what people read, not what is measured
            *options,
        ]
        with running(command) as process:
            while not ready.exists() or not (text := ready.read_text()):
                if process.poll() is not None:
                    raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
                time.sleep(0.002)
            yield json.loads(text) | {"pid": process.pid}


@contextlib.contextmanager
def floor(kind: str, answer: bytes) -> Iterator[Server]:
    """A floor that answers these bytes."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(answer)
        file.flush()
        command = [sys.executable, "-m", "benchmarks.floors", kind, file.name]
        with running(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            yield Server(int(process.stdout.readline()), process.pid)


@contextlib.contextmanager
def running(command: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """A process for as long as it is needed."""
    options.setdefault("stdout", subprocess.DEVNULL)
    # Compiled modules are kept, as on a user's machine: an environment that forbids it would
    # measure the compiler.
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    process = subprocess.Popen(command, cwd=HERE.parent, env=environment, **options)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def processor_s(pid: int) -> float:
    """Seconds of processor time that a process has had, threads that ended included."""
    # What clock_getcpuclockid(3) answers on Linux: the complement of the process id, and 2 for
    # CPUCLOCK_SCHED.
    return time.clock_gettime(~pid << 3 | 2)


def control(ready: dict[str, Any], path: str, body: dict[str, Any]) -> None:
    """A call to the control plane of what a ready file says is served."""
    with urlopen(
        Request(f"{ready['control']}/_sim/v1{path}", json.dumps(body).encode(), method="POST")
    ) as answer:
        answer.read()


def resident_kb(pid: int) -> int:
    """Memory that a process has in use."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])


def load(
    server: Server, requests: list[bytes], seconds: float = 1.0, connections: int = 8
) -> float:
    """Answers per second of a server's processor time. An answer that is no success makes the
    figure worthless, so it is refused.
    """
    before = processor_s(server.pid)
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"".join(len(request).to_bytes(4, "big") + request for request in requests))
        file.flush()
        command = [
            sys.executable,
            "-m",
            "benchmarks.load",
            "127.0.0.1",
            str(server.port),
            file.name,
            str(seconds),
            str(connections),
        ]
        result = json.loads(
            subprocess.run(command, cwd=HERE.parent, capture_output=True, check=True).stdout
        )
    if result["failed"]:
        raise RuntimeError(f"{result['failed']} answers were no success")
    return float(result["answers"]) / (processor_s(server.pid) - before)


def request(verb: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """An HTTP/1.1 request as bytes."""
    lines = [
        f"{verb} {path} HTTP/1.1",
        "Host: 127.0.0.1",
        *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items()),
    ]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def port_of(address: str) -> int:
    """Port of a URL or host:port."""
    return int(address.rpartition(":")[2])
