"""Converts JSON to Structs, with one reader per message type that is built on first use.

A reader takes plain values (dicts, lists, text, numbers), accepts each field in both spellings, and
refuses an invalid value with the path of the field. Unknown fields are ignored; their paths are
appended to the list that the caller passes.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, NamedTuple, Protocol, TypeAlias

import msgspec

from sim.contract.messages import Message, find, find_message
from sim.contract.wire_fields import (
    INTEGER_RANGES,
    BadBody,
    BadField,
    Field,
    fields_of,
    read_duration,
    read_moment,
)

DEPTH_MAX = 100  # the limit of protobuf's own parsers
# Commas of a body: no valid request has a thousandth of the values that fit into its bytes.
COMMAS_MAX = 10_000

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


class Decoder(Protocol):
    """Reads a message, and adds the paths of ignored fields or parameters to `unknown`.

    A body is bytes or an object, a query text or pairs. BadBody or BadField if it does not fit.
    """

    def __call__(self, source: Any, unknown: list[str] | None = None, /) -> Any: ...


@cache
def json_decoder(cls: type[Message], *, zero_unknown_enums: bool = False) -> Decoder:
    """Return the function that reads messages of a type. An empty body is the empty message.

    With `zero_unknown_enums`, unknown enum text is read as the zero member instead
    of being refused.
    """
    read = _READERS[zero_unknown_enums].reader(cls)

    def decode(body: bytes | dict[str, Any], unknown: list[str] | None = None) -> Any:
        return read(
            parse_object(body) if isinstance(body, bytes) else body,
            [] if unknown is None else unknown,
        )

    return decode


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in a body; {} for an empty body. BadBody for anything else."""
    if not body.strip():
        return {}
    if body.count(b",") > COMMAS_MAX:
        raise BadBody(f"more than {COMMAS_MAX} values")
    if _too_deep(body):
        raise BadBody(f"nested deeper than {DEPTH_MAX} levels")
    try:
        value = msgspec.json.decode(body)
    except UnicodeDecodeError:
        raise BadBody("not UTF-8") from None
    except msgspec.DecodeError as refused:
        raise BadBody(f"not JSON: {refused}") from None
    if not isinstance(value, dict):
        raise BadBody("not a JSON object")
    return value


def _too_deep(body: bytes) -> bool:
    """Whether objects and lists are nested too deep.

    The parser has a limit too, but that depends on the stack of the process.
    """
    if body.count(b"{") + body.count(b"[") <= DEPTH_MAX:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub(b"", body)):
        depth += 1 if bracket in b"{[" else -1
        if depth > DEPTH_MAX:
            return True
    return False


class _Entry(NamedTuple):
    """How a field is read.

    A value of the type `exact` is used unchanged. A `nested` value may contain unknown fields.
    """

    attribute: str
    convert: Convert
    exact: type | None
    name: str
    oneof: str
    nullable: bool
    nested: bool


_EXACT = {"string": str, "bool": bool}


class _Readers:
    """The readers for one rule about unknown enum text.

    Each reader's table is filled after the reader is registered, so a type may contain itself.
    """

    def __init__(self, zero_unknown_enums: bool) -> None:
        self._zero_unknown_enums = zero_unknown_enums
        self._readers: dict[type[Message], Convert] = {}

    def reader(self, cls: type[Message]) -> Convert:
        reader = self._readers.get(cls)
        if reader is not None:
            return reader
        table: dict[str, _Entry] = {}

        def read(raw: Any, unknown: list[str]) -> Message:
            if not isinstance(raw, dict):
                raise BadField("", "expected an object")
            values: dict[str, Any] = {}
            chosen: dict[str, str] = {}
            for key, value in raw.items():
                entry = table.get(key)
                if entry is None:
                    unknown.append(key)
                    continue
                attribute, convert, exact, name, oneof, nullable, nested = entry
                if value is None and not nullable:
                    continue
                if attribute in values:
                    raise BadField(name, "given twice, once in each spelling")
                if oneof:
                    other = chosen.setdefault(oneof, name)
                    if other != name:
                        raise BadField(name, f"cannot be given together with {other}")
                if type(value) is exact:
                    values[attribute] = value
                    continue
                unknown_before = len(unknown) if nested else 0
                try:
                    values[attribute] = convert(value, unknown)
                except BadField as refused:
                    raise refused.under(name) from None
                if nested and len(unknown) > unknown_before:
                    _move(unknown, unknown_before, name)
            return cls(**values)

        self._readers[cls] = read
        for field in fields_of(cls):
            table[field.json_name] = table[field.name] = entry = self._entry(field)
            if field.vendor_json:
                table[field.vendor_json] = entry
        return read

    def _entry(self, field: Field) -> _Entry:
        exact = _EXACT.get(field.kind) if not field.repeated and not field.key_kind else None
        return _Entry(
            field.attribute,
            self._converter(field),
            exact,
            field.json_name,
            field.oneof,
            field.kind == "value",
            field.kind == "message",
        )

    def _converter(self, field: Field) -> Convert:
        element = self._element(field)
        if field.key_kind:
            return _map(field, element)
        if field.repeated:
            return _list(field, element)
        return element

    def _element(self, field: Field) -> Convert:
        if field.kind == "message":
            return self.reader(find_message(field.type_name))
        return element_reader(field, zero_unknown_enums=self._zero_unknown_enums)


def _move(unknown: list[str], start: int, parent: str) -> None:
    for index in range(start, len(unknown)):
        name = unknown[index]
        unknown[index] = parent + name if name.startswith("[") else f"{parent}.{name}"


def _list(field: Field, element: Convert) -> Convert:
    nullable = field.kind == "value"
    nested = field.kind == "message"

    def convert(raw: Any, unknown: list[str]) -> list[Any]:
        if not isinstance(raw, list):
            raise BadField("", "expected a list")
        items = []
        for index, item in enumerate(raw):
            if item is None and not nullable:
                raise BadField(f"[{index}]", "a list holds no nulls")
            unknown_before = len(unknown)
            try:
                items.append(element(item, unknown))
            except BadField as refused:
                raise refused.under(f"[{index}]") from None
            if nested and len(unknown) > unknown_before:
                _move(unknown, unknown_before, f"[{index}]")
        return items

    return convert


def _map(field: Field, element: Convert) -> Convert:
    nullable = field.kind == "value"
    read_key = key_reader(field.key_kind)

    def convert(raw: Any, unknown: list[str]) -> dict[Any, Any]:
        if not isinstance(raw, dict):
            raise BadField("", "expected an object")
        entries = {}
        for text, value in raw.items():
            unknown_before = len(unknown)
            try:
                if value is None and not nullable:
                    raise BadField("", "a map holds no nulls")
                entries[read_key(text)] = element(value, unknown)
            except BadField as refused:
                raise refused.under(f"[{text}]") from None
            if len(unknown) > unknown_before:
                _move(unknown, unknown_before, f"[{text}]")
        return entries

    return convert


_READERS = {False: _Readers(False), True: _Readers(True)}


# ---- one value

# (plain value, paths of ignored fields) -> value
Convert: TypeAlias = Callable[[Any, list[str]], Any]


def element_reader(field: Field, *, zero_unknown_enums: bool = False) -> Convert:
    """Return the converter of one value of a field that is not a message."""
    if field.kind == "enum":
        return _enum(find(field.type_name), zero_unknown_enums, field.bare_enum, field.other_prefix)
    if field.kind in INTEGER_RANGES:
        return whole_number(*INTEGER_RANGES[field.kind])
    return _CONVERTERS[field.kind]


def key_reader(kind: str) -> Callable[[str], Any]:
    """Return the converter of a map's keys, which JSON always writes as text."""
    if kind in INTEGER_RANGES:
        read = whole_number(*INTEGER_RANGES[kind])
        return lambda text: read(text, [])
    return _bool_key if kind == "bool" else str


def _bool_key(text: str) -> bool:
    if text not in ("true", "false"):
        raise BadField("", 'expected "true" or "false" as key')
    return text == "true"


_WHOLE = re.compile(r"-?[0-9]{1,20}")


@cache
def whole_number(lowest: int, highest: int) -> Convert:
    """Return the converter of whole numbers in a range, from text or from a number."""

    def convert(raw: Any, unknown: list[str]) -> int:
        kind = type(raw)
        if kind is str:
            is_whole = (raw.isdigit() and raw.isascii() and len(raw) <= 20) or _WHOLE.fullmatch(
                raw
            ) is not None
        else:
            is_whole = kind is int or (kind is float and raw.is_integer())
        if not is_whole:
            raise BadField("", "expected a whole number")
        value = int(raw)
        if not lowest <= value <= highest:
            raise BadField("", "number out of range")
        return value

    return convert


def _enum(enum: Any, zero_unknown: bool, bare: str, other: str) -> Convert:
    numbers = {name: int(member) for name, member in enum.__members__.items()}
    if bare:
        for name, number in list(numbers.items()):
            short = name.removeprefix(bare)
            numbers |= {short: number, f"{other or bare}{short}": number}
    whole_int32 = whole_number(*INTEGER_RANGES["int32"])

    def convert(raw: Any, unknown: list[str]) -> int:
        if isinstance(raw, str):
            member = numbers.get(raw)
            if member is not None:
                return member
            if zero_unknown:
                return 0
            raise BadField(
                "", f"{raw[:100]!r} is not a member of {enum.__name__.rpartition('_')[2]}"
            )
        return int(whole_int32(raw, unknown))

    return convert


def _text(raw: Any, unknown: list[str]) -> str:
    if type(raw) is not str:
        raise BadField("", "expected text")
    return raw


def _bool(raw: Any, unknown: list[str]) -> bool:
    if raw is not True and raw is not False:
        raise BadField("", "expected true or false")
    return raw


def _double(raw: Any, unknown: list[str]) -> float:
    try:
        if (
            type(raw) is float
            or type(raw) is int
            or (type(raw) is str and raw.isascii() and not _ODD.intersection(raw))
        ):
            value = float(raw)
            if isfinite(value):
                return value
    except (ValueError, OverflowError):
        pass
    raise BadField("", "expected a number")


_ODD = frozenset("_ \t\r\n\f\v")  # Python's float() takes these, JSON's numbers do not


_STANDARD = str.maketrans("-_", "+/")  # both base64 alphabets are accepted, padded or not


def _bytes(raw: Any, unknown: list[str]) -> bytes:
    if type(raw) is str:
        text = raw.rstrip("=").translate(_STANDARD)
        try:
            return b64decode(text + "=" * (-len(text) % 4), validate=True)
        except (Base64Error, ValueError):
            pass
    raise BadField("", "expected base64")


def _from_text(read: Callable[[str], int], expected: str) -> Convert:
    """Return the converter of a value that JSON writes as text, such as an instant."""

    def convert(raw: Any, unknown: list[str]) -> int:
        if type(raw) is not str:
            raise BadField("", f"expected {expected}")
        try:
            return read(raw)
        except ValueError as refused:
            raise BadField("", str(refused)) from None

    return convert


def _plain(raw: Any, unknown: list[str]) -> Any:
    return raw


def _plain_object(raw: Any, unknown: list[str]) -> Any:
    if not isinstance(raw, dict):
        raise BadField("", "expected an object")
    return raw


def _plain_list(raw: Any, unknown: list[str]) -> Any:
    if not isinstance(raw, list):
        raise BadField("", "expected a list")
    return raw


_CONVERTERS: dict[str, Convert] = {
    "string": _text,
    "bool": _bool,
    "double": _double,
    "bytes": _bytes,
    "timestamp": _from_text(read_moment, "an RFC 3339 timestamp"),
    "duration": _from_text(read_duration, 'a duration ("1.5s")'),
    "struct": _plain_object,
    "value": _plain,
    "list_value": _plain_list,
}
