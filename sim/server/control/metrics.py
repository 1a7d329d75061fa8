"""Metrics in the text format of Prometheus, by its client library."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from sim.run.actors.operator.metrics import MetricFamily


class _Collector:
    """The source of metrics for the library."""

    def __init__(self, families: Iterable[MetricFamily]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        """The metrics in the library's form."""
        return map(_metric, self._families)


def prometheus_text(families: Iterable[MetricFamily]) -> bytes:
    """The metrics in the exposition format 0.0.4."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(list(families)))
    return generate_latest(registry)


def _metric(family: MetricFamily) -> Metric:
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(family.name, family.about, labels=["plane"])
        for labels, bounds, counts, total in family.histograms:
            edges = [*map(str, bounds), "+Inf"]
            buckets = list(zip(edges, map(float, accumulate(counts)), strict=True))
            histogram.add_metric([*labels.values()], buckets, total)
        return histogram
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    names = list(family.samples[0][0]) if family.samples else ()
    metric = kind(family.name, family.about, labels=names)
    for labels, value in family.samples:
        metric.add_metric([*labels.values()], value)
    return metric
