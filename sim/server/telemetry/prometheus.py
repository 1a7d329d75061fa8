"""Metrics in the text format of Prometheus, by its client library, with the latencies of calls:
real time that the sandbox took, and virtual time that the answer takes.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from sim.run.actors.operator.metrics import MetricFamily
from sim.server.telemetry.meter import MeasuredCall

WALL_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0)
VIRTUAL_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0)
_NS = 1_000_000_000


class _Histogram:
    """Counts of values by plane and bucket, and their sums."""

    def __init__(self, name: str, measured: str, bounds: tuple[float, ...]) -> None:
        self._name, self._bounds = name, bounds
        self._about = f"{measured}, counted from the first reading of metrics on"
        self._planes: dict[str, tuple[list[int], list[float]]] = {}

    def add(self, plane: str, seconds: float) -> None:
        """Count a value."""
        counts, total = self._planes.setdefault(plane, ([0] * (len(self._bounds) + 1), [0.0]))
        counts[bisect_left(self._bounds, seconds)] += 1
        total[0] += seconds

    def metric(self) -> Metric:
        """The histogram in the library's form."""
        metric = HistogramMetricFamily(self._name, self._about, labels=["plane"])
        edges = [*map(str, self._bounds), "+Inf"]
        for plane, (counts, total) in sorted(self._planes.items()):
            buckets = list(zip(edges, map(float, accumulate(counts)), strict=True))
            metric.add_metric([plane], buckets, total[0])
        return metric


class Latencies:
    """A meter of calls (`Host.latencies`), from the first time that metrics are read."""

    def __init__(self) -> None:
        real = "real time that the sandbox took for a call"
        self._wall = _Histogram("sim_wall_latency_seconds", real, WALL_S)
        virtual = "virtual time until an answer is due"
        self._virtual = _Histogram("sim_virtual_latency_seconds", virtual, VIRTUAL_S)

    def add(self, call: MeasuredCall) -> None:
        """Count a call."""
        self._wall.add(call.entry.plane, call.took / _NS)
        if call.late is not None:
            self._virtual.add(call.entry.plane, call.late / _NS)

    def collect(self) -> Iterator[Metric]:
        """The histograms."""
        yield self._wall.metric()
        yield self._virtual.metric()


class _Collector:
    """The source of metrics for the library."""

    def __init__(self, families: Iterable[MetricFamily], latencies: Latencies | None) -> None:
        self._families, self._latencies = families, latencies

    def collect(self) -> Iterator[Metric]:
        """The metrics in the library's form."""
        yield from map(_metric, self._families)
        if self._latencies is not None:
            yield from self._latencies.collect()


def prometheus_text(families: Iterable[MetricFamily], latencies: Latencies | None = None) -> bytes:
    """The metrics in the exposition format 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(list(families), latencies))
    return generate_latest(registry)


def _metric(family: MetricFamily) -> Metric:
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    names = list(family.samples[0][0]) if family.samples else ()
    metric = kind(family.name, family.about, labels=names)
    for labels, value in family.samples:
        metric.add_metric([*labels.values()], value)
    return metric
