"""Writes rows of messages as CSV in chunks: a header of proto names, then one line a row (rule
R12).

Nested messages become dotted columns; lists and maps are written as JSON text. Values have the same
form as in JSON: enumerations by name, instants as RFC 3339, here always with nine digits. Each run
of plain fields is read by one `attrgetter`, because a function for each cell is too slow (a trade
with its 125 columns takes 30 µs instead of 260 µs).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from functools import cache, partial
from io import StringIO
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple, cast

from msgspec import json

from sim.api.codecs.codecs import Field, fields_of
from sim.contract.messages import Message, find, find_message
from sim.kernel.instants import NS_PER_S, Instant, format_instant

CHUNK_ROWS = 500

# Adds the cells of a message to a line.
_Write = Callable[[Any, list[Any]], None]


class _Columns(NamedTuple):
    names: list[str]
    write: _Write


def csv_chunks(
    cls: type[Message], rows: Iterable[Message], *, header_alone: bool = True
) -> Iterator[bytes]:
    """Yield rows of a message type as CSV, after a header.

    Without rows: only the header, or nothing. Rows are read when their chunk is requested.
    """
    names, write = _columns(cls)
    remaining = iter(rows)
    text = StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(names)
    begun = header_alone
    while True:
        count = 0
        for row in islice(remaining, CHUNK_ROWS):
            count += 1
            line: list[Any] = []
            write(row, line)
            writer.writerow(line)
        begun = begun or count > 0
        if begun and text.tell():
            yield text.getvalue().encode()
            text.seek(0)
            text.truncate()
        if count < CHUNK_ROWS:
            return


def columns_of(cls: type[Message]) -> tuple[str, ...]:
    """The columns of a message type, in their order."""
    return tuple(_columns(cls).names)


@cache
def _columns(cls: type[Message]) -> _Columns:
    """Return the columns of a message type: their names, and the functions that write them."""
    names: list[str] = []
    parts: list[_Write] = []
    plain: list[Field] = []

    def end_of_plain() -> None:
        if plain:
            parts.append(_plain(tuple(plain)))
            plain.clear()

    for field in fields_of(cls):
        if _nested(field):
            end_of_plain()
            inner = _columns(find_message(field.type_name))
            names += [f"{field.name}.{name}" for name in inner.names]
            parts.append(_inside(field.attribute, inner))
        else:
            names.append(field.name)
            plain.append(field)
    end_of_plain()

    def write(message: Any, line: list[Any]) -> None:
        for part in parts:
            part(message, line)

    return _Columns(names, parts[0] if len(parts) == 1 else write)


def _nested(field: Field) -> bool:
    return (
        field.kind == "message"
        and not field.repeated
        and not field.key_kind
        and not field.type_name.endswith(".Date")
    )


def _inside(attribute: str, columns: _Columns) -> _Write:
    """Return the writer of a nested message, whose cells are empty if it is not set."""
    read, write = attrgetter(attribute), columns.write
    empty = [None] * len(columns.names)

    def inside(message: Any, line: list[Any]) -> None:
        nested = read(message)
        if nested is None:
            line += empty
        else:
            write(nested, line)

    return inside


def _plain(fields: tuple[Field, ...]) -> _Write:
    """Return the writer of consecutive fields that are not messages.

    The CSV writer converts numbers and text to cells; only other values are converted here.
    """
    read = attrgetter(*(field.attribute for field in fields))
    single = len(fields) == 1
    candidates = enumerate(map(_conversion, fields))
    conversions = [(index, convert) for index, convert in candidates if convert is not None]

    def plain(message: Any, line: list[Any]) -> None:
        start = len(line)
        line += (read(message),) if single else read(message)
        for index, convert in conversions:
            column = start + index
            value = line[column]
            if value is not None:
                line[column] = convert(value)

    return plain


def _conversion(field: Field) -> Callable[[Any], str] | None:
    if field.repeated or field.key_kind:
        return _json_text
    match field.kind:
        case "message":
            return _date_text
        case "enum":
            members = cast("type[IntEnum]", find(field.type_name))
            names = {int(member): member.name.removeprefix(field.bare_enum) for member in members}
            return partial(_member_name, names)
        case "timestamp":
            return _instant_text
        case "bool":
            return _bool_text
        case "string" | "int32" | "int64" | "uint32" | "uint64":
            return None
        case _:
            return str


def _member_name(names: dict[int, str], number: int) -> str:
    return names.get(number) or str(number)


def _instant_text(at: Instant) -> str:
    """Return an instant with nine digits, so that a column of times has one form."""
    second, fraction = divmod(at, NS_PER_S)
    return f"{format_instant(second * NS_PER_S)[:-1]}.{fraction:09d}Z"


def _bool_text(value: bool) -> str:
    return "true" if value else "false"


def _date_text(day: Any) -> str:
    return f"{day.year:04d}-{day.month:02d}-{day.day:02d}"


def _json_text(value: list[Any] | dict[Any, Any]) -> str:
    if not value:
        return ""
    if isinstance(value, dict):
        value = {str(key): inner for key, inner in value.items()}
    return json.encode(value).decode()
