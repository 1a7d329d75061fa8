"""Struct to JSON: one generated Python function per message type and dialect, built on first use.

The body of such a function is one f-string over literals, the fastest thing that Python does with
text. For a message with the fields state (optional), symbol and bids it reads:

    def write_5(m):
        v = m.state p0 = none if v is None else f',"state":{enum_2[v]}' return
        f'{{"symbol":{quote(m.symbol)},"bids":[{join(map(write_3, m.bids))}]{p0}}}'

The generator is `_Writers`, one per dialect. `_source` writes the function of a message type out of
one template per field: `_value` gives the text for a field (map, list, nullable or plain),
`_element` for one value in it, `_function` names the function that turns one value into text.
Generated functions call each other by name through one namespace, so a message type may contain
itself.

Lists of large messages are not part of the text; `large_messages.py` says why and how.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from json.encoder import encode_basestring
from math import isfinite
from typing import Any, cast

from msgspec.structs import replace

from sim.api.codecs.dialect import Dialect
from sim.api.codecs.large_messages import (
    LARGE_MESSAGES,
    LIST_MARK,
    caching_encoder,
    splicing_encoder,
)
from sim.contract.messages import Message, find, find_message
from sim.contract.wire_fields import (
    INTEGER_RANGES,
    LONG_INTEGERS,
    Field,
    always_written,
    fields_of,
    write_duration,
)
from sim.kernel.instants import Instant, format_instant


def json_encoder(cls: type[Message], dialect: Dialect) -> Callable[[Any], bytes]:
    """Return the function that writes messages of a type in a dialect, as UTF-8."""
    return _writers(dialect).encoder(cls)


@lru_cache(maxsize=256)
def _writers(dialect: Dialect) -> _Writers:
    return _Writers(dialect)


UNPADDED = "unpadded"  # a switch of its own: numbers as text are as short as they can be


class _Writers:
    """Generates the functions of one dialect, which call each other through one namespace."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._at, self._switches = dialect.since, dialect.switches
        self._names: dict[object, str] = {}
        self._encoders: dict[type[Message], Callable[[Any], bytes]] = {}
        self._large_encoders: dict[str, Callable[[Message], bytes]] = {}
        self._namespace: dict[str, Any] = {
            "quote": encode_basestring,
            "double": write_double,
            "base64": _base64,
            "moment": _moment,
            "span": lambda span: f'"{write_duration(span)}"',
            "truth": lambda value: "true" if value else "false",
            "plain": write_plain,
            "join": ",".join,
            "in_quotes": '"{}"'.format,
            "four_decimals": '"{:.4f}"'.format,
            "unpadded": lambda value: f'"{write_double(value)}"',
            "true": "true",
            "false": "false",
            "null": "null",
            "none": "",
        }

    def encoder(self, cls: type[Message]) -> Callable[[Any], bytes]:
        encode = self._encoders.get(cls)
        if encode is None:
            write = cast(Callable[[Any], str], self._namespace[self._writer(cls)])
            large = self._large_list(cls)
            if cls.__full_name__ in LARGE_MESSAGES:
                encode = self._large_encoders[cls.__full_name__]
            elif large is not None:
                encode_element = self._large_encoders[large.type_name]
                encode = splicing_encoder(write, large.attribute, encode_element)
            else:
                encode = _utf8_encoder(write)
            self._encoders[cls] = encode
        return encode

    def _large_list(self, cls: type[Message]) -> Field | None:
        """Return the first field that is a list of large messages, if the type itself
        is not large.
        """
        if cls.__full_name__ in LARGE_MESSAGES:
            return None
        lists = (
            field
            for field in fields_of(cls)
            if field.active(self._at, self._switches)
            and field.repeated
            and field.type_name in LARGE_MESSAGES
        )
        return next((field for field in lists if self._absent(cls, field) is None), None)

    def _writer(self, cls: type[Message]) -> str:
        """Return the name of the function for a message type, and generate it on first use.

        The name is taken before the source is written, so that a type may contain itself.
        """
        name = self._names.get(cls)
        if name is None:
            name = self._names[cls] = f"write_{len(self._names)}"
            exec(
                compile(self._source(name, cls), f"<json of {cls.__full_name__}>", "exec"),
                self._namespace,
            )
            if cls.__full_name__ in LARGE_MESSAGES:
                encode = caching_encoder(self._namespace[name])
                self._large_encoders[cls.__full_name__] = encode
                self._namespace[name] = lambda message: encode(message).decode()
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
        """Write the source of the function for a message type.

        Every field's text begins with a comma; the first comma is cut off. That happens now if the
        first field is always written, else in the generated function.
        """
        lines = [f"def {name}(m):"]
        template = ""
        always_first = False
        large = self._large_list(cls)
        if large is not None:
            self._function(large)
        active = [field for field in fields_of(cls) if field.active(self._at, self._switches)]
        for position, field in enumerate(active):
            key = _literal(f",{encode_basestring(self._name(field))}:")
            absent = self._absent(cls, field)
            if field is large:
                template += f"{key}[{LIST_MARK}]"
            elif absent is None:
                template += key + self._value(field, f"m.{field.attribute}")
            else:
                part = repr(key + self._value(field, "v"))
                lines.append(f"    v = m.{field.attribute}")
                lines.append(f"    p{position} = none if {absent} else f{part}")
                template += f"{{p{position}}}"
            always_first = always_first or (position == 0 and absent is None)
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

    def _absent(self, cls: type[Message], field: Field) -> str | None:
        """Return the condition on `v` under which a field is left out; None: never."""
        if self._dialect.write_unset and always_written(cls, field, self._switches):
            return None
        return "v is None" if field.nullable else "not v"

    def _value(self, field: Field, v: str) -> str:
        """Return template text for a field, where `v` is the expression of its value."""
        if field.key_kind:
            return f"{{{self._map(field)}({v})}}"
        if field.repeated:
            mapped = self._function(field)
            return f"[{{join(map({mapped}, {v}))}}]"
        if field.nullable and not field.presence:
            return f"{{null if {v} is None else {self._function(field)}({v})}}"
        return self._element(field, v)

    def _element(self, field: Field, v: str) -> str:
        """Return template text for one value that is set."""
        if field.kind == "bool":
            return f"{{true if {v} else false}}"
        if field.kind == "enum":
            return f"{{{self._enum(field)}[{v}]}}"
        if field.kind in INTEGER_RANGES:
            return f'"{{{v}}}"' if self._in_quotes(field) else f"{{{v}}}"
        return f"{{{self._function(field)}({v})}}"

    def _function(self, field: Field) -> str:
        """Return the expression of the function that turns one value into JSON text."""
        if field.kind == "message":
            cls = find_message(field.type_name)
            if self._large_list(cls) is not None:
                raise TypeError(
                    f"{field.type_name} has a list of large messages, so no other message may"
                    " contain it"
                )
            writer = self._writer(cls)
            is_text = any(each.text_by in self._switches for each in fields_of(cls))
            if field.padded_by and is_text:
                self._namespace[f"plain_{writer}"] = self._unpadded(cls)
                return f"({writer} if m.{field.padded_by} else plain_{writer})"
            return writer
        if field.kind == "enum":
            return f"{self._enum(field)}.__getitem__"
        if field.kind in INTEGER_RANGES:
            return "in_quotes" if self._in_quotes(field) else "str"
        if field.text_by and field.text_by in self._switches:
            return "unpadded" if UNPADDED in self._switches else "four_decimals"
        return _FUNCTIONS[field.kind]

    def _unpadded(self, cls: type[Message]) -> Any:
        """Return the function of a message type that writes numbers as text without padding."""
        others = _writers(replace(self._dialect, switches=self._switches | {UNPADDED}))
        return others._namespace[others._writer(cls)]

    def _in_quotes(self, field: Field) -> bool:
        as_text = field.text_by and field.text_by in self._switches
        return bool(as_text) or (field.kind in LONG_INTEGERS and not field.as_number)

    def _map(self, field: Field) -> str:
        """Generate a function that writes a map, sorted by key, and return its name."""
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


def _utf8_encoder(write: Callable[[Any], str]) -> Callable[[Any], bytes]:
    return lambda message: write(message).encode()


_FUNCTIONS = {
    "string": "quote",
    "bool": "truth",
    "double": "double",
    "bytes": "base64",
    "timestamp": "moment",
    "duration": "span",
}
_FUNCTIONS |= dict.fromkeys(("struct", "value", "list_value"), "plain")


class _EnumTexts(dict[int, str]):
    """Quoted member names, without a prefix, by number. An unknown number is written as itself."""

    def __init__(self, enum: Any, prefix: str) -> None:
        super().__init__({int(member): f'"{member.name.removeprefix(prefix)}"' for member in enum})

    def __missing__(self, number: int) -> str:
        return str(int(number))


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


@lru_cache(maxsize=4096)
def _moment(at: Instant) -> str:
    # A page of markets shows the same dates hundreds of times.
    return f'"{format_instant(at)}"'


def _base64(data: bytes) -> str:
    return f'"{b2a_base64(data, newline=False).decode()}"'


@lru_cache(maxsize=4096)
def write_double(value: float) -> str:
    """A JSON number, without exponent between 10⁻⁶ and 10²¹; "NaN" and the infinities as
    protobuf's quoted words.
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
