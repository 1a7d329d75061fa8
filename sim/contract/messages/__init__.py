"""What handlers take and return: one Struct per message of the contract.

Each package has a generated module, which is imported on first use. This file is written by hand.
"""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar, TypeAlias

import msgspec

from sim.contract.messages.index import FIELD_DATES as FIELD_DATES
from sim.contract.messages.index import PACKAGES as PACKAGES

# One field on the wire: number, proto name, JSON name, kind, label ("", "optional", "repeated",
# "map:<key kind>" or "oneof:<name>"), full name of the message or enumeration ("" for others), and
# the contract's field rule, as pairs.
WireField: TypeAlias = tuple[int, str, str, str, str, str, tuple[tuple[str, int | str], ...]]


class Message(msgspec.Struct, kw_only=True):
    """Base of every Struct; `__wire__` has a row per field, in the order of `__struct_fields__`."""

    __full_name__: ClassVar[str] = ""
    __wire__: ClassVar[tuple[WireField, ...]] = ()
    __omit_unset__: ClassVar[bool] = False  # leaves unset fields out even where others write them
    __needs__: ClassVar[tuple[str, ...]] = ()  # each "a | b, c": a request has one alternative


_types: dict[str, type] = {}


def find(full_name: str) -> type:
    """Return the Struct or IntEnum of a full proto name ("exchange.v1.Outer.Inner").

    KeyError for a name that the contract does not have.
    """
    known = _types.get(full_name)
    if known is not None:
        return known
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
