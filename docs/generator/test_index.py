"""Blocks that lead from each statement and each rule to the tests that demonstrate it."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby

from generator.links import ROOT, RULES
from sim.read.catalogues import rows
from sim.read.spec_coverage import TESTS, tests_by_rule
from sim.read.tables import as_markdown


def statements() -> str:
    """Every statement of the specification with its tests, under the section that it stands in."""
    blocks = []
    for section, group in groupby(rows("ledger"), key=lambda row: _section(str(row["id"]))):
        table = [
            {
                "id": _anchored(str(row["id"])),
                "statement": _plain(str(row["statement"])),
                "tests": listed(row["tests"]),
            }
            for row in group
        ]
        blocks.append(f"### Section {section}\n\n{as_markdown(table)}")
    return "\n\n".join(blocks)


def rules() -> str:
    """Every rule with the tests that name it."""
    named = re.findall(r'^\| <a id="(\w+)"></a>(\w+) \|', (ROOT / RULES).read_text(), re.MULTILINE)
    tests = tests_by_rule(TESTS)
    return as_markdown(
        [
            {"rule": f"[{rule}](rules.md#{anchor})", "tests": listed(tests.get(rule, []))}
            for anchor, rule in named
        ]
    )


def _section(statement: str) -> str:
    """`S6.1-5` stands in 6.1."""
    return statement[1:].partition("-")[0]


def _anchored(statement: str) -> str:
    return f'<a id="{statement.lower().replace(".", "-")}"></a>{statement}'


def _plain(text: str) -> str:
    """Text of a statement that neither Markdown nor HTML reads as markup."""
    return escape(text, quote=False).replace("*", "\\*")


def listed(tests: list[str]) -> str:
    """Tests by file: the file in code, then its tests as sentences."""
    by_file: dict[str, list[str]] = {}
    for test in tests:
        file, _, name = test.partition("::")
        by_file.setdefault(file, []).append(f"`{name}`")
    return "<br>".join(f"`{file}`: {', '.join(names)}" for file, names in by_file.items())
