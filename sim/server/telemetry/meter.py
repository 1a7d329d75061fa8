"""Who measures the calls of a host. Nobody does unless asked to."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple, TypeAlias

from sim.api.pipeline.inputs import Outcome
from sim.api.pipeline.request_log import LoggedCall
from sim.run.simulation import Simulation


class MeasuredCall(NamedTuple):
    """A call that was handled: its entry in the log, and headers or metadata. When it began (unix
    nanoseconds) and how long it took (nanoseconds) are by the machine's clock; `late` is how long
    its answer takes in virtual nanoseconds, None without one.
    """

    entry: LoggedCall
    headers: Mapping[str, str]
    began: int
    took: int
    late: int | None


Meter: TypeAlias = Callable[[MeasuredCall], None]


def measure(
    meters: Iterable[Meter],
    simulation: Simulation,
    outcome: Outcome,
    headers: Mapping[str, str],
    began: int,
) -> None:
    """Tell the meters of a call that has just been handled."""
    took = time.time_ns() - began
    for entry in simulation.log.since(outcome.seq - 1)[:1]:
        late = max(0, outcome.reply.ready_at - entry.at) if outcome.reply is not None else None
        call = MeasuredCall(entry, headers, began, took, late)
        for meter in meters:
            meter(call)
