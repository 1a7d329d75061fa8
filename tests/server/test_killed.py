"""kill -9 in the middle of load: the journal left behind replays, and holds everything that was
acknowledged (design D5).
"""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from sim.read.replay import replay
from tools.soak.kills import kill_round
from tools.soak.load import SURFACES


@pytest.fixture
def served(tmp_path: Path):
    """A server process with a journal: (process, ready file's content, journal)."""
    ready, journal = tmp_path / "ready.json", tmp_path / "journal.ndjson"
    command = [
        sys.executable,
        "-m",
        "sim",
        "serve",
        "--port-base",
        "0",
        "--clock",
        "paced:20",
        "--journal",
        str(journal),
        "--ready-file",
        str(ready),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=Path(__file__).parents[2]
    )
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(b"try:"):
            break
    yield process, json.loads(ready.read_text()), journal
    process.kill()
    process.wait()


@pytest.mark.long
@pytest.mark.parametrize("surface", SURFACES)
def test_orders_taken_on_a_surface_survive_the_kill(tmp_path: Path, surface: str) -> None:
    """Three clients at once until the process is gone: what was answered is in the journal, and the
    exchange it replays to still has it. `make soak` does a hundred rounds of this.
    """
    done = kill_round(surface, tmp_path, 60)
    assert done.acknowledged >= 60
    assert not done.lost


def test_what_was_acknowledged_before_the_kill_is_in_the_journal_and_it_replays(served) -> None:
    process, addresses, journal = served
    acknowledged: list[tuple[str, str]] = []
    enough = threading.Event()

    def trade(symbol: str) -> None:
        """Place orders by the control plane and read the public book, until the server is gone."""
        number = 0
        while True:
            number += 1
            order = {
                "as": "maker",
                "symbol": symbol,
                "side": "buy",
                "price": "0.02",
                "qty": str(number),
            }
            try:
                request = urllib.request.Request(
                    f"{addresses['control']}/_sim/v1/orders", json.dumps(order).encode()
                )
                with urllib.request.urlopen(request, timeout=5) as answer:
                    acknowledged.append(("order", json.load(answer)["order_id"]))
                with urllib.request.urlopen(
                    f"{addresses['gateway']}/v1/health", timeout=5
                ) as answer:
                    acknowledged.append(("call", answer.headers["x-request-id"]))
            except urllib.error.HTTPError as refused:
                # a rate limit is an answer like any other
                acknowledged.append(("call", refused.headers["x-request-id"]))
            except OSError:
                return
            if len(acknowledged) > 150:
                enough.set()

    threads = [
        threading.Thread(target=trade, args=(symbol,))
        for symbol in addresses["symbols"]["open"][:3]
    ]
    for thread in threads:
        thread.start()
    assert enough.wait(30)
    os.kill(process.pid, signal.SIGKILL)
    for thread in threads:
        thread.join(30)
    out = io.StringIO()
    assert replay(str(journal), None, out) == 0, out.getvalue()
    lines = [json.loads(line) for line in journal.read_bytes().split(b"\n")[1:-1]]
    placed = {
        event["execution"]["order"]["id"]
        for line in lines
        for event in line["out"].get("events", ())
        if "execution" in event
    }
    assert {name for kind, name in acknowledged if kind == "order"} <= placed
    assert {int(name, 16) for kind, name in acknowledged if kind == "call"} <= {
        line["seq"] for line in lines if line["input"]["type"] == "rest"
    }
