"""`make docs`: write the tables that come from the code into README.md and docs/*.md, between their
markers. `--check` only says whether they are current.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

from sim.analysis.catalogues import rows
from sim.analysis.conformance import rulebook
from sim.analysis.tables import as_markdown
from sim.server.control.routes import ROUTES

ROOT = Path(__file__).parent.parent


def operations() -> str:
    """Every operation, short enough for a README."""
    found = []
    for row in rows("operations"):
        protocols = [
            part
            for part in (
                row["rest"].split(", ")[0] if row["rest"] else "",
                "gRPC" if row["grpc"] else "",
            )
            if part
        ]
        found.append(
            {
                "operation": row["operation"],
                "planes": row["planes"] or "gRPC only",
                "address": ", ".join(protocols),
                "served": row["served"],
            }
        )
    done = sum(row["served"] for row in found)
    return (
        f"<details><summary>{done} of {len(found)} operations are"
        f" served</summary>\n\n{as_markdown(found)}\n\n</details>"
    )


def control() -> str:
    """Every call of the control plane."""
    return as_markdown(
        [
            {
                "call": f"`{route.verb} {route.template}`",
                "body": ", ".join(route.keys or ()),
                "does": route.does,
            }
            for route in ROUTES
        ]
    )


def rules() -> str:
    """The judge's rulebook."""
    book = rulebook().values()
    return as_markdown(
        [
            {
                "rule": rule.name,
                "section": f"§{rule.section}",
                "says": rule.says + (" (advice)" if rule.advice else ""),
            }
            for rule in book
        ]
    )


def catalogue(kind: str, *columns: str) -> Callable[[], str]:
    """Some columns of a catalogue."""
    return lambda: as_markdown([{name: row[name] for name in columns} for row in rows(kind)])


def figures() -> str:
    """What `make bench` kept: every figure of every area."""
    kept = json.loads((ROOT / "docs" / "benchmarks.json").read_text())
    columns = ("work", "figure", "floor", "ratio", "goal", "verdict")
    found = [
        {"area": area, **{name: row[name] for name in columns}}
        for area, measured in kept.items()
        for row in measured["figures"]
    ]
    judged = [row for row in found if row["goal"]]
    return (
        f"{as_markdown(found)}\n\n{sum(row['verdict'] == 'reached' for row in judged)} of"
        f" {len(judged)} goals are reached."
    )


TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "operations": ("README.md", operations),
    "control": ("docs/control-plane.md", control),
    "rules": ("docs/judge.md", rules),
    "quirks": ("docs/catalogues.md", catalogue("quirks", "quirk", "section", "default", "summary")),
    "faults": ("docs/catalogues.md", catalogue("faults", "act", "matches", "does")),
    "presets": ("docs/catalogues.md", catalogue("presets", "preset", "faults", "summary")),
    "figures": ("docs/performance.md", figures),
    "assumptions": (
        "docs/catalogues.md",
        catalogue("assumptions", "assumption", "default", "accepts", "reason", "source"),
    ),
}


def renewed(name: str) -> tuple[Path, str, str]:
    """(file, its text now, its text as it should be) for one table."""
    file, make = TABLES[name]
    path = ROOT / file
    text = path.read_text()
    pattern = re.compile(rf"(<!-- {name}: [^\n]* -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise LookupError(f"{file} has no markers for {name}")
    return path, text, pattern.sub(lambda found: f"{found[1]}\n{make()}\n\n{found[2]}", text)


def main() -> int:
    """Renew every table, or check."""
    stale = 0
    for name in TABLES:
        path, now, wanted = renewed(name)
        if now != wanted:
            stale += 1
            print(f"{path.relative_to(ROOT)}: {name} is not current")
            if "--check" not in sys.argv:
                path.write_text(wanted)
    return 1 if stale and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
