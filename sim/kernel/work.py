"""Work in small steps, so that a server can do something else in between."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias, TypeVar

T = TypeVar("T")

# Yields wherever it may be interrupted or abandoned, and returns the result.
Work: TypeAlias = Generator[None, None, T]


def done(work: Work[T]) -> T:
    """Do all of the work at once."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            answer: T = end.value
            return answer
