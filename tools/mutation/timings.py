"""A pytest plugin: how long each test that passed took, as JSON in the file `MUTATION_TIMINGS`.

Each test makes its world anew, so that all that makes one is measured.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

import pytest

from tools.mutation.fresh_starts import forget_worlds

TOOK: dict[str, float] = defaultdict(float)
FAILED: set[str] = set()


def pytest_runtest_setup() -> None:
    forget_worlds()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    TOOK[report.nodeid] += report.duration
    if not report.passed:
        FAILED.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):  # a worker reports to the controller
        took = {name: length for name, length in TOOK.items() if name not in FAILED}
        Path(os.environ["MUTATION_TIMINGS"]).write_text(json.dumps(took, indent=0))
