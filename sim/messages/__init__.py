# generated from proto/, do not edit
"""What handlers take and return: one Struct per message of the contract, a module per package, imported when first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import ClassVar, TypeAlias

import msgspec

# One field on the wire: number, proto name, JSON name, kind, label ("", "optional", "repeated", "map:<key kind>" or "oneof:<name>"),
# full name of the message or enumeration ("" for others), and what the contract's field rule says, as pairs.
WireField: TypeAlias = tuple[int, str, str, str, str, str, tuple[tuple[str, int | str], ...]]


class Message(msgspec.Struct, kw_only=True):
    """Base of every Struct of the contract. `__wire__` has one row per field, in the order of `__struct_fields__`."""

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

_found: dict[str, type] = {}


def find(full_name: str) -> type:
    """The Struct or IntEnum of a full proto name ("exchange.v1.Order", "exchange.v1.Outer.Inner"). KeyError for a name not in the contract."""
    known = _found.get(full_name)
    if known is not None:
        return known
    package = full_name
    while package not in PACKAGES:
        package = package.rpartition(".")[0]
        if not package:
            raise KeyError(full_name)
    found = getattr(import_module(PACKAGES[package]), full_name[len(package) + 1 :].replace(".", "_"), None)
    if not isinstance(found, type):
        raise KeyError(full_name)
    _found[full_name] = found
    return found


def find_message(full_name: str) -> type[Message]:
    """The Struct of a full proto name. KeyError when there is no such message."""
    found = find(full_name)
    if not issubclass(found, Message):
        raise KeyError(full_name)
    return found
