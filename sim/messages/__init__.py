# generated from proto/, do not edit
"""What handlers take and return: one Struct per message of the contract.

Each package has a module, which is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar, TypeAlias

import msgspec

# One field on the wire: number, proto name, JSON name, kind, label ("", "optional", "repeated",
# "map:<key kind>" or "oneof:<name>"), full name of the message or enumeration ("" for others), and
# the contract's field rule, as pairs.
WireField: TypeAlias = tuple[int, str, str, str, str, str, tuple[tuple[str, int | str], ...]]


class Message(msgspec.Struct, kw_only=True):
    """Base of every Struct; `__wire__` has a row per field, in the order of `__struct_fields__`."""

    __full_name__: ClassVar[str] = ""
    __wire__: ClassVar[tuple[WireField, ...]] = ()
    __omit_unset__: ClassVar[bool] = False  # leaves unset fields out even where others write them


PACKAGES: dict[str, str] = {
    "exchange.cashmovement.v1": "sim.messages.exchange_cashmovement_v1",
    "exchange.kyc.v1": "sim.messages.exchange_kyc_v1",
    "exchange.orderfunding.v1": "sim.messages.exchange_orderfunding_v1",
    "exchange.settlement.v1": "sim.messages.exchange_settlement_v1",
    "exchange.v1": "sim.messages.exchange_v1",
    "gateway.v1": "sim.messages.gateway_v1",
    "issuer.v1": "sim.messages.issuer_v1",
    "retail.v1": "sim.messages.retail_v1",
}

# Instants at which some field appears or disappears, ascending.
FIELD_DATES: tuple[int, ...] = (
    1782705600000000000,  # 2026-06-29
    1783051200000000000,  # 2026-07-03
    1788235200000000000,  # 2026-09-01
)

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
