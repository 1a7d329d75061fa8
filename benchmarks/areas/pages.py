"""How long the pages that people open take: the control room, the documents of a run, the report.

A page is fetched over a socket as a browser does it, on one connection, file after file; the floor
is a bare aiohttp server that answers as many bytes in as many files. First byte and whole page are
wall time, since that is what people wait for. The report is one file on disk, so what people wait
for is its making; the floor is a replay of the same journal.
"""

from __future__ import annotations

import re
import socket
import tempfile
import time
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

from benchmarks.areas.http import SCENARIO, fetched
from benchmarks.areas.participants import BUSY, INSTRUMENTS, listed
from benchmarks.figures import Figure
from benchmarks.serving import floor, port_of, request, served
from sim import Simulation, load_scenario
from sim.kernel.instants import MINUTE, NS_PER_S
from sim.kernel.journal_reader import read_journal
from sim.read.history.recorded import RecordedRun
from sim.read.replay import simulation_of, verify
from sim.read.report.report import write_report

FETCHES = 20  # in one round
TRADED = 15 * MINUTE  # of the run that the report shows
_LINK = re.compile(r"""(?:href=|src=|from |import |import\()["']([\w./-]+\.(?:js|css|svg))["']""")


class Page(NamedTuple):
    """A page: what it is, and the paths that a browser asks for, the page itself first."""

    name: str
    listener: str
    paths: tuple[str, ...]


def figures(rounds: int) -> list[Figure]:
    """First byte and whole of each page, and the making of a report."""
    with served(SCENARIO) as ready:
        pages = (
            Page("control room", "control", _with_its_files(ready["control"])),
            Page("index of the run's documents", "docs", ("/",)),
            Page("rules", "docs", ("/rules",)),
            Page("changelog", "docs", ("/changelog",)),
            Page("OpenAPI of the exchange", "docs", ("/openapi/exchange.json",)),
        )
        results = [
            figure for page in pages for figure in _figures(ready[page.listener], page, rounds)
        ]
    return [*results, _report(rounds)]


def _with_its_files(address: str) -> tuple[str, ...]:
    """The page at `/` and every file that it or one of its files names."""
    paths = ["/"]
    for path in paths:
        if path.endswith(("/", ".js")):
            names = _LINK.findall(fetched(address + path).decode())
            named = (urljoin(path, name) for name in names)
            paths += [item for item in dict.fromkeys(named) if item not in paths]
    return tuple(paths)


def _figures(address: str, page: Page, rounds: int) -> list[Figure]:
    sizes = [len(fetched(address + path)) for path in page.paths]
    asked = [request("GET", path) for path in page.paths]
    sandbox: list[tuple[float, float]] = []
    bare: list[tuple[float, float]] = []
    with floor("get", b"x" * (sum(sizes) // len(sizes))) as other:
        for _ in range(rounds):
            for port, result in ((port_of(address), sandbox), (other.port, bare)):
                times = [_timed(port, asked) for _ in range(FETCHES)]
                result.append(
                    tuple(sorted(item)[FETCHES // 2] for item in zip(*times, strict=True))
                )
    note = f"{sum(sizes) // 1024} KB in {len(sizes)} file{'s' * (len(sizes) > 1)}"
    return [
        Figure(
            f"{page.name}: {kind}",
            "ms",
            [item[position] for item in sandbox],
            [item[position] for item in bare],
            "ms bare aiohttp",
            note=note,
        )
        for position, kind in enumerate(("first byte", "whole"))
    ]


def _timed(port: int, asked: list[bytes]) -> tuple[float, float]:
    """Milliseconds until the first byte and until the last of all files, asked in order."""
    began, first = time.perf_counter(), 0.0
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for raw in asked:
            connection.sendall(raw)
            head = connection.recv(1 << 16)
            first = first or time.perf_counter() - began
            _read_rest(connection, head)
    return first * 1e3, (time.perf_counter() - began) * 1e3


def _read_rest(connection: socket.socket, got: bytes) -> None:
    """Read an answer to its end, which its length tells."""
    while (end := got.find(b"\r\n\r\n")) < 0:
        got += connection.recv(1 << 16)
    status, length = got[9:12], re.search(rb"(?i)content-length: (\d+)", got[:end])
    if status != b"200" or length is None:
        raise RuntimeError(f"a page answers {got[:200]!r}")
    left = end + 4 + int(length[1]) - len(got)
    while left > 0:
        left -= len(connection.recv(min(left, 1 << 20)))


def _report(rounds: int) -> Figure:
    """Making the report of a run of scripted participants, beside replaying it."""
    created: list[float] = []
    replayed: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        journal, page = Path(folder) / "run.journal", Path(folder) / "report.html"
        _busy_run(journal)
        for _ in range(rounds):
            began = time.process_time()
            write_report(RecordedRun(journal), page)
            middle = time.process_time()
            with journal.open("rb") as file:
                header, lines = read_journal(file)
                inputs = verify(simulation_of(header), lines)
            created.append((middle - began) * 1e3)
            replayed.append((time.process_time() - middle) * 1e3)
        note = f"{inputs:,} inputs, {page.stat().st_size // 1024} KB"
    return Figure(
        "one-file report of a run, made", "ms", created, replayed, "ms to replay", note=note
    )


def _busy_run(journal: Path) -> None:
    """Have scripted participants trade in two markets, and keep the journal."""
    scenario = load_scenario(BUSY.format(instruments=listed(INSTRUMENTS)))
    with journal.open("w+b") as file:
        simulation = Simulation(scenario, journal=file)
        while simulation.now < simulation.start + TRADED:
            simulation.advance_to(simulation.now + NS_PER_S)
