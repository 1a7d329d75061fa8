"""Prometheus text (exposition format 0.0.4) from numbers by name; a name may carry its labels, as
in `sim_requests_total{plane="retail"}`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def prometheus_text(metrics: Mapping[str, float]) -> Iterator[bytes]:
    """Lines of the exposition format. Names that end in `_total` are counters, others gauges."""
    announced = ""
    for series, value in metrics.items():
        name = series.partition("{")[0]
        if name != announced:
            announced = name
            yield f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}".encode()
        yield f"{series} {value}".encode()
