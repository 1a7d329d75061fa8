"""`sim schema`: the JSON schema of scenario files, for editors, generated from the Structs."""

from __future__ import annotations

import re
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


def plain_schema() -> dict[str, Any]:
    """Schema of a whole file with its values as we write them, and with a definition for every
    entry it refers to.
    """
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
    return {"title": title, **root, "$defs": dict(sorted(definitions.items()))}


def scenario_schema() -> dict[str, Any]:
    """Schema of a file (draft 2020-12) for editors: they do not underline what is valid.

    `${name}` stands for any value but a mapping, choices have several spellings, a number is a
    text, and a key without a value is left out.
    """
    schema = _as_written(plain_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _as_written(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_as_written(item) for item in schema]
    if not isinstance(schema, dict) or "const" in schema:
        return schema
    if "enum" in schema or schema.get("type") == "boolean":
        spellings = schema.get("pattern", "^(true|false)$")
        kept = {key: each for key, each in schema.items() if key not in ("description", "pattern")}
        description = {"description": schema["description"]} if "description" in schema else {}
        text = {"type": "string", "pattern": f"{spellings}|{_REFERENCE}"}
        return {**description, "anyOf": [kept, text]}
    if isinstance(schema.get("pattern"), str):
        pattern = f"(?:{schema['pattern']})|{_REFERENCE}"
        also = ["number", "boolean"] if re.search(schema["pattern"], "7") else []
        types = dict.fromkeys((*_and_text(schema["type"]), *also))
        return {**schema, "pattern": pattern, "type": [*types]}
    if schema.get("type") == "string":
        return {**schema, "type": ["string", "number", "boolean"]}
    result = {key: _as_written(value) for key, value in schema.items()}
    if isinstance(result.get("additionalProperties"), dict):
        result["additionalProperties"] = _or_null(result["additionalProperties"])
    for key, value in result.get("properties", {}).items():
        if key not in schema.get("required", ()):
            result["properties"][key] = _or_null(value)
    return result


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a scalar that may be left out."""
    if isinstance(schema.get("type"), list):
        return {**schema, "type": [*schema["type"], "null"]}
    if "anyOf" in schema and not any("$ref" in way for way in schema["anyOf"]):
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    return schema


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
