"""Layout of printed text: width, wrapped lines, colour, numbers with their nouns.

The width is that of the window, or COLUMNS, or `WIDTH` in a pipe. Lines wrap between words, and
words are never cut. Colour is used on terminals only, and not if NO_COLOR is set
(rule of https://no-color.org).
"""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

WIDTH = 100  # in a pipe or a file
WIDTH_MIN = 40
_CODES = {"red": "31", "green": "32", "yellow": "33", "cyan": "36", "bold": "1", "dim": "2"}


def width() -> int:
    """Return the number of columns of a line."""
    return max(WIDTH_MIN, shutil.get_terminal_size((WIDTH, 24)).columns)


def wrapped(text: str, indent: str = "", *, first: str | None = None) -> Iterator[str]:
    """Yield text as lines that fit. `first` is the indent of the first line, `indent` of the
    others.

    A word longer than a line, such as a path, stays whole.
    """
    yield from textwrap.wrap(
        text,
        width(),
        initial_indent=indent if first is None else first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [(indent if first is None else first).rstrip()]


def paint(text: str, colour: str, out: TextIO) -> str:
    """Return text in a colour, if `out` is a terminal that shows colours."""
    if not _has_colour(out):
        return text
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m"


def _has_colour(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def counted(count: int, noun: str) -> str:
    """Return a number and its noun: "1 rule", "2 rules", "3 queries"."""
    plural = noun[:-1] + "ies" if noun.endswith(("ry", "ty")) else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def listed(names: Sequence[str], most: int) -> str:
    """Return names for a sentence; of many, only the first and the number of the others."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def first_lines(lines: Sequence[str], most: int, rest: str) -> Iterator[str]:
    """Yield at most some lines, and `rest` with the number of the others in its braces."""
    yield from lines[:most]
    if len(lines) > most:
        yield rest.format(len(lines) - most)
