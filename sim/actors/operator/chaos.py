"""What a tester can switch: faults, maintenance, presets, quirks, assumptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sim.actors.operator.bodies import Answer
from sim.core.model.refusals import InvalidRequest, NotFound
from sim.core.service.presets import PRESETS
from sim.core.service.presets import apply as apply_preset
from sim.kernel.instants import format_instant
from sim.scenario.fault_names import never_strikes, unknown_operation
from sim.scenario.steps import FaultEntry
from sim.scenario.world_entries import MaintenanceEntry
from sim.world import maintenance_windows

if TYPE_CHECKING:
    from sim.simulation import Simulation


def add_fault(sim: Simulation, entry: FaultEntry) -> Answer:
    """Put a fault in force."""
    wrong = unknown_operation(entry.match.operation) or never_strikes(entry.match)
    if wrong:
        raise InvalidRequest(wrong, rule="control", remedy="`sim catalogue operations` lists them")
    try:
        return {"id": sim.exchange.faults.add(entry)}
    except ValueError as error:
        raise InvalidRequest(str(error), rule="control") from error


def remove_fault(sim: Simulation, name: str) -> Answer:
    """End a fault."""
    if not sim.exchange.faults.remove(name):
        raise NotFound(
            f"no fault is called {name!r}", rule="control", remedy="GET /_sim/v1/faults lists them"
        )
    return {}


def add_maintenance(sim: Simulation, entry: MaintenanceEntry) -> Answer:
    """Add a one-off maintenance window; without a beginning it begins at once."""
    window = maintenance_windows.add_maintenance(sim.exchange, entry)
    return {
        "name": window.name,
        "begins": format_instant(window.begins),
        "ends": format_instant(window.ends),
    }


def cancel_maintenance(sim: Simulation, name: str) -> Answer:
    """Call a one-off window off, or end it now."""
    if not sim.exchange.maintenance.cancel(name):
        raise NotFound(
            f"no one-off window is called {name!r}",
            rule="control",
            remedy="GET /_sim/v1/state/maintenance lists them",
        )
    return {}


def set_preset(sim: Simulation, name: object) -> Answer:
    """Put the whole exchange into a mood: every quirk, and the preset's faults in the place of
    another preset's. Faults added by hand stay.
    """
    if not isinstance(name, str) or not name:
        raise InvalidRequest(
            "name must be text", rule="control", remedy="one of " + ", ".join(PRESETS)
        )
    preset = PRESETS.get(name)
    if preset is None:
        raise NotFound(
            f"there is no preset {name!r}", rule="control", remedy="one of " + ", ".join(PRESETS)
        )
    apply_preset(preset, sim.exchange.ctx.quirks, sim.exchange.faults)
    return {"name": preset.name, "summary": preset.summary, "faults": len(preset.faults)}


def set_quirk(sim: Simulation, name: str, value: object) -> Answer:
    """Change the odds of a quirk."""
    quirks = sim.exchange.ctx.quirks
    try:
        quirk = quirks.change(name, value)
    except KeyError as error:
        raise NotFound(
            str(error.args[0]), rule="control", remedy="GET /_sim/v1/catalogue/quirks lists them"
        ) from error
    except ValueError as error:
        raise InvalidRequest(str(error), rule="control") from error
    return {"name": name, "value": quirks.shown(name), "default": str(quirk.default)}


def set_assumption(sim: Simulation, name: str, value: object) -> Answer:
    """Change an assumption."""
    assumptions = sim.exchange.ctx.assumptions
    try:
        assumption = assumptions.change(name, value)
    except KeyError as error:
        raise NotFound(
            str(error.args[0]),
            rule="control",
            remedy="GET /_sim/v1/catalogue/assumptions lists them",
        ) from error
    except ValueError as error:
        raise InvalidRequest(str(error), rule="control") from error
    if name.startswith("maintenance."):
        sim.exchange.maintenance.reschedule()
    if name.startswith("limits."):
        sim.exchange.rate_limits.reread()
    return {
        "name": name,
        "value": assumptions.shown(name),
        "default": assumption.show(assumption.default),
    }
