"""Worlds for tests that hold the exchange against tables written from the specification."""

from __future__ import annotations

from sim import Simulation, load_scenario
from sim.core.service.rate_limits import LIMITS
from sim.kernel.instants import parse_instant
from sim.run.client.client import Connection, connect


def world_of(text: str = "", start: str = "", *, limits: bool = False) -> Connection:
    """The quickstart with some more YAML, begun at an instant; rate limits only where asked for."""
    scenario = load_scenario(f"name: oracle\nextends: quickstart\n{text}")
    world = connect(Simulation(scenario, start=parse_instant(start) if start else None))
    if not limits:
        for name in LIMITS:
            world.simulation.exchange.rate_limits.replace(name, "off")
    return world
