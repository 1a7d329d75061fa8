"""The contract as an OpenAPI 3.1 document, one per plane, for the operations and fields that exist
at an instant.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from msgspec import json

from sim.contract.contract import Contract, Operation, Plane, Route, RpcService
from sim.contract.messages import Message, find_message
from sim.contract.openapi_schemas import Components, Schema, described, schema_name
from sim.contract.operation import VARIABLE
from sim.contract.wire_fields import TEXTUAL, Field, fields_of
from sim.kernel import resources
from sim.kernel.instants import Instant, format_instant

_TITLES: dict[Plane, str] = {
    "gateway": "Gateway: public reference data and prices",
    "retail": "Retail API",
    "exchange": "Exchange API",
    "auth": "Token issuer",
}
_PORTS: dict[Plane, int] = {"gateway": 18080, "retail": 18081, "exchange": 18082, "auth": 18083}
_PARTICIPANT = "x-participant-id"

_CODE_ERROR: Schema = {
    "type": "object",
    "properties": {
        "code": {"type": "integer", "description": "gRPC status code"},
        "message": {"type": "string"},
        "details": {"type": "array", "items": {}},
    },
    "required": ["code", "message", "details"],
}
_STATUS_ERROR: Schema = {
    "type": "object",
    "properties": {
        "status": {"type": "integer", "description": "HTTP status"},
        "message": {"type": "string"},
    },
    "required": ["status", "message"],
}
_OAUTH_ERROR: Schema = {
    "type": "object",
    "properties": {"error": {"type": "string"}, "error_description": {"type": "string"}},
    "required": ["error"],
}
_ERRORS: dict[Plane, Schema] = {
    "gateway": {"anyOf": [_CODE_ERROR, _STATUS_ERROR]},
    "retail": {"anyOf": [_STATUS_ERROR, _CODE_ERROR]},
    "exchange": _CODE_ERROR,
    "auth": _OAUTH_ERROR,
}

# Security schemes and their requirement, by credential. The retail key is sent in
# three headers (§5.2).
RETAIL_HEADERS = {
    "retailKey": "X-PM-Access-Key",
    "retailTimestamp": "X-PM-Timestamp",
    "retailSignature": "X-PM-Signature",
}
_SCHEMES: dict[str, dict[str, Schema]] = {
    "none": {},
    "bearer": {"bearer": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT"}},
    "api_key": {
        scheme: {"type": "apiKey", "in": "header", "name": header}
        for scheme, header in RETAIL_HEADERS.items()
    },
}


def openapi_document(
    contract: Contract,
    plane: Plane,
    now: Instant,
    *,
    vendor_prefix: bool = False,
    switches: frozenset[str] = frozenset(),
    server: str = "",
) -> dict[str, Any]:
    """The document of a plane at an instant, as JSON values; `switches` as in a dialect.

    `server` is the plane's address; without one it is that of `sim serve` on its default ports.
    """
    examples = _examples().get(plane, {})
    components = Components(now, vendor_prefix=vendor_prefix, switches=switches)
    paths: dict[str, dict[str, Any]] = {}
    services: dict[RpcService, None] = {}
    schemes: dict[str, Schema] = {}
    counts: dict[str, int] = {}
    routes = (route for route in contract.routes(plane) if route.operation.exists_at(now, switches))
    for template, variables, route in _distinct(routes):
        operation = route.operation
        services.setdefault(operation.service)
        schemes |= _SCHEMES[operation.credential_on(plane)]
        number = counts[operation.name] = counts.get(operation.name, 0) + 1
        item = _operation(components, plane, route, variables)
        _add_examples(item, examples.get(operation.name, {}))
        suffix = f"_{number}" if number > 1 else ""
        item["operationId"] = f"{operation.service.name}_{operation.rpc}{suffix}"
        paths.setdefault(template, {})[route.verb.lower()] = item
    components.schemas["Error"] = _ERRORS[plane]
    refusal = _response("A refusal.", {"$ref": "#/components/schemas/Error"})
    if plane == "retail":  # the answer to a call without the headers of a key
        refusal["content"]["text/plain"] = {"schema": {"type": "string"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": _TITLES[plane],
            "version": format_instant(now),
            "description": "The interface at the instant in `version`.",
        },
        "servers": [{"url": server or default_server(plane)}],
        "tags": [_tag(service) for service in services],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.schemas.items())),
            "responses": {"Error": refusal},
            "securitySchemes": schemes,
        },
    }


def default_server(plane: Plane) -> str:
    """The address of a plane of `sim serve` on its default ports."""
    return f"http://127.0.0.1:{_PORTS[plane]}"


@cache
def _examples() -> dict[str, dict[str, Any]]:
    """Bodies and answers of real runs, by plane and operation."""
    content = resources.path("fixtures", "openapi-examples.json").read_bytes()
    examples: dict[str, dict[str, Any]] = json.decode(content)
    return examples


def _add_examples(item: Schema, example: Schema) -> None:
    """Add a body and a successful answer of a real run, if there is one."""
    parts = ("body", item.get("requestBody", {})), ("answer", item["responses"].get("200", {}))
    for name, part in parts:
        for media in part.get("content", {}).values() if name in example else ():
            media["example"] = example[name]


def _distinct(routes: Iterator[Route]) -> Iterator[tuple[str, dict[str, str], Route]]:
    """(path, variable's name in it → field path, route). Paths that differ only in the names of
    their variables are one path in OpenAPI.

    A field path is written without its dot ("account.id" as account_id), because tools read a dot
    as an attribute access.
    """
    first: dict[str, str] = {}
    for route in routes:
        template = VARIABLE.sub(r"{\1}", route.template)
        undotted = VARIABLE.sub(lambda match: f"{{{match[1].replace('.', '_')}}}", template)
        spelling = first.setdefault(VARIABLE.sub("{}", template), undotted)
        names = zip(VARIABLE.findall(spelling), VARIABLE.findall(template), strict=True)
        yield spelling, dict(names), route


def _operation(
    components: Components, plane: Plane, route: Route, variables: dict[str, str]
) -> dict[str, Any]:
    operation = route.operation
    credential = operation.credential_on(plane)
    item: dict[str, Any] = {
        "tags": [operation.service.name],
        "summary": operation.summary,
        "parameters": [
            *_path_parameters(components, operation, variables),
            *_query_parameters(components, plane, route, variables),
        ],
        "responses": {
            **_answers(components, operation),
            "default": {"$ref": "#/components/responses/Error"},
        },
        "x-sim": _about(operation),
    }
    if operation.description:
        item["description"] = operation.description
    if plane == "exchange" and operation.participant != "not_needed":
        required = operation.participant == "required"
        item["parameters"].append(_parameter(_PARTICIPANT, "header", required, {"type": "string"}))
    if route.body:
        item["requestBody"] = _request_body(components, route, variables)
    schemes = _SCHEMES[credential]  # none is `security: []`, which linters want to read
    item["security"] = [{scheme: [] for scheme in schemes}] if schemes else []
    return item


def _path_parameters(
    components: Components, operation: Operation, variables: dict[str, str]
) -> Iterator[Schema]:
    for spelling, path in variables.items():
        cls, field = _field_at(operation.request, path)
        schema = components.parameter(field)
        if field.kind == "string":
            schema["minLength"] = 1
        parameter = _parameter(spelling, "path", True, schema)
        yield described(parameter, f"{cls.__full_name__}.{field.name}")


def _parameter(name: str, location: str, required: bool, schema: Schema) -> Schema:
    return {"name": name, "in": location, "required": required, "schema": schema}


def _query_parameters(
    components: Components, plane: Plane, route: Route, variables: dict[str, str]
) -> Iterator[Schema]:
    """One parameter for each field that neither path nor body fills, in the spelling
    of the plane.
    """
    if route.body:
        return
    taken = frozenset(variables.values())
    for names, way, cls, field in _leaves(route.operation.request, (), (), ()):
        if ".".join(names) in taken:
            continue
        name = ".".join(names if plane == "retail" else way)
        required = field.required and len(names) == 1
        parameter = _parameter(name, "query", required, components.parameter(field))
        yield described(parameter, f"{cls.__full_name__}.{field.name}")


def _leaves(
    cls: type[Message],
    names: tuple[str, ...],
    way: tuple[str, ...],
    above: tuple[type[Message], ...],
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], type[Message], Field]]:
    """(proto names, JSON names, parent, field) of every field of a message that a query string can
    set. A message within itself is skipped.
    """
    for field in fields_of(cls):
        if field.key_kind:
            continue
        here, spelled = (*names, field.name), (*way, field.json_name)
        if field.kind in TEXTUAL:
            yield here, spelled, cls, field
        elif field.kind == "message" and not field.repeated:
            inner = find_message(field.type_name)
            if inner not in (*above, cls):
                yield from _leaves(inner, here, spelled, (*above, cls))


def _field_at(cls: type[Message], path: str) -> tuple[type[Message], Field]:
    head, _, rest = path.partition(".")
    field = next(field for field in fields_of(cls) if field.name == head)
    return _field_at(find_message(field.type_name), rest) if rest else (cls, field)


def _request_body(components: Components, route: Route, variables: dict[str, str]) -> Schema:
    in_path = frozenset(path for path in variables.values() if "." not in path)
    schema = components.request(route.operation.request, in_path=in_path)
    media = {"schema": schema}
    content = {"application/json": media}
    if route.operation.content == "form":
        content = {"application/x-www-form-urlencoded": media, **content}
    # without any key it is an empty message
    return {"content": content} | ({"required": True} if _body_required(route, in_path) else {})


def _body_required(route: Route, in_path: frozenset[str]) -> bool:
    """Whether a call without a body is refused."""
    request = route.operation.request
    needed = {field.name for field in fields_of(request) if field.required}
    return bool(needed - in_path or request.__needs__)


def _answers(components: Components, operation: Operation) -> dict[str, Schema]:
    if operation.content == "web_socket":
        # OpenAPI cannot describe frames; x-sim has their schemas.
        components.request(operation.request)
        components.answer(operation.response)
        return {"101": {"description": "The connection becomes a WebSocket."}}
    if operation.content == "csv":
        return {"200": _response("Comma-separated rows.", {"type": "string"}, "text/csv")}
    schema = components.answer(operation.response)
    if operation.content == "json_stream":
        schema = {"type": "object", "properties": {"result": schema}, "required": ["result"]}
        return {"200": _response("One such object on each line.", schema)}
    return {"200": _response("Done.", schema)}


def _response(description: str, schema: Schema, media: str = "application/json") -> Schema:
    return {"description": description, "content": {media: {"schema": schema}}}


def _about(operation: Operation) -> dict[str, Any]:
    """Facts about an operation that OpenAPI cannot express."""
    about: dict[str, Any] = {
        "scope": operation.scope,
        "participant": operation.participant,
        "limits": list(operation.limits),
        "quirks": list(operation.quirks),
        "statements": list(operation.statements),
        "since": format_instant(operation.since) if operation.since is not None else None,
        "until": format_instant(operation.until) if operation.until is not None else None,
        "grpc": list(operation.full_methods),
    }
    if operation.content == "web_socket":
        client = schema_name(operation.request_name, "Input")
        about["frames"] = {"client": client, "server": schema_name(operation.response_name)}
    return {key: value for key, value in about.items() if value not in ("", [], None)}


def _tag(service: RpcService) -> Schema:
    note = " ".join(service.comment.split())
    return {"name": service.name, "description": note} if note else {"name": service.name}
