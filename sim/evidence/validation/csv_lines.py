"""CSV reports: checks columns and cells against the contract, and reads lines as messages so that
they can be compared by value.

The exchange writes these reports in `sim/api/reports/csv_writer.py`: a header of names, with nested
messages as dotted columns. Later pieces of a long report have no header.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from functools import cache
from io import StringIO
from typing import Any

from msgspec import DecodeError, json

from sim.api.reports.csv_writer import columns_of
from sim.contract.contract import Operation
from sim.contract.messages import Message, find, find_message
from sim.contract.messages import exchange_v1 as wire
from sim.contract.wire_fields import INTEGER_RANGES, Field, fields_of, read_moment
from sim.evidence.validation.difference import ABSENT, SECRET, Misfit

ROWS: dict[str, type[Message]] = {
    "FundingAPI.DownloadBalanceLedger": wire.BalanceLedgerEntry,
    "PositionAPI.DownloadPositionLedger": wire.PositionLedgerEntry,
    "ReportAPI.DownloadOrders": wire.Order,
    "ReportAPI.DownloadExecutions": wire.Execution,
    "ReportAPI.DownloadTrades": wire.Trade,
}
_WHOLE = re.compile(r"-?[0-9]+", re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)


def report_in(operation: Operation | None, body: Any) -> str | None:
    """Return the CSV text in an answer or in a message of a download; None if there is none."""
    if operation is None or operation.name not in ROWS or body is None:
        return None
    if operation.content == "csv" and isinstance(body, str):
        return body
    if isinstance(body, dict):
        lines: list[Any] = [body]
    elif isinstance(body, str):
        try:
            lines = [json.decode(line) for line in body.splitlines()]
        except (DecodeError, RecursionError):
            return None
    else:
        return None
    pieces = [_piece(line) for line in lines]
    return "".join(pieces) if pieces and all(type(piece) is str for piece in pieces) else None


def _piece(line: Any) -> Any:
    inner = line.get("result", line) if isinstance(line, dict) else None
    return inner.get("filechunk") if isinstance(inner, dict) else None


def misfits(cls: type[Message], text: str) -> Iterator[Misfit]:
    """Yield what does not fit the contract: unknown columns, and cells of another form."""
    try:
        header, lines = _read(cls, text)
    except csv.Error as error:
        yield Misfit("", str(error), "CSV", "format")
        return
    own = columns_of(cls)
    yield from (Misfit(name, name, ABSENT, "unknown name") for name in header - set(own))
    missing = set(own) - header if lines or text else set()
    yield from (Misfit(name, ABSENT, name, "missing name") for name in own if name in missing)
    checks = _checks(cls)
    for number, line in enumerate(lines):
        for name, cell in line.items():
            check = checks.get(name)
            if check is not None and cell and not cell.startswith(SECRET):
                if expected := check(cell):
                    yield Misfit(f"[{number}].{name}", cell, expected, "format")


def messages(cls: type[Message], text: str) -> list[dict[str, Any]]:
    """Return the lines of a report as messages with JSON names; [] if it cannot be read."""
    try:
        _, lines = _read(cls, text)
    except csv.Error:
        return []
    names = {name: [field.json_name for field in _path(cls, name)] for name in columns_of(cls)}
    rows: list[dict[str, Any]] = []
    for line in lines:
        row: dict[str, Any] = {}
        for name, cell in line.items():
            *outer, last = names.get(name, [name])
            inner = row
            for part in outer:
                inner = inner.setdefault(part, {})
            inner[last] = cell
        rows.append(row)
    return rows


def _read(cls: type[Message], text: str) -> tuple[set[str], list[dict[str, str]]]:
    """Return the column names of a report, and its lines by column."""
    own = columns_of(cls)
    lines = list(csv.reader(StringIO(text, newline=""), strict=True))
    header = list(own)
    if lines and (set(lines[0]) & set(own)):
        header = lines.pop(0)
    return set(header), [dict(zip(header, line, strict=False)) for line in lines]


# ---- cells


@cache
def _checks(cls: type[Message]) -> dict[str, Callable[[str], str]]:
    """Return the check of each column: it returns the expected form, or "" if the cell fits."""
    return {
        name: check
        for name in columns_of(cls)
        if (check := _check(_path(cls, name)[-1])) is not None
    }


def _check(field: Field) -> Callable[[str], str] | None:
    if field.repeated or field.key_kind:
        return None
    if field.kind == "enum":
        members: Any = find(field.type_name)
        names = frozenset(member.name.removeprefix(field.bare_enum) for member in members)
        return lambda cell: "" if cell in names else f"one of {', '.join(sorted(names))}"
    if field.kind in INTEGER_RANGES:
        return lambda cell: "" if _WHOLE.fullmatch(cell) else "a whole number"
    if field.kind == "bool":
        return lambda cell: "" if cell in ("true", "false") else "true or false"
    if field.kind == "timestamp":
        return lambda cell: "" if _is_moment(cell) else "an RFC 3339 instant in UTC"
    if field.type_name.endswith(".Date"):
        return lambda cell: "" if _DATE.fullmatch(cell) else "a date (2026-09-08)"
    return None


def _is_moment(cell: str) -> bool:
    try:
        read_moment(cell)
    except ValueError:
        return False
    return True


def _path(cls: type[Message], name: str) -> list[Field]:
    """Return the fields along a column's name, from the outermost message."""
    part, _, rest = name.partition(".")
    field = next(field for field in fields_of(cls) if field.name == part)
    return [field, *(_path(find_message(field.type_name), rest) if rest else ())]
