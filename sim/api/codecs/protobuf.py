"""Struct to protobuf bytes and back, for gRPC.

The library encodes and decodes the wire format. This module generates the functions that copy
between a Struct `m` and the library's message `p`, one each way per message type:

    def put_3(m, p):
        v = m.symbol
        if v:
            p.symbol = v
        v = m.updated
        if v is not None:
            t = p.updated
            t.SetInParent()
            put_moment(v, t)

google.protobuf and the descriptors are loaded with the first function, so a run without gRPC does
not pay for them.
"""

from __future__ import annotations

import keyword
from collections.abc import Callable
from functools import cache
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import SCALARS, SPAN_MAX, BadBody, Field, fields_of
from sim.kernel.instants import EARLIEST, LATEST, NS_PER_S

if TYPE_CHECKING:
    from google.protobuf.descriptor_pool import DescriptorPool

# Of one field of a request: an empty entry has two bytes and takes a microsecond or two to read.
ENTRIES_MAX = 10_000
_DESCRIPTORS = Path(__file__).resolve().parents[2] / "contract" / "pb" / "contract.binpb"


def protobuf_encoder(cls: type[Message]) -> Callable[[Any], bytes]:
    """Return the function that writes messages of a type; equal messages give equal bytes."""
    return _codec().encoder(cls)


def protobuf_decoder(cls: type[Message]) -> Callable[[bytes], Any]:
    """Return the function that reads messages of a type. BadBody if the bytes do not fit."""
    return _codec().decoder(cls)


@cache
def descriptor_pool() -> DescriptorPool:
    """Return the contract's descriptors in the library's form."""
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool

    pool = DescriptorPool()
    for file in FileDescriptorSet.FromString(_DESCRIPTORS.read_bytes()).file:
        pool.Add(file)
    return pool


@cache
def _codec() -> _Codec:
    return _Codec()


class _Codec:
    """Generates the functions, which call each other by name through one namespace."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, type[Message]], str] = {}
        self._encoders: dict[type[Message], Callable[[Any], bytes]] = {}
        self._decoders: dict[type[Message], Callable[[bytes], Any]] = {}
        self._namespace: dict[str, Any] = {
            "put_moment": _put_moment,
            "put_span": _put_span,
            "put_value": put_plain,
            "put_struct": _put_struct,
            "put_list": _put_list,
            "get_moment": _get_moment,
            "get_span": _get_span,
            "get_value": get_plain,
            "get_struct": _get_struct,
            "get_list": _get_list,
            "finite": _finite,
            "bounded": _bounded,
        }

    def encoder(self, cls: type[Message]) -> Callable[[Any], bytes]:
        encoder = self._encoders.get(cls)
        if encoder is None:
            make, put = message_class(cls), self._namespace[self._putter(cls)]

            def encode(message: Any) -> bytes:
                target = make()
                put(message, target)
                encoded: bytes = target.SerializeToString(deterministic=True)
                return encoded

            encoder = self._encoders[cls] = encode
        return encoder

    def decoder(self, cls: type[Message]) -> Callable[[bytes], Any]:
        decoder = self._decoders.get(cls)
        if decoder is None:
            from google.protobuf.message import DecodeError

            parse, get = message_class(cls).FromString, self._namespace[self._getter(cls)]

            def decode(data: bytes) -> Any:
                try:
                    return get(parse(data))
                except DecodeError as refused:
                    raise BadBody(f"not a {cls.__full_name__}: {refused}") from None

            decoder = self._decoders[cls] = decode
        return decoder

    def _putter(self, cls: type[Message]) -> str:
        """Return the name of the function that copies a Struct `m` into a library message `p`."""
        return self._written("put", cls, self._put_lines)

    def _getter(self, cls: type[Message]) -> str:
        """Return the name of the function that builds a Struct from a library message `p`."""
        return self._written("get", cls, self._get_lines)

    def _written(
        self, prefix: str, cls: type[Message], lines: Callable[[str, type[Message]], list[str]]
    ) -> str:
        # The name is reserved before the source is written, so that a type may contain itself.
        name = self._names.get((prefix, cls))
        if name is None:
            name = self._names[prefix, cls] = f"{prefix}_{len(self._names)}"
            source = "\n    ".join(lines(name, cls))
            exec(compile(source, f"<protobuf of {cls.__full_name__}>", "exec"), self._namespace)
        return name

    def _put_lines(self, name: str, cls: type[Message]) -> list[str]:
        lines = [f"def {name}(m, p):"]
        for field in fields_of(cls):
            lines.append(f"v = m.{field.attribute}")
            lines.append("if v is not None:" if field.nullable else "if v:")
            lines += [f"    {line}" for line in self._put_field(field)]
        return [*lines, "pass"] if len(lines) == 1 else lines

    def _put_field(self, field: Field) -> list[str]:
        target = _place(field)
        if field.key_kind:
            if field.kind in SCALARS:
                return [f"{target}.update(v)"]
            return [
                f"t = {target}",
                "for k, x in v.items():",
                f"    {self._put_function(field)}(x, t[k])",
            ]
        if field.repeated:
            if field.kind in SCALARS:
                return [f"{target}.extend(v)"]
            return [
                f"add = {target}.add",
                "for x in v:",
                f"    {self._put_function(field)}(x, add())",
            ]
        if field.kind in SCALARS:
            return (
                [f"{target} = v"] if target.startswith("p.") else [f"setattr(p, {field.name!r}, v)"]
            )
        return [f"t = {target}", "t.SetInParent()", f"{self._put_function(field)}(v, t)"]

    def _put_function(self, field: Field) -> str:
        return (
            self._putter(find_message(field.type_name))
            if field.kind == "message"
            else f"put_{_SHORT[field.kind]}"
        )

    def _get_lines(self, name: str, cls: type[Message]) -> list[str]:
        self._namespace[f"make_{name}"] = cls
        arguments = ", ".join(
            f"{field.attribute}={self._get_field(field, cls)}" for field in fields_of(cls)
        )
        return [f"def {name}(p):", f"return make_{name}({arguments})"]

    def _get_field(self, field: Field, cls: type[Message]) -> str:
        source = _place(field)
        if field.repeated and cls.__name__.endswith("Request"):
            source = f"bounded({source}, {field.name!r})"
        element = self._get_element(field, "x")
        if field.key_kind:
            # The order of the library's maps differs between processes.
            return (
                f"{{k: {element} for k, x in sorted({source}.items(), key=lambda item: item[0])}}"
            )
        if field.repeated:
            return f"list({source})" if element == "x" else f"[{element} for x in {source}]"
        value = self._get_element(field, source)
        return f"{value} if p.HasField({field.name!r}) else None" if field.nullable else value

    def _get_element(self, field: Field, source: str) -> str:
        if field.kind == "double":
            return f"finite({source})"
        if field.kind in SCALARS:
            return source
        function = (
            self._getter(find_message(field.type_name))
            if field.kind == "message"
            else f"get_{_SHORT[field.kind]}"
        )
        return f"{function}({source})"


_SHORT = {
    "timestamp": "moment",
    "duration": "span",
    "struct": "struct",
    "value": "value",
    "list_value": "list",
}


def _place(field: Field) -> str:
    return f"getattr(p, {field.name!r})" if keyword.iskeyword(field.name) else f"p.{field.name}"


def message_class(cls: type[Message]) -> Any:
    """Return the library's class of a message type."""
    from google.protobuf.message_factory import GetMessageClass

    return GetMessageClass(descriptor_pool().FindMessageTypeByName(cls.__full_name__))


def _put_moment(at: int, target: Any) -> None:
    target.seconds, target.nanos = divmod(at, NS_PER_S)


def _put_span(span: int, target: Any) -> None:
    seconds, nanos = divmod(abs(span), NS_PER_S)
    target.seconds, target.nanos = (-seconds, -nanos) if span < 0 else (seconds, nanos)


def _get_moment(source: Any) -> int:
    at: int = source.seconds * NS_PER_S + source.nanos
    if not EARLIEST <= at <= LATEST or not 0 <= source.nanos < NS_PER_S:
        raise BadBody("timestamp out of range")
    return at


def _get_span(source: Any) -> int:
    span: int = source.seconds * NS_PER_S + source.nanos
    if abs(span) > SPAN_MAX or abs(source.nanos) >= NS_PER_S or source.seconds * source.nanos < 0:
        raise BadBody("duration out of range")
    return span


def _bounded(values: Any, name: str) -> Any:
    if len(values) > ENTRIES_MAX:
        raise BadBody(f"{name}: more than {ENTRIES_MAX} entries")
    return values


def _finite(value: float) -> float:
    if not isfinite(value):
        raise BadBody("expected a number")
    return value


def put_plain(value: Any, target: Any) -> None:
    """Copy a plain JSON value into a google.protobuf.Value."""
    if value is None:
        target.null_value = 0
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int | float):
        target.number_value = value
    elif isinstance(value, str):
        target.string_value = value
    elif isinstance(value, dict):
        target.struct_value.SetInParent()
        _put_struct(value, target.struct_value)
    else:
        target.list_value.SetInParent()
        _put_list(value, target.list_value)


def _put_struct(value: dict[str, Any], target: Any) -> None:
    for key, inner in value.items():
        put_plain(inner, target.fields[key])


def _put_list(value: list[Any], target: Any) -> None:
    for inner in value:
        put_plain(inner, target.values.add())


def get_plain(source: Any) -> Any:
    """Return a google.protobuf.Value as a plain JSON value; whole numbers become int."""
    kind = source.WhichOneof("kind")
    if kind is None or kind == "null_value":
        return None
    if kind == "number_value":
        number = _finite(source.number_value)
        return int(number) if number.is_integer() else number
    if kind == "struct_value":
        return _get_struct(source.struct_value)
    return _get_list(source.list_value) if kind == "list_value" else getattr(source, kind)


def _get_struct(source: Any) -> dict[str, Any]:
    return {key: get_plain(source.fields[key]) for key in sorted(source.fields)}


def _get_list(source: Any) -> list[Any]:
    return [get_plain(inner) for inner in source.values]
