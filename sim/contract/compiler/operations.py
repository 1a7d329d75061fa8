"""The pass that writes `sim/contract/messages/operations.py`: the table of operations.

The table is plain data, one dict per rpc without default values, so reading it needs no protobuf.
The pass refuses an rpc that is served nowhere, has no comment, or binds a variable to no field.
"""

from __future__ import annotations

import json
import re
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, MethodDescriptorProto

from sim.contract.compiler.messages import HEADER
from sim.contract.compiler.schema import Schema
from sim.kernel.instants import parse_instant

_VARIABLE = re.compile(r"\{([a-z0-9_.]+)[^}]*\}")
_DEFAULTS = {
    "kind": "unary",
    "participant": "not_needed",
    "credential": "default",
    "content": "json",
}
_VERBS = ("get", "put", "post", "delete", "patch")


def operations_source(schema: Schema) -> str:
    """Write the table of operations, and the comments of the services.

    Services come in the order of sorted file names, rpcs in the order of the file.
    """
    rows = []
    services = []
    for file in schema.files:
        for service_index, service in enumerate(file.service):
            services.append((service.name, schema.service_comment(file, service_index)))
            for method_index, method in enumerate(service.method):
                row = _row(
                    schema,
                    file,
                    service.name,
                    method,
                    schema.method_comment(file, service_index, method_index),
                )
                cells = (f"        {_text(key)}: {_literal(row[key])},\n" for key in row)
                rows.append(f"    {{\n{''.join(cells)}    }},\n")
    notes = "".join(f"    {_text(name)}: {_text(comment)},\n" for name, comment in services)
    return (
        f'{HEADER}"""The table of operations: rows of sim.contract.contract.Operation, which names'
        ' the columns and their defaults."""\n\n'
        "from __future__ import annotations\n\nfrom typing import Any\n\n"
        f"OPERATIONS: tuple[dict[str, Any], ...] = (\n{''.join(rows)})\n\n"
        f"SERVICES: dict[str, str] = {{\n{notes}}}\n"
    )


def _row(
    schema: Schema,
    file: FileDescriptorProto,
    service: str,
    method: MethodDescriptorProto,
    comment: str,
) -> dict[str, Any]:
    option = schema.option(method, "sandbox_exchange.operation")
    where = f"{file.package}.{service}.{method.name}"
    row: dict[str, Any] = {
        "service": service,
        "rpc": method.name,
        "package": file.package,
        "request_name": method.input_type[1:],
        "response_name": method.output_type[1:],
    }
    optional: dict[str, Any] = {
        "aliases": tuple(schema.option(file, "sandbox_exchange.file").aliases)
        if option.grpc
        else (),
        "planes": tuple(_member(option, "planes", plane) for plane in option.planes),
        "bindings": _bindings(schema, method, where),
        "grpc": option.grpc,
        "kind": _kind(method),
        "scope": option.scope,
        "participant": _member(option, "participant", option.participant),
        "credential": _member(option, "credential", option.credential),
        "limits": tuple(option.limits),
        "quirks": tuple(option.quirks),
        "statements": tuple(option.statements),
        "since": _instant(option.since, where),
        "until": _instant(option.until, where),
        "content": _member(option, "content", option.content),
        "beyond": option.beyond,
        "cache": option.cache,
        "summary": comment.split("\n\n")[0].replace("\n", " "),
        "description": "\n\n".join(" ".join(part.split()) for part in comment.split("\n\n")[1:]),
    }
    _check(where, optional["planes"], optional["bindings"], grpc=option.grpc, comment=comment)
    pairs = optional.items()
    return row | {key: value for key, value in pairs if value and value != _DEFAULTS.get(key)}


def _check(
    where: str, planes: tuple[str, ...], bindings: tuple[Any, ...], *, grpc: bool, comment: str
) -> None:
    """ValueError for an rpc that nobody could call or that says nothing of itself."""
    if planes and not bindings:
        raise ValueError(
            f"{where}: served on {', '.join(planes)} but has no google.api.http binding"
        )
    if not planes and not grpc:
        raise ValueError(f"{where}: served neither on a plane nor over gRPC")
    if not comment:
        raise ValueError(f"{where}: every rpc has a comment that says what it does")


def _bindings(
    schema: Schema, method: MethodDescriptorProto, where: str
) -> tuple[tuple[str, str, str], ...]:
    if not method.HasField("options"):
        return ()
    rule = schema.option(method, "google.api.http")
    bindings = []
    for binding in (rule, *rule.additional_bindings):
        verb = binding.WhichOneof("pattern")
        if verb is None:
            continue
        if verb not in _VERBS:
            raise ValueError(f"{where}: bindings use {', '.join(_VERBS)}, not {verb}")
        template = getattr(binding, verb)
        if binding.body not in ("", "*"):
            whole = 'a body fills the whole request ("*") or nothing'
            raise ValueError(f"{where}: {whole}, not {binding.body}")
        for path in _VARIABLE.findall(template):
            _require_field(schema, method.input_type[1:], path, f"{where}: {template}")
        bindings.append((verb.upper(), template, binding.body))
    return tuple(bindings)


def _require_field(schema: Schema, message: str, path: str, where: str) -> None:
    """Refuse a variable ("account.id") that leads to no field of the request."""
    head, _, rest = path.partition(".")
    fields = (
        field
        for entry in schema.messages
        if entry.full_name == message
        for field in entry.proto.field
    )
    field = next((field for field in fields if field.name == head), None)
    if field is None:
        raise ValueError(f"{where}: {message} has no field {head}")
    if rest:
        _require_field(schema, field.type_name[1:], rest, where)


def _member(option: Any, field: str, number: int) -> str:
    members = option.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return str(members[number].name).lower()


def _instant(text: str, where: str) -> int | None:
    try:
        return parse_instant(text) if text else None
    except ValueError as refused:
        raise ValueError(f"{where}: {refused}") from None


def _kind(method: MethodDescriptorProto) -> str:
    if method.client_streaming:
        return "bidi" if method.server_streaming else "client"
    return "server" if method.server_streaming else "unary"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return f"({', '.join(_literal(part) for part in value)}{',' if len(value) == 1 else ''})"
    return repr(value)


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
