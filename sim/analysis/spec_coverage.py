"""The ledger of statements: which tests show each, read from the sources of the tests. Standard
library only, because a wheel is built with it.

A wheel has no tests, so what was found stands in it as `sim/_data/ledger.json` (hatch_build.py); a
checkout is looked at afresh.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
MADE = _PACKAGE / "_data" / "ledger.json"
TESTS = _PACKAGE.parent / "tests"


def shown(tests: Path) -> dict[str, list[str]]:
    """Tests by the statement they show, `file::test` in order of the files."""
    found: dict[str, list[str]] = {}
    for file in sorted(tests.rglob("test_*.py")):
        for statement, test in _marks(ast.parse(file.read_text(encoding="utf-8"))):
            found.setdefault(statement, []).append(f"{file.relative_to(tests).as_posix()}::{test}")
    return found


def _marks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(statement, test) for every @pytest.mark.spec("…") on a function or on its class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for decorator in node.decorator_list:
                if (
                    isinstance(decorator, ast.Call)
                    and ast.unparse(decorator.func) == "pytest.mark.spec"
                ):
                    for argument in decorator.args:
                        if isinstance(argument, ast.Constant):
                            yield str(argument.value), node.name


def made(tests: Path) -> str:
    """What a wheel takes along: the ledger's text and the tests that show it."""
    return json.dumps(
        {"statements": (tests / "ledger.yaml").read_text(encoding="utf-8"), "shown": shown(tests)},
        ensure_ascii=False,
    )


def kept() -> tuple[str, dict[str, list[str]]]:
    """The ledger's text, and tests by statement: of the checkout this runs from, or as the wheel
    has them. FileNotFoundError where there is neither.
    """
    if (TESTS / "ledger.yaml").is_file():
        return (TESTS / "ledger.yaml").read_text(encoding="utf-8"), shown(TESTS)
    found = json.loads(MADE.read_text(encoding="utf-8"))
    return found["statements"], found["shown"]
