"""Rows as text: a table that fits the line, or records, or Markdown. Nothing is cut.

A table whose columns do not fit wraps its cells. If a column would become too narrow to read, each
row becomes a record: its first cell as a heading, with the others below. Programs use JSON instead.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any, TextIO

from sim.read.layout import put, width, wrapped

Rows = list[dict[str, Any]]

GAP = 2  # columns between cells
SENTENCE_WIDTH = 26  # minimum width of a wrapped column of sentences
_COLOURS = {
    **dict.fromkeys(("passed", "kept", "held", "yes"), "green"),
    **dict.fromkeys(("FAILED", "broken", "broke", "failed"), "red"),
    **dict.fromkeys(("advice", "noticed"), "yellow"),
}


def print_table(rows: Rows, out: TextIO, *, one_as_record: bool = False) -> None:
    """Print rows as a table, or as records if a table does not fit.

    With `one_as_record`, a single row is a record as well.
    """
    if not rows:
        put("nothing", file=out)
        return
    lines = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)]
    widths = None if one_as_record and len(rows) == 1 else _widths(lines)
    if widths is None:
        put(*record(rows[0]), file=out)
        for row in rows[1:]:
            put("", *record(row), file=out)
        return
    for number, line in enumerate(lines):
        for text in _wrapped_row(line, widths):
            put(text, file=out, painted=_verdict(text, line) if number else (text, "bold"))


def _widths(lines: list[list[str]]) -> list[int] | None:
    """Return the widths of the columns; None if cells would have to be too narrow."""
    natural = [max(map(len, column)) for column in zip(*lines, strict=True)]
    # A cell of one word cannot wrap, and a column of sentences needs room for several words.
    least = [
        max(
            max(len(word) for text in column for word in (text.split() or [""])),
            min(size, SENTENCE_WIDTH) if any(" " in text for text in column[1:]) else 0,
        )
        for column, size in zip(zip(*lines, strict=True), natural, strict=True)
    ]
    room = width() - GAP * (len(natural) - 1)
    if sum(least) > room:
        return None
    while sum(natural) > room:
        widest = max(range(len(natural)), key=lambda at: natural[at] - least[at])
        natural[widest] -= 1
    return natural


def _wrapped_row(cells: list[str], widths: list[int]) -> Iterator[str]:
    columns = [
        textwrap.wrap(text, size or 1, break_long_words=False, break_on_hyphens=False)
        for text, size in zip(cells, widths, strict=True)
    ]
    for parts in zip_longest(*columns, fillvalue=""):
        texts = (part.ljust(size) for part, size in zip(parts, widths, strict=True))
        yield (" " * GAP).join(texts).rstrip()


def _verdict(text: str, cells: list[str]) -> tuple[str, str]:
    """Return the verdict in a line of a row, and its colour; empty texts if it has none."""
    words = (word for word in cells if word in _COLOURS and word in text)
    word = next(words, "")
    return word, _COLOURS.get(word, "")


def record(row: dict[str, Any]) -> Iterator[str]:
    """Yield a row as lines: its name or first cell, and below it every other non-empty cell."""
    head = "name" if "name" in row else next(iter(row))
    yield cell(row[head])
    cells = {name: text for name, value in row.items() if name != head and (text := cell(value))}
    size = max(map(len, cells), default=0)
    for name, text in cells.items():
        yield from wrapped(text, " " * (size + 4), first=f"  {name.ljust(size)}  ")


def as_markdown(rows: Rows) -> str:
    """Return a Markdown table, one line per row."""
    if not rows:
        return ""
    cells = [[cell(value).replace("|", "\\|") for value in row.values()] for row in rows]
    head, *body = (f"| {' | '.join(line)} |" for line in [list(rows[0]), *cells])
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def cell(value: object) -> str:
    """Return a value in readable form."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
