"""What users import into their tests: the pytest fixture, clients, hypothesis
strategies and machines.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.read.export.yaml_writer import as_yaml
    from sim.testing.fuse import LiveHostRefused
    from sim.testing.in_process import connect

__all__ = ["LiveHostRefused", "as_yaml", "connect"]

# Imported late, because pytest imports this package for its plugin in every run.
_MODULES = {
    "LiveHostRefused": "sim.testing.fuse",
    "as_yaml": "sim.read.export.yaml_writer",
    "connect": "sim.testing.in_process",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'sim.testing' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
