"""The control plane as an OpenAPI 3.1 document, from the table of its calls."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from sim.run.actors.operator.action import Action
from sim.run.actors.operator.views import VIEWS
from sim.server.control.call import Endpoint, NoBody
from sim.server.control.routes import ROUTES, reference
from sim.world.format.json_schema import plain_schema
from sim.world.format.struct_types import record

DEFAULT_SERVER = "http://127.0.0.1:18085"
PREFIX = "/_sim/v1"
_COUNTED = ("after", "last", "limit", "seq", "since", "status")  # integers from 0
_VARIABLE = re.compile(r"\{(\w+)\*?\}")
_TEXT_CALLS = {"GET /metrics": "text/plain", "GET /journal": "application/x-ndjson"}
# A schema of these would be that of an event, and of what the YAML says.
_OTHER_CALLS = {"GET /live": "text/event-stream", "GET /scenario": "application/yaml"}
_REFUSAL = {
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "The gRPC code that the status stands for."},
        "message": {"type": "string"},
        "rule": {"type": "string"},
        "remedy": {"type": "string", "description": "What to do instead."},
    },
    "required": ["code", "message"],
}


def control_openapi(server: str = "") -> dict[str, Any]:
    """The document as JSON values, with an example of every body and answer. `server` is the
    address; without one it is that of `sim serve` on its default ports.
    """
    entries = plain_schema()["$defs"]
    needed: dict[str, Any] = {}
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ROUTES:
        verb, path = endpoint.route.verb.lower(), _VARIABLE.sub(r"{\1}", endpoint.route.path)
        item = _operation(endpoint, reference()[endpoint.call], entries, needed)
        paths.setdefault(PREFIX + path, {})[verb] = item
    refusal = {"description": "A refusal.", "content": {"application/json": {"schema": _REFUSAL}}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Control plane",
            "version": "v1",
            "description": "For testers: clock, faults, state, history. Clients do not use it.",
        },
        "servers": [{"url": server or DEFAULT_SERVER}],
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(needed.items())),
            "responses": {"Refusal": refusal},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(
    endpoint: Endpoint, described: dict[str, Any], entries: dict[str, Any], needed: dict[str, Any]
) -> dict[str, Any]:
    verb, path = endpoint.route.verb, endpoint.route.path
    words = re.findall(r"\w+", path)
    parameter = partial(_parameter, described.get("parameters", {}))
    item: dict[str, Any] = {
        "operationId": "_".join((verb.lower(), *words)),
        "summary": described["does"],
        "parameters": [
            *(parameter(name, "path") | {"required": True} for name in endpoint.route.variables),
            *(parameter(name, "query") for name in endpoint.query),
            *(parameter(name, "query", many=True) for name in endpoint.many),
        ],
        "responses": {
            "200": {"description": "Done.", **_answer(endpoint.call, described)},
            "default": {"$ref": "#/components/responses/Refusal"},
        },
    }
    if endpoint.body is not NoBody:
        media = {"schema": _entry(endpoint, entries, needed)}
        media |= {"example": described["body"]} if "body" in described else {}
        item["requestBody"] = {"content": {"application/json": media}}
    return item


def _parameter(
    descriptions: dict[str, str], name: str, location: str, *, many: bool = False
) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "integer" if name in _COUNTED else "string"}
    if name == "view":
        schema["enum"] = sorted(VIEWS)
    if many:
        schema = {"type": "array", "items": schema}
    text = {"description": descriptions[name]} if name in descriptions else {}
    return {"name": name, "in": location, **text, "schema": schema}


def _answer(call: str, described: dict[str, Any]) -> dict[str, Any]:
    if (other := _OTHER_CALLS.get(call)) is not None:
        return {"content": {other: {}}}
    if (media := _TEXT_CALLS.get(call)) is not None:
        return {"content": {media: {"schema": {"type": "string"}}}}
    answer = described.get("answer")
    example = {} if answer is None else {"example": answer}
    return {"content": {"application/json": {"schema": {"type": "object"}, **example}}}


def _entry(endpoint: Endpoint, entries: dict[str, Any], needed: dict[str, Any]) -> dict[str, Any]:
    """Schema of a body, without the keys that the path fills."""
    body = endpoint.body
    definition = record(body.entry if isinstance(body, Action) else body).definition()
    keys = set(endpoint.keys)
    properties = {key: each for key, each in definition["properties"].items() if key in keys}
    required = [key for key in definition.get("required", ()) if key in keys]
    schema = {**definition, "properties": properties}
    schema.pop("required", None)
    moved: dict[str, Any] = _moved(
        schema | ({"required": required} if required else {}), entries, needed
    )
    return moved


def _moved(schema: Any, entries: dict[str, Any], needed: dict[str, Any]) -> Any:
    """The schema with its references to `$defs` moved to `components`, and the components
    that they need.
    """
    if isinstance(schema, list):
        return [_moved(item, entries, needed) for item in schema]
    if not isinstance(schema, dict):
        return schema
    reference = schema.get("$ref")
    if isinstance(reference, str):
        name = reference.rpartition("/")[2]
        if name not in needed:
            # Reserved before it is filled, because entries may contain themselves
            needed[name] = {}
            needed[name] = _moved(entries.get(name, {"type": "object"}), entries, needed)
        return {**schema, "$ref": f"#/components/schemas/{name}"}
    return {key: _moved(value, entries, needed) for key, value in schema.items()}
