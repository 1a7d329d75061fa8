"""`sim serve --watch`: the exchange starts over with a scenario that changed, and only with one
that can be read.
"""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from raw_sockets import connected

from sim.cli.main import main
from tests.kit.processes import Process

BASE = """
name: base
extends: quickstart
clock: {mode: manual}
world: {instruments: [{symbol: from-base, tick_size: "0.01", state: OPEN}]}
"""
MINE = """
name: mine
extends: base.yaml
world: {instruments: [{symbol: SYMBOL, tick_size: "0.01", state: OPEN}]}
steps:
  - {order: {as: maker, symbol: SYMBOL, side: sell, price: "0.55", qty: "10"}}
"""


class Watched:
    """A server that watches a scenario of two files."""

    def __init__(self, folder: Path) -> None:
        self.mine, self.base = folder / "mine.yaml", folder / "base.yaml"
        self.base.write_text(BASE)
        self.write("first")
        self.journal = folder / "run.ndjson"
        words = ("serve", str(self.mine), "--watch", "--port-base", "0", "--journal")
        self.served = Process(folder, *words, str(self.journal))

    def write(self, symbol: str) -> None:
        """Replace the file at once, as editors do."""
        draft = self.mine.with_suffix(".draft")
        draft.write_text(MINE.replace("SYMBOL", symbol))
        draft.replace(self.mine)

    def ready(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.served.ready_file.read_text())
        return facts

    def health(self) -> dict[str, Any]:
        health: dict[str, Any] = self.served.control("GET", "/health")
        return health

    def advance(self) -> Any:
        return self.served.control("POST", "/clock/advance", {"by": "1s"})


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.fixture
def watched(tmp_path):
    watched = Watched(tmp_path)
    with watched.served:
        yield watched


def listed(ready: dict[str, Any]) -> set[str]:
    return {"first", "second", "third", "from-base"} & set(ready["symbols"]["open"])


def test_a_change_of_the_file_or_of_one_that_it_extends_starts_the_exchange_over(watched, capsys):
    assert listed(watched.ready()) == {"first", "from-base"}
    stream = connected(watched.served.ready["control"])
    stream.sendall(b"GET /_sim/v1/live HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    stream.settimeout(30)
    watched.advance()
    before = watched.health()
    assert before["seq"] > 1
    watched.write("second")
    until(lambda: listed(watched.ready()) == {"second", "from-base"})
    now = watched.health()
    assert (now["scenario"], now["now"]) == ("mine", now["start"]) and now["seq"] <= 1
    output = b""
    while b"event: jump" not in output:
        output += stream.recv(65536)
    stream.close()
    watched.base.write_text(BASE.replace("from-base", "third"))
    until(lambda: listed(watched.ready()) == {"second", "third"})
    assert watched.advance()["now"]
    _, out, err = watched.served.end(signal.SIGTERM)
    assert err.count("sim: reloaded mine, seed 7") == 2, err
    last = watched.journal.with_name("run.reload-2.ndjson")
    assert f"replay {last}" in out
    for journal in (watched.journal, watched.journal.with_name("run.reload-1.ndjson"), last):
        assert main(["replay", str(journal)]) == 0, capsys.readouterr().out


def test_a_scenario_that_cannot_be_read_changes_nothing_and_the_console_says_where(watched):
    watched.advance()
    before = watched.health()
    lines = iter(watched.served.process.stderr.readline, "")  # type: ignore[union-attr]
    sound = watched.mine.read_text()
    watched.mine.write_text(sound.replace("tick_size", "tik_size"))
    assert next(line for line in lines if "not reloaded" in line)
    assert f"{watched.mine}:4:" in next(lines)
    watched.mine.unlink()
    assert next(line for line in lines if "not reloaded" in line)
    assert str(watched.mine) in next(lines)
    assert watched.health() == before
    watched.write("third")
    until(lambda: listed(watched.ready()) == {"third", "from-base"})
    assert watched.health()["seq"] <= 1
