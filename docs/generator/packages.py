"""The packages of `sim/`: what each is for, and which others it may import."""

from __future__ import annotations

import ast

from generator.links import ROOT
from sim.read.tables import as_markdown
from tests.house.test_house import PACKAGES


def table() -> str:
    """One row a package, lowest first: its docstring's first sentence and what it may import."""
    rows = []
    for name in PACKAGES:
        source = ROOT / "sim" / name / "__init__.py"
        if source.is_file():
            text = ast.get_docstring(ast.parse(source.read_text("utf-8"))) or ""
            holds = " ".join(text.partition("\n\n")[0].split()).partition(". ")[0].rstrip(".")
            rows.append({"package": f"`{name}`", "holds": holds, "may import": _imports(name)})
    return as_markdown(rows)


def _imports(name: str) -> str:
    return ", ".join(f"`{other}`" for other in PACKAGES[name]) or "nothing of ours"
