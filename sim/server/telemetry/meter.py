"""Who measures the calls of a host. Nobody does unless asked to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Protocol

from sim.api.pipeline.inputs import Outcome
from sim.run.simulation import Simulation


class Meter(Protocol):
    """Hears of each call after it was handled."""

    def called(
        self,
        simulation: Simulation,
        outcome: Outcome,
        headers: Mapping[str, str],
        began: int,
        took: int,
    ) -> None:
        """A call with these headers was handled; when it began (unix nanoseconds) and how long it
        took are by the machine's clock.
        """


def measure(
    meters: Iterable[Meter],
    simulation: Simulation,
    outcome: Outcome,
    headers: Mapping[str, str],
    began: int,
) -> None:
    """Tell the meters of a call that has just been handled."""
    took = time.time_ns() - began
    for meter in meters:
        meter.called(simulation, outcome, headers, began, took)
