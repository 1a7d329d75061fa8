"""Forms of collections: lists, tables, and the mappings that are the Structs of the format, one key
a field.

A field's shape follows from its annotation: one given in Annotated wins, otherwise the type
decides.
"""

from __future__ import annotations

from functools import cache, cached_property
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Meta, Struct
from msgspec.structs import fields as struct_fields

from sim.scenario.value_types import (
    BOOLEAN,
    INTEGER,
    INVALID,
    ORDINAL,
    STRING,
    Schema,
    ValueType,
    nearest,
    quoted,
    report,
    suggestion,
)
from sim.scenario.yaml_tree import (
    Mapping,
    Node,
    Problem,
    Scalar,
    Sequence,
    is_null,
    problem,
    value_of,
)


class AnyJson(ValueType):
    """Any JSON; scalars follow the YAML 1.2 core rules."""

    words = "any value"

    def read(self, node: Node, found: list[Problem]) -> Any:
        return value_of(node)

    def schema(self) -> Schema:
        return {}


class ListOf(ValueType):
    """A list of one shape, read as a tuple."""

    def __init__(self, item: ValueType) -> None:
        self._item = item
        self.words = f"a list, each {item.words}"

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Sequence):
            return report(node, f"expected a list, not {quoted(node)}", found)
        values = [self._item.read(item, found) for item in node.items]
        return INVALID if any(value is INVALID for value in values) else tuple(values)

    def write(self, value: Any) -> Any:
        return [self._item.write(item) for item in value]

    def schema(self) -> Schema:
        return {"type": "array", "items": self._item.schema()}


class OneOrMore(ListOf):
    """One thing, or a list of such things; read as a tuple either way."""

    def __init__(self, item: ValueType) -> None:
        super().__init__(item)
        self.words = f"{item.words} or a list of such"

    def read(self, node: Node, found: list[Problem]) -> Any:
        return super().read(
            node if isinstance(node, Sequence) else Sequence(node.at, [node]), found
        )

    def schema(self) -> Schema:
        return {"anyOf": [self._item.schema(), super().schema()]}


class MappingOf(ValueType):
    """A mapping from free names to one shape."""

    words = "a mapping"

    def __init__(self, item: ValueType) -> None:
        self._item = item

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Mapping):
            return report(node, f"expected a mapping, not {quoted(node)}", found)
        values = {key: self._item.read(item, found) for key, item in node.items.items()}
        return INVALID if any(value is INVALID for value in values.values()) else values

    def write(self, value: Any) -> Any:
        return {key: self._item.write(item) for key, item in value.items()}

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self._item.schema()}


class ScalarOr(ValueType):
    """A scalar of one shape, or a collection of another."""

    def __init__(self, scalar: ValueType, collection: ValueType) -> None:
        self._scalar = scalar
        self._collection = collection
        self.words = f"{scalar.words} or {collection.words}"

    def read(self, node: Node, found: list[Problem]) -> Any:
        return (self._scalar if isinstance(node, Scalar) else self._collection).read(node, found)

    def write(self, value: Any) -> Any:
        return (
            self._collection if isinstance(value, (Struct, tuple, dict)) else self._scalar
        ).write(value)

    def schema(self) -> Schema:
        return {"anyOf": [self._scalar.schema(), self._collection.schema()]}


class Record(ValueType):
    """A Struct as a mapping: its fields are the keys, without a trailing underscore. Unknown keys
    are problems, with the nearest known one.
    """

    words = "a mapping"

    def __init__(self, kind: type[Struct]) -> None:
        # Annotations are evaluated when the first mapping is read: of sixty kinds a file uses a
        # few.
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
        return {
            key_of(field.name): (
                field.default if field.default_factory is NODEFAULT else field.default_factory()
            )
            for field in struct_fields(self.kind)
        }

    @cached_property
    def shapes(self) -> dict[str, ValueType]:
        """What the values may look like, by key."""
        return {key: _field_shape(hint) for key, hint in self._hints.items()}

    def read(self, node: Node, found: list[Problem]) -> Any:
        if not isinstance(node, Mapping):
            return report(
                node, f"expected a mapping with {', '.join(self.shapes)}, not {quoted(node)}", found
            )
        values: dict[str, Any] = {}
        for key, item in node.items.items():
            shape = self.shapes.get(key)
            if shape is None:
                found.append(
                    problem(
                        node.keys[key], f"unknown key {key[:80]!r}{suggestion(key, self.shapes)}"
                    )
                )
                # so that a misspelt key is not reported as missing too
                values[nearest(key, self.shapes)] = INVALID
            elif isinstance(shape, AnyJson) or not is_null(item):
                values[key] = shape.read(item, found)
        for key, default in self._defaults.items():
            if default is NODEFAULT and key not in values:
                values[key] = report(node, f"the key {key!r} is missing", found)
        if any(value is INVALID for value in values.values()):
            return INVALID
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
        body: Schema = {
            "type": "object",
            "description": first_line,
            "properties": properties,
            "additionalProperties": False,
        }
        return body | ({"required": required} if required else {})


def key_of(attribute: str) -> str:
    """Key of a Struct's field: fields named after Python keywords carry a trailing underscore
    (`as_`).
    """
    return attribute.removesuffix("_")


@cache
def record(kind: type[Struct]) -> Record:
    """The one shape of a Struct."""
    return Record(kind)


def one_or_more(kind: type[Struct]) -> OneOrMore:
    """One mapping of a Struct, or a list of them."""
    return OneOrMore(record(kind))


_PLAIN: dict[Any, ValueType] = {str: STRING, int: INTEGER, bool: BOOLEAN, Any: AnyJson()}


def _field_shape(hint: Any) -> ValueType:
    """Shape of an annotation: one given in Annotated wins, otherwise the type decides. `X | None`
    is X that may be left out.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        given = [extra for extra in hint.__metadata__ if isinstance(extra, ValueType)]
        if not given and any(
            isinstance(extra, Meta) and extra.ge == 1 for extra in hint.__metadata__
        ):
            return ORDINAL
        return given[0] if given else _field_shape(arguments[0])
    if origin in (Union, UnionType):
        kinds = [argument for argument in arguments if argument is not type(None)]
        return STRING if str in kinds else _field_shape(kinds[0])
    if origin is tuple:
        return ListOf(_field_shape(arguments[0]))
    if origin is dict:
        return MappingOf(_field_shape(arguments[1]))
    if isinstance(hint, type) and issubclass(hint, Struct):
        return record(hint)
    return _PLAIN[hint]


def _field_doc(hint: Any) -> str:
    """Description of a field: the text in its Annotated."""
    return next(
        (extra for extra in getattr(hint, "__metadata__", ()) if isinstance(extra, str)), ""
    )
