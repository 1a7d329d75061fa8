"""docs/reference/rules.md against the tests and the source: a rule that is listed has a test that names it,
and a rule that is cited is listed.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from sim.core.catalogue.assumptions import catalogue
from sim.read import spec_coverage

ROOT = Path(__file__).parent.parent.parent
LEDGER = yaml.load((ROOT / "tests" / "ledger.yaml").read_text(), yaml.CSafeLoader)
OUT_OF_SCOPE = {"L13", "M40", "E4"}
TEXT = (ROOT / "docs" / "reference" / "rules.md").read_text()
RULES = dict(re.findall(r"^\| <a id=\"\w+\"></a>([LMPSKRWET]\d+) \| (.*) \|$", TEXT, re.MULTILINE))


@cache
def named() -> dict[str, list[str]]:
    """Tests by the rules in their names and docstrings: P8 or P1-P7."""
    return spec_coverage.tests_by_rule(ROOT / "tests")


@pytest.mark.parametrize(
    "rule", sorted(set(RULES) - OUT_OF_SCOPE, key=lambda rule: (rule[0], int(rule[1:])))
)
def test_a_rule_has_a_test_that_names_it(rule: str) -> None:
    assert rule in named(), f"no test has {rule} in its name or docstring: {RULES[rule]}"


def test_a_rule_that_the_source_cites_is_listed() -> None:
    cited = set()
    for file in (ROOT / "sim").rglob("*.py"):
        if file.parent.name != "messages":
            cited |= set(
                re.findall(
                    r'rules? ([LMPSKRWET]\d{1,2})\b|rule="([LMPSKRWET]\d{1,2})"', file.read_text()
                )
            )
    cited = {first or second for first, second in cited}
    assert len(cited) > 80
    assert cited <= set(RULES)


def test_the_switches_exist() -> None:
    names = catalogue()
    for switch in re.findall(r"`([a-z_]+\.[a-z_*]+)`", TEXT):
        assert any(name.startswith(switch.removesuffix("*")) for name in names), switch


def test_every_mark_of_a_statement_stands_where_the_index_reads_it() -> None:
    """A mark on a parameter or in an assignment would be seen by pytest and by nobody else."""
    tests = ROOT / "tests"
    written = sum(
        len(re.findall(r"^(?! *#).*\bmark\.spec\(", file.read_text(), re.MULTILINE))
        for file in tests.rglob("test_*.py")
        if file != Path(__file__)
    )
    read = {
        (file, decorator.lineno)
        for file in tests.rglob("test_*.py")
        for node in ast.walk(ast.parse(file.read_text()))
        for decorator in getattr(node, "decorator_list", ())
        if "mark.spec(" in ast.unparse(decorator)
    }
    assert written == len(read)
    assert set(LEDGER) == set(spec_coverage.tests_by_statement(tests))
