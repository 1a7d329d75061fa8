"""docs/reference/rules.md against the tests and the source: a rule that is listed has a test that names it,
and a rule that is cited is listed.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from sim.core.catalogue.assumptions import catalogue

ROOT = Path(__file__).parent.parent.parent
OUT_OF_SCOPE = {"L13", "M40", "E4"}
TEXT = (ROOT / "docs" / "reference" / "rules.md").read_text()
RULES = dict(re.findall(r"^\| <a id=\"\w+\"></a>([LMPSKRWE]\d+) \| (.*) \|$", TEXT, re.MULTILINE))


@cache
def named() -> frozenset[str]:
    """Rules in the names and docstrings of tests: P8 or P1-P7."""
    found = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
                "test_"
            ):
                found |= {
                    rule.upper()
                    for rule in re.findall(r"(?:^|_)([lmpskrwe]\d{1,2})(?=_)", node.name)
                }
                text = ast.get_docstring(node) or ""
                found |= set(re.findall(r"\b[LMPSKRWE]\d{1,2}\b", text))
                for letter, first, last in re.findall(
                    r"\b([LMPSKRWE])(\d{1,2})-[LMPSKRWE]?(\d{1,2})\b", text
                ):
                    found |= {f"{letter}{number}" for number in range(int(first), int(last) + 1)}
    return frozenset(found)


@pytest.mark.parametrize(
    "rule", sorted(set(RULES) - OUT_OF_SCOPE, key=lambda rule: (rule[0], int(rule[1:])))
)
def test_a_rule_has_a_test_that_names_it(rule: str) -> None:
    assert rule in named(), f"no test has {rule} in its name or docstring: {RULES[rule]}"


def test_a_rule_that_the_source_cites_is_listed() -> None:
    cited = set()
    for file in (ROOT / "sim").rglob("*.py"):
        if "messages" not in file.parts:
            cited |= set(
                re.findall(
                    r'rules? ([LMPSKRWE]\d{1,2})\b|rule="([LMPSKRWE]\d{1,2})"', file.read_text()
                )
            )
    cited = {first or second for first, second in cited}
    assert len(cited) > 80
    assert cited <= set(RULES)


def test_the_switches_exist() -> None:
    names = catalogue()
    for switch in re.findall(r"`([a-z_]+\.[a-z_*]+)`", TEXT):
        assert any(name.startswith(switch.removesuffix("*")) for name in names), switch
