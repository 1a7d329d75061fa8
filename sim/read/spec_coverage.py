"""The statements of the specification, the rules and the observations, with the tests that
demonstrate each.

A test names a statement in `@pytest.mark.spec("…")`, an observation in `@pytest.mark.observed("…")`
and a rule in its name (`test_l7_…`) or its docstring (`L7`, `P1-P4`). A checkout reads the sources
of its tests. A wheel has no tests, so its build (`hatch_build.py`) packs the result as
`sim/_data/ledger.json`; that is why this module uses the standard library only.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

_PACKAGE = Path(__file__).resolve().parents[1]
PACKED = _PACKAGE / "_data" / "ledger.json"
TESTS = _PACKAGE.parent / "tests"

_Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


_IN_NAMES = re.compile(r"(?:^|_)([lmpskrwet]\d{1,2})(?=_)")
_IN_TEXT = re.compile(r"\b([LMPSKRWET])(\d{1,2})(?:-[LMPSKRWET]?(\d{1,2}))?\b")


def tests_by_statement(tests: Path, mark: str = "spec") -> dict[str, list[str]]:
    """Return tests of a folder by the statement they demonstrate, as `file::test` in file order.

    With the mark "observed", by observation.
    """
    by_statement: dict[str, list[str]] = {}
    for statements, named, name in _marked(tests):
        if statements == mark:
            by_statement.setdefault(named, []).append(name)
    return by_statement


@lru_cache(maxsize=4)
def _marked(tests: Path) -> tuple[tuple[str, str, str], ...]:
    """Return mark, argument and test, in file order. The result is cached for the process."""
    return tuple(
        (mark, named, name)
        for name, node in _definitions(tests, containing="pytest.mark.")
        for mark in ("spec", "observed")
        for named in _marks(node, mark)
    )


def tests_by_rule(tests: Path) -> dict[str, list[str]]:
    """Return tests of a folder by the rule they demonstrate, as `file::test` in file order."""
    by_rule: dict[str, list[str]] = {}
    for name, node in _definitions(tests):
        if node.name.startswith("test_"):
            for rule in sorted(_rules(node)):
                by_rule.setdefault(rule, []).append(name)
    return by_rule


def _definitions(tests: Path, containing: str = "") -> Iterator[tuple[str, _Definition]]:
    """Yield `file::name` and source of every function and class in a folder's tests.

    With `containing`, only of files that contain a text.
    """
    for file in sorted(tests.rglob("test_*.py")):
        source = file.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)) if containing in source else ():
            if isinstance(node, _Definition):
                yield f"{file.relative_to(tests).as_posix()}::{node.name}", node


def _marks(node: _Definition, mark: str) -> Iterator[str]:
    """Yield the arguments of every @pytest.mark.<mark>("…") of a function or class."""
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == f"pytest.mark.{mark}":
            for argument in decorator.args:
                if isinstance(argument, ast.Constant):
                    yield str(argument.value)


def _rules(node: _Definition) -> set[str]:
    """Return the rules in the name of a test and, singly or as a range, in its docstring."""
    rules = {rule.upper() for rule in _IN_NAMES.findall(node.name)}
    for letter, first, last in _IN_TEXT.findall(ast.get_docstring(node) or ""):
        rules |= {f"{letter}{number}" for number in range(int(first), int(last or first) + 1)}
    return rules


def pack(tests: Path) -> str:
    """Return the file that a wheel contains: the text of the ledger, the tests by statement, and
    those by observation.
    """
    statements = (tests / "ledger.yaml").read_text(encoding="utf-8")
    packed = {
        "statements": statements,
        "shown": tests_by_statement(tests),
        "observed": tests_by_statement(tests, "observed"),
    }
    return json.dumps(packed, ensure_ascii=False)


def load(mark: str = "spec") -> tuple[str, dict[str, list[str]]]:
    """Return the text of the ledger and the tests by what a mark names (`tests_by_statement`), from
    the checkout or from the wheel.

    Raises FileNotFoundError if there is neither.
    """
    if (TESTS / "ledger.yaml").is_file():
        return (TESTS / "ledger.yaml").read_text(encoding="utf-8"), tests_by_statement(TESTS, mark)
    packed = json.loads(PACKED.read_text(encoding="utf-8"))
    return packed["statements"], packed["shown" if mark == "spec" else mark]
