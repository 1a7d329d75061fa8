"""In-process clients for tests and scripts."""

from __future__ import annotations

from sim.run.client import client
from sim.run.client.client import Connection
from sim.run.simulation import Simulation
from sim.testing.fuse import arm


def connect(simulation: Simulation) -> Connection:
    """In-process clients for every surface of a simulation.

    From now on this process, or the pytest test that it runs, cannot connect to the real service.
    """
    arm()
    return client.connect(simulation)
