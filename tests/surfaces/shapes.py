"""Shapes of answers as tables: for each key of an object a pattern, a type, None for null, or ABSENT.

A key that a table does not have is as wrong as one that lacks. `misfits` says what does not fit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

ABSENT = object()
ANY = object()


class Amount:
    """An amount in dollars whose text fits a pattern."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern


FOUR = Amount(r"-?\d+\.\d{4}")  # four decimals, whatever the value
PLAIN = Amount(r"-?\d+(\.\d*[1-9])?")  # not padded
CENTS = Amount(r"-?\d+\.\d{2,}")  # at least two decimals
QTY = r"-?\d+\.\d{4}"
MOMENT = r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"
MIDNIGHT = r"20\d\d-\d\d-\d\dT00:00:00Z"
ID = r"[0-9A-Z]{12}"


def misfits(result: Any, shape: Any, path: str = "") -> Iterator[str]:
    """What of a value does not fit its shape."""
    if shape is ANY:
        return
    if isinstance(shape, dict):
        if not isinstance(result, dict):
            yield f"{path}: not an object: {result!r}"
            return
        for key in result.keys() - shape.keys():
            yield f"{path}.{key}: not expected: {result[key]!r:.80}"
        for key, part in shape.items():
            if part is ABSENT:
                if key in result:
                    yield f"{path}.{key}: expected to be absent: {result[key]!r:.80}"
            elif key not in result:
                yield f"{path}.{key}: absent"
            else:
                yield from misfits(result[key], part, f"{path}.{key}")
    elif isinstance(shape, list):
        if not isinstance(result, list):
            yield f"{path}: not a list: {result!r}"
            return
        for number, item in enumerate(result):
            yield from misfits(item, shape[0] if shape else ABSENT, f"{path}[{number}]")
    elif isinstance(shape, Amount):
        yield from misfits(result, {"value": shape.pattern, "currency": "USD"}, path)
    elif isinstance(shape, type):
        if type(result) is not shape and not (shape is float and type(result) is int):
            yield f"{path}: {result!r:.80} is not of type {shape.__name__}"
    elif isinstance(shape, str):
        if not isinstance(result, str) or not re.fullmatch(shape, result):
            yield f"{path}: {result!r:.80} does not fit {shape}"
    elif result is not shape:
        yield f"{path}: {result!r:.80} is not {shape!r}"
