"""Tables of the keys of scenario files, steps, expectations and faults, from the JSON schema."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from sim.read.tables import as_markdown
from sim.world.format.json_schema import plain_schema


@cache
def whole_schema() -> dict[str, Any]:
    return plain_schema()


def keys(*names: str, root: bool = False) -> Callable[[], str]:
    """A block with a section for each of the definitions; with `root` the keys of a file first."""

    def make() -> str:
        total = whole_schema()
        parts = [_keys_of(total)] if root else []
        parts += [
            f"## `{_path(name)}`\n\n{total['$defs'][name]['description']}{_other_paths(name)}\n\n"
            f"{_keys_of(total['$defs'][name])}"
            for name in names
        ]
        return "\n\n".join(parts)

    return make


def link(name: str) -> str:
    """The page and anchor of a definition; "" if no page has it."""
    if name not in PLACES:
        return ""
    anchor = re.sub(r"[^\w-]", "", _path(name)).lower()
    return f"{PLACES[name]}#{anchor}"


def _path(name: str) -> str:
    """Where a definition stands in a file, such as `world.instruments`."""
    return NAMES.get(name) or next(iter(_paths_of(name)))


def _other_paths(name: str) -> str:
    """A paragraph with the places of a definition that its heading does not name."""
    others = [f"`{path}`" for path in _paths_of(name) if path != _path(name)]
    if not others:
        return ""
    return f"\n\n{'Used' if name in NAMES else 'Also used'} in {' and '.join(others)}."


@cache
def _paths_of(name: str) -> tuple[str, ...]:
    """Every path of a definition, those on its own page first."""
    sections = {"": whole_schema()} | {item: whole_schema()["$defs"][item] for item in PLACES}
    results = [
        (PLACES.get(section) != PLACES[name], f"{_path(section)}.{key}" if section else key)
        for section, definition in sections.items()
        if section != name
        for key, value in definition["properties"].items()
        if name in _mentioned(value) and not value.get("deprecated")
    ]
    return tuple(
        path.removeprefix("step.") for _, path in sorted(results, key=lambda item: item[0])
    )


def _keys_of(definition: dict[str, Any]) -> str:
    required = definition.get("required", ())
    return as_markdown(
        [
            {
                "key": f"`{key}`" + (" (required)" if key in required else ""),
                "value": _value(value),
                "meaning": _escaped(value.get("description") or _described(value)),
            }
            for key, value in definition["properties"].items()
            if not value.get("deprecated")
        ]
    )


def _value(schema: dict[str, Any]) -> str:
    """The values that a key accepts, in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{NAMES.get(name, 'keys')}]({link(name)})" if name in PLACES else name
    if "anyOf" in schema:
        if any("const" in way for way in schema["anyOf"]):
            return "text"  # one of many names, which the schema lists for editors
        return " or ".join(dict.fromkeys(_value(way) for way in schema["anyOf"]))
    if "enum" in schema:
        # The schema has both types of a number.
        words = {str(value).lower(): f"`{value}`" for value in reversed(schema["enum"]) if value}
        return ", ".join(reversed(words.values()))
    kind = schema.get("type")
    if kind == "array":
        return f"list of {_several(schema['items'])}" if schema.get("items") else "list"
    if kind == "object":
        more = schema.get("additionalProperties")
        return f"mapping of {_value(more)}" if isinstance(more, dict) and more else "mapping"
    if "examples" in schema:
        return "such as " + ", ".join(f"`{value}`" for value in schema["examples"][:3])
    kinds = [kind] if isinstance(kind, str) else kind or ["any value"]
    return _KINDS.get(tuple(kinds), " or ".join(kinds))


def _several(schema: dict[str, Any]) -> str:
    """The values of a list, in words."""
    if "anyOf" in schema and all("$ref" in way for way in schema["anyOf"]):
        return " and ".join(map(_several, schema["anyOf"]))
    if "$ref" not in schema:
        return _value(schema)
    name = schema["$ref"].rpartition("/")[2]
    return f"[{NAMES[name]}s]({link(name)})" if name in NAMES else f"[entries]({link(name)})"


def _escaped(text: str) -> str:
    """Text in which Markdown shows `<firm>` instead of taking it for HTML."""
    parts = text.split("`")
    return "`".join(p if at % 2 else p.replace("<", "&lt;") for at, p in enumerate(parts))


def _described(schema: dict[str, Any]) -> str:
    """The description of the definition that a key refers to."""
    names = list(_mentioned(schema))
    return str(whole_schema()["$defs"][names[0]]["description"]) if names else ""


_KINDS = {
    ("string",): "text",
    ("integer", "string"): "integer",
    ("string", "number"): "number",
    ("number", "string"): "number",
    ("boolean",): "true or false",
    ("boolean", "string"): "true or false",
}


def _reached(*starts: str, but: Iterable[str] = ()) -> tuple[str, ...]:
    """Definitions that the given ones refer to, these included: each before those it mentions."""
    observed: dict[str, None] = {}
    waiting = list(starts)
    while waiting:
        name = waiting.pop(0)
        if name not in observed and name not in but:
            observed[name] = None
            waiting[:0] = _mentioned(whole_schema()["$defs"][name])
    return tuple(observed)


def _mentioned(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if "$ref" in value:
            yield value["$ref"].rpartition("/")[2]
        for item in value.values():
            yield from _mentioned(item)
    elif isinstance(value, list):
        for item in value:
            yield from _mentioned(item)


# Definitions with a name; all others are known by their path in a file
NAMES = {"Step": "step", "Loop": "loop", "FaultSpec": "fault"}
FAULT = ("FaultSpec", "FaultMatch", "FaultAct", "PatchOperation")
EXPECT = _reached("Expect")
STEPS = _reached("Step", "Loop", but=(*EXPECT, *FAULT))
FILE = _reached(*_mentioned(whole_schema()["properties"]), but=(*STEPS, *EXPECT, *FAULT))
PLACES = (
    dict.fromkeys(FILE, "scenario-file.md")
    | dict.fromkeys(STEPS, "steps.md")
    | dict.fromkeys(EXPECT, "expectations.md")
    | dict.fromkeys(FAULT, "faults.md")
)
