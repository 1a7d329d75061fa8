"""Checks of the faults of a scenario and of its steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from msgspec import json

from sim.core.service.fault_spec import FaultSpec
from sim.core.service.fault_spec import check as check_fault
from sim.run.loader.nodes import node_at
from sim.world.format.fault_names import has_no_effect, unknown_operation
from sim.world.format.struct_types import record
from sim.world.format.value_types import INVALID
from sim.world.format.yaml_tree import Mapping, Position, Problem, problem


def fault_problems(node: Mapping) -> Iterator[Problem]:
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


def _about(fault: Mapping, says: str) -> Position:
    """The position of the value that a problem is about: the first value whose key the message
    names, or else the fault.
    """
    for part in (*map(partial(node_at, fault), ("match", "act")), fault):
        for key, value in part.items.items() if isinstance(part, Mapping) else ():
            if re.search(rf"\b{key}\b", says):
                return value.at
    return fault.at
