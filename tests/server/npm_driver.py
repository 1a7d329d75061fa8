"""The published npm client (`polymarket-us`) in a node process of its own, as Python tests hold it.

The package is looked for where node looks, and in the `node_modules` of the Python environment:
`make npm` puts it there. Nothing here asks the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from json import dumps, loads
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

PACKAGE = "polymarket-us"
PATIENCE_S = 10.0


class Trouble(Exception):
    """An error of the client: its class, status and message as JavaScript saw them."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(f"{error['name']}: {error['message']}")
        self.name: str = error["name"]
        self.status: int | None = error.get("status")
        self.message: str = error["message"]


class Node:
    """One node process. Its sockets' events are in `events` as (socket, event, data), in
    order.
    """

    def __init__(self) -> None:
        command = [shutil.which("node") or "node", str(Path(__file__).with_name("npm_client.cjs"))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment()
        )
        self._lines: Queue[dict[str, Any]] = Queue()
        self._reader = Thread(target=self._read, daemon=True)
        self._reader.start()
        self._number = 0
        self.events: list[tuple[str, str, Any]] = []

    def __call__(self, does: str, **value: Any) -> Any:
        """Ask for one thing and wait for its answer. Raises Trouble for an error of the client."""
        self._number += 1
        assert self._process.stdin is not None
        self._process.stdin.write(dumps({"number": self._number, "does": does, **value}) + "\n")
        self._process.stdin.flush()
        while True:
            line = self._next(f"{does} {value}")
            if line.get("number") == self._number:
                break
        if "error" in line:
            raise Trouble(line["error"])
        return line["value"]

    def until(self, condition: Callable[[], bool]) -> None:
        """Listen until something is so."""
        while not condition():
            self._next(f"events; so far {self.events}")

    def heard(self, socket: str, event: str) -> list[Any]:
        """What a socket emitted under an event."""
        return [data for heard_by, name, data in self.events if (heard_by, name) == (socket, event)]

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        self._process.stdout.close()

    def _next(self, awaited: str) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=PATIENCE_S)
        except Empty:
            raise AssertionError(f"node was silent while waiting for {awaited}") from None
        if "event" in line:
            self.events.append((line["socket"], line["event"], line.get("data")))
        return line

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(loads(line))


def environment() -> dict[str, str]:
    """The environment of node, which also looks into the Python environment's `node_modules`."""
    places = [os.environ.get("NODE_PATH", ""), str(Path(sys.prefix) / "node_modules")]
    return {**os.environ, "NODE_PATH": os.pathsep.join(position for position in places if position)}


def missing() -> str:
    """Why the client cannot be driven here; "" when it can."""
    node = shutil.which("node")
    if node is None:
        return "node is not installed"
    result = subprocess.run(
        [node, "-e", f"require.resolve('{PACKAGE}')"],
        cwd=Path(__file__).parent,
        env=environment(),
        capture_output=True,
    )
    return f"the npm package {PACKAGE} is not installed: make npm" if result.returncode else ""
