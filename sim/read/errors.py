"""Errors that tell a user what to change. Commands print their text without a traceback."""

from __future__ import annotations

from msgspec import DecodeError

# Exceptions raised by reading a record with an invalid form.
MALFORMED = (
    *(ArithmeticError, AttributeError, DecodeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)


class UsageError(ValueError):
    """A request that cannot be carried out. The message says what to change."""


class UnreadableJournal(Exception):
    """A file that is not a journal, or cannot be read.

    The message begins with `path:line:1:`, or only the path if there is no line to refer to (`line`
    0), because the file is missing.
    """

    def __init__(self, path: object, reason: str, line: int = 1) -> None:
        super().__init__(f"{path}:{line}:1: {reason}" if line else f"{path}: {reason}")
