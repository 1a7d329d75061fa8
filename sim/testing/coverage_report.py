"""`--exchange-coverage FILE`: coverage of the exchange by the tests of a session, in one file.

Under xdist each worker counts its own tests and sends its part to the controller, which writes the
file. A killed worker reports nothing; the summary counts such workers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from sim.read.commands import sim_command
from sim.read.exchange_coverage import Recorder, document, headline, packed, read

_KEY = "sandbox_exchange_coverage"


class CoverageReport:
    """Collects the coverage of every exchange of the session; `recorder` is this process's part."""

    def __init__(self, config: pytest.Config, target: str) -> None:
        self.recorder = Recorder()
        self._config = config
        self._target = Path(target).absolute()
        self._lost = 0
        if not self._in_worker:
            try:
                self._target.parent.mkdir(parents=True, exist_ok=True)
                self._target.open("ab").close()
            except OSError as error:
                problem = f"--exchange-coverage {target}: {error.strerror}"
                raise pytest.UsageError(problem) from None

    @property
    def _in_worker(self) -> bool:
        return hasattr(self._config, "workerinput")

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take the part of a worker that has ended."""
        part = getattr(node, "workeroutput", {}).get(_KEY)
        if part is None:
            self._lost += 1
        else:
            self.recorder.coverage.add(read(part.encode(), "a worker's part"))

    def pytest_sessionfinish(self) -> None:
        """Send this worker's part, or write the file."""
        if self._in_worker:
            self._config.workeroutput[_KEY] = packed(self.recorder.coverage)  # type: ignore[attr-defined]
        else:
            encoded = json.encode(document(self.recorder.coverage))
            self._target.write_bytes(json.format(encoded, indent=1))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print a summary, and the path of the file."""
        line = terminalreporter.write_line
        terminalreporter.section("exchange coverage")
        line(headline(self.recorder.coverage))
        if self._lost:
            line(f"{self._lost} workers ended without reporting their coverage")
        line(sim_command("coverage", self._target))
