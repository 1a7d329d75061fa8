"""Checks JSON against a message of the contract: whether our own encoder could have written it.

The rules are those of `sim/api/codecs/json_writer.py`, read from the same fields: which names exist
at an instant, which are always written, which may be null, how each kind of value is written. A
shape is compiled once per message and dialect. A value that fits costs one look-up per field.

In the JSON form of gRPC messages no field is mandatory, and switches and dates do not apply.
Fingerprints of secrets stand for any text.
"""

from __future__ import annotations

import re
from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from typing import Any, TypeAlias

from msgspec import Struct

from sim.api.codecs.codecs import Dialect
from sim.contract.messages import Message, find, find_message
from sim.contract.wire_fields import (
    INTEGER_RANGES,
    LONG_INTEGERS,
    SCALARS,
    Field,
    always_written,
    fields_of,
    read_duration,
    read_moment,
    write_duration,
)
from sim.evidence.compare.decimals import DIGITS, Digits, misfit
from sim.evidence.compare.difference import ABSENT, SECRET, Difference, Kind
from sim.kernel.instants import format_instant

Found: TypeAlias = list[Difference]
Check: TypeAlias = Callable[[Any], "Found | None"]

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}", re.ASCII)
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?", re.ASCII)


class Member(Struct, frozen=True):
    """One field of a message. `check` reads its value if that is neither null nor empty."""

    check: Check
    null: bool  # whether null is written
    empty: bool  # whether an empty value is written
    expected: str  # the expected value in words


class Shape(Struct):
    """A message's fields by JSON name.

    `gone` holds those of other dates, with the switch that keeps them; `always` those that are
    always written.
    """

    members: dict[str, Member] = {}
    gone: dict[str, str] = {}
    always: tuple[tuple[str, str, str], ...] = ()  # name, its other spelling, what keeps it

    def check(self, value: Any) -> Found | None:
        """Return what does not fit; None if everything does."""
        if type(value) is not dict:
            return [Difference("", value, "an object", "type")]
        misfits: Found = []
        members = self.members
        for name, inner in value.items():
            member = members.get(name)
            if member is None:
                misfits.append(self._unknown(name, inner))
            elif inner is None:
                if not member.null:
                    misfits.append(Difference(name, None, ABSENT, "null"))
            elif not member.empty and not inner and type(inner) is not dict:
                misfits.append(Difference(name, inner, ABSENT, "null"))
            elif wrong := member.check(inner):
                misfits += [one.under(name) for one in wrong]
        for name, other, switch in self.always:
            if name not in value and other not in value:
                expected = members[name].expected
                misfits.append(Difference(name, ABSENT, expected, "missing name", switch))
        return misfits or None

    def _unknown(self, name: str, value: Any) -> Difference:
        switch = self.gone.get(name)
        kind: Kind = "unknown name" if switch is None else "date"
        return Difference(name, value, ABSENT, kind, switch or "")


def shape_of(cls: type[Message], dialect: Dialect | None) -> Shape:
    """Return the shape of a message; without a dialect, that of the JSON form in gRPC."""
    return _shapes(dialect).of(cls)


@lru_cache(maxsize=256)
def _shapes(dialect: Dialect | None) -> _Shapes:
    return _Shapes(dialect)


class _Shapes:
    """Compiles the shapes of one dialect."""

    def __init__(self, dialect: Dialect | None) -> None:
        self._dialect = dialect
        self._switches = dialect.switches if dialect else frozenset[str]()
        self._known: dict[type[Message], Shape] = {}

    def of(self, cls: type[Message]) -> Shape:
        shape = self._known.get(cls)
        if shape is None:
            # Registered before it is filled, because a message may contain itself.
            shape = self._known[cls] = Shape({}, {})
            self._fill(shape, cls)
        return shape

    def _fill(self, shape: Shape, cls: type[Message]) -> None:
        always: list[tuple[str, str, str]] = []
        dialect = self._dialect
        for field in fields_of(cls):
            # A service writes its own prefix, and we write a neutral one by default. Both are
            # known.
            other = field.vendor_json or field.json_name
            names = {field.json_name, other}
            if dialect is not None and not field.active(dialect.since, self._switches):
                shape.gone.update(dict.fromkeys(names, field.kept_by))
                continue
            written = dialect is not None and always_written(cls, field)
            check, digits = self._value(field), DIGITS.get((cls.__name__, field.json_name))
            if digits is not None and cls.__module__.endswith(("retail_v1", "gateway_v1")):
                check = _with_digits(check, digits)
            member = Member(
                check=check,
                null=written and field.nullable,
                empty=written or field.presence or dialect is None,
                expected=self._words(field),
            )
            shape.members.update(dict.fromkeys(names, member))
            if written:
                kept = dialect is not None and not field.active(dialect.since)
                always.append((field.json_name, other, field.kept_by if kept else ""))
        shape.always = tuple(always)

    # ---- values

    def _value(self, field: Field) -> Check:
        element = self._element(field)
        if field.key_kind:
            return lambda value: _map(value, element)
        if field.repeated:
            return lambda value: _list(value, element)
        return element

    def _element(self, field: Field) -> Check:
        if field.kind == "message":
            return self.of(find_message(field.type_name)).check
        if field.kind == "enum":
            return self._enum(field)
        if self._dialect is not None and field.text_by:
            as_text = field.text_by in self._switches
            return _text_or_number(field.text_by, as_text=as_text, whole=field.kind != "double")
        if field.kind in INTEGER_RANGES:
            lowest, highest = INTEGER_RANGES[field.kind]
            number = field.as_number and self._dialect is not None
            quoted = field.kind in LONG_INTEGERS and not number
            return lambda value: _integer(value, lowest, highest, quoted=quoted)
        return _CHECKS[field.kind]

    def _enum(self, field: Field) -> Check:
        members: Any = find(field.type_name)
        bare = field.bare_enum if self._dialect is not None else ""
        names = frozenset(member.name.removeprefix(bare) for member in members)
        expected = f"one of {', '.join(sorted(names))}"

        def check(value: Any) -> Found | None:
            if type(value) is str and value in names:
                return None
            return [Difference("", value, expected, "enum" if type(value) is str else "type")]

        return check

    def _words(self, field: Field) -> str:
        if field.key_kind:
            return "an object"
        if field.repeated:
            return "a list"
        null = "" if field.kind in SCALARS else " or null"
        return _WORDS.get(field.kind, "a whole number") + null


_WORDS = {
    "message": "an object",
    "struct": "an object",
    "value": "a value",
    "list_value": "a list",
    "enum": "a name of its enumeration",
    "string": "text",
    "bool": "true or false",
    "double": "a number",
    "bytes": "base64",
    "timestamp": "an RFC 3339 instant in UTC",
    "duration": 'a duration ("1.5s")',
    "int64": "a whole number as text",
    "uint64": "a whole number as text",
}


def _with_digits(check: Check, digits: Digits) -> Check:
    """Return a check that also requires the number of decimals seen in recordings."""

    def checked(value: Any) -> Found | None:
        misfits = check(value)
        if misfits is None and (wrong := misfit(digits, value)) is not None:
            return [wrong]
        return misfits

    return checked


def _list(value: Any, element: Check) -> Found | None:
    if type(value) is not list:
        return [Difference("", value, "a list", "type")]
    misfits: Found = []
    for number, inner in enumerate(value):
        if wrong := element(inner):
            misfits += [one.under(f"[{number}]") for one in wrong]
    return misfits or None


def _map(value: Any, element: Check) -> Found | None:
    if type(value) is not dict:
        return [Difference("", value, "an object", "type")]
    misfits: Found = []
    for key, inner in value.items():
        if wrong := element(inner):
            misfits += [one.under(key) for one in wrong]
    return misfits or None


def _integer(value: Any, lowest: int, highest: int, *, quoted: bool) -> Found | None:
    if quoted:
        if type(value) is not str:
            return [Difference("", value, "a whole number as text", "type")]
        if _is_secret(value):
            return None
        if not _WHOLE.fullmatch(value):
            return [Difference("", value, "a whole number as text", "format")]
        value = int(value)
    elif type(value) is not int:
        kind: Kind = "format" if isinstance(value, Decimal) else "type"
        return [Difference("", value, "a whole number", kind)]
    if lowest <= value <= highest:
        return None
    return [Difference("", value, f"a number from {lowest} to {highest}", "format")]


def _text_or_number(switch: str, *, as_text: bool, whole: bool) -> Check:
    """Return the check of a number that a switch turns into text.

    The other spelling names the switch.
    """

    def check(value: Any) -> Found | None:
        if as_text:
            if type(value) is str and (_WHOLE if whole else _DECIMAL).fullmatch(value):
                return None
            number = not isinstance(value, str)
            expected = "a number as text"
        else:
            if isinstance(value, int | Decimal | float) and type(value) is not bool:
                return None
            number = isinstance(value, str) and _DECIMAL.fullmatch(value) is not None
            expected = "a number"
        return [Difference("", value, expected, "type", switch if number else "")]

    return check


def _text(value: Any) -> Found | None:
    return None if type(value) is str else [Difference("", value, "text", "type")]


def _bool(value: Any) -> Found | None:
    return None if type(value) is bool else [Difference("", value, "true or false", "type")]


def _double(value: Any) -> Found | None:
    if isinstance(value, int | Decimal | float) and type(value) is not bool:
        return None
    if value in ("NaN", "Infinity", "-Infinity"):
        return None
    return [Difference("", value, "a number", "type")]


def _bytes(value: Any) -> Found | None:
    if type(value) is not str:
        return [Difference("", value, "base64", "type")]
    try:
        a2b_base64(value, strict_mode=True)
    except (Base64Error, ValueError):
        return None if _is_secret(value) else [Difference("", value, "base64", "format")]
    return None


def _moment(value: Any) -> Found | None:
    return _spelled(value, _again_moment, _WORDS["timestamp"])


def _span(value: Any) -> Found | None:
    return _spelled(value, _again_span, _WORDS["duration"])


def _spelled(value: Any, again: Callable[[str], str], expected: str) -> Found | None:
    if type(value) is not str:
        return [Difference("", value, expected, "type")]
    try:
        ours = again(value)
    except ValueError:
        return None if _is_secret(value) else [Difference("", value, expected, "format")]
    return None if ours == value else [Difference("", value, ours, "format")]


@lru_cache(maxsize=8192)
def _again_moment(text: str) -> str:
    return format_instant(read_moment(text))


@lru_cache(maxsize=1024)
def _again_span(text: str) -> str:
    return write_duration(read_duration(text))


def _object(value: Any) -> Found | None:
    return None if type(value) is dict else [Difference("", value, "an object", "type")]


def _values(value: Any) -> Found | None:
    return None if type(value) is list else [Difference("", value, "a list", "type")]


def _is_secret(value: str) -> bool:
    return value.startswith(SECRET)


_CHECKS: dict[str, Check] = {
    "string": _text,
    "bool": _bool,
    "double": _double,
    "bytes": _bytes,
    "timestamp": _moment,
    "duration": _span,
    "struct": _object,
    "value": lambda value: None,
    "list_value": _values,
}
