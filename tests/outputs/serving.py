"""The output of serving commands at 80 columns. They run as processes, receive calls of a client,
and end at SIGTERM. Ports and real durations are omitted.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.kit.http import call
from tests.kit.processes import ROOT, ready_facts

_STABLE = (
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
    # what of loopback this machine has
    (re.compile(r'(?<="listens_on":)\["127.0.0.1"(,"::1")?\]'), "<loopback>"),
    (re.compile(r"  localhost 127.0.0.1 alone: .*\n"), ""),
    (re.compile(r"ready in \d+ ms"), "ready in <n> ms"),
    (re.compile(r'(?<="time":")[^"]+'), "<wall time>"),
    (re.compile(r'(?<="duration_ms":)[0-9.e-]+'), "<n>"),
    (re.compile(r"(?<=private_key=)\S+/"), "<keys>/"),
    (re.compile(r'(?<=secret_key=")[^"]+'), "<secret>"),
)


class Server:
    """A `sim` process that serves, in the folder where it stands."""

    def __init__(self, command: str) -> None:
        self._command = command
        ready = Path(f"{command.split()[0]}-ready.json")
        ready.unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "sim", *command.split()),
                *("--port-base", "0", "--ready-file", str(ready)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(ROOT)},
        )
        self.ready = ready_facts(ready, self._process)

    def call(self, plane: str, path: str, body: dict[str, Any] | None = None) -> None:
        """Make a call, whatever it is answered."""
        call(self.ready[plane] + path, body)

    def ended(self) -> str:
        """The command, what it printed, and its exit code after SIGTERM."""
        self._process.send_signal(signal.SIGTERM)
        out, err = self._process.communicate(timeout=60)
        parts = [f"$ sim {self._command}", out.strip("\n")]
        if err:
            parts += ["(standard error)", err.strip("\n")]
        return _stable("\n".join([*parts, f"(exit code {self._process.returncode})"])) + "\n"


def _stable(text: str) -> str:
    for pattern, name in _STABLE:
        text = pattern.sub(name, text)
    return text


def _called(server: Server) -> None:
    """A call that is answered, one that is refused, and five minutes of the scenario."""
    server.call("gateway", "/v1/health")
    server.call("retail", "/v1/orders/open")
    server.call("control", "/_sim/v1/clock/advance", {"by": "10m"})


def _serve() -> str:
    texts = []
    for options in ("", " --log-format json"):
        server = Server(f"serve desk.yaml --clock manual{options}")
        _called(server)
        texts.append(server.ended())
    return "\n".join(texts)


def _open() -> str:
    server = Server("open 1.ndjson")
    server.call("control", "/_sim/v1/health")
    return server.ended()


def _record() -> str:
    upstream = Server("serve desk.yaml --clock manual --quiet")
    recorder = Server(f"record --to seen.ndjson --gateway {upstream.ready['gateway']}")
    recorder.call("gateway", "/v1/health")
    recorder.call("gateway", "/v1/nothing")
    output = recorder.ended()
    upstream.ended()
    return output


SERVING: dict[str, Callable[[], str]] = {"serve": _serve, "open": _open, "record": _record}
