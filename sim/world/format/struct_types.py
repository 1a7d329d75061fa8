"""Value types of collections: lists, mappings, and the Structs of the format, whose fields are
keys.

The value type of a field is the one in its Annotated, or else follows from its Python type.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache, cached_property
from itertools import pairwise
from pathlib import PurePath
from types import UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields as struct_fields

from sim.world.format.scalar_types import BOOLEAN, INTEGER, ORDINAL, STRING
from sim.world.format.suggestions import nearest
from sim.world.format.value_types import (
    INVALID,
    Schema,
    ValueType,
    add_problem,
    quoted,
    report,
    wants_suggestion,
)
from sim.world.format.yaml_tree import (
    Mapping,
    Node,
    Problem,
    Scalar,
    SequenceNode,
    is_null,
    value_of,
)

_KEYS_SHOWN = 12  # keys that a message lists when a value should be a mapping


class Alias(NamedTuple):
    """Metadata of a field: another name of its key."""

    key: str


class AnyJson(ValueType):
    """Any JSON value. Scalars follow the YAML 1.2 core rules; keys are sorted."""

    expected = "any value"

    def read(self, node: Node, problems: list[Problem]) -> Any:
        return _in_order(value_of(node))

    def schema(self) -> Schema:
        return {}


def _in_order(value: Any) -> Any:
    """A JSON value with sorted keys on every level.

    A journal stores the scenario with sorted keys, and its replay must send the same bytes.
    """
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value)}
    return [_in_order(item) for item in value] if isinstance(value, list) else value


class ListOf(ValueType):
    """A list of values of one type, read as a tuple."""

    def __init__(self, item: ValueType) -> None:
        self.item = item
        self.expected = f"a list, each {item.expected}"

    def read(self, node: Node, problems: list[Problem]) -> Any:
        if not isinstance(node, SequenceNode):
            text = f'expected a list, "- " before each entry, not {quoted(node)}'
            return report(node, text, problems)
        values = [self.item.read(item, problems) for item in node.items]
        return INVALID if any(value is INVALID for value in values) else tuple(values)

    def write(self, value: Any) -> Any:
        return [self.item.write(item) for item in value]

    def schema(self) -> Schema:
        return {"type": "array", "items": self.item.schema()}


class OneOrMore(ListOf):
    """One value or a list of values of one type, read as a tuple in both cases."""

    def __init__(self, item: ValueType) -> None:
        super().__init__(item)
        self.expected = f"{item.expected} or a list of them"

    def read(self, node: Node, problems: list[Problem]) -> Any:
        several = node if isinstance(node, SequenceNode) else SequenceNode(node.at, [node])
        return super().read(several, problems)

    def schema(self) -> Schema:
        return {"anyOf": [self.item.schema(), super().schema()]}


class MappingOf(ValueType):
    """A mapping from any names to values of one type, sorted by name.

    `as_written` keeps the order of the file, where the order has no effect on the run.
    """

    expected = "a mapping"

    def __init__(self, item: ValueType, *, as_written: bool = False) -> None:
        self._item = item
        self._as_written = as_written

    def read(self, node: Node, problems: list[Problem]) -> Any:
        if not isinstance(node, Mapping):
            expected = "expected a mapping such as {name: value}"
            return report(node, f"{expected}, not {quoted(node)}", problems)
        values = {key: self._item.read(item, problems) for key, item in node.items.items()}
        if any(value is INVALID for value in values.values()):
            return INVALID
        return values if self._as_written else dict(sorted(values.items()))  # see `_in_order`

    def write(self, value: Any) -> Any:
        return {key: self._item.write(item) for key, item in value.items()}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self._item.schema()}


class ScalarOr(ValueType):
    """A scalar of one type, or a collection of another."""

    def __init__(self, scalar: ValueType, collection: ValueType) -> None:
        self._scalar = scalar
        self._collection = collection
        self.expected = f"{scalar.expected} or {collection.expected}"

    def read(self, node: Node, problems: list[Problem]) -> Any:
        return (self._scalar if isinstance(node, Scalar) else self._collection).read(node, problems)

    def write(self, value: Any) -> Any:
        collection = isinstance(value, (Struct, tuple, dict))
        return (self._collection if collection else self._scalar).write(value)

    def schema(self) -> Schema:
        return {"anyOf": [self._scalar.schema(), self._collection.schema()]}


# Marks a field that holds the position of its mapping.
PLACE = object()


class StructType(ValueType):
    """A Struct as a mapping: the names of its fields, without a trailing underscore, are the keys.

    Unknown keys are problems, with the nearest known key. A field with an `Alias` is read under
    both names; `write` uses its own. A field marked `PLACE` is not a key: it gets the position of
    the mapping, as "file.yaml:12".
    """

    expected = "a mapping"

    def __init__(self, kind: type[Struct]) -> None:
        # Annotations are evaluated when needed: of sixty Structs a file uses few.
        self.kind = kind

    @cached_property
    def _hints(self) -> dict[str, Any]:
        hints = get_type_hints(self.kind, include_extras=True)
        return {
            key: hints[name]
            for key, name in self._attributes.items()
            if PLACE not in getattr(hints[name], "__metadata__", ())
        }

    @cached_property
    def _place(self) -> str:
        """The field that holds the position of the mapping, or ""."""
        return next((key for key in self._attributes if key not in self._hints), "")

    @cached_property
    def _attributes(self) -> dict[str, str]:
        return {key_of(name): name for name in self.kind.__struct_fields__}

    @cached_property
    def _defaults(self) -> dict[str, Any]:
        defaults = {}
        for field in struct_fields(self.kind):
            has_factory = field.default_factory is not NODEFAULT
            defaults[key_of(field.name)] = field.default_factory() if has_factory else field.default
        return defaults

    @cached_property
    def keys(self) -> dict[str, ValueType]:
        """The type of the value, by key."""
        return {key: _type_of(hint) for key, hint in self._hints.items()}

    @cached_property
    def aliases(self) -> dict[str, str]:
        """The present key by alias."""
        return {
            extra.key: key
            for key, hint in self._hints.items()
            for extra in getattr(hint, "__metadata__", ())
            if isinstance(extra, Alias)
        }

    def read(self, node: Node, problems: list[Problem]) -> Any:
        if not isinstance(node, Mapping):
            return report(node, f"{self._expected_of(node)}, not {quoted(node)}", problems)
        values: dict[str, Any] = {}
        for written, item in node.items.items():
            key = self.aliases.get(written, written)
            value_type = self.keys.get(key)
            if value_type is None and (home := self._section_of(written)):
                message = f"{written!r} belongs under {home!r}: {home}: {{{written}: ...}}"
                add_problem(node.keys[written], message, problems)
                values[home] = INVALID  # so that it is not also reported as missing
            elif value_type is None:
                near = nearest(written, self.keys) if wants_suggestion(problems) else ""
                meant = f"; did you mean {near!r}?" if near else f"; known: {', '.join(self.keys)}"
                if written.isdecimal() and is_null(item):  # {tick_size: 0,01}
                    meant = ": write a decimal with a point, not with a comma"
                add_problem(node.keys[written], f"unknown key {written[:80]!r}{meant}", problems)
                # A misspelt key must not also be reported as missing.
                values[near] = INVALID
            elif key != written and key in node.items:
                message = f"{written!r} and {key!r} mean the same: write only one of them"
                add_problem(node.keys[written], message, problems)
            elif isinstance(value_type, AnyJson) or not is_null(item):
                values[key] = value_type.read(item, problems)
        for key, default in self._defaults.items():
            if default is NODEFAULT and key not in values:
                values[key] = report(node, f"the key {key!r} is missing", problems)
        if any(value is INVALID for value in values.values()):
            return INVALID
        if self._place and node.at.line:
            values[self._place] = f"{PurePath(node.at.file).name}:{node.at.line}"
        return self.kind(**{self._attributes[key]: value for key, value in values.items()})

    def _expected_of(self, node: Node) -> str:
        """What a mapping with these keys should look like, for a message about another value."""
        if isinstance(node, Scalar) and node.text in self.keys:
            return f"expected `{node.text}: ...`"
        keys = list(self.keys)
        more = f" and {len(keys) - _KEYS_SHOWN} more keys" if len(keys) > _KEYS_SHOWN else ""
        return f"expected a mapping with {', '.join(keys[:_KEYS_SHOWN])}{more}"

    def _section_of(self, key: str) -> str:
        """The only key of this mapping whose value may have another key; "" for none or several."""
        homes = [name for name, each in self.keys.items() if _accepts_key(each, key)]
        return homes[0] if len(homes) == 1 else ""

    def write(self, value: Any) -> Any:
        plain = {}
        for key, value_type in self.keys.items():
            content = getattr(value, self._attributes[key])
            if content != self._defaults[key]:
                plain[key] = value_type.write(content)
        return plain

    @property
    def summary(self) -> str:
        """The first paragraph of the Struct's docstring."""
        return " ".join((self.kind.__doc__ or "").strip().split("\n\n")[0].split())

    def schema(self) -> Schema:
        return {"$ref": f"#/$defs/{self.kind.__name__}"}

    def definition(self) -> Schema:
        """The definition that the reference of `schema` refers to."""
        properties, docs = {}, field_docs(self.kind)
        for key, value_type in self.keys.items():
            doc = docs.get(self._attributes[key]) or _doc_of(value_type)
            properties[key] = value_type.schema() | ({"description": doc} if doc else {})
        for alias, key in self.aliases.items():
            properties[alias] = properties[key] | {"description": f"the same as `{key}`"}
        required = [key for key in self.keys if self._defaults[key] is NODEFAULT]
        body: Schema = {
            "type": "object",
            "description": self.summary,
            "properties": properties,
            "additionalProperties": False,
        }
        return body | ({"required": required} if required else {})


def _accepts_key(value_type: ValueType, key: str) -> bool:
    return isinstance(value_type, StructType) and (
        key in value_type.keys or key in value_type.aliases
    )


def key_of(attribute: str) -> str:
    """The key of a Struct's field. A field named after a Python keyword has
    a trailing underscore.
    """
    return attribute.removesuffix("_")


_BY_NAME: dict[str, StructType] = {}


@cache
def record(kind: type[Struct]) -> StructType:
    """The value type of a Struct. Calls with the same Struct return the same object."""
    value_type = StructType(kind)
    _BY_NAME.setdefault(kind.__name__, value_type)
    return value_type


def record_called(name: str) -> StructType:
    """The value type of a Struct that a schema refers to."""
    return _BY_NAME[name]


def one_or_more(kind: type[Struct]) -> OneOrMore:
    """One mapping of a Struct, or a list of them."""
    return OneOrMore(record(kind))


_PLAIN: dict[Any, ValueType] = {str: STRING, int: INTEGER, bool: BOOLEAN, Any: AnyJson()}


def _type_of(hint: Any) -> ValueType:
    """The value type of an annotation. `X | None` is an X that may be missing."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        for extra in hint.__metadata__:
            if isinstance(extra, ValueType):
                return extra
            if isinstance(extra, Meta) and extra.ge == 1:
                return ORDINAL
        return _type_of(arguments[0])
    if origin in (Union, UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        if str in kinds and get_origin(kinds[-1]) is tuple:
            return ScalarOr(STRING, _type_of(kinds[-1]))
        return STRING if str in kinds else _type_of(kinds[0])
    if origin is tuple:
        return ListOf(_type_of(arguments[0]))
    if origin is dict:
        return MappingOf(_type_of(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return record(hint)
    return _PLAIN[hint]


def _doc_of(value_type: ValueType) -> str:
    """Description of a field without its own text: the first sentence about its Struct."""
    if isinstance(value_type, OneOrMore):
        value_type = value_type.item
    if not isinstance(value_type, StructType):
        return ""
    sentence = value_type.summary.partition(". ")[0].removesuffix(".")
    return sentence[:1].lower() + sentence[1:]


def field_docs(kind: type[Struct]) -> dict[str, str]:
    """The descriptions of a Struct's fields: the string below each, as in its source."""
    docs: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        if issubclass(base, Struct) and base is not Struct:
            docs |= _docs_of_classes(base.__module__).get(base.__name__, {})
    return docs


@cache
def _docs_of_classes(module: str) -> dict[str, dict[str, str]]:
    """The strings below the fields of a module's classes, by class and field."""
    docs: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(sys.modules[module])).body:
        if isinstance(node, ast.ClassDef):
            own = docs[node.name] = {}
            for field, below in pairwise(node.body):
                match field, below:
                    case (
                        ast.AnnAssign(target=ast.Name(id=name)),
                        ast.Expr(value=ast.Constant(value=str(text))),
                    ):
                        own[name] = " ".join(text.split())
    return docs
