"""Writes a scenario document as a readable file: one line per step, quotes only where necessary,
and the reason for the file at the top.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

# Text that YAML 1.2 reads as itself without quotes in any position.
_PLAIN = re.compile(r"[A-Za-z_/$][A-Za-z0-9_./@$-]*")
_CORE = ("true", "false", "null")  # words of YAML 1.2, in three spellings
_WORDS = {*_CORE, *map(str.title, _CORE), *map(str.upper, _CORE), "yes", "no", "on", "off"}
# Characters that JSON allows unescaped and YAML does not, apart from those that JSON escapes.
_UNPRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SHORT_KEY_MAX = 1_000
_ORDER = (
    *("name", "description", "seed", "clock", "environment", "preset", "reading", "world"),
    *("quirks", "assumptions", "limits", "maintenance", "faults", "steps"),
)


def as_yaml(document: dict[str, Any], why: Iterable[str] = ()) -> str:
    """Return the text of a scenario file. `why` are the lines of its opening comment."""
    return "\n".join(
        (*(f"# {' '.join(line.split(chr(10)))}".rstrip() for line in why), *_lines(document), "")
    )


def _lines(document: dict[str, Any]) -> Iterator[str]:
    for key in sorted(
        document, key=lambda key: _ORDER.index(key) if key in _ORDER else len(_ORDER)
    ):
        value = document[key]
        if isinstance(value, list):
            yield f"{key}:"
            yield from (f"  - {flow(item)}" for item in value)
        elif key == "world":
            yield f"{key}:"
            for name, entries in value.items():
                if isinstance(entries, list):
                    yield f"  {name}:"
                    yield from (f"    - {flow(item)}" for item in entries)
                else:
                    yield f"  {name}: {flow(entries)}"
        else:
            yield f"{key}: {flow(value)}"


def flow(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{_key(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value not in _WORDS:
        return value
    return _UNPRINTABLE.sub(_escaped, json.dumps(value, ensure_ascii=False))


def _key(key: str) -> str:
    """Return a key.

    A long one has a mark before it, without which YAML does not search for its end.
    """
    written = flow(key)
    return f"? {written} " if len(written) > _SHORT_KEY_MAX else written


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"
