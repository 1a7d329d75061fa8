"""The gateway's book beside the same bytes from mock servers that users know.

Mocks that are not installed (`benchmarks.peers` installs them) have no row.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from benchmarks.areas.http import SCENARIO, SYMBOL, fetched
from benchmarks.figures import Figure, Goal
from benchmarks.serving import Server, load, port_of, processor_s, request, running, served

PATH = f"/v1/markets/{SYMBOL}/book"
# Node takes its time to start on a busy machine.
_START_S = 60.0

_HTTPSERVER = """
import sys, threading
from pathlib import Path
sys.path.extend(sys.argv[4:])
from pytest_httpserver import HTTPServer
server = HTTPServer(port=int(sys.argv[1]))
handler = server.expect_request(sys.argv[2])
handler.respond_with_data(Path(sys.argv[3]).read_bytes(), content_type="application/json")
server.start()
threading.Event().wait()
"""


class Mock(NamedTuple):
    """A peer: its name, the goal, whether it is installed, and its command line for a port and a
    folder that holds the answer.

    `start_goal`: our start to ready over its start to its first answer, processor time; 0 where
    nobody asked.
    """

    name: str
    goal: float
    installed: Callable[[], bool]
    command: Callable[[int, Path], list[str]]
    path: str = PATH
    start_goal: float = 0


def _on_path(command: str) -> Callable[[], bool]:
    return lambda: shutil.which(command) is not None


def _httpserver(port: int, folder: Path) -> list[str]:
    return [sys.executable, "-c", _HTTPSERVER, str(port), PATH, str(folder / "answer"), *sys.path]


def _moto(port: int, folder: Path) -> list[str]:
    return ["moto_server", "-H", "127.0.0.1", "-p", str(port)]


def _prism(port: int, folder: Path) -> list[str]:
    example = json.loads((folder / "answer").read_text())
    answers = {
        "200": {
            "description": "book",
            "content": {"application/json": {"schema": {"type": "object"}, "example": example}},
        }
    }
    contract = {
        "openapi": "3.0.3",
        "info": {"title": "book", "version": "1"},
        "paths": {PATH: {"get": {"responses": answers}}},
    }
    (folder / "openapi.json").write_text(json.dumps(contract))
    return [
        "prism",
        "mock",
        "-h",
        "127.0.0.1",
        "-p",
        str(port),
        "-v",
        "fatal",
        str(folder / "openapi.json"),
    ]


def _mockoon(port: int, folder: Path) -> list[str]:
    headers = [{"key": "Content-Type", "value": "application/json"}]
    answer = {
        "uuid": "answer",
        "body": (folder / "answer").read_text(),
        "statusCode": 200,
        "headers": headers,
        "disableTemplating": True,
        "default": True,
    }
    route = {
        "uuid": "route",
        "type": "http",
        "method": "get",
        "endpoint": PATH.lstrip("/"),
        "responses": [answer],
    }
    environment = {
        "uuid": "book",
        "lastMigration": 33,
        "name": "book",
        "port": port,
        "hostname": "127.0.0.1",
        "routes": [route],
    }
    (folder / "mockoon.json").write_text(json.dumps(environment))
    return [
        "mockoon-cli",
        "start",
        "--repair",
        "-d",
        str(folder / "mockoon.json"),
        "-p",
        str(port),
        "--disable-log-to-file",
    ]


MOCKS = (
    Mock(
        "pytest-httpserver",
        6,
        lambda: importlib.util.find_spec("pytest_httpserver") is not None,
        _httpserver,
    ),
    Mock("moto server, S3 object", 10, _on_path("moto_server"), _moto, "/bench/book", 0.8),
    Mock("Prism", 8, _on_path("prism"), _prism, start_goal=0.25),
    Mock("Mockoon", 30, _on_path("mockoon-cli"), _mockoon),
)


def figures(rounds: int) -> list[Figure]:
    """A row for each mock that is installed."""
    present = [mock for mock in MOCKS if mock.installed()]
    if not present:
        print("  no mocks are installed: see python -m benchmarks.peers", file=sys.stderr)
        return []
    with served(SCENARIO) as ready:
        answer = fetched(ready["gateway"] + PATH)
        server = Server(port_of(ready["gateway"]), ready["pid"])
        rows = [_row(mock, server, answer, rounds) for mock in present]
    return rows + [_start(mock, answer, rounds) for mock in present if mock.start_goal]


def _row(mock: Mock, server: Server, answer: bytes, rounds: int) -> Figure:
    with _serving(mock, answer) as other:
        results: list[float] = []
        reference: list[float] = []
        for _ in range(rounds):
            results.append(load(server, [request("GET", PATH)]))
            reference.append(load(other, [request("GET", mock.path)]))
    return Figure(
        f"gateway GET book beside {mock.name}",
        "/s",
        results,
        reference,
        mock.name.partition(",")[0],
        Goal(mock.goal),
    )


def _start(mock: Mock, answer: bytes, rounds: int) -> Figure:
    results: list[float] = []
    reference: list[float] = []
    for _ in range(rounds):
        with served("quickstart") as ready:
            results.append(processor_s(ready["pid"]) * 1_000)
        with _serving(mock, answer) as other:
            reference.append(processor_s(other.pid) * 1_000)
    return Figure(
        f"start beside {mock.name.partition(',')[0]}",
        "ms",
        results,
        reference,
        mock.name.partition(",")[0],
        Goal(mock.start_goal, lower=True),
    )


@contextlib.contextmanager
def _serving(mock: Mock, answer: bytes) -> Iterator[Server]:
    """A mock that answers these bytes; what it says of a first request is compared."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "answer").write_bytes(answer)
        port = _free_port()
        with running(mock.command(port, folder), stderr=subprocess.DEVNULL) as process:
            url = f"http://127.0.0.1:{port}"
            _wait(url)
            if mock.name.startswith("moto"):
                _put(f"{url}/bench", b"")
                _put(url + mock.path, answer)
            if json.loads(fetched(url + mock.path)) != json.loads(answer):
                raise RuntimeError(f"{mock.name} answers something else")
            yield Server(port, process.pid)


def _wait(url: str) -> None:
    until = time.monotonic() + _START_S
    while True:
        try:
            fetched(url)
        except urllib.error.HTTPError:
            return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)
        else:
            return


def _put(url: str, body: bytes) -> None:
    urllib.request.urlopen(
        urllib.request.Request(
            url,
            body,
            {"x-amz-acl": "public-read", "Content-Type": "application/json"},
            method="PUT",
        )
    ).close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
