"""The passes that write `sim/contract/messages`: a Struct per message, IntEnums, an index.

The annotation of a field has what its name and type do not say. The codecs read it instead of
descriptors, so that a run without gRPC needs no protobuf library. Numbers of fields stand in
the descriptors alone.
"""

from __future__ import annotations

import json
import keyword
import re
from collections.abc import Iterator
from typing import Annotated, get_origin

from google.protobuf.descriptor_pb2 import FieldDescriptorProto

from sim.contract import messages as base
from sim.contract.compiler.schema import (
    PLAIN_FOREIGN,
    WELL_KNOWN,
    EnumEntry,
    MessageEntry,
    Schema,
    module_of,
)
from sim.contract.wire_fields import PLAIN_KINDS, SCALARS, lower_camel
from sim.kernel.instants import parse_instant

HEADER = "# generated from proto/, do not edit\n"
WIDTH = 100

# the types that sim.contract.messages defines: name, kind
_ALIASES: dict[str, str] = {
    name: alias.__metadata__[0]
    for name, alias in vars(base).items()
    if get_origin(alias) is Annotated
}
_TYPES = {kind: plain.__name__ for plain, kind in PLAIN_KINDS.items()} | {
    kind: name for name, kind in _ALIASES.items()
}
_DEFAULTS = {"string": '""', "bool": "False", "bytes": 'b""', "double": "0.0"}
_RESERVED = frozenset((*_TYPES.values(), "int", "list", "dict", "Annotated"))


def module_source(schema: Schema, package: str) -> str:
    """Write the module of one package."""
    enums = [entry for entry in schema.enums if entry.package == package]
    messages = [entry for entry in schema.messages if entry.package == package]
    classes = [_enum(entry) for entry in enums] + [_message(schema, entry) for entry in messages]
    text = "\n\n".join(classes)
    code = re.findall(r"^class .*|^    \w+: .* = ", text, re.MULTILINE)
    used = set(re.findall(r"\w+", " ".join(code)))
    others = [module_of(package) for package in schema.packages]
    parts = (
        f"{HEADER}from __future__ import annotations\n",
        _import("enum", used & {"IntEnum"}) + _import("typing", used & {"Annotated"}),
        _import("sim.contract.messages", used & {"Message", "FieldRule", *_ALIASES, *others})
        + _import("sim.kernel.instants", used & {"parse_instant"}),
        f"\n{text}",
    )
    return "\n".join(filter(None, parts))


def _import(module: str, names: set[str]) -> str:
    if not names:
        return ""
    line = f"from {module} import {', '.join(sorted(names))}\n"
    if len(line) > WIDTH:
        line = f"from {module} import (\n    {', '.join(sorted(names))},\n)\n"
    return line


def index_source(schema: Schema) -> str:
    """Write `sim/contract/messages/index.py`: packages and dates of fields."""
    rows = "".join(
        f'    "{package}": "sim.contract.messages.{module_of(package)}",\n'
        for package in schema.packages
    )
    texts = (text for _, text in sorted(_dates(schema).items()))
    dates = "".join(f"    parse_instant({quoted(text)}),\n" for text in texts)
    return _INDEX.format(header=HEADER, rows=rows, dates=f"(\n{dates})" if dates else "()")


_INDEX = '''{header}"""Modules of packages; instants at which a field appears or disappears."""

from __future__ import annotations

from sim.kernel.instants import Instant, parse_instant

PACKAGES: dict[str, str] = {{
{rows}}}

# ascending
FIELD_DATES: tuple[Instant, ...] = {dates}
'''


def _enum(entry: EnumEntry) -> str:
    _check_name(entry)
    lines = [f"class {entry.name}(IntEnum):\n", *_docstring(entry.comment)]
    lines += ["\n"] if len(lines) > 1 else []
    for value in entry.proto.value:
        if keyword.iskeyword(value.name):
            raise ValueError(f"{entry.full_name}: a member cannot be called {value.name}")
        lines += _assignment(value.name, str(value.number), entry.part_comments[value.name])
    return "".join(lines)


def _check_name(entry: MessageEntry | EnumEntry) -> None:
    """ValueError for a name that `proto_name` could not restore, or that hides a type."""
    if f"{entry.module}.{entry.name}".replace("_", ".") != entry.full_name:
        raise ValueError(f"{entry.full_name}: the name of a type or package has no underscore")
    if entry.name in _RESERVED or hasattr(base, entry.name):
        raise ValueError(f"{entry.full_name} hides a type of sim.contract.messages")
    for part in entry.part_comments:
        if part.endswith("_"):
            raise ValueError(f"{entry.full_name}.{part}: the attribute of a keyword ends like this")


def _message(schema: Schema, entry: MessageEntry) -> str:
    _check_name(entry)
    parts: list[list[str]] = [_docstring(entry.comment), []]
    for field in entry.proto.field:
        annotation, default = _annotation(schema, entry, field)
        target, comment = f"{attribute(field.name)}: {annotation}", entry.part_comments[field.name]
        parts[1] += _assignment(target, default, comment)
    rule = schema.option(entry.proto, "sandbox_exchange.message")
    extra = ["    __omit_unset__ = True\n"] if rule.omit_unset else []
    if rule.needs:
        extra.append(f"    __needs__ = ({' '.join(f'{quoted(each)},' for each in rule.needs)})\n")
    blocks = ["".join(lines) for lines in (*parts, extra) if lines]
    return f"class {entry.name}(Message, kw_only=True):\n" + ("\n".join(blocks) or "    pass\n")


def attribute(name: str) -> str:
    """Return the attribute of a field: its name, with "_" behind a Python keyword ("from")."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _annotation(
    schema: Schema, entry: MessageEntry, field: FieldDescriptorProto
) -> tuple[str, str]:
    """Return the Python annotation and the default of a field."""
    if field.name in _RESERVED:
        hidden = f"a field called {field.name} hides the Python type of its neighbours"
        raise ValueError(f"{entry.full_name}: {hidden}")
    mapped = schema.map_entry(field)
    element = _element(schema, entry, field if mapped is None else mapped.field[1])
    rules = dict(_rules(schema, entry, field))
    if mapped is not None:
        annotation, default = f"dict[{_TYPES[_kind(mapped.field[0])]}, {element}]", "{}"
    elif field.label == FieldDescriptorProto.LABEL_REPEATED:
        annotation, default = f"list[{element}]", "[]"
    elif _kind(field) in SCALARS and not field.HasField("oneof_index"):
        annotation, default = element, _DEFAULTS.get(_kind(field), "0")
    else:
        nullable = _kind(field) != "value"  # any JSON value, null among them
        annotation, default = f"{element} | None" if nullable else element, "None"
    if rules:
        rule = f"FieldRule({', '.join(f'{name}={text}' for name, text in rules.items())})"
        annotation = f"Annotated[{annotation}, {rule}]"
    return annotation, default


def _element(schema: Schema, entry: MessageEntry, field: FieldDescriptorProto) -> str:
    kind = _kind(field)
    if kind in _TYPES:
        return _TYPES[kind]
    named = schema.by_name.get(field.type_name[1:])
    if named is None:
        type_names = ", ".join((*SCALARS, *WELL_KNOWN, *PLAIN_FOREIGN))
        raise ValueError(
            f"{entry.full_name}.{field.name}: {field.type_name[1:] or kind} has no form here"
            f" (known: {type_names})"
        )
    name = named.name if named.module == entry.module else f"{named.module}.{named.name}"
    return f"Annotated[int, {name}]" if kind == "enum" else name


def _rules(
    schema: Schema, entry: MessageEntry, field: FieldDescriptorProto
) -> Iterator[tuple[str, str]]:
    """The columns of a field's FieldRule, as Python: what its name and type do not say."""
    if field.proto3_optional:
        if _kind(field) not in SCALARS:
            yield "presence", "True"
    elif field.HasField("oneof_index"):
        yield "oneof", quoted(entry.proto.oneof_decl[field.oneof_index].name)
    if field.json_name != lower_camel(field.name):
        yield "json_name", quoted(field.json_name)
    if not field.HasField("options"):
        return
    for described, value in schema.option(field, "sandbox_exchange.field").ListFields():
        if described.name in ("since", "until"):
            parse_instant(value)
            yield described.name, f"parse_instant({quoted(value)})"
        elif described.name in base.FieldRule.__struct_fields__:
            yield described.name, quoted(value) if isinstance(value, str) else str(value)
    if schema.required(field):
        yield "required", "True"


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


def quoted(text: str) -> str:
    """Return a text as a literal of Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)
