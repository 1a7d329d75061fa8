"""Files that are not code: beside `sim/` in a checkout, inside `sim/_data/` in a wheel."""

from __future__ import annotations

from functools import cache
from pathlib import Path

KINDS = ("fixtures", "scenarios", "proto", "docs")
_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def folder(kind: str) -> Path:
    """Return the folder of a kind of `KINDS`. Raises FileNotFoundError if there is none."""
    if kind not in KINDS:
        raise ValueError(f"unknown kind of resource {kind!r}")
    for candidate in (_PACKAGE / "_data" / kind, _PACKAGE.parent / kind):
        if candidate.is_dir():
            return candidate
    raise FileNotFoundError(f"this installation has no {kind}")


def path(kind: str, name: str) -> Path:
    """Return the path of a file of a kind, for example `path("fixtures", "keys/atlas.pem")`."""
    return folder(kind) / name


def bundled_scenarios() -> tuple[str, ...]:
    """Return the names of the bundled scenarios, sorted."""
    return tuple(sorted(file.stem for file in folder("scenarios").glob("*.yaml")))
