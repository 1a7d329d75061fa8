"""Checks of settings: quirks, assumptions, rate limits and faults of scenarios and steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import json

from sim.core.catalogue import assumptions, quirks
from sim.core.catalogue.assumption_values import unknown_name
from sim.core.catalogue.bounds import LIMIT_CALLS
from sim.core.service.fault_spec import FaultSpec
from sim.core.service.fault_spec import check as check_fault
from sim.core.service.rate_limits import LIMITS
from sim.run.loader.nodes import entries_of, items_of, mappings_of, node_at
from sim.world.format.fault_names import has_no_effect, unknown_operation
from sim.world.format.struct_types import record
from sim.world.format.suggestions import suggestion
from sim.world.format.value_types import INVALID
from sim.world.format.yaml_tree import Mapping, Node, Problem, Scalar, SourcePosition, problem


def setting_problems(part: Node) -> Iterator[Problem]:
    """Problems of the quirks, assumptions and faults of a scenario or of one of its steps."""
    for kind in ("quirk", "assumption"):
        for key in (kind, f"{kind}s"):
            yield from _names_and_values(kind, node_at(part, key))
    for key in ("fault", "faults"):
        for fault in mappings_of(node_at(part, key)):
            yield from _fault(fault)


def _names_and_values(kind: str, settings: Node | None) -> Iterator[Problem]:
    """Unknown quirks or assumptions, and values that an assumption does not accept."""
    catalogue: Iterable[str] = quirks.catalogue() if kind == "quirk" else assumptions.catalogue()
    for name, at, value in entries_of(settings):
        if name not in catalogue:
            near = suggestion(name, catalogue) or f"; `sim catalogue {kind}s` lists them"
            yield problem(at, f"unknown {kind} {name!r}{near}")
        elif kind == "assumption" and isinstance(value, Scalar) and "${" not in value.text:
            try:
                assumptions.catalogue()[name].parse(value.text)
            except ValueError as error:
                yield problem(value.at, str(error))


def limit_problems(node: Node) -> Iterator[Problem]:
    """Problems of rate limits, and of those that are raised for a firm or a key."""
    for name, at, _ in entries_of(node_at(node, "limits")):
        if name not in LIMITS:
            hint = suggestion(name, LIMITS) or f"; known: {', '.join(LIMITS)}"
            yield problem(at, f"unknown limit {name!r}{hint}")
    for item in (*items_of(node, "world", "firms"), *items_of(node, "world", "api_keys")):
        for name, at, count in entries_of(node_at(item, "limits")):
            if name not in LIMITS:
                yield problem(at, unknown_name("limit", name, LIMITS))
            elif isinstance(count, Scalar):
                try:
                    LIMIT_CALLS.check(int(count.text))
                except ValueError as error:
                    yield problem(count.at, str(error))


def _fault(node: Mapping) -> Iterator[Problem]:
    """Problems of a fault. A fault with a `${name}` of a saved value is checked during the run."""
    operation = node_at(node, "match", "operation")
    spec = record(FaultSpec).read(node, [])
    if spec is INVALID or "${" in json.encode(spec).decode():
        return
    try:
        check_fault(spec)
    except ValueError as error:
        yield problem(_about(node, str(error)), str(error))
        return
    if wrong := unknown_operation(spec.match.operation) or has_no_effect(spec):
        yield problem(operation.at if operation is not None else node.at, wrong)


def _about(fault: Mapping, message: str) -> SourcePosition:
    """The position of the value that a problem is about: the first value whose key the message
    names, or else the fault.
    """
    for part in (*map(partial(node_at, fault), ("match", "act")), fault):
        for key, _, value in entries_of(part):
            if re.search(rf"\b{key}\b", message):
                return value.at
    return fault.at
