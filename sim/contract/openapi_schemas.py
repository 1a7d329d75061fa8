"""Message schemas of the OpenAPI documents: the JSON of a Struct in answers and in requests.

The two differ. Answers are complete: unset fields are null or zero, and 64-bit integers are text.
Requests may leave out everything that is not required; the schema has the preferred spelling, and
the codec accepts more (snake_case, numbers for text, enumeration numbers).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from sim.contract.messages import Message, find, find_message
from sim.contract.wire_fields import (
    INTEGER_RANGES,
    LONG_INTEGERS,
    Field,
    alternatives,
    always_written,
    fields_of,
)
from sim.kernel.instants import Instant

Schema: TypeAlias = dict[str, Any]

_NOTES = Path(__file__).resolve().parent / "pb" / "notes.json"

# 18 digits always fit into 64 bits; most 19-digit numbers do not.
_LONG_PATTERN = {True: "^-?[0-9]{1,18}$", False: "^[0-9]{1,18}$"}


class Components:
    """Collects the schemas of a document, under the names of `schema_name`."""

    def __init__(
        self, now: Instant, *, vendor_prefix: bool = False, switches: frozenset[str] = frozenset()
    ) -> None:
        self.schemas: dict[str, Schema] = {}
        self._now = now
        self._vendor_prefix = vendor_prefix
        self._switches = switches

    def answer(self, cls: type[Message]) -> Schema:
        """Reference to a message as the service writes it."""
        return self._reference(cls, schema_name(cls.__full_name__), answer=True)

    def request(self, cls: type[Message], *, in_path: frozenset[str] = frozenset()) -> Schema:
        """A message in a request: a reference, or the message without the fields that the path of
        the call fills.
        """
        if in_path:
            return self._message(cls, answer=False, without=in_path)
        return self._reference(cls, schema_name(cls.__full_name__, "Input"), answer=False)

    def parameter(self, field: Field) -> Schema:
        """Schema of a field in a query string or path: one value or a list."""
        element = self._element(field, answer=False)
        return {"type": "array", "items": element} if field.repeated else element

    def shows(self, field: Field, *, answer: bool) -> bool:
        """Whether a message has the field now. Requests may have every field at any time."""
        return not answer or field.active(self._now, self._switches)

    def frame_field(self, field: Field, *, answer: bool) -> Schema:
        """Schema of a field in a frame, in which an unset field is left out instead of null."""
        element = self._element(field, answer=answer)
        return {"type": "array", "items": element} if field.repeated else element

    def _reference(self, cls: type[Message], name: str, *, answer: bool) -> Schema:
        if name not in self.schemas:
            # reserved before it is filled, because a message may contain itself
            schema = self.schemas[name] = {}
            schema |= self._message(cls, answer=answer)
        return {"$ref": f"#/components/schemas/{name}"}

    def _message(
        self, cls: type[Message], *, answer: bool, without: frozenset[str] = frozenset()
    ) -> Schema:
        properties: Schema = {}
        required = []
        for field in fields_of(cls):
            if not self.shows(field, answer=answer) or field.name in without:
                continue
            prefixed = answer and self._vendor_prefix and field.vendor_json
            name = prefixed or field.json_name
            property_schema = self._field(cls, field, answer=answer)
            properties[name] = described(property_schema, f"{cls.__full_name__}.{field.name}")
            if always_written(cls, field, self._switches) if answer else field.required:
                required.append(name)
        schema: Schema = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        if not answer and cls.__needs__:
            schema["allOf"] = [{"anyOf": list(_ways(cls, needs))} for needs in cls.__needs__]
        return described(schema, cls.__full_name__)

    def _field(self, cls: type[Message], field: Field, *, answer: bool) -> Schema:
        element = self._element(field, answer=answer)
        if field.key_kind:
            return {"type": "object", "additionalProperties": element}
        if field.repeated:
            return {"type": "array", "items": element}
        null = answer and field.nullable and always_written(cls, field, self._switches)
        return nullable(element) if null else element

    def _element(self, field: Field, *, answer: bool) -> Schema:
        if answer and field.text_by in self._switches:
            return {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}
        if field.kind == "message":
            cls = find_message(field.type_name)
            return self.answer(cls) if answer else self.request(cls)
        if field.kind == "enum" and field.bare_enum:
            members: Any = find(field.type_name)
            names = [member.name.removeprefix(field.bare_enum) for member in members]
            return {"type": "string", "enum": names}
        if field.kind == "enum":
            return self._enum(field.type_name)
        if field.halves:
            return {"type": "string", "pattern": r"^-?[0-9]{1,18}(\.5)?$"}
        if field.kind in LONG_INTEGERS and not (answer and field.as_number):
            pattern = _LONG_PATTERN[field.kind == "int64"]
            return {"type": "string", "format": field.kind, "pattern": pattern}
        if field.kind in INTEGER_RANGES:
            lowest, highest = INTEGER_RANGES[field.kind]
            return {"type": "integer", "format": field.kind, "minimum": lowest, "maximum": highest}
        return dict(_SIMPLE[field.kind])

    def _enum(self, full_name: str) -> Schema:
        name = schema_name(full_name)
        if name not in self.schemas:
            members: Any = find(full_name)
            names = [member.name for member in members]
            self.schemas[name] = described({"type": "string", "enum": names}, full_name)
        return {"$ref": f"#/components/schemas/{name}"}


_SIMPLE: dict[str, Schema] = {
    "string": {"type": "string"},
    "bool": {"type": "boolean"},
    "double": {"type": "number", "format": "double"},
    "bytes": {"type": "string", "contentEncoding": "base64"},
    "timestamp": {"type": "string", "format": "date-time"},
    "duration": {"type": "string", "pattern": r"^-?[0-9]{1,12}(\.[0-9]{1,9})?s$"},
    "struct": {"type": "object"},
    "value": {},
    "list_value": {"type": "array"},
}


def _ways(cls: type[Message], needs: str) -> Iterator[Schema]:
    """The alternative sets of fields that a request needs."""
    names = {field.name: field.json_name for field in fields_of(cls)}
    for way in alternatives(needs):
        yield {"required": [names[name] for name in way]}


def nullable(schema: Schema) -> Schema:
    """The same schema, or null."""
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return schema | {"type": [schema["type"], "null"]} if "type" in schema else schema


def schema_name(full_name: str, suffix: str = "") -> str:
    """Return the name of a message or enumeration in a document, in requests with a suffix.

    "exchange.v1.Outer.Inner" is "exchange.v1.Outer_Inner": generators make modules of what stands
    before a dot, and a module cannot have the name of a class beside it.
    """
    return re.sub(r"(\.[A-Z]\w*)\.", r"\1_", full_name) + suffix


def described(schema: Schema, full_name: str) -> Schema:
    """The schema with the comment of its proto file, if there is one."""
    note = note_of(full_name)
    return schema | {"description": note} if note else schema


def note_of(full_name: str) -> str:
    """The comment of a name in its proto file; "" if there is none."""
    return _notes().get(full_name, "")


@cache
def _notes() -> dict[str, str]:
    return msgspec.json.decode(_NOTES.read_bytes(), type=dict[str, str])
