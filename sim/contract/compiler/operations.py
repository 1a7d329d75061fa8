"""The pass that writes `sim/contract/messages/operations.py`: the table of operations.

A row has the columns of `operation.Operation` that differ from their defaults. Reading it needs
no protobuf. The pass refuses an rpc that is served nowhere, has no comment, or binds a variable
to no field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import MethodDescriptorProto
from msgspec import NODEFAULT
from msgspec.structs import fields

from sim.contract.compiler.messages import HEADER, WIDTH, quoted
from sim.contract.compiler.schema import Schema
from sim.contract.operation import VARIABLE, Operation, RpcKind, RpcService, body_of
from sim.kernel.instants import parse_instant

_VERBS = ("get", "put", "post", "delete", "patch")
_INDENT = " " * 4
_PIECE = rf".{{1,{WIDTH - 14}}}(?:\s+|$)"  # of a text, that fits in a line with its quotes


def operations_source(schema: Schema) -> str:
    """Write the services, and the table of their operations.

    Services come in the order of sorted file names, rpcs in the order of the file.
    """
    services: dict[str, str] = {}
    rows = []
    for file in schema.files:
        aliases = tuple(schema.option(file, "sandbox_exchange.file").aliases)
        for service_index, proto in enumerate(file.service):
            if proto.name in services:
                raise ValueError(f"{file.package}.{proto.name}: there is another {proto.name}")
            comment = " ".join(schema.service_comment(file, service_index).split())
            service = RpcService(file.package, proto.name, comment, aliases)
            services[proto.name] = _call(f"{proto.name} = RpcService", service, {}) + "\n"
            for method_index, method in enumerate(proto.method):
                comment = schema.method_comment(file, service_index, method_index)
                rows.append(_row(schema, service, method, comment))
    listed = "".join(services.values())
    return _FILE.format(header=HEADER, services=listed, rows="".join(rows))


_FILE = '''{header}"""The table of operations."""

from __future__ import annotations

from sim.contract.operation import Operation, RpcService
from sim.kernel.instants import parse_instant

{services}
OPERATIONS: tuple[Operation, ...] = (
{rows})
'''


def _row(schema: Schema, service: RpcService, method: MethodDescriptorProto, comment: str) -> str:
    option = schema.option(method, "sandbox_exchange.operation")
    where = f"{service.package}.{service.name}.{method.name}"
    usual = Operation(service, method.name)
    takes, gives = method.input_type[1:], method.output_type[1:]
    summary, *paragraphs = comment.split("\n\n")
    operation = Operation(
        service,
        method.name,
        rest=tuple(_rest(schema, method, where)),
        planes=tuple(_member(option, "planes", plane) for plane in option.planes),
        grpc=option.grpc,
        kind=_kind(method),
        request_type="" if takes == usual.request_name else takes,
        response_type="" if gives == usual.response_name else gives,
        scope=option.scope,
        participant=_member(option, "participant", option.participant),
        credential=_member(option, "credential", option.credential),
        limits=tuple(option.limits),
        quirks=tuple(option.quirks),
        statements=tuple(option.statements),
        since=_instant(option.since, where),
        until=_instant(option.until, where),
        content=_member(option, "content", option.content),
        beyond=option.beyond,
        served_by=option.served_by,
        cache=option.cache,
        summary=summary.replace("\n", " "),
        description="\n\n".join(" ".join(part.split()) for part in paragraphs),
    )
    _check(where, operation)
    dates = {name: f"parse_instant({quoted(getattr(option, name))})" for name in ("since", "until")}
    return _call(f"{_INDENT}Operation", operation, {"service": service.name, **dates}) + ",\n"


def _call(head: str, struct: RpcService | Operation, written: dict[str, str]) -> str:
    """Write the call that makes a struct, without its defaults, in lines of at most WIDTH.

    `written` has the columns that are no literals.
    """
    words: list[str] = []
    for field in fields(struct):
        value = getattr(struct, field.name)
        if value != field.default:
            name = "" if field.default is NODEFAULT else f"{field.name}="
            words += _words(name, written.get(field.name), value)
            words[-1] += ","
    words[-1] = words[-1].removesuffix(",") + ")"
    margin = head[: len(head) - len(head.lstrip())] + _INDENT
    lines = [head + "("]
    for word in words:
        if len(lines[-1] + word) >= WIDTH:
            lines.append(margin)
        lines[-1] += word + " "
    return "\n".join(line.rstrip() for line in lines)


def _words(name: str, written: str | None, value: Any) -> Iterator[str]:
    """A column in the pieces between which a line may end."""
    if written is not None:
        yield name + written
    elif isinstance(value, tuple):
        *before, last = map(quoted, value)
        begins = f"{name}("
        for text in before:
            yield f"{begins}{text},"
            begins = ""
        yield f"{begins}{last}{'' if before else ','})"
    elif isinstance(value, str):
        first, *others = re.findall(_PIECE, name + value, re.DOTALL)
        yield name + quoted(first.removeprefix(name))
        yield from map(quoted, others)
    else:
        yield f"{name}{value!r}"


def _check(where: str, operation: Operation) -> None:
    """ValueError for an rpc that nobody could call or that says nothing of itself."""
    planes = ", ".join(operation.planes)
    if planes and not operation.rest:
        raise ValueError(f"{where}: served on {planes} but has no google.api.http binding")
    if not planes and not operation.grpc:
        raise ValueError(f"{where}: served neither on a plane nor over gRPC")
    if not operation.summary:
        raise ValueError(f"{where}: every rpc has a comment that says what it does")


def _rest(schema: Schema, method: MethodDescriptorProto, where: str) -> Iterator[str]:
    if not method.HasField("options"):
        return
    rule = schema.option(method, "google.api.http")
    for binding in (rule, *rule.additional_bindings):
        pattern = binding.WhichOneof("pattern")
        if pattern is None:
            continue
        if pattern not in _VERBS:
            raise ValueError(f"{where}: bindings use {', '.join(_VERBS)}, not {pattern}")
        verb, template = pattern.upper(), getattr(binding, pattern)
        if binding.body != body_of(verb):
            rule = 'a body fills the whole request ("*"), with GET and DELETE nothing'
            raise ValueError(f"{where}: {rule}, not {binding.body!r}")
        for path in VARIABLE.findall(template):
            _require_field(schema, method.input_type[1:], path, f"{where}: {template}")
        yield f"{verb} {template}"


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


def _member(option: Any, field: str, number: int) -> Any:
    members = option.DESCRIPTOR.fields_by_name[field].enum_type.values_by_number
    return members[number].name.lower()


def _instant(text: str, where: str) -> int | None:
    try:
        return parse_instant(text) if text else None
    except ValueError as refused:
        raise ValueError(f"{where}: {refused}") from None


def _kind(method: MethodDescriptorProto) -> RpcKind:
    if method.client_streaming:
        return "bidi" if method.server_streaming else "client"
    return "server" if method.server_streaming else "unary"
