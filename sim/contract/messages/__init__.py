"""What handlers take and return: one Struct per message of the contract.

Each package has a generated module, which is imported on first use. This file is written by hand.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any, ClassVar, TypeAlias

import msgspec

from sim.contract.messages.index import FIELD_DATES as FIELD_DATES
from sim.contract.messages.index import PACKAGES as PACKAGES
from sim.kernel.instants import Instant

# The kinds of fields that Python has no type for, by their names in protobuf. An enumeration is
# written `Annotated[int, Side]`, because a client may send a number that has no name.
Int32: TypeAlias = Annotated[int, "int32"]
Int64: TypeAlias = Annotated[int, "int64"]
Uint32: TypeAlias = Annotated[int, "uint32"]
Uint64: TypeAlias = Annotated[int, "uint64"]
Timestamp: TypeAlias = Annotated[int, "timestamp"]
Duration: TypeAlias = Annotated[int, "duration"]
JsonObject: TypeAlias = Annotated[dict[str, Any], "struct"]
JsonValue: TypeAlias = Annotated[Any, "value"]
JsonArray: TypeAlias = Annotated[list[Any], "list_value"]


class FieldRule(msgspec.Struct, frozen=True, kw_only=True):
    """What a field's name and type do not say, in its annotation: `Annotated[str, FieldRule(…)]`.

    The options of `proto/sandbox_exchange/options.proto` have the same names.
    """

    since: Instant | None = None  # JSON answers have the field from then
    until: Instant | None = None  # and until then
    kept_by: str = ""  # switch that keeps the field after `until`
    required: bool = False  # in requests
    presence: bool = False  # proto3 optional, or member of a oneof; None means unset
    oneof: str = ""
    omit_empty: bool = False
    as_number: bool = False  # JSON has an int64 as a number, not as text
    halves: bool = False  # JSON writes the half that protobuf's whole number lacks
    text_by: str = ""  # switch that makes JSON write the number as text
    omit_by: str = ""  # switch that leaves the field out while it is empty
    written_by: str = ""  # switch that writes a field even while it is empty
    padded_by: str = ""  # flag beside it without which numbers as text inside are not padded
    vendor_json: str = ""
    bare_enum: str = ""  # prefix of member names, which answers leave out
    other_prefix: str = ""
    secret: bool = False
    address: bool = False  # an address of this machine, which differs between runs
    json_name: str = ""  # "": the name in lowerCamelCase


class Message(msgspec.Struct, kw_only=True):
    """Base of every Struct. `wire_fields.fields_of` reads the annotations of its fields."""

    __full_name__: ClassVar[str] = ""
    __omit_unset__: ClassVar[bool] = False  # leaves unset fields out even where others write them
    __needs__: ClassVar[tuple[str, ...]] = ()  # each "a | b, c": a request has one alternative

    def __init_subclass__(cls) -> None:
        cls.__full_name__ = proto_name(cls)


def proto_name(kind: type) -> str:
    """Return the proto name of a Struct or IntEnum: "exchange.v1.Outer.Inner"."""
    package = kind.__module__.rpartition(".")[2]
    return f"{package}.{kind.__name__}".replace("_", ".")


_types: dict[str, type] = {}


def find(full_name: str) -> type:
    """Return the Struct or IntEnum of a full proto name ("exchange.v1.Outer.Inner").

    KeyError for a name that the contract does not have.
    """
    loaded = _types.get(full_name)
    if loaded is not None:
        return loaded
    package = full_name
    while package not in PACKAGES:
        package = package.rpartition(".")[0]
        if not package:
            raise KeyError(full_name)
    name = full_name[len(package) + 1 :].replace(".", "_")
    message = getattr(import_module(PACKAGES[package]), name, None)
    if not isinstance(message, type):
        raise KeyError(full_name)
    _types[full_name] = message
    return message


def find_message(full_name: str) -> type[Message]:
    """Return the Struct of a full proto name. KeyError when there is no such message."""
    message = find(full_name)
    if not issubclass(message, Message):
        raise KeyError(full_name)
    return message
