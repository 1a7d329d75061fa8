"""`sim` as a process, for tests of what it does to the world around it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path


class Process:
    """A `sim` process with a ready file. `program` is what Python runs instead of `sim`."""

    def __init__(
        self, folder: Path, *arguments: str, program: tuple[str, ...] = ("-m", "sim")
    ) -> None:
        self.ready_file = folder / "ready.json"
        self.process = subprocess.Popen(
            [sys.executable, *program, *arguments, "--ready-file", str(self.ready_file)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        )
        deadline = time.monotonic() + 20
        while not self.ready_file.exists():
            assert self.process.poll() is None and time.monotonic() < deadline, (
                self.process.communicate()[1]
            )
            time.sleep(0.02)
        self.ready = json.loads(self.ready_file.read_text())

    def end(self, *signals: int) -> tuple[int, str, str]:
        """Exit code, output and errors after these signals."""
        for number in signals:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err
