"""`sim schema`: the JSON schema of scenario files, for editors. Generated from the Structs of the format."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from sim.core import fault_spec
from sim.scenario import entries, model, participants_format, steps
from sim.scenario.model import Scenario
from sim.scenario.shapes import record

_PREFIX = "#/$defs/"


def scenario_schema() -> dict[str, Any]:
    """Schema of a whole file, draft 2020-12, with a definition for every kind of entry it refers to."""
    named = {name: value for module in (model, entries, participants_format, steps, fault_spec) for name, value in vars(module).items()}
    kinds = {name: kind for name, kind in named.items() if isinstance(kind, type) and issubclass(kind, Struct)}
    root = record(Scenario).definition()
    definitions: dict[str, Any] = {}
    waiting = _references(root)
    while waiting:
        name = waiting.pop()
        if name not in definitions:
            definitions[name] = record(kinds[name]).definition()
            waiting += _references(definitions[name])
    title = "Scenario of the sandbox exchange"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **root, "$defs": dict(sorted(definitions.items()))}


def _references(schema: Any) -> list[str]:
    """Names of the definitions a schema refers to."""
    if isinstance(schema, dict):
        own = [schema["$ref"].removeprefix(_PREFIX)] if isinstance(schema.get("$ref"), str) else []
        return own + [name for value in schema.values() for name in _references(value)]
    return [name for value in schema for name in _references(value)] if isinstance(schema, list) else []
