"""Layout of printed text: lines, width, colour, numbers with their nouns.

Every line that goes to a terminal goes through `put`. Lines contain names, paths and texts of
strangers, who must neither move the cursor nor forge a line.

The width is that of the window, or COLUMNS, or `WIDTH` in a pipe. Lines wrap between words, and
words are never cut. Colour is used on terminals only, and not if NO_COLOR is set
(rule of https://no-color.org).
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import TextIO

WIDTH = 100  # in a pipe or a file
WIDTH_MIN = 40
# Controls but the tab, ends of lines and paragraphs, marks of direction, halves of surrogate pairs.
_EFFECTS = re.compile(
    "[\x00-\x08\x0a-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
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


def visible(text: str) -> str:
    """Return text as one line without effects: what controls a terminal, breaks a line or changes
    the direction of text is escaped, as `\\x1b`.
    """
    return _EFFECTS.sub(_escaped, text)


def _escaped(effect: re.Match[str]) -> str:
    number = ord(effect[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"


def put(
    *lines: object,
    file: TextIO | None = None,
    painted: tuple[str, str] = ("", ""),
    flush: bool = False,
) -> None:
    """Print lines, each as `visible` shows it. Without any, print an empty one.

    `painted` is a word and a colour: the first occurrence of the word in the first line gets it, if
    the file is a terminal that shows colours.
    """
    out = sys.stdout if file is None else file
    first, *others = [str(line) for line in lines or [""]]
    texts = terminal_line(first, painted, out), *map(visible, others)
    print(*texts, sep="\n", file=out, flush=flush)


def terminal_line(line: str, painted: tuple[str, str], out: TextIO) -> str:
    """Return one line as `put` prints it to a file."""
    text, (word, colour) = visible(line), painted
    if word and colour and _has_colour(out):
        return text.replace(word, f"\x1b[{_CODES[colour]}m{word}\x1b[0m", 1)
    return text


def _has_colour(out: TextIO) -> bool:
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def counted(count: int, noun: str) -> str:
    """Return a number and its noun: "1 rule", "2 rules", "3 queries", "4 matches"."""
    plural = noun[:-1] + "ies" if noun.endswith(("ry", "ty")) else f"{noun}s"
    plural = f"{noun}es" if noun.endswith("ch") else plural
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
