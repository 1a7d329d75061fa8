"""The catalogues, printed from the code: operations, quirks, faults, assumptions, and the ledger of
statements with the tests that show them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sim.contract.contract import load_contract
from sim.core.catalogue import assumptions, quirks
from sim.core.model.refusals import NotFound
from sim.core.service.fault_spec import KINDS
from sim.core.service.presets import PRESETS
from sim.kernel.instants import format_instant

if TYPE_CHECKING:
    from sim.simulation import Simulation

Rows = list[dict[str, Any]]


def _operations(sim: Simulation | None) -> Rows:
    from sim.api.registry import served

    done = served()
    return [
        {
            "operation": operation.name,
            "planes": ", ".join(operation.planes),
            "rest": ", ".join(f"{verb} {path}" for verb, path, _ in operation.bindings),
            "grpc": operation.grpc,
            "scope": operation.scope,
            "participant": operation.participant,
            "since": format_instant(operation.since) if operation.since is not None else "",
            "until": format_instant(operation.until) if operation.until is not None else "",
            "served": operation.name in done,
            "summary": operation.summary,
        }
        for operation in load_contract().operations
    ]


def _quirks(sim: Simulation | None) -> Rows:
    return [
        {
            "quirk": quirk.name,
            "section": f"§{quirk.spec}",
            "default": str(quirk.default),
            "value": sim.exchange.ctx.quirks.shown(quirk.name) if sim else str(quirk.default),
            "summary": quirk.summary,
        }
        for quirk in quirks.catalogue().values()
    ]


def _assumptions(sim: Simulation | None) -> Rows:
    return [
        {
            "assumption": found.name,
            "default": found.show(found.default),
            "value": (
                sim.exchange.ctx.assumptions.shown(found.name) if sim else found.show(found.default)
            ),
            "accepts": found.accepts(),
            "reason": found.reason,
            "source": found.source,
        }
        for found in assumptions.catalogue().values()
    ]


def _faults(sim: Simulation | None) -> Rows:
    return [
        {"act": kind.name, "matches": ", ".join(kind.planes), "does": kind.does} for kind in KINDS
    ]


def _presets(sim: Simulation | None) -> Rows:
    return [
        {"preset": preset.name, "faults": len(preset.faults), "summary": preset.summary}
        for preset in PRESETS.values()
    ]


def _dates(sim: Simulation | None) -> Rows:
    from sim.analysis import dates

    return dates.rows()


def _ledger(sim: Simulation | None) -> Rows:
    from sim.analysis import spec_coverage
    from sim.scenario.yaml_tree import read_text, value_of

    try:
        text, shown = spec_coverage.kept()
    except FileNotFoundError:
        raise NotFound(
            "this installation has no ledger of statements",
            remedy="run this in a checkout, or install from one",
        ) from None
    statements = value_of(read_text(text, "ledger.yaml"))
    return [
        {
            "id": str(name),
            "shown": name in shown,
            "statement": str(said),
            "tests": shown.get(name, []),
        }
        for name, said in statements.items()
    ]


CATALOGUES: dict[str, Callable[[Any], Rows]] = {
    "operations": _operations,
    "quirks": _quirks,
    "faults": _faults,
    "presets": _presets,
    "assumptions": _assumptions,
    "dates": _dates,
    "ledger": _ledger,
}


def rows(kind: str, sim: Simulation | None = None) -> Rows:
    """A catalogue by name. With a simulation, the values in force there."""
    found = CATALOGUES.get(kind)
    if found is None:
        raise NotFound(f"there is no catalogue {kind!r}", remedy="one of " + ", ".join(CATALOGUES))
    return found(sim)
