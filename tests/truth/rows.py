"""A row: what one surface says about one thing."""

from __future__ import annotations

from typing import Any, NamedTuple


class Row(NamedTuple):
    """`kind` and `subject` say what it is about, `dialect` in whose words it is."""

    surface: str
    kind: str
    subject: str
    dialect: str
    says: dict[str, Any]
