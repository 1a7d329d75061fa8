"""A sandbox exchange as a calculation. `Simulation` is the exchange, `load_scenario` reads what it
starts from; see docs/explanation/architecture.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.run.loader.load import load_scenario
    from sim.run.simulation import Simulation

__all__ = ["Simulation", "load_scenario"]


def __getattr__(name: str) -> Any:
    # Late, so that `sim --help` and the plugin's registration cost nothing.
    if name == "Simulation":
        from sim.run.simulation import Simulation

        return Simulation
    if name == "load_scenario":
        from sim.run.loader.load import load_scenario

        return load_scenario
    if name == "__version__":
        from sim.kernel.release import RELEASE

        return RELEASE
    raise AttributeError(f"module 'sim' has no attribute {name!r}")
