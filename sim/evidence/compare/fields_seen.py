"""Which fields of the contract a recording shows.

A field belongs to a message, wherever that message occurs: `Order.avgPx` counts once for all
operations that return orders. Each operation counts what its own answers showed.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import Field
from sim.evidence.compare.identifier_map import fields_by_name

Place: TypeAlias = tuple[str, str]  # (message, JSON name of the field)


@cache
def fields_below(cls: type[Message]) -> frozenset[Place]:
    """Return every field that an answer of this type can show, nested messages included."""
    places: set[Place] = set()
    left, visited = [cls], {cls}
    while left:
        message = left.pop()
        for field in fields_by_name(message).values():
            places.add((message.__name__, field.json_name))
            inner = _message_of(field)
            if inner is not None and inner not in visited:
                visited.add(inner)
                left.append(inner)
    return frozenset(places)


def note_fields(cls: type[Message], value: Any, noted: set[Place]) -> None:
    """Add the fields that an answer shows to `noted`: not null, and with a known name."""
    if not isinstance(value, dict):
        return
    fields = fields_by_name(cls)
    for name, inner in value.items():
        field = fields.get(name)
        if field is None or inner is None:
            continue
        noted.add((cls.__name__, field.json_name))
        below = _message_of(field)
        if below is None:
            continue
        if field.key_kind and isinstance(inner, dict):
            inner = list(inner.values())
        for element in inner if isinstance(inner, list) else (inner,):
            note_fields(below, element, noted)


def _message_of(field: Field) -> type[Message] | None:
    return find_message(field.type_name) if field.kind == "message" else None
