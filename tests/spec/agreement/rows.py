"""A row: what one surface says about one thing."""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """`kind` and `subject` identify what the row is about, `dialect` how its values are spelled."""

    surface: str
    kind: str
    subject: str
    dialect: str
    value: dict[str, Any]
