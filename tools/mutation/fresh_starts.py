"""A pytest plugin: every simulation begins from nothing, so that its test runs what begins one."""

from __future__ import annotations

from sim.run import simulation
from sim.run.engine.start import PreparedStarts
from sim.world.start import default_world


def pytest_configure() -> None:
    vars(simulation)["PREPARED"] = PreparedStarts(0)


def forget_worlds() -> None:
    """Let the next simulation make the default world anew."""
    for created in vars(default_world).values():
        if hasattr(created, "cache_clear"):
            created.cache_clear()
