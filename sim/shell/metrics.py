"""Prometheus text from plain numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

Labels: TypeAlias = tuple[tuple[str, str], ...]
Metrics: TypeAlias = Mapping[str, "int | float | Mapping[Labels, int | float]"]

_PREFIX = "sim_"


def prometheus_text(metrics: Metrics) -> Iterator[bytes]:
    """Lines of the exposition format. A name that ends in `_total` is a counter, any other a gauge."""
    for name, value in metrics.items():
        full = _PREFIX + name
        yield f"# TYPE {full} {'counter' if name.endswith('_total') else 'gauge'}".encode()
        if isinstance(value, Mapping):
            for labels, number in value.items():
                inside = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels)
                yield f"{full}{{{inside}}} {number}".encode()
        else:
            yield f"{full} {value}".encode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
