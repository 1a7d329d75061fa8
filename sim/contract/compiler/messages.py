"""The passes that write `sim/contract/messages`: a Struct per message with its wire table,
IntEnums, an index.

A wire table has one row per field. The codecs read it instead of descriptors, so that a run without
gRPC needs no protobuf library.
"""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from sim.contract.compiler.schema import (
    PLAIN_FOREIGN,
    WELL_KNOWN,
    EnumEntry,
    MessageEntry,
    Schema,
    module_of,
)
from sim.kernel.instants import parse_instant

HEADER = "# generated from proto/, do not edit\n"
WIDTH = 100

_SCALARS = {
    "string": ("str", '""'),
    "bool": ("bool", "False"),
    "bytes": ("bytes", 'b""'),
    "double": ("float", "0.0"),
    "enum": ("int", "0"),
    **dict.fromkeys(("int32", "int64", "uint32", "uint64"), ("int", "0")),
}
_WELL_KNOWN_TYPES = {
    "timestamp": "int",
    "duration": "int",
    "struct": "dict[str, Any]",
    "value": "Any",
    "list_value": "list[Any]",
}
_ANNOTATION_NAMES = frozenset(("int", "str", "bool", "float", "bytes", "list", "dict"))


def module_source(schema: Schema, package: str) -> str:
    """Write the module of one package."""
    enums = [entry for entry in schema.enums if entry.package == package]
    messages = [entry for entry in schema.messages if entry.package == package]
    bodies = [_enum(entry) for entry in enums] + [_message(schema, entry) for entry in messages]
    imports = sorted(_imported(schema, messages))
    text = "\n\n".join(bodies)
    lines = [HEADER, "from __future__ import annotations\n\n"]
    lines += ["from enum import IntEnum\n"] if enums else []
    lines += ["from typing import Any\n"] if "Any" in text else []
    lines += ["\n"] if len(lines) > 2 else []
    names = [*(["Message"] if messages else []), *imports]
    lines += [f"from sim.contract.messages import {', '.join(names)}\n"] if names else []
    return "".join(lines) + "\n\n" + text


def index_source(schema: Schema) -> str:
    """Write `sim/contract/messages/index.py`: packages and dates of fields."""
    rows = "".join(
        f'    "{package}": "sim.contract.messages.{module_of(package)}",\n'
        for package in schema.packages
    )
    dates = "".join(
        f"    {instant},  # {text}\n" for instant, text in sorted(_dates(schema).items())
    )
    return _INDEX.format(header=HEADER, rows=rows, dates=f"(\n{dates})" if dates else "()")


_INDEX = '''{header}"""Modules of packages; instants at which a field appears or disappears."""

from __future__ import annotations

PACKAGES: dict[str, str] = {{
{rows}}}

# ascending
FIELD_DATES: tuple[int, ...] = {dates}
'''


def _enum(entry: EnumEntry) -> str:
    lines = [f"class {entry.name}(IntEnum):\n", *_docstring(entry.comment)]
    lines += ["\n"] if len(lines) > 1 else []
    for value in entry.proto.value:
        if keyword.iskeyword(value.name):
            raise ValueError(f"{entry.full_name}: a member cannot be called {value.name}")
        lines += _assignment(value.name, str(value.number), entry.part_comments[value.name])
    return "".join(lines)


def _message(schema: Schema, entry: MessageEntry) -> str:
    lines = [f"class {entry.name}(Message, kw_only=True):\n", *_docstring(entry.comment)]
    lines += ["\n"] if len(lines) > 1 else []
    for field in entry.proto.field:
        annotation, default = _annotation(schema, entry, field)
        target, comment = f"{attribute(field.name)}: {annotation}", entry.part_comments[field.name]
        lines += _assignment(target, default, comment)
    lines += ["\n"] if entry.proto.field else []
    lines.append(f"    __full_name__ = {_quoted(entry.full_name)}\n")
    if entry.proto.field:
        rows = "".join(
            f"        {_row(schema, entry.proto, field)},\n" for field in entry.proto.field
        )
        lines.append(f"    __wire__ = (\n{rows}    )\n")
    if schema.option(entry.proto, "sandbox_exchange.message").omit_unset:
        lines.append("    __omit_unset__ = True\n")
    if needs := schema.option(entry.proto, "sandbox_exchange.message").needs:
        lines.append(f"    __needs__ = ({' '.join(f'{_quoted(each)},' for each in needs)})\n")
    return "".join(lines)


def attribute(name: str) -> str:
    """Return the attribute of a field: its name, with "_" behind a Python keyword ("from")."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _annotation(
    schema: Schema, entry: MessageEntry, field: FieldDescriptorProto
) -> tuple[str, str]:
    """Return the Python annotation and the default of a field."""
    shadowed = _ANNOTATION_NAMES.intersection(other.name for other in entry.proto.field)
    if shadowed:
        hidden = f"a field called {min(shadowed)} hides the Python type of its neighbours"
        raise ValueError(f"{entry.full_name}: {hidden}")
    mapped = schema.map_entry(field)
    if mapped is not None:
        key, _ = _SCALARS[_kind(mapped.field[0])]
        return f"dict[{key}, {_element(schema, entry, mapped.field[1])}]", "{}"
    element = _element(schema, entry, field)
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return f"list[{element}]", "[]"
    if element == "Any":
        return element, "None"
    if field.HasField("oneof_index") or _kind(field) not in _SCALARS:
        return f"{element} | None", "None"
    return element, _SCALARS[_kind(field)][1]


def _element(schema: Schema, entry: MessageEntry, field: FieldDescriptorProto) -> str:
    kind = _kind(field)
    if kind in _SCALARS:
        return _SCALARS[kind][0]
    if kind in _WELL_KNOWN_TYPES:
        return _WELL_KNOWN_TYPES[kind]
    message = schema.by_name.get(field.type_name[1:])
    if message is None:
        type_names = ", ".join((*_SCALARS, *WELL_KNOWN, *PLAIN_FOREIGN))
        raise ValueError(
            f"{entry.full_name}.{field.name}: {field.type_name[1:] or kind} has no form here"
            f" (known: {type_names})"
        )
    return message.name if message.module == entry.module else f"{message.module}.{message.name}"


def _row(schema: Schema, message: DescriptorProto, field: FieldDescriptorProto) -> str:
    mapped = schema.map_entry(field)
    value = field if mapped is None else mapped.field[1]
    kind = _kind(value)
    label = _label(message, field) if mapped is None else f"map:{_kind(mapped.field[0])}"
    type_name = value.type_name[1:] if kind in ("message", "enum") else ""
    texts = ", ".join(map(_quoted, (field.name, field.json_name, kind, label, type_name)))
    rules = "".join(
        f"({_quoted(key)}, {_quoted(value) if isinstance(value, str) else value}), "
        for key, value in _rules(schema, field)
    )
    return f"({field.number}, {texts}, ({rules.strip()}))"


def _label(message: DescriptorProto, field: FieldDescriptorProto) -> str:
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        return "repeated"
    if field.proto3_optional:
        return "optional"
    if not field.HasField("oneof_index"):
        return ""
    return f"oneof:{message.oneof_decl[field.oneof_index].name}"


def _rules(schema: Schema, field: FieldDescriptorProto) -> Iterator[tuple[str, Any]]:
    if not field.HasField("options"):
        return
    rule = schema.option(field, "sandbox_exchange.field")
    for described, value in rule.ListFields():
        dated = described.name in ("since", "until")
        yield described.name, parse_instant(value) if dated else value
    if schema.required(field):
        yield "required", True


def _dates(schema: Schema) -> dict[int, str]:
    fields = (field for entry in schema.messages for field in entry.proto.field)
    rules = [
        schema.option(field, "sandbox_exchange.field")
        for field in fields
        if field.HasField("options")
    ]
    texts = (text for rule in rules for text in (rule.since, rule.until) if text)
    return {parse_instant(text): text for text in texts}


def _kind(field: FieldDescriptorProto) -> str:
    own = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    return WELL_KNOWN.get(field.type_name[1:], own)


def _imported(schema: Schema, messages: list[MessageEntry]) -> set[str]:
    modules = set()
    for entry in messages:
        for field in entry.proto.field:
            mapped = schema.map_entry(field)
            value = field if mapped is None else mapped.field[1]
            other = schema.by_name.get(value.type_name[1:])
            if _kind(value) == "message" and other is not None and other.module != entry.module:
                modules.add(other.module)
    return modules


def _docstring(comment: str) -> list[str]:
    if not comment:
        return []
    text = comment.replace("\\", "\\\\").replace('"""', "'''")
    text += " " if text.endswith('"') else ""
    end = '\n    """\n' if "\n" in text else '"""\n'
    indented = text.replace("\n", "\n    ").replace("\n    \n", "\n\n")
    return [f'    """{indented}{end}']


def _assignment(target: str, value: str, comment: str) -> list[str]:
    line = f"    {target} = {value}"
    note = " ".join(comment.split())
    if not note:
        return [line + "\n"]
    if len(line) + len(note) + 5 <= WIDTH:
        return [f"{line}  # {note}\n"]
    return [f"    # {note}\n", line + "\n"]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
