"""Errors that tell a user what to change; commands print their text without a traceback."""

from __future__ import annotations

from msgspec import DecodeError

# What reading a record fails with that has not its form.
MALFORMED = (
    *(ArithmeticError, AttributeError, DecodeError, LookupError, RecursionError),
    *(TypeError, ValueError),
)


class UsageError(ValueError):
    """A request that cannot be carried out. The message says what to change."""


class UnreadableJournal(Exception):
    """A file that is no journal, or cannot be read.

    The message begins with `path:line:1:`, or with the path alone where there is no line to look
    at (`line` 0), because the file is not there.
    """

    def __init__(self, path: object, reason: str, line: int = 1) -> None:
        super().__init__(f"{path}:{line}:1: {reason}" if line else f"{path}: {reason}")
