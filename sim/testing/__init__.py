"""What users import into their tests: the pytest fixture, clients, hypothesis
strategies and machines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.read.export.yaml_writer import as_yaml
    from sim.run.client.client import connect

__all__ = ["as_yaml", "connect"]


def __getattr__(name: str) -> Any:
    # Imported late, because pytest imports this package for its plugin in every run.
    if name == "connect":
        from sim.run.client.client import connect

        return connect
    if name == "as_yaml":
        from sim.read.export.yaml_writer import as_yaml

        return as_yaml
    raise AttributeError(f"module 'sim.testing' has no attribute {name!r}")
