"""Test tools: in-process clients of every plane, a pytest plugin, hypothesis strategies, and a
naive reference matcher.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.analysis.search.yaml_writer import as_yaml
    from sim.testing.client import connect

__all__ = ["as_yaml", "connect"]


def __getattr__(name: str) -> Any:
    # Imported late, because pytest imports this package for its plugin in every run.
    if name == "connect":
        from sim.testing.client import connect

        return connect
    if name == "as_yaml":
        from sim.analysis.search.yaml_writer import as_yaml

        return as_yaml
    raise AttributeError(f"module 'sim.testing' has no attribute {name!r}")
