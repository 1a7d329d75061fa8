"""`sim` as a process, for tests of what it does to the world around it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

from sim.testing.control import Control

ROOT = Path(__file__).parents[2]
_READY_S = 60.0


def ready_facts(path: Path, process: subprocess.Popen[Any]) -> dict[str, Any]:
    """The content of a process's ready file, as soon as it has any."""
    deadline = time.monotonic() + _READY_S
    while not path.exists() or not (text := path.read_text()):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"nothing was ready within {_READY_S:g} s"
        time.sleep(0.02)
    facts: dict[str, Any] = json.loads(text)
    return facts


class Process:
    """A `sim` process with a ready file, which is killed at the end of a `with` block unless it has
    ended. `program` is what Python runs instead of `sim`. `keep` leaves the ready file of an
    earlier process where it is.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        program: tuple[str, ...] = ("-m", "sim"),
        keep: bool = False,
    ) -> None:
        self.ready_file = folder / "ready.json"
        if not keep:
            self.ready_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments, "--ready-file", str(self.ready_file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        self.ready = ready_facts(self.ready_file, self.process)

    @cached_property
    def control(self) -> Control:
        """The control plane, to call."""
        return Control(self.ready["control"])

    def end(self, *signals: int) -> tuple[int, str, str]:
        """Exit code, output and errors after these signals."""
        for number in signals:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err

    def __enter__(self) -> Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def serve(
    folder: Path, *options: str, clock: str = "manual", program: tuple[str, ...] = ("-m", "sim")
) -> Process:
    """`sim serve` on free ports."""
    words = ("serve", "--port-base", "0", "--clock", clock, *options)
    return Process(folder, *words, program=program)


def sim(
    *words: object, cwd: Path | None = None, timeout: float = 300, module: str = "sim", **more: Any
) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself, or another module of Python's."""
    return subprocess.run(
        [sys.executable, "-m", module, *map(str, words)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        **more,
    )
