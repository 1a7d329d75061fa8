"""Converts one JSON value to a field's value, for every kind of field except messages.

Errors have no path: the calling reader adds it.
"""

from __future__ import annotations

import re
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Callable
from functools import cache
from math import isfinite
from typing import Any, TypeAlias

from sim.contract.messages import find
from sim.contract.wire_fields import INTEGER_RANGES, BadField, Field, read_duration, read_moment

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
