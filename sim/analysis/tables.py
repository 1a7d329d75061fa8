"""Rows for people and programs: table on a terminal, aligned text, Markdown, JSON; never cut.

`rich` is imported only when standard output is a terminal: it wraps cells to the window. Elsewhere
each row is one line, however long, so that `grep` and `cut` work on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TextIO

Rows = list[dict[str, Any]]

COLUMN_MAX = 60  # a longer cell moves the columns after it
NARROW = 14  # with less room than this for a column, a table is printed row by row


def print_table(rows: Rows, out: TextIO) -> None:
    """Print rows: wrapped to the window on a terminal, else as aligned text."""
    if not rows or not out.isatty():
        print(as_text(rows), file=out)
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    console = Console(file=out, markup=False, emoji=False, highlight=False)
    if console.width < NARROW * len(rows[0]):
        for row in rows:
            console.print("\n".join(_record(row)) + "\n", soft_wrap=False)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in rows[0]:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(cell, row.values()))
    console.print(table)


def _record(row: dict[str, Any]) -> Iterator[str]:
    width = max(map(len, row))
    yield from (f"{name.ljust(width)}  {cell(value)}" for name, value in row.items())


def as_markdown(rows: Rows) -> str:
    """A Markdown table, one line a row."""
    if not rows:
        return ""
    cells = [[cell(value).replace("|", "\\|") for value in row.values()] for row in rows]
    head, *body = (f"| {' | '.join(line)} |" for line in [list(rows[0]), *cells])
    return "\n".join([head, "|" + "---|" * len(rows[0]), *body])


def as_text(rows: Rows) -> str:
    """Aligned columns, one line a row."""
    if not rows:
        return "nothing"
    lines = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)]
    widths = [min(COLUMN_MAX, max(map(len, column))) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def counted(count: int, noun: str) -> str:
    """A number and its noun: "1 rule", "2 rules", "3 passes"."""
    plural = noun[:-1] + "ies" if noun.endswith(("ry", "ty")) else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def cell(value: object) -> str:
    """A value as people read it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value)
