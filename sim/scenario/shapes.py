"""The forms a scenario's values take: each shape reads a node into a typed value, writes it back as plain JSON, and describes itself as JSON schema.

The format itself is the Structs of `model.py`; a field's shape follows from its annotation (`shape_of`). Reading collects every problem with its position
and goes on; a value that could not be read is `BAD`.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import IntEnum
from functools import cache, cached_property
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields as struct_fields

from sim.core.quantities import NotADecimal, scaled
from sim.core.quirks import parse_chance
from sim.kernel.instants import Instant, Span, format_instant, format_span, parse_instant, parse_span
from sim.scenario.document import Mapping, Node, Problem, Scalar, Sequence, is_null, problem, value_of

BAD: Any = object()
Schema: TypeAlias = dict[str, Any]


class Shape(ABC):
    """What a value may look like. `words` says it in an error message."""

    words = "a value"

    @abstractmethod
    def read(self, node: Node, found: list[Problem]) -> Any:
        """Typed value of a node, or BAD after adding what is wrong to `found`."""

    def write(self, value: Any) -> Any:
        """Plain JSON that `read` takes back."""
        return value

    @abstractmethod
    def schema(self) -> Schema:
        """JSON schema of what a file may hold here."""


def mistake(node: Node, message: str, found: list[Problem]) -> Any:
    """Note a problem at a node; BAD."""
    found.append(problem(node.at, message))
    return BAD


def shown(node: Node) -> str:
    """A node in an error message: its text, or what kind of collection it is."""
    if isinstance(node, Scalar):
        return repr(node.text[:80])
    return "a mapping" if isinstance(node, Mapping) else "a list"


class Text(Shape):
    """Text that `check` accepts; ValueError from it is the problem. The value is what `check` returns, `back` writes it as text again."""

    def __init__(
        self,
        words: str = "text",
        check: Callable[[str], Any] = str,
        back: Callable[[Any], Any] = lambda value: value,
        schema: Schema | None = None,
    ) -> None:
        self.words = words
        self._check = check
        self._back = back
        self._schema: Schema = schema or {"type": "string"}

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Scalar):
            return mistake(node, f"expected {self.words}, not {shown(node)}", found)
        try:
            return self._check(node.text)
        except ValueError as refused:
            return mistake(node, f"expected {self.words}: {refused}", found)

    def write(self, value: Any) -> Any:
        return self._back(value)

    def schema(self) -> Schema:
        return self._schema


def _decimal(text: str) -> str:
    scaled(text, 10**18)  # refuses what is no plain decimal
    return text


def _positive_decimal(text: str) -> str:
    if scaled(text, 10**18) <= 0:
        raise NotADecimal(f"{text} is not above zero")
    return text


def _amount(text: str) -> str:
    if scaled(text, 10**18) < 0:
        raise NotADecimal(f"{text} is below zero")
    return text


def _integer(text: str) -> int:
    if not re.fullmatch(r"-?[0-9]{1,18}", text, re.ASCII):
        raise ValueError(f"not an integer: {text[:40]!r}")
    return int(text)


def _count(text: str) -> int:
    number = _integer(text)
    if number < 0:
        raise ValueError(f"{number} is below zero")
    return number


def _at_least_one(text: str) -> int:
    number = _integer(text)
    if number < 1:
        raise ValueError(f"{number} is below one")
    return number


def _boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"write true or false, not {text[:40]!r}")
    return text == "true"


def _span(text: str) -> Span:
    span = parse_span(text)
    if span < 0:
        raise ValueError("a negative duration")
    return span


def _chance(text: str) -> str:
    return str(parse_chance(text))


def _moment(text: str) -> Instant | str:
    if text.startswith("+"):
        return "+" + format_span(_span(text[1:]))
    return parse_instant(text)


_DECIMAL_SCHEMA: Schema = {"type": ["string", "number"], "pattern": r"^[+-]?\d+(\.\d+)?$"}
_INTEGER_SCHEMA: Schema = {"type": ["integer", "string"], "pattern": r"^-?\d+$"}
_SPAN_SCHEMA: Schema = {"type": "string", "examples": ["30s", "5m", "1h30m", "PT5M"]}
_INSTANT_SCHEMA: Schema = {"type": "string", "examples": ["2026-09-08T14:00:00-04:00", "2026-09-08"]}

STRING = Text()
DECIMAL = Text("decimal text", _decimal, schema=_DECIMAL_SCHEMA)
POSITIVE = Text("a decimal above zero", _positive_decimal, schema=_DECIMAL_SCHEMA)
AMOUNT = Text("a decimal from zero", _amount, schema=_DECIMAL_SCHEMA)
INTEGER = Text("an integer", _integer, schema=_INTEGER_SCHEMA)
COUNT = Text("a count", _count, schema=_INTEGER_SCHEMA | {"minimum": 0})
ORDINAL = Text("a number from 1", _at_least_one, schema=_INTEGER_SCHEMA | {"minimum": 1})
BOOLEAN = Text("true or false", _boolean, schema={"type": "boolean"})
INSTANT = Text("an instant such as 2026-09-08T14:00:00-04:00", parse_instant, format_instant, _INSTANT_SCHEMA)
SPAN = Text('a duration such as "60s"', _span, format_span, _SPAN_SCHEMA)
CHANCE = Text("a chance", _chance, schema={"type": ["string", "boolean", "number"], "examples": ["always", "never", "2/3", "0.25"]})
_MOMENT_SCHEMA: Schema = {"type": "string", "examples": ["+30s", "2026-09-08T14:00:30-04:00"]}


def _written_moment(value: Instant | str) -> str:
    return value if isinstance(value, str) else format_instant(value)


MOMENT = Text('an instant, or "+30s" after the step before', _moment, _written_moment, _MOMENT_SCHEMA)
SINCE_START = Text('an instant, or "+30s" after the start', _moment, _written_moment, _MOMENT_SCHEMA)


class Words(Shape):
    """One of a few words. A mapping gives each word its value; case does not matter, nor does the wire's `prefix` before it."""

    def __init__(self, words: dict[str, Any], prefix: str = "") -> None:
        self._prefix = prefix.lower()
        self._values = {word.lower(): value for word, value in words.items()}
        self._spellings = list(words)
        self._names: dict[Any, str] = {}
        for word, value in words.items():
            self._names.setdefault(value, word)
        self.words = "one of " + ", ".join(self._names.values())

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Scalar):
            return mistake(node, f"expected {self.words}, not {shown(node)}", found)
        word = node.text.lower().removeprefix(self._prefix)
        value = self._values.get(word, BAD)
        if value is BAD:
            return mistake(node, f"expected {self.words}, not {shown(node)}{suggestion(word, self._spellings)}", found)
        return value

    def write(self, value: Any) -> Any:
        return self._names[value]

    def schema(self) -> Schema:
        names = list(self._names.values())
        return {"enum": list(dict.fromkeys((*names, *(name.lower() for name in names))))}  # case does not matter, and these are how it is written


def members(enumeration: type[IntEnum], prefix: str) -> Words:
    """The member names of an enumeration as words."""
    return Words({member.name: member for member in enumeration}, prefix)


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like this one, or nothing. Case does not count; the only name that begins with this one, or that it begins with, comes first."""
    spellings, low = {word.lower(): word for word in known}, name.lower()
    related = [word for word in spellings if word and (word.startswith(low) or low.startswith(word))] if len(low) > 2 else []
    near = related if len(related) == 1 else difflib.get_close_matches(low, list(spellings), n=1, cutoff=0.6)
    return spellings[near[0]] if near else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """`, did you mean 'x'?` for the nearest known name, or nothing."""
    near = nearest(name, known)
    return f", did you mean {near!r}?" if near else ""


class Free(Shape):
    """Any JSON; scalars follow the YAML 1.2 core rules."""

    words = "any value"

    def read(self, node: Node, found: list[Problem]) -> Any:
        return value_of(node)

    def schema(self) -> Schema:
        return {}


class Items(Shape):
    """A list of one shape, read as a tuple."""

    def __init__(self, item: Shape) -> None:
        self._item = item
        self.words = f"a list, each {item.words}"

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Sequence):
            return mistake(node, f"expected a list, not {shown(node)}", found)
        values = [self._item.read(item, found) for item in node.items]
        return BAD if any(value is BAD for value in values) else tuple(values)

    def write(self, value: Any) -> Any:
        return [self._item.write(item) for item in value]

    def schema(self) -> Schema:
        return {"type": "array", "items": self._item.schema()}


class Several(Items):
    """One thing, or a list of such things; read as a tuple either way."""

    def __init__(self, item: Shape) -> None:
        super().__init__(item)
        self.words = f"{item.words} or a list of such"

    def read(self, node: Node, found: list[Problem]) -> Any:
        return super().read(node if isinstance(node, Sequence) else Sequence(node.at, [node]), found)

    def schema(self) -> Schema:
        return {"anyOf": [self._item.schema(), super().schema()]}


class Table(Shape):
    """A mapping from free names to one shape."""

    words = "a mapping"

    def __init__(self, item: Shape) -> None:
        self._item = item

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Mapping):
            return mistake(node, f"expected a mapping, not {shown(node)}", found)
        values = {key: self._item.read(item, found) for key, item in node.items.items()}
        return BAD if any(value is BAD for value in values.values()) else values

    def write(self, value: Any) -> Any:
        return {key: self._item.write(item) for key, item in value.items()}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self._item.schema()}


class Either(Shape):
    """A scalar of one shape, or a collection of another."""

    def __init__(self, scalar: Shape, collection: Shape) -> None:
        self._scalar = scalar
        self._collection = collection
        self.words = f"{scalar.words} or {collection.words}"

    def read(self, node: Node, found: list[Problem]) -> Any:
        return (self._scalar if isinstance(node, Scalar) else self._collection).read(node, found)

    def write(self, value: Any) -> Any:
        return (self._collection if isinstance(value, (Struct, tuple, dict)) else self._scalar).write(value)

    def schema(self) -> Schema:
        return {"anyOf": [self._scalar.schema(), self._collection.schema()]}


class Record(Shape):
    """A Struct as a mapping: its fields are the keys, without a trailing underscore. Unknown keys are problems, with the nearest known one."""

    words = "a mapping"

    def __init__(self, kind: type[Struct]) -> None:
        # Annotations are evaluated when the first mapping is read: of sixty kinds a file uses a few.
        self.kind = kind

    @cached_property
    def _hints(self) -> dict[str, Any]:
        hints = get_type_hints(self.kind, include_extras=True)
        return {key: hints[name] for key, name in self._attributes.items()}

    @cached_property
    def _attributes(self) -> dict[str, str]:
        return {key_of(name): name for name in self.kind.__struct_fields__}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        return {key_of(field.name): field.default if field.default_factory is NODEFAULT else field.default_factory() for field in struct_fields(self.kind)}

    @cached_property
    def shapes(self) -> dict[str, Shape]:
        """What the values may look like, by key."""
        return {key: _field_shape(hint) for key, hint in self._hints.items()}

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Mapping):
            return mistake(node, f"expected a mapping with {', '.join(self.shapes)}, not {shown(node)}", found)
        values: dict[str, Any] = {}
        for key, item in node.items.items():
            shape = self.shapes.get(key)
            if shape is None:
                found.append(problem(node.keys[key], f"unknown key {key[:80]!r}{suggestion(key, self.shapes)}"))
                values[nearest(key, self.shapes)] = BAD  # so that a misspelt key is not reported as missing too
            elif isinstance(shape, Free) or not is_null(item):
                values[key] = shape.read(item, found)
        for key, default in self._defaults.items():
            if default is NODEFAULT and key not in values:
                values[key] = mistake(node, f"the key {key!r} is missing", found)
        if any(value is BAD for value in values.values()):
            return BAD
        return self.kind(**{self._attributes[key]: value for key, value in values.items()})

    def write(self, value: Any) -> Any:
        plain = {}
        for key, shape in self.shapes.items():
            content = getattr(value, self._attributes[key])
            if content != self._defaults[key]:
                plain[key] = shape.write(content)
        return plain

    def schema(self) -> Schema:
        return {"$ref": f"#/$defs/{self.kind.__name__}"}

    def definition(self) -> Schema:
        """The body behind the reference of `schema`."""
        properties = {}
        for key, shape in self.shapes.items():
            doc = _field_doc(self._hints[key])
            properties[key] = shape.schema() | ({"description": doc} if doc else {})
        required = [key for key, default in self._defaults.items() if default is NODEFAULT]
        first_line = (self.kind.__doc__ or "").strip().split("\n")[0]
        body: Schema = {"type": "object", "description": first_line, "properties": properties, "additionalProperties": False}
        return body | ({"required": required} if required else {})


def key_of(attribute: str) -> str:
    """Key of a Struct's field: fields named after Python keywords carry a trailing underscore (`as_`)."""
    return attribute.removesuffix("_")


@cache
def record(kind: type[Struct]) -> Record:
    """The one shape of a Struct."""
    return Record(kind)


def several(kind: type[Struct]) -> Several:
    """One mapping of a Struct, or a list of them."""
    return Several(record(kind))


_PLAIN: dict[Any, Shape] = {str: STRING, int: INTEGER, bool: BOOLEAN, Any: Free()}


def _field_shape(hint: Any) -> Shape:
    """Shape of an annotation: one given in Annotated wins, otherwise the type decides. `X | None` is X that may be left out."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        given = [extra for extra in hint.__metadata__ if isinstance(extra, Shape)]
        if not given and any(isinstance(extra, Meta) and extra.ge == 1 for extra in hint.__metadata__):
            return ORDINAL
        return given[0] if given else _field_shape(arguments[0])
    if origin in (Union, UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        return STRING if str in kinds else _field_shape(kinds[0])
    if origin is tuple:
        return Items(_field_shape(arguments[0]))
    if origin is dict:
        return Table(_field_shape(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return record(hint)
    return _PLAIN[hint]


def _field_doc(hint: Any) -> str:
    """Description of a field: the text in its Annotated."""
    return next((extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)), "")
