"""Shapes: what a session shows, without any value in it.

A shape file is one JSON document. For each kind of answer or frame it has the forms of every path:
JSON types, formats of text, null, absence and members of enumerations. Names of the contract and
of unknown fields are kept; keys of maps and values of free objects are not. Such a file can be
passed on, kept, and read wherever a recording can: `recording_of` builds a session with
placeholders in these forms.

| Form | Stands for |
|---|---|
| `null`, `absent`, `boolean`, `object`, `list` | these (an object or list without contents) |
| `integer`, `number` | JSON numbers |
| `decimal N` | text that is a decimal with N places |
| `instant`, `date`, `id`, `empty`, `text` | text |
| `enum NAME` | a member of an enumeration |
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, ValidationError, field, json

from sim.contract.contract import Operation, load_contract
from sim.contract.messages import Message, find_message
from sim.contract.wire_fields import Field
from sim.evidence.recording.files import (
    Frame,
    Plane,
    RecordedLine,
    RecordedMessage,
    Recording,
    RecordingHeader,
    UnreadableRecording,
)
from sim.evidence.recording.recorded_events import RecordingReader
from sim.evidence.replay.identifier_map import fields_by_name
from sim.read.relations import applied

FORMAT = 1
_DECIMAL = re.compile(r"-?\d+(?:\.(\d+))?", re.ASCII)
_FORMATS = (
    ("instant", re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", re.ASCII)),
    ("date", re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)),
    ("id", re.compile(r"[0-9A-Z]{12}|[0-9a-f]{32}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")),
)
_MEMBER = re.compile(r"[A-Z][A-Z0-9_]*", re.ASCII)
_PLACEHOLDERS: dict[str, Any] = {
    "null": None,
    "boolean": True,
    "object": {},
    "list": [],
    "integer": 5,
    "number": 0.5,
    "instant": "2026-09-01T00:00:00Z",
    "date": "2026-09-01",
    "id": "ABCDEFGHIJ12",
    "empty": "",
    "text": "text",
}


class Form(Struct, kw_only=True, omit_defaults=True):
    """One kind of answer (`status`) or of frame (0): the forms of each path in it.

    `ask` names the request that brings it, for the sandbox's own check (`material.py`).
    """

    operation: str
    plane: Plane
    status: int = 0
    code: int | None = None
    ask: str = ""
    fields: dict[str, list[str]] = field(default_factory=dict)


class Shapes(Struct, kw_only=True, omit_defaults=True):
    """A shape file. `at` is the service's time. In a `partial` one, a path that is not listed was
    not published, else it was absent.
    """

    shapes: int
    at: str = ""
    note: str = ""
    source: str = ""
    evidence: str = "live"
    partial: bool = False
    forms: list[Form] = field(default_factory=list)
    held: list[str] = field(default_factory=list)  # names of relations
    broken: list[str] = field(default_factory=list)


# ---- from a session


def shapes_of(recording: Recording) -> Shapes:
    """Return what a recording shows, without its values."""
    forms: dict[tuple[str, str, int, int | None], _Collector] = {}
    relations: dict[str, bool] = {}
    last = ""
    for event in RecordingReader(recording.entries).events():
        operation, sent = event.operation, event.answer or event.frame
        if operation is None or sent is None or not isinstance(sent.body, dict):
            continue
        status = (event.answer.status or 0) if event.answer else 0
        refused = status >= 400 or (event.entry.plane == "grpc" and status > 0)
        code = sent.body.get("code") if refused and isinstance(sent.body, dict) else None
        key = operation.name, event.entry.plane, status, code if isinstance(code, int) else None
        forms.setdefault(key, _Collector()).add(None if refused else operation.response, sent.body)
        last = event.entry.at
        for row in () if refused else applied(operation.name, sent.body):
            relations[row.relation.name] = relations.get(row.relation.name, True) and row.holds
    rows = [
        Form(operation=name, plane=plane, status=status, code=code, fields=each.forms())  # type: ignore[arg-type]
        for (name, plane, status, code), each in forms.items()
    ]
    return Shapes(
        shapes=FORMAT,
        at=last,
        forms=rows,
        held=sorted(name for name, holds in relations.items() if holds),
        broken=sorted(name for name, holds in relations.items() if not holds),
    )


def forms_of(operation: Operation, body: Any, *, refused: bool = False) -> dict[str, list[str]]:
    """Return the forms of each path of one answer."""
    collector = _Collector()
    collector.add(None if refused else operation.response, body)
    return collector.forms()


class _Collector:
    """Collects forms by path, and how often each object and each of its names occurred."""

    def __init__(self) -> None:
        self._forms: dict[str, set[str]] = {}
        self._objects: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._filled: set[str] = set()

    def add(self, cls: type[Message] | None, body: Any) -> None:
        self._walk("", cls, None, body)

    def forms(self) -> dict[str, list[str]]:
        for path, count in self._names.items():
            parent = path.rpartition(".")[0]
            if count < self._objects.get(parent, 0):
                self._forms[path].add("absent")
        for path in self._filled:  # sometimes with contents, sometimes not
            if forms := self._forms.get(path):
                forms.add("object")
        return {
            path: sorted(forms) for path, forms in sorted(self._forms.items()) if path and forms
        }

    def _walk(self, path: str, cls: type[Message] | None, of: Field | None, value: Any) -> None:
        forms = self._forms.setdefault(path, set())
        if isinstance(value, dict | list) and value:
            self._filled.add(path)
        if isinstance(value, list):
            if not value:
                forms.add("list")
            for each in value:
                self._walk(f"{path}[]", cls, of, each)
        elif isinstance(value, dict) and of is not None and of.key_kind:
            if not value:
                forms.add("object")
            for each in value.values():
                self._walk(f"{path}.{{}}", cls, None, each)
        elif isinstance(value, dict) and (of is None or of.kind == "message"):
            if not value:
                forms.add("object")
            self._objects[path] = self._objects.get(path, 0) + 1
            known = fields_by_name(cls) if cls is not None else {}
            for name, inner in value.items():
                below = f"{path}.{name}".lstrip(".")
                self._names[below] = self._names.get(below, 0) + 1
                each = known.get(name)
                nested = each is not None and each.kind == "message"
                kind = find_message(each.type_name) if each is not None and nested else None
                self._walk(below, kind, each, inner)
        else:
            forms.add(_form(value, of))


def _form(value: Any, of: Field | None) -> str:
    if value is None or isinstance(value, bool | dict):
        return "null" if value is None else "boolean" if value in (True, False) else "object"
    if isinstance(value, int | float | Decimal):
        return "integer" if value == int(value) else "number"
    if not value:
        return "empty"
    if of is not None and of.kind == "enum" and _MEMBER.fullmatch(value):
        return f"enum {value}"
    if decimal := _DECIMAL.fullmatch(value):
        return f"decimal {len(decimal[1] or '')}"
    return next((name for name, pattern in _FORMATS if pattern.fullmatch(value)), "text")


def write_shapes(recording: Recording, path: Path, note: str = "") -> None:
    """Write the shapes of a recording to a new file. Raises OSError."""
    shapes = shapes_of(recording)
    shapes.note = note or recording.header.note
    with path.open("xb") as file:
        file.write(json.format(json.encode(shapes), indent=1) + b"\n")


# ---- as a session


def is_shapes(path: Path) -> bool:
    """Return whether a file is a shape file. OSError."""
    with path.open("rb") as file:
        return b'"shapes"' in file.read(64)


def read_shapes(path: Path) -> Shapes:
    """Read a shape file. Raises UnreadableRecording and OSError."""
    try:
        shapes = json.decode(path.read_bytes(), type=Shapes)
    except (DecodeError, ValidationError) as error:
        raise UnreadableRecording(f"{path} is not a shape file: {error}") from None
    unknown = [each.operation for each in shapes.forms if not _known(each.operation)]
    if shapes.shapes != FORMAT or unknown:
        raise UnreadableRecording(f"{path}: unknown format or operation {unknown[:1]}")
    return shapes


def _known(name: str) -> bool:
    return any(operation.name == name for operation in load_contract().operations)


def recording_of(shapes: Shapes) -> Recording:
    """Return a session of placeholders that shows what a shape file does."""
    entries = list(_lines(shapes))
    absent = frozenset(
        (form.operation, path)
        for form in shapes.forms
        for path, forms in form.fields.items()
        if "absent" in forms
    )
    return Recording(
        RecordingHeader(1, shapes.at, {}, shapes.note),
        entries,
        f"breaks {', '.join(shapes.broken)}" if shapes.broken else "",
        of_shapes=True,
        absent=absent if shapes.partial else None,
    )


def _lines(shapes: Shapes) -> Iterator[RecordedLine]:
    streams: dict[str, int] = {}
    n = 0
    for form in shapes.forms:
        operation = load_contract().by_name(form.operation)
        path = _address(operation, form.plane)
        for variant in range(max((len(forms) for forms in form.fields.values()), default=1)):
            n += 1
            body = placeholder(form.fields, variant)
            if form.code is not None and isinstance(body, dict) and "code" in body:
                body["code"] = form.code
            if form.status or form.plane == "grpc":
                yield RecordedLine(
                    n=n,
                    at=shapes.at,
                    plane=form.plane,
                    request=RecordedMessage(method=_verb(operation), path=path, at=shapes.at),
                    answer=RecordedMessage(status=form.status, body=body, now=shapes.at),
                )
                continue
            if form.operation not in streams:
                streams[form.operation] = len(streams) + 1
                opened = {"path": path}
                yield RecordedLine(
                    n=n,
                    at=shapes.at,
                    plane=form.plane,
                    stream=streams[form.operation],
                    opened=opened,
                )
                n += 1
            frame, stream = Frame("service", body), streams[form.operation]
            yield RecordedLine(n=n, at=shapes.at, plane=form.plane, stream=stream, frame=frame)


def _verb(operation: Operation) -> str:
    return operation.bindings[0][0] if operation.bindings else "POST"


def _address(operation: Operation, plane: str) -> str:
    if plane == "grpc" or not operation.bindings:
        return operation.full_methods[0]
    return re.sub(r"\{[^}]*\}", "1", operation.bindings[0][1])


def placeholder(fields: dict[str, list[str]], variant: int) -> Any:
    """Return a body with placeholders; variants take turns at the forms of each path."""
    body: dict[str, Any] = {}
    for path, forms in sorted(fields.items()):
        form = forms[variant % len(forms)]
        filled = form == "object" and any(
            each.startswith((f"{path}.", f"{path}[]")) for each in fields
        )
        if form != "absent" and not filled:
            _put(body, re.split(r"\.", path), _sample(form))
    return body


def _sample(form: str) -> Any:
    if form.startswith("enum "):
        return form.removeprefix("enum ")
    if form.startswith("decimal "):
        places = int(form.removeprefix("decimal "))
        return "0." + "5".ljust(places, "0") if places else "5"
    value = _PLACEHOLDERS[form]
    return type(value)() if isinstance(value, dict | list) else value


def _put(parent: Any, names: list[str], value: Any) -> None:
    """Put a value at a path, with the objects and one-element lists that lead to it."""
    name, rest = names[0], names[1:]
    key, depth = name.rstrip("[]"), name.count("[]")
    key = "key" if key == "{}" else key
    if not isinstance(parent, dict) or parent.get(key, parent) is None:
        return  # null or absent further up
    if not depth:
        if rest:
            _put(parent.setdefault(key, {}), rest, value)
        elif not (key in parent and value in ({}, [])):
            parent[key] = value
        return
    elements = parent.setdefault(key, [])
    if not isinstance(elements, list):
        return
    if not elements:
        elements.append({} if rest else value)
    if rest:
        _put(elements[0], rest, value)
