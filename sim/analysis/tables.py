"""Rows for people and programs: aligned text cut to the terminal, Markdown, JSON."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any

Rows = list[dict[str, Any]]


def as_json(rows: Rows) -> str:
    """An array of objects."""
    return json.dumps(rows, indent=1, ensure_ascii=False)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return str(value)


def as_markdown(rows: Rows) -> str:
    """A table, one line a row."""
    if not rows:
        return ""
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += [
        "| " + " | ".join(_text(row[name]).replace("|", "\\|") for name in names) + " |"
        for row in rows
    ]
    return "\n".join(lines)


def as_text(rows: Rows) -> str:
    """Aligned columns; on a terminal the last one is cut to its width, elsewhere nothing is."""
    if not rows:
        return "nothing"
    names = list(rows[0])
    cells = [names, *([_text(row[name]) for name in names] for row in rows)]
    widths = [min(60, max(len(row[column]) for row in cells)) for column in range(len(names))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]
    if sys.stdout.isatty():
        limit = shutil.get_terminal_size().columns
        lines = [line if len(line) <= limit else line[: limit - 1] + "…" for line in lines]
    return "\n".join(lines)
