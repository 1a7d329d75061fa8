"""Renders problems: the message, then the line of the file with a caret below the position."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from sim.world.format.yaml_tree import SIZE_LIMIT, Problem

BEFORE, SHOWN = 60, 100  # columns of a long line that are shown: before the caret, and in total


def with_carets(problems: Iterable[Problem]) -> Iterator[str]:
    """The problems in the order of the file, each followed by the line that it is about.

    For text that is not a file there is no line to show.
    """
    for problem in sorted(problems, key=lambda each: (each.file, each.line, each.column)):
        yield str(problem)
        lines = _lines(problem.file) if problem.line else ()
        if 0 < problem.line <= len(lines):
            yield from _caret(lines[problem.line - 1], problem.column)


def _caret(line: str, column: int) -> Iterator[str]:
    start = max(0, column - BEFORE) if len(line) > SHOWN else 0
    excerpt = line[start : start + SHOWN].replace("\t", "\N{RIGHTWARDS ARROW TO BAR}").rstrip()
    if not excerpt.strip():
        return
    left = "…" if start else ""
    yield f"    {left}{excerpt}{'…' if len(line) > start + SHOWN else ''}"
    yield f"    {' ' * (len(left) + column - 1 - start)}^"


def _lines(file: str) -> tuple[str, ...]:
    path = Path(file)
    try:
        if not path.is_file() or path.stat().st_size > SIZE_LIMIT:
            return ()
        return tuple(path.read_text("utf-8", errors="replace").splitlines())
    except OSError:
        return ()
