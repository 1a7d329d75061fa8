"""The statements of the specification, and the tests that demonstrate each.

A test names a statement in `@pytest.mark.spec("…")`. A checkout reads the sources of its tests. A
wheel has no tests, so its build (`hatch_build.py`) packs the result as `sim/_data/ledger.json`;
that is why this module uses the standard library only.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]
PACKED = _PACKAGE / "_data" / "ledger.json"
TESTS = _PACKAGE.parent / "tests"


def tests_by_statement(tests: Path) -> dict[str, list[str]]:
    """Tests of a folder by the statement they demonstrate, as `file::test` in file order."""
    by_statement: dict[str, list[str]] = {}
    for file in sorted(tests.rglob("test_*.py")):
        for statement, test in _marks(ast.parse(file.read_text(encoding="utf-8"))):
            name = f"{file.relative_to(tests).as_posix()}::{test}"
            by_statement.setdefault(statement, []).append(name)
    return by_statement


def _marks(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """(statement, test) for every @pytest.mark.spec("…") on a function or a class."""
    for node in ast.walk(tree):
        for decorator in getattr(node, "decorator_list", ()):
            if (
                isinstance(decorator, ast.Call)
                and ast.unparse(decorator.func) == "pytest.mark.spec"
            ):
                for argument in decorator.args:
                    if isinstance(argument, ast.Constant):
                        yield str(argument.value), getattr(node, "name", "")


def pack(tests: Path) -> str:
    """The file that a wheel contains: the text of the ledger, and the tests by statement."""
    statements = (tests / "ledger.yaml").read_text(encoding="utf-8")
    packed = {"statements": statements, "shown": tests_by_statement(tests)}
    return json.dumps(packed, ensure_ascii=False)


def load() -> tuple[str, dict[str, list[str]]]:
    """The text of the ledger and the tests by statement, from the checkout or from the wheel.

    Raises FileNotFoundError where there is neither.
    """
    if (TESTS / "ledger.yaml").is_file():
        return (TESTS / "ledger.yaml").read_text(encoding="utf-8"), tests_by_statement(TESTS)
    packed = json.loads(PACKED.read_text(encoding="utf-8"))
    return packed["statements"], packed["shown"]
