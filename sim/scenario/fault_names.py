"""What a fault may name as its operation: whatever is in the contract, and the types of webhook events. A misspelt name would never strike."""

from __future__ import annotations

from functools import cache

from sim.api.contract import load_contract
from sim.core.fault_spec import ENGINE
from sim.core.webhook_wire import APPROVED, REJECTED
from sim.scenario.shapes import nearest


@cache
def _known() -> frozenset[str]:
    operations = load_contract().operations
    return frozenset({name for operation in operations for name in (operation.name, operation.rpc)} | {APPROVED, REJECTED, *ENGINE})


def unknown_operation(name: str) -> str:
    """What is wrong with the name of an operation, "" when it exists or is a pattern."""
    if not name or "*" in name or name in _known():
        return ""
    near = nearest(name, _known())
    return f"unknown operation {name!r}" + (f", did you mean {near!r}?" if near else "; `sim catalogue operations` lists them")
