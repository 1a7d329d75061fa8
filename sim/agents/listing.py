"""The table of tools, in the order of the listing.

A tool is a row: the function that performs it, the call of the control plane whose parameters or
keys of a body are its arguments, and whether it changes anything. Further arguments follow from the
signature of the function. A model reads the whole list before it does anything, so it is short:
`tests/agents` limits it to 15 tools and 10,000 characters.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, get_type_hints

import msgspec

from sim.agents import control_tools, tools
from sim.agents.answers import ToolError, line, quoted
from sim.agents.investigation import investigate
from sim.agents.session import AgentSession
from sim.core.model.refusals import Refusal
from sim.server.control.openapi import PREFIX, control_openapi

Schema = dict[str, Any]
_KINDS: dict[str, Any] = {"string": str, "integer": int, "object": dict[str, Any], "boolean": bool}
_TYPES = {"dict": "object", "str": "string", "int": "integer"}


class Tool:
    """A tool, called like the function `by`, whose docstring describes it.

    `call` is the control call that describes the arguments in `keys`.
    """

    def __init__(
        self,
        by: Callable[..., str],
        call: str = "",
        keys: str = "",
        *,
        read_only: bool = False,
        destructive: bool = False,
    ) -> None:
        self.name = by.__name__
        self.does = " ".join((by.__doc__ or "").split())
        self.by = by
        self._call, self._keys = call, keys.split()
        self.read_only, self.destructive = read_only, destructive

    @cached_property
    def schema(self) -> Schema:
        """The JSON schema of the arguments."""
        described, needed = _of_control(self._call) if self._call else ({}, [])
        properties = {key: described[key] for key in self._keys} | dict(_signature(self.by))
        for name, parameter in inspect.signature(self.by).parameters.items():
            if name in properties and parameter.default is inspect.Parameter.empty:
                needed = [*needed, name]
        schema = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": needed} if needed else {})

    def problem(self, arguments: Mapping[str, Any]) -> str:
        """Return what is wrong with arguments; empty if nothing is."""
        schemas = self.schema["properties"]
        if missing := [name for name in self.schema.get("required", ()) if name not in arguments]:
            described = (f"{name}: {_description(schemas[name])}" for name in missing)
            return f"`{self.name}` needs {'; '.join(described)}."
        for name, value in arguments.items():
            if name not in schemas:
                return f"`{self.name}` takes no {quoted(name)}, but {', '.join(schemas)}."
            kind, choices = schemas[name].get("type", ""), schemas[name].get("enum", (value,))
            try:
                msgspec.convert(value, _KINDS.get(kind, Any))
            except msgspec.ValidationError:
                return f"{name} must be a {kind}, not {line(value)}."
            if value not in choices:
                return f"{name} must be one of {', '.join(choices)}, not {line(value)}."
        return ""


def _signature(function: Callable[..., str]) -> Iterator[tuple[str, Schema]]:
    """Yield the schema of each annotated parameter."""
    for name, hint in get_type_hints(function, include_extras=True).items():
        if not hasattr(hint, "__metadata__"):
            continue
        description, *choices = hint.__metadata__
        kinds = [kind for text, kind in _TYPES.items() if text in str(hint.__origin__)]
        schema = {"type": kinds[0]} if kinds else {}
        yield name, schema | {"description": description} | ({"enum": choices} if choices else {})


def _of_control(call: str) -> tuple[dict[str, Schema], list[str]]:
    """Return the parameters and keys of a control call, as its document describes them, and which
    are required. Patterns and limits are left out: the call itself refuses a wrong value.
    """
    verb, _, path = call.partition(" ")
    operation = control_openapi()["paths"][f"{PREFIX}{path}"][verb.lower()]
    content = operation.get("requestBody", {"content": {}})["content"]
    body = content.get("application/json", {"schema": {}})["schema"]
    parameters = {
        each["name"]: each["schema"] | each["schema"].get("items", {}) | each
        for each in operation["parameters"]
    }
    described = parameters | body.get("properties", {})
    return {key: _short(schema) for key, schema in described.items()}, body.get("required", [])


def _short(schema: Schema) -> Schema:
    kinds = schema.get("type", "string")  # a number may also be a text
    kept = {key: schema[key] for key in ("description", "enum") if key in schema}
    return {"type": kinds[0] if isinstance(kinds, list) else kinds} | kept


def _description(schema: Schema) -> str:
    choices = f" ({', '.join(schema['enum'])})" if "enum" in schema else ""
    return f"{schema.get('description', '')}{choices}"


def perform(session: AgentSession, name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Return the answer of a tool, and whether it failed."""
    tool = TOOLS.get(name)
    if tool is None:
        return f"There is no tool {quoted(name)}. Tools: {', '.join(TOOLS)}.", True
    if problem := tool.problem(arguments):
        return problem, True
    if name == "stop" and session.end_searches():
        return "The search was ended. Exchanges go on: `stop` again ends one.", False
    with session.exclusive():
        try:
            return tool.by(session, **arguments), False
        except ToolError as refused:
            return str(refused), True
        except Refusal as refusal:
            return f"{quoted(refusal.message)}. Next: {refusal.remedy or 'look at `status`'}.", True


_ORDER = "as symbol side qty price cash type tif stop_price post_only clord_id"
_TABLE = (
    Tool(tools.start),
    Tool(tools.stop, destructive=True),
    Tool(tools.status, read_only=True),
    Tool(tools.call, destructive=True),
    Tool(control_tools.order, "POST /orders", _ORDER),
    Tool(control_tools.advance, "POST /clock/advance", "by to"),
    Tool(control_tools.history, "GET /history", "after kind subject caller", read_only=True),
    Tool(control_tools.explain, read_only=True),
    Tool(tools.branch),
    Tool(tools.compare, read_only=True),
    Tool(control_tools.judge, "GET /conformance", "caller", read_only=True),
    Tool(control_tools.fault, destructive=True),
    Tool(tools.catalogue, read_only=True),
    Tool(investigate, read_only=True),
    Tool(tools.docs, read_only=True),
)
TOOLS: dict[str, Tool] = {tool.name: tool for tool in _TABLE}
