"""Rows of messages as CSV in chunks: a header of proto names, then one line a row (rule R12).

Nested messages become dotted columns; lists and maps are written as JSON text. Values read as in JSON: enumerations by name, instants as RFC 3339.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from itertools import islice
from typing import Any

from msgspec import json

from sim.api.transcode import Field, fields_of
from sim.kernel.instants import format_instant
from sim.messages import Message, find, find_message

CHUNK_ROWS = 500

_Read = Callable[[Any], str]


def csv_chunks(cls: type[Message], rows: Iterable[Message]) -> Iterator[bytes]:
    """CSV of rows of one message type, the header in front of the first of them, or alone when there is no row."""
    columns = _columns(cls)
    waiting = iter(rows)
    header = _line([name for name, _ in columns])
    while chunk := [_line([read(row) for _, read in columns]) for row in islice(waiting, CHUNK_ROWS)]:
        yield (header + "".join(chunk)).encode()
        header = ""
    if header:
        yield header.encode()


def _line(cells: Iterable[str]) -> str:
    return ",".join(_quoted(cell) for cell in cells) + "\r\n"


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\r\n') else cell


@cache
def _columns(cls: type[Message]) -> list[tuple[str, _Read]]:
    """Names of the columns of a message type and how each is read from a row."""
    found: list[tuple[str, _Read]] = []
    for field in fields_of(cls):
        if field.kind == "message" and not field.repeated and not field.key_kind:
            found += _nested(field)
        else:
            found.append((field.name, partial(_cell, field.attribute, _writer(field))))
    return found


def _nested(field: Field) -> list[tuple[str, _Read]]:
    if field.type_name.endswith(".Date"):
        return [(field.name, partial(_cell, field.attribute, _write_date))]
    inner = _columns(find_message(field.type_name))
    return [(f"{field.name}.{name}", partial(_within, field.attribute, read)) for name, read in inner]


def _within(attribute: str, read: _Read, row: Any) -> str:
    found = getattr(row, attribute)
    return "" if found is None else read(found)


def _cell(attribute: str, write: _Read, row: Any) -> str:
    found = getattr(row, attribute)
    return "" if found is None else write(found)


def _writer(field: Field) -> _Read:
    if field.repeated or field.key_kind:
        return _write_json
    if field.kind == "enum":
        return partial(_write_member, find(field.type_name))
    if field.kind == "timestamp":
        return format_instant
    return _write_bool if field.kind == "bool" else str


def _write_member(enum: Any, number: int) -> str:
    try:
        name: str = enum(number).name
    except ValueError:
        return str(number)
    return name


def _write_bool(value: bool) -> str:
    return "true" if value else "false"


def _write_date(day: Any) -> str:
    return f"{day.year:04d}-{day.month:02d}-{day.day:02d}"


def _write_json(value: list[Any] | dict[Any, Any]) -> str:
    return json.encode({str(key): inner for key, inner in value.items()} if isinstance(value, dict) else value).decode() if value else ""
