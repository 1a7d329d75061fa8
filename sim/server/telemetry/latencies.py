"""Latencies of calls by plane, in the buckets of Prometheus histograms: real time that the sandbox
took, and virtual time that the answer takes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping

from sim.api.pipeline.inputs import Outcome
from sim.run.actors.operator.metrics import MetricFamily
from sim.run.simulation import Simulation

WALL_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
VIRTUAL_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_NS = 1_000_000_000


class Histogram:
    """Counts of values by plane and bucket, and their sums."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.planes: dict[str, tuple[list[int], list[float]]] = {}

    def add(self, plane: str, seconds: float) -> None:
        """Count a value."""
        counts, total = self.planes.setdefault(plane, ([0] * (len(self.bounds) + 1), [0.0]))
        counts[bisect_left(self.bounds, seconds)] += 1
        total[0] += seconds


class Latencies:
    """A meter of calls (`Host.latencies`), from the first time that metrics are read."""

    def __init__(self) -> None:
        self._wall, self._virtual = Histogram(WALL_S), Histogram(VIRTUAL_S)

    def called(
        self,
        simulation: Simulation,
        outcome: Outcome,
        headers: Mapping[str, str],
        began: int,
        took: int,
    ) -> None:
        """A call was handled: see `Meter`."""
        for entry in simulation.log.since(outcome.seq - 1):
            self._wall.add(entry.plane, took / _NS)
            if outcome.reply is not None:
                late = max(0, outcome.reply.ready_at - entry.at)
                self._virtual.add(entry.plane, late / _NS)
            return

    def families(self) -> Iterator[MetricFamily]:
        """The histograms."""
        since = "counted from the first reading of metrics on"
        for name, histogram, measured in (
            ("sim_wall_latency_seconds", self._wall, "real time that the sandbox took for a call"),
            ("sim_virtual_latency_seconds", self._virtual, "virtual time until an answer is due"),
        ):
            family = MetricFamily(name, "histogram", f"{measured}, {since}")
            for plane, (counts, total) in sorted(histogram.planes.items()):
                family.histograms.append(({"plane": plane}, histogram.bounds, counts, total[0]))
            yield family
