"""The catalogues as rows, read from the code: operations, quirks, faults, presets, assumptions,
observations, dates, and the statements of the specification with the tests that demonstrate them.
"""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from sim.contract.contract import Operation, load_contract
from sim.contract.wire_fields import needs_of
from sim.core.catalogue import assumptions, observations, quirks
from sim.core.catalogue.bounds import BOUNDS
from sim.core.model.refusals import NotFound
from sim.core.service.fault_spec import KINDS
from sim.core.service.json_patch import READY
from sim.core.service.presets import PRESETS
from sim.kernel.instants import format_instant

if TYPE_CHECKING:
    from sim.run.simulation import Simulation

Rows = list[dict[str, Any]]


def _operations(sim: Simulation | None) -> Rows:
    from sim.api.registry import served

    names = served()
    return [
        {
            "operation": operation.name,
            "planes": ", ".join(operation.planes),
            "rest": ", ".join(f"{verb} {path}" for verb, path, _ in operation.bindings),
            "grpc": operation.grpc,
            "scope": operation.scope,
            "participant": operation.participant,
            "needs": _needs(operation),
            "since": format_instant(operation.since) if operation.since is not None else "",
            "until": format_instant(operation.until) if operation.until is not None else "",
            "served": operation.name in names,
            "summary": operation.summary,
        }
        for operation in load_contract().operations
    ]


def _needs(operation: Operation) -> str:
    """Return the fields that a request requires in addition to those in its path."""
    paths = " ".join(path for _, path, _ in operation.bindings)
    return ", ".join(needs_of(operation.request, json=bool(operation.planes), in_path=paths))


def _quirks(sim: Simulation | None) -> Rows:
    return [
        {
            "quirk": quirk.name,
            "section": f"§{quirk.spec}",
            "default": str(quirk.default),
            "value": sim.exchange.ctx.quirks.as_written(quirk.name) if sim else str(quirk.default),
            "summary": quirk.summary,
        }
        for quirk in quirks.catalogue().values()
    ]


def _assumptions(sim: Simulation | None) -> Rows:
    return [
        {
            "assumption": assumption.name,
            "default": (default := assumption.show(assumption.default)),
            "value": sim.exchange.ctx.assumptions.as_written(assumption.name) if sim else default,
            "accepts": assumption.accepts(),
            "reason": assumption.reason,
            "source": assumption.source,
        }
        for assumption in assumptions.catalogue().values()
    ]


def _observations(sim: Simulation | None) -> Rows:
    ctx = sim.exchange.ctx if sim else None
    return [
        {
            "observation": observation.name,
            "summary": observation.summary,
            "evidence": ", ".join(observation.evidence),
            "date": observation.date,
            "source": observation.source,
            "overrides": observation.overrides,
            "reading": observation.holds,
            "switch": observation.setting,
            "operations": list(observation.operations),
            "in_force": observations.in_force(observation, ctx.assumptions, ctx.quirks)
            if ctx
            else observation.switch is None,
        }
        for observation in observations.catalogue().values()
    ]


def _faults(sim: Simulation | None) -> Rows:
    return [
        {"act": kind.name, "matches": ", ".join(kind.planes), "does": kind.does} for kind in KINDS
    ]


def _patches(sim: Simulation | None) -> Rows:
    return [{"patch": name, "does": patch.does} for name, patch in READY.items()]


def _presets(sim: Simulation | None) -> Rows:
    return [
        {"preset": preset.name, "faults": len(preset.faults), "summary": preset.summary}
        for preset in PRESETS.values()
    ]


def _bounds(sim: Simulation | None) -> Rows:
    return [
        {
            "bound": bound.name,
            "from": bound.low,
            "to": bound.high,
            "unit": bound.unit,
            "applies to": bound.where,
            "reason": bound.reason,
        }
        for bound in BOUNDS
    ]


def _dates(sim: Simulation | None) -> Rows:
    from sim.read import dates

    return dates.rows()


def _ledger(sim: Simulation | None) -> Rows:
    from sim.read import spec_coverage
    from sim.world.format.yaml_tree import read_text, value_of

    try:
        text, tests = spec_coverage.load()
    except FileNotFoundError:
        raise NotFound(
            "this installation has no ledger of statements",
            remedy="run this in a checkout, or install from one",
        ) from None
    statements = value_of(read_text(text, "ledger.yaml"))
    return [
        {
            "id": str(name),
            "shown": name in tests,
            "statement": str(text),
            "tests": tests.get(name, []),
        }
        for name, text in statements.items()
    ]


CATALOGUES: dict[str, Callable[[Any], Rows]] = {
    "operations": _operations,
    "quirks": _quirks,
    "faults": _faults,
    "patches": _patches,
    "presets": _presets,
    "assumptions": _assumptions,
    "observations": _observations,
    "bounds": _bounds,
    "dates": _dates,
    "ledger": _ledger,
}


def rows(kind: str, sim: Simulation | None = None, pattern: str = "*") -> Rows:
    """Return the rows of a catalogue in which a column matches, with the current values of a
    simulation.

    A pattern without wildcards matches anywhere in a column, ignoring case; if a row has exactly
    that name, it is the only one returned. Refuses an unknown catalogue as not found.
    """
    if kind not in CATALOGUES:
        raise NotFound(f"unknown catalogue {kind!r}", remedy="one of " + ", ".join(CATALOGUES))
    entries = CATALOGUES[kind](sim)
    named = [row for row in entries if name_of(row) == pattern]
    if named or pattern == "*":
        return named or entries
    shape = pattern if set(pattern) & set("*?[") else f"*{pattern}*"
    return [row for row in entries if _matches(row, shape.casefold())]


def name_of(row: dict[str, Any]) -> str:
    """Return the name of a row: its first column, prefixed by the kind of the row if it has one."""
    return str(row["name"] if "name" in row else next(iter(row.values())))


def _matches(row: dict[str, Any], shape: str) -> bool:
    """Return whether a column of a row, or one entry of a list in it, matches."""
    columns = (each if isinstance(each, list) else [each] for each in row.values())
    return any(fnmatchcase(str(text).casefold(), shape) for texts in columns for text in texts)
