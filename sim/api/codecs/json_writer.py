"""Struct to JSON: one generated Python function per message type and dialect, made on first use.

The source of such a function is a single f-string over escaped literals, because that is the
fastest thing Python does with text:

    def write_5(m):
        p0 = "" if m.state is None else f',"state":{enum_2[m.state]}'
        bids = join([write_3(x) for x in m.bids])
        return f'{{"symbol":{quote(m.symbol)},"bids":[{bids}]{p0}}}'
"""

from __future__ import annotations

from binascii import b2a_base64
from bisect import bisect_right
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, cast

import msgspec

from sim.contract.wire_fields import INTEGER_RANGES, LONG_INTEGERS, Field, fields_of, write_duration
from sim.kernel.instants import EARLIEST, Instant, format_instant
from sim.messages import FIELD_DATES, Message, find, find_message


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """The JSON rules of a surface at a time. `epoch` counts the field dates already passed, so it
    changes only when some field comes or goes.
    """

    name: str
    write_unset: bool = True
    vendor_prefix: bool = False
    epoch: int = 0


@lru_cache(maxsize=256)
def _dialect(name: str, write_unset: bool, vendor_prefix: bool, epoch: int) -> Dialect:
    return Dialect(name=name, write_unset=write_unset, vendor_prefix=vendor_prefix, epoch=epoch)


def dialect_at(
    name: str, now: Instant, *, vendor_prefix: bool = False, write_unset: bool = True
) -> Dialect:
    """The dialect of a surface ("exchange", "retail", "gateway", "auth") at an instant. Equal
    arguments give the same object.
    """
    return _dialect(name, write_unset, vendor_prefix, bisect_right(FIELD_DATES, now))


def json_encoder(cls: type[Message], dialect: Dialect) -> Callable[[Any], bytes]:
    """The function that writes messages of this type in this dialect, as UTF-8."""
    return _writers(dialect).encoder(cls)


@lru_cache(maxsize=256)
def _writers(dialect: Dialect) -> _Writers:
    return _Writers(dialect)


class _Writers:
    """The generated functions of one dialect; they call each other by name through one namespace."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._at = FIELD_DATES[dialect.epoch - 1] if dialect.epoch else EARLIEST
        self._names: dict[object, str] = {}
        self._encoders: dict[type[Message], Callable[[Any], bytes]] = {}
        self._kept: dict[str, Callable[[Message], bytes]] = {}
        self._namespace: dict[str, Any] = {
            "quote": encode_basestring,
            "double": write_double,
            "base64": _base64,
            "moment": lambda at: f'"{format_instant(at)}"',
            "span": lambda span: f'"{write_duration(span)}"',
            "truth": lambda value: "true" if value else "false",
            "plain": write_plain,
            "join": ",".join,
            "in_quotes": '"{}"'.format,
            "true": "true",
            "false": "false",
            "null": "null",
            "none": "",
        }

    def encoder(self, cls: type[Message]) -> Callable[[Any], bytes]:
        known = self._encoders.get(cls)
        if known is None:
            name = self._writer(cls)
            write = cast(Callable[[Any], str], self._namespace[name])
            large = self._large(cls)
            if cls.__full_name__ in _KEPT:
                known = self._kept[cls.__full_name__]
            elif large is None:
                known = _utf8(write)
            else:
                known = _joining(write, large.attribute, self._kept[large.type_name])
            self._encoders[cls] = known
        return known

    def _large(self, cls: type[Message]) -> Field | None:
        """The first field that is a list of large messages, of a type that is not large itself. Its
        place in the text is marked, and filled in bytes.
        """
        if cls.__full_name__ in _KEPT:
            return None
        lists = (
            field
            for field in fields_of(cls)
            if field.active(self._at) and field.repeated and field.type_name in _KEPT
        )
        return next(
            (field for field in lists if self._absent(field, cls.__omit_unset__) is None), None
        )

    def _writer(self, cls: type[Message]) -> str:
        """Name of the function for a message type, written on first use. The name is taken first,
        so that a type may hold itself.
        """
        name = self._names.get(cls)
        if name is None:
            name = self._names[cls] = f"write_{len(self._names)}"
            exec(
                compile(self._source(name, cls), f"<json of {cls.__full_name__}>", "exec"),
                self._namespace,
            )
            if cls.__full_name__ in _KEPT:
                kept = self._kept[cls.__full_name__] = _keeping(self._namespace[name])
                self._namespace[name] = lambda message: kept(message).decode()
        return name

    def _enum(self, field: Field) -> str:
        enum = find(field.type_name)
        key = (enum, field.bare_enum)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"enum_{len(self._names)}"
            self._namespace[name] = _EnumTexts(enum, field.bare_enum)
        return name

    def _source(self, name: str, cls: type[Message]) -> str:
        lines = [f"def {name}(m):"]
        template = ""
        always_first = False
        large = self._large(cls)
        if large is not None:
            self._function(large)
        for position, field in enumerate(
            field for field in fields_of(cls) if field.active(self._at)
        ):
            attribute = f"m.{field.attribute}"
            literal = _literal(f",{encode_basestring(self._name(field))}:")
            absent = self._absent(field, cls.__omit_unset__)
            if absent is None:
                template += literal + (
                    f"[{_MARK}]" if field is large else self._value(field, attribute)
                )
                always_first = always_first or position == 0
            else:
                lines.append(f"    v = {attribute}")
                lines.append(
                    f"    p{position} = none if {absent} else"
                    f" f{literal + self._value(field, 'v')!r}"
                )
                template += f"{{p{position}}}"
        if always_first:
            lines.append("    return f" + repr("{{" + template[1:] + "}}"))
        else:
            lines.append(f"    return '{{' + f{template!r}[1:] + '}}'")
        return "\n".join(lines)

    def _name(self, field: Field) -> str:
        return (
            field.vendor_json
            if field.vendor_json and self._dialect.vendor_prefix
            else field.json_name
        )

    def _absent(self, field: Field, omit_unset: bool) -> str | None:
        """Condition on `v` under which the field is left out; None for one that is always written."""
        if field.presence:
            return "v is None"
        if field.omit_empty or omit_unset or not self._dialect.write_unset:
            return (
                "v is None"
                if field.kind in _NULLABLE and not field.repeated and not field.key_kind
                else "not v"
            )
        return None

    def _value(self, field: Field, v: str) -> str:
        """Template text for the field's value, where `v` is the Python expression that holds it."""
        if field.key_kind:
            return f"{{{self._map(field)}({v})}}"
        if field.repeated:
            mapped = self._function(field)
            return f"[{{join(map({mapped}, {v}))}}]"
        if field.kind in _NULLABLE and not field.presence:
            return f"{{null if {v} is None else {self._function(field)}({v})}}"
        return self._element(field, v)

    def _element(self, field: Field, v: str) -> str:
        """Template text for one value that is there."""
        if field.kind == "bool":
            return f"{{true if {v} else false}}"
        if field.kind == "enum":
            return f"{{{self._enum(field)}[{v}]}}"
        if field.kind in INTEGER_RANGES:
            return f'"{{{v}}}"' if _in_quotes(field) else f"{{{v}}}"
        return f"{{{self._function(field)}({v})}}"

    def _function(self, field: Field) -> str:
        """Python expression for the function that turns one value into JSON text."""
        if field.kind == "message":
            cls = find_message(field.type_name)
            if self._large(cls) is not None:
                raise TypeError(
                    f"{field.type_name} holds a list of large messages, so it stands in no other"
                    " message"
                )
            return self._writer(cls)
        if field.kind == "enum":
            return f"{self._enum(field)}.__getitem__"
        if field.kind in INTEGER_RANGES:
            return "in_quotes" if _in_quotes(field) else "str"
        return _FUNCTIONS[field.kind]

    def _map(self, field: Field) -> str:
        """Name of a function that writes this map, members sorted by key."""
        name = f"map_{len(self._namespace)}"
        self._namespace[name] = None
        key = {"string": "{quote(k)}", "bool": '"{true if k else false}"'}.get(
            field.key_kind, '"{k}"'
        )
        pair = f"f{key + ':' + self._element(field, 'x')!r}"
        exec(
            f"def {name}(d): return '{{' + join([{pair} for k, x in sorted(d.items())]) + '}}'",
            self._namespace,
        )
        return name


# Large messages of which the same object is shown again and again, and never changed once shown:
# their text is written once.
_KEPT = frozenset(("gateway.v1.Event", "gateway.v1.Market"))
_KEPT_MAX = 12_000_000  # bytes for each type and dialect, twice


def _keeping(write: Callable[[Message], str]) -> Callable[[Message], bytes]:
    """The same function in UTF-8, remembering what it wrote."""
    recent: dict[int, tuple[Message, bytes]] = {}
    # what nobody asks for until `recent` is full again is forgotten
    before: dict[int, tuple[Message, bytes]] = {}
    size = 0

    def kept(message: Message) -> bytes:
        nonlocal recent, before, size
        found = recent.get(id(message))
        if found is not None and found[0] is message:
            return found[1]
        found = before.get(id(message))
        if found is None or found[0] is not message:
            found = (message, write(message).encode())
        size += len(found[1])
        if size > _KEPT_MAX:
            recent, before = {}, recent
            size = len(found[1])
        recent[id(message)] = found
        return found[1]

    return kept


def _utf8(write: Callable[[Any], str]) -> Callable[[Any], bytes]:
    return lambda message: write(message).encode()


# Stands where a list of large messages comes to stand; JSON text never holds it.
_MARK = "\0"


def _joining(
    write: Callable[[Any], str], attribute: str, kept: Callable[[Message], bytes]
) -> Callable[[Any], bytes]:
    """A writer of a message with a list of large ones: what was kept of them is joined as bytes and
    never decoded.
    """

    def join(message: Any) -> bytes:
        before, _, after = write(message).partition(_MARK)
        parts = [before.encode()]
        for one in getattr(message, attribute):
            parts += (kept(one), b",")
        if len(parts) > 1:
            parts.pop()
        parts.append(after.encode())
        return b"".join(parts)  # once, because it is megabytes

    return join


_NULLABLE = frozenset(("message", "timestamp", "duration", "struct", "value", "list_value"))
_FUNCTIONS = {
    "string": "quote",
    "bool": "truth",
    "double": "double",
    "bytes": "base64",
    "timestamp": "moment",
    "duration": "span",
}
_FUNCTIONS |= dict.fromkeys(("struct", "value", "list_value"), "plain")


def _in_quotes(field: Field) -> bool:
    return field.kind in LONG_INTEGERS and not field.as_number


class _EnumTexts(dict[int, str]):
    """Number → quoted member name, without a prefix; a number without a member stands for itself."""

    def __init__(self, enum: Any, prefix: str) -> None:
        super().__init__({int(member): f'"{member.name.removeprefix(prefix)}"' for member in enum})

    def __missing__(self, number: int) -> str:
        return str(int(number))


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _base64(data: bytes) -> str:
    return f'"{b2a_base64(data, newline=False).decode()}"'


@lru_cache(maxsize=4096)
def write_double(value: float) -> str:
    """A JSON number, without exponent between 10⁻⁶ and 10²¹; "NaN" and the infinities as protobuf's
    quoted words.
    """
    if not isfinite(value):
        return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'
    size = abs(value)
    if size < 1e21 and value == int(value):
        return str(int(value))
    if 1e-6 <= size < 1e21:
        return format(Decimal(repr(value)), "f")
    return repr(value)


def write_plain(value: Any) -> str:
    """Plain JSON values (None, bool, numbers, text, lists, dicts), members sorted by name."""
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, int | float):
        return write_double(value)
    if isinstance(value, dict):
        return (
            "{"
            + ",".join(
                [f"{encode_basestring(key)}:{write_plain(value[key])}" for key in sorted(value)]
            )
            + "}"
        )
    return "[" + ",".join(map(write_plain, value)) + "]"
