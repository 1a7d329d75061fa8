"""JSON → Struct: one reader per message type, made when first asked for.

A reader takes plain objects (dicts, lists, text, numbers), accepts every field under both spellings, and refuses by name what does not fit.
Fields the message does not have are left alone; their paths are appended to the list the caller passes.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, Protocol, TypeAlias

import msgspec

from sim.api.transcode_fields import INTEGER_RANGES, BadBody, BadField, Field, fields_of, read_duration, read_moment
from sim.messages import Message, find, find_message

Convert: TypeAlias = Callable[[Any, list[str]], Any]

PLAIN_DEPTH_MAX = 100  # of free-form values; protobuf's own parsers stop there too


class JsonDecoder(Protocol):
    """Reads a body, or what it already decoded to. Refuses with `BadBody` and `BadField`; names fields it ignored in `unknown`."""

    def __call__(self, body: bytes | dict[str, Any], unknown: list[str] | None = None) -> Any: ...


@cache
def json_decoder(cls: type[Message], *, zero_unknown_enums: bool = False) -> JsonDecoder:
    """The function that reads messages of this type. An empty body is the empty message, as it is for the public service.

    `zero_unknown_enums`: the text of an enumeration that names no member reads as the zero member instead of being refused.
    """
    read = _READERS[zero_unknown_enums].reader(cls)

    def decode(body: bytes | dict[str, Any], unknown: list[str] | None = None) -> Any:
        ignored: list[str] = [] if unknown is None else unknown
        try:
            return read(parse_object(body) if isinstance(body, bytes) else body, ignored)
        except RecursionError:
            raise BadBody("nested too deeply") from None

    return decode


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object a body holds; {} for an empty one. `BadBody` for anything else."""
    if not body.strip():
        return {}
    try:
        found = msgspec.json.decode(body)
    except UnicodeDecodeError:
        raise BadBody("not UTF-8") from None
    except msgspec.DecodeError as refused:
        raise BadBody(f"not JSON: {refused}") from None
    except RecursionError:
        raise BadBody("nested too deeply") from None
    if not isinstance(found, dict):
        raise BadBody("not a JSON object")
    return found


class _Readers:
    """The readers of one rule for unknown enumeration texts; they reach each other late, so that a type may hold itself."""

    def __init__(self, zero_unknown_enums: bool) -> None:
        self._zero_unknown_enums = zero_unknown_enums
        self._readers: dict[type[Message], Convert] = {}

    def reader(self, cls: type[Message]) -> Convert:
        known = self._readers.get(cls)
        if known is not None:
            return known
        table: dict[str, tuple[Field, Convert]] = {}

        def read(raw: Any, unknown: list[str]) -> Message:
            if not isinstance(raw, dict):
                raise BadField("", "expected an object")
            values: dict[str, Any] = {}
            chosen: dict[str, str] = {}
            for key, given in raw.items():
                entry = table.get(key)
                if entry is None:
                    unknown.append(key)
                    continue
                field, convert = entry
                if given is None and field.kind != "value":
                    continue
                if field.attribute in values:
                    raise BadField(field.json_name, "given twice, once in each spelling")
                if field.oneof:
                    other = chosen.setdefault(field.oneof, field.json_name)
                    if other != field.json_name:
                        raise BadField(field.json_name, f"cannot be given together with {other}")
                seen = len(unknown)
                try:
                    values[field.attribute] = convert(given, unknown)
                except BadField as refused:
                    raise refused.under(field.json_name) from None
                if len(unknown) > seen:
                    _move(unknown, seen, field.json_name)
            return cls(**values)

        self._readers[cls] = read
        for field in fields_of(cls):
            table[field.json_name] = table[field.name] = (field, self._converter(field))
            if field.vendor_json:
                table[field.vendor_json] = table[field.name]
        return read

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


def element_reader(field: Field, *, zero_unknown_enums: bool = False) -> Convert:
    """Converter of one value of a field that holds no message."""
    if field.kind == "enum":
        return _enum(find(field.type_name), zero_unknown_enums)
    if field.kind in INTEGER_RANGES:
        return _integer(*INTEGER_RANGES[field.kind])
    return _CONVERTERS[field.kind]


def _move(unknown: list[str], start: int, parent: str) -> None:
    for index in range(start, len(unknown)):
        name = unknown[index]
        unknown[index] = parent + name if name[0] == "[" else f"{parent}.{name}"


def _list(field: Field, element: Convert) -> Convert:
    nullable = field.kind == "value"
    nested = field.kind == "message"

    def convert(raw: Any, unknown: list[str]) -> list[Any]:
        if not isinstance(raw, list):
            raise BadField("", "expected a list")
        found = []
        for index, given in enumerate(raw):
            if given is None and not nullable:
                raise BadField(f"[{index}]", "a list holds no nulls")
            seen = len(unknown)
            try:
                found.append(element(given, unknown))
            except BadField as refused:
                raise refused.under(f"[{index}]") from None
            if nested and len(unknown) > seen:
                _move(unknown, seen, f"[{index}]")
        return found

    return convert


def _map(field: Field, element: Convert) -> Convert:
    nullable = field.kind == "value"
    read_key = _BOOL_KEYS.get if field.key_kind == "bool" else None
    limits = INTEGER_RANGES.get(field.key_kind)

    def key_of(text: str) -> Any:
        if limits is not None:
            return _integer(*limits)(text, [])
        if read_key is not None:
            key = read_key(text)
            if key is None:
                raise BadField("", 'expected "true" or "false" as key')
            return key
        return text

    def convert(raw: Any, unknown: list[str]) -> dict[Any, Any]:
        if not isinstance(raw, dict):
            raise BadField("", "expected an object")
        found = {}
        for text, given in raw.items():
            seen = len(unknown)
            try:
                if given is None and not nullable:
                    raise BadField("", "a map holds no nulls")
                found[key_of(text)] = element(given, unknown)
            except BadField as refused:
                raise refused.under(f"[{text}]") from None
            if len(unknown) > seen:
                _move(unknown, seen, f"[{text}]")
        return found

    return convert


_BOOL_KEYS = {"true": True, "false": False}


_WHOLE = re.compile(r"-?[0-9]{1,20}")


@cache
def _integer(lowest: int, highest: int) -> Convert:
    def convert(raw: Any, unknown: list[str]) -> int:
        kind = type(raw)
        whole = kind is int or (kind is float and raw.is_integer())
        if not whole and not (kind is str and _WHOLE.fullmatch(raw)):
            raise BadField("", "expected a whole number")
        value = int(raw)
        if not lowest <= value <= highest:
            raise BadField("", "number out of range")
        return value

    return convert


def _enum(enum: Any, zero_unknown: bool) -> Convert:
    numbers = {name: int(member) for name, member in enum.__members__.items()}
    number = _integer(*INTEGER_RANGES["int32"])

    def convert(raw: Any, unknown: list[str]) -> int:
        if isinstance(raw, str):
            known = numbers.get(raw)
            if known is not None:
                return known
            if zero_unknown:
                return 0
            raise BadField("", f"{raw[:100]!r} is no member of {enum.__name__}")
        return int(number(raw, unknown))

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
        if type(raw) is float or type(raw) is int or (type(raw) is str and raw.isascii() and not _ODD.intersection(raw)):
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


def _moment(raw: Any, unknown: list[str]) -> int:
    if type(raw) is not str:
        raise BadField("", "expected an RFC 3339 timestamp")
    try:
        return read_moment(raw)
    except ValueError as refused:
        raise BadField("", str(refused)) from None


def _span(raw: Any, unknown: list[str]) -> int:
    if type(raw) is not str:
        raise BadField("", 'expected a duration ("1.5s")')
    try:
        return read_duration(raw)
    except ValueError as refused:
        raise BadField("", str(refused)) from None


def _plain(raw: Any, unknown: list[str]) -> Any:
    _require_shallow(raw, PLAIN_DEPTH_MAX)
    return raw


def _require_shallow(value: Any, depth: int) -> None:
    if not isinstance(value, dict | list):
        return
    if not depth:
        raise BadField("", "nested too deeply")
    for inner in value.values() if isinstance(value, dict) else value:
        _require_shallow(inner, depth - 1)


def _plain_object(raw: Any, unknown: list[str]) -> Any:
    if not isinstance(raw, dict):
        raise BadField("", "expected an object")
    return _plain(raw, unknown)


def _plain_list(raw: Any, unknown: list[str]) -> Any:
    if not isinstance(raw, list):
        raise BadField("", "expected a list")
    return _plain(raw, unknown)


_CONVERTERS: dict[str, Convert] = {
    "string": _text,
    "bool": _bool,
    "double": _double,
    "bytes": _bytes,
    "timestamp": _moment,
    "duration": _span,
    "struct": _plain_object,
    "value": _plain,
    "list_value": _plain_list,
}
_READERS = {False: _Readers(False), True: _Readers(True)}
