"""`sim schema`: the JSON schema of scenario files, for editors, generated from the Structs."""

from __future__ import annotations

from typing import Any

from sim.world.format.scenario import Scenario
from sim.world.format.schema_names import add_names
from sim.world.format.struct_types import record, record_called

_PREFIX = "#/$defs/"
_REFERENCE = r"\$\{[A-Za-z_]"
_STEPS = {"type": "array", "items": {"anyOf": [{"$ref": "#/$defs/Step"}, {"$ref": "#/$defs/Loop"}]}}
# Loops are written out before a file is read (`expansion.py`), so no Struct describes them.
_LOOP = {
    "type": "object",
    "description": "Steps that are repeated, with `repeat` or with `each`. Loops are expanded"
    " before the scenario begins.",
    "properties": {
        "repeat": {
            "type": ["integer", "string"],
            "description": "number of rounds; ${n} is the number of the round, from 1",
        },
        "each": {
            "type": "array",
            "description": "values; there is a round for each, in which ${item} is the value",
        },
        "var": {"type": "string", "description": "another name for `n` or `item`"},
        "pause": {"type": "string", "description": "virtual time between two rounds"},
        "steps": {**_STEPS, "description": "the steps of a round"},
    },
    "oneOf": [{"required": ["repeat"]}, {"required": ["each"]}],
    "required": ["steps"],
    "additionalProperties": False,
}


def scenario_schema() -> dict[str, Any]:
    """Schema of a whole file (draft 2020-12), with a definition for every entry it refers to."""
    root = record(Scenario).definition()
    definitions: dict[str, Any] = {}
    waiting = _references(root)
    while waiting:
        name = waiting.pop()
        if name not in definitions:
            definitions[name] = record_called(name).definition()
            waiting += _references(definitions[name])
    root["properties"]["steps"] |= _STEPS
    add_names(root, definitions)
    definitions["Loop"] = _LOOP
    title = "Scenario of the sandbox exchange"
    schema = {"title": title, **root, "$defs": dict(sorted(definitions.items()))}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_with_references(schema)}


def _with_references(schema: Any) -> Any:
    """The schema, with `${name}` allowed where it asks for a pattern, a choice or a boolean."""
    if isinstance(schema, list):
        return [_with_references(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if isinstance(schema.get("pattern"), str):
        pattern = f"(?:{schema['pattern']})|{_REFERENCE}"
        return {**schema, "pattern": pattern, "type": _and_text(schema["type"])}
    if "const" in schema:
        return schema
    if "enum" in schema or schema.get("type") == "boolean":
        kept = {key: value for key, value in schema.items() if key != "description"}
        description = {"description": schema["description"]} if "description" in schema else {}
        return {**description, "anyOf": [kept, {"type": "string", "pattern": _REFERENCE}]}
    return {key: _with_references(value) for key, value in schema.items()}


def _and_text(types: str | list[str]) -> list[str]:
    type_names = [types] if isinstance(types, str) else types
    return type_names if "string" in type_names else ["string", *type_names]


def _references(schema: Any) -> list[str]:
    """Names of the definitions that a schema refers to."""
    if isinstance(schema, dict):
        own = [schema["$ref"].removeprefix(_PREFIX)] if isinstance(schema.get("$ref"), str) else []
        return own + [name for value in schema.values() for name in _references(value)]
    values = schema if isinstance(schema, list) else []
    return [name for value in values for name in _references(value)]
