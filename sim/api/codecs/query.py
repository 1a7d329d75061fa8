"""Converts text to Structs: query strings, variables of a path, and form bodies.

Every value is text, and nested fields are written with dots: `account.id`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from typing import Any, Protocol, TypeAlias
from urllib.parse import parse_qsl

from sim.api.codecs.json_reader import element_reader
from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import TEXTUAL, BadBody, BadField, Field, fields_of

Pairs: TypeAlias = Sequence[tuple[str, str]]

PARAMETERS_MAX = 10_000  # of one query string or form

# The spellings of booleans that the gateway of the public service accepts.
_TRUTH = dict.fromkeys(("true", "True", "TRUE", "t", "T", "1"), True) | dict.fromkeys(
    ("false", "False", "FALSE", "f", "F", "0"), False
)


_NUMBER = re.compile(r"-?[0-9]{1,20}")


class Casing(Enum):
    """The accepted spellings of a parameter; other spellings are ignored like unknown names."""

    SNAKE = "snake"
    CAMEL_OR_SNAKE = "camel_or_snake"


class QueryDecoder(Protocol):
    """Reads a query string, raw or as pairs, and adds ignored parameters to `unknown`.

    BadField if a value does not fit.
    """

    def __call__(self, query: str | Pairs, unknown: list[str] | None = None) -> Any: ...


@cache
def query_decoder(cls: type[Message], casing: Casing, *, blanks: bool = True) -> QueryDecoder:
    """Return the function that reads messages of a type from query strings.

    A repeated field gets every value of its parameter; any other parameter may occur once. Without
    `blanks` an empty text is not an entry of a list: `symbols=` names no symbol.
    """

    def decode(query: str | Pairs, unknown: list[str] | None = None) -> Any:
        message = cls()
        pairs = _pairs(query) if isinstance(query, str) else query
        used: set[str] = set()
        chosen: dict[str, str] = {}
        for name, text in pairs:
            target = _target(cls, name, casing)
            if target is None:
                if unknown is not None:
                    unknown.append(name)
                continue
            if not target.repeated and target.path in used:
                raise BadField(name, "given more than once")
            used.add(target.path)
            if not blanks and target.texts and not text:
                continue
            if target.oneof and chosen.setdefault(target.oneof, target.path) != target.path:
                raise BadField(name, f"cannot be given together with {chosen[target.oneof]}")
            target.put(message, name, text)
        return message

    return decode


@cache
def form_decoder(cls: type[Message]) -> Callable[..., Any]:
    """Return the function that reads messages of a type from form bodies."""
    read = query_decoder(cls, Casing.CAMEL_OR_SNAKE)

    def decode(body: bytes, unknown: list[str] | None = None) -> Any:
        try:
            pairs = parse_qsl(
                body.decode(),
                keep_blank_values=True,
                errors="strict",
                max_num_fields=PARAMETERS_MAX,
            )
        except UnicodeDecodeError:
            raise BadBody("not UTF-8") from None
        except ValueError:
            raise BadBody(f"more than {PARAMETERS_MAX} fields") from None
        return read(pairs, unknown)

    return decode


def apply_path(request: Message, params: Mapping[str, str]) -> None:
    """Set the variables of a path ("account.id") in a request; they override body and query."""
    for name, text in params.items():
        target = _target(type(request), name, Casing.SNAKE)
        if target is None:
            raise LookupError(f"{request.__full_name__} has no field {name}")
        target.put(request, name, text)


class _Target:
    """The destination of a parameter: the messages on the way, then the field."""

    def __init__(self, way: tuple[Field, ...], field: Field) -> None:
        self.path = ".".join(step.name for step in (*way, field))
        self.repeated = field.repeated
        self.texts = field.repeated and field.kind == "string"
        self.oneof = ".".join((*(step.name for step in way), field.oneof)) if field.oneof else ""
        self._way = tuple((step.attribute, partial(find_message, step.type_name)) for step in way)
        self._attribute = field.attribute
        self._read = _text_reader(field)

    def put(self, message: Message, name: str, text: str) -> None:
        """Set the field, and create the messages on the way; errors call the field `name`."""
        try:
            value = self._read(text)
        except BadField as refused:
            raise refused.under(name) from None
        holder: Any = message
        for attribute, kind in self._way:
            inner = getattr(holder, attribute)
            if inner is None:
                inner = kind()()
                setattr(holder, attribute, inner)
            holder = inner
        if self.repeated:
            getattr(holder, self._attribute).append(value)
        else:
            setattr(holder, self._attribute, value)


_targets: dict[tuple[type[Message], Casing], dict[str, _Target]] = {}


def _target(cls: type[Message], name: str, casing: Casing) -> _Target | None:
    # Unknown names are not cached, because clients can send any name.
    targets = _targets.setdefault((cls, casing), {})
    target = targets.get(name)
    if target is None:
        target = _find_target(cls, name, casing)
        if target is not None:
            targets[name] = target
    return target


def _find_target(cls: type[Message], name: str, casing: Casing) -> _Target | None:
    way: list[Field] = []
    for step in name.split("."):
        if way:
            last = way[-1]
            if last.kind != "message" or last.repeated or last.key_kind:
                return None
            cls = find_message(last.type_name)
        field = _spelled(cls, step, casing)
        if field is None:
            return None
        way.append(field)
    field = way.pop()
    return _Target(tuple(way), field)


def _spelled(cls: type[Message], name: str, casing: Casing) -> Field | None:
    for field in fields_of(cls):
        if name == field.name or (name == field.json_name and casing is Casing.CAMEL_OR_SNAKE):
            return field
    return None


def _text_reader(field: Field) -> Callable[[str], Any]:
    if field.kind not in TEXTUAL or field.key_kind:
        return _refuse_composite
    if field.kind == "bool":
        return _truth
    if field.kind == "enum":
        return _enum_reader(field)
    read = element_reader(field)
    return lambda text: read(text, [])


def _refuse_composite(text: str) -> Any:
    """Refuse a message or a map: it cannot be written as one text, and ignoring it
    would hide that.
    """
    raise BadField("", "cannot be sent as one parameter; send each of its fields as a parameter")


def _truth(text: str) -> bool:
    value = _TRUTH.get(text)
    if value is None:
        raise BadField("", "expected true or false")
    return value


def _enum_reader(field: Field) -> Callable[[str], int]:
    """Member name or number, both as text."""
    read = element_reader(field)

    def read_either(text: str) -> int:
        return int(read(int(text) if _NUMBER.fullmatch(text) else text, []))

    return read_either


def _pairs(query: str) -> list[tuple[str, str]]:
    try:
        return parse_qsl(query, keep_blank_values=True, max_num_fields=PARAMETERS_MAX)
    except ValueError:
        raise BadField("", f"more than {PARAMETERS_MAX} parameters") from None
