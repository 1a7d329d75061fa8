"""A pytest plugin: every simulation begins from nothing, so that its test runs what begins one."""

from __future__ import annotations

from sim import simulation
from sim.engine.prepared_starts import PreparedStarts


def pytest_configure() -> None:
    vars(simulation)["PREPARED"] = PreparedStarts(0)
