"""Rules that change on a date: each is a `Dated` with a name, the catalogue lists all of them, and
no other code compares an instant with a literal date.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from importlib import import_module

import pytest

from sim.cli.main import main
from sim.kernel.dated import Dated
from sim.kernel.instants import parse_instant
from sim.read.catalogues import rows
from sim.read.dates import RULES
from tests.house.test_house import SIM, pure_files

DATE = re.compile(r"20\d\d-\d\d-\d\d(T.*)?$")


def has_date(tree: ast.AST) -> bool:
    """Return whether an expression has a literal date outside a `Dated`."""
    if isinstance(tree, ast.Call) and getattr(tree.func, "id", "") == "Dated":
        return False
    if isinstance(tree, ast.Constant):
        return isinstance(tree.value, str) and DATE.match(tree.value) is not None
    return any(has_date(child) for child in ast.iter_child_nodes(tree))


def literal_names(trees: list[ast.Module]) -> set[str]:
    """Names that modules and classes assign a literal date to."""
    names = set()
    for tree in trees:
        bodies = [tree, *(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
        for node in (node for body in bodies for node in body.body):
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
                if has_date(node.value):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    names |= {item.id for item in targets if isinstance(item, ast.Name)}
    return names


def compared(tree: ast.Module) -> Iterator[ast.expr]:
    """Operands of comparisons, of `min`, `max` and of `bisect`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            yield from (node.left, *node.comparators)
        elif isinstance(node, ast.Call):
            if getattr(node.func, "id", "") in ("min", "max", "bisect_left", "bisect_right"):
                yield from node.args


def findings(sources: dict[str, str]) -> list[str]:
    """Places that compare with a literal date."""
    trees = {name: ast.parse(source) for name, source in sources.items()}
    names = literal_names(list(trees.values()))
    return [
        f"{name}:{operand.lineno}"
        for name, tree in trees.items()
        for operand in compared(tree)
        if has_date(operand)
        or any(isinstance(item, ast.Name) and item.id in names for item in ast.walk(operand))
    ]


@pytest.mark.long
def test_nobody_but_a_dated_compares_with_a_literal_date() -> None:
    # dates of fields, from the options in proto/; dates on which something was observed
    others = {SIM / "contract" / "messages", SIM / "core" / "catalogue" / "observations"}
    files = (file for file in pure_files() if others.isdisjoint(file.parents))
    sources = {str(file.relative_to(SIM)): file.read_text() for file in files}
    assert findings(sources) == []


@pytest.mark.parametrize(
    "source",
    [
        "def f(now): return now >= parse_instant('2026-07-05')",
        "FROM = parse_instant('2026-07-05T00:00:00Z')\ndef f(now): return now < FROM",
        "FROM: int = parse_instant('2026-07-05')\ndef f(now): return max(now, FROM)",
        "DATES = {'a': parse_instant('2026-07-05')}\ndef f(now): return DATES['a'] <= now",
    ],
)
def test_the_search_for_literal_dates_finds_them(source: str) -> None:
    assert findings({"a.py": source})


def test_every_dated_rule_of_the_source_is_in_the_catalogue() -> None:
    """A rule is a `Dated` that a module makes when it is imported, alone or in a dictionary."""
    rules = set()
    for file in SIM.rglob("*.py"):
        if "Dated" in file.read_text() and file.parent.name != "messages":
            parts = file.relative_to(SIM.parent).with_suffix("").parts
            for value in vars(import_module(".".join(parts))).values():
                values = value.values() if isinstance(value, dict) else (value,)
                rules |= {item.name for item in values if isinstance(item, Dated)}
    assert rules == {rule.name for rule in RULES}
    assert len(rules) == len(RULES)
    assert all(rule.name and rule.section and rule.title for rule in RULES)


def test_the_catalogue_of_dates_has_rules_operations_fields_and_the_changelog() -> None:
    listed = rows("dates")
    assert {row["kind"] for row in listed} == {"rule", "operation", "field", "changelog"}
    assert {
        "kind": "rule",
        "name": "orders.day_roll",
        "section": "rule L12",
        "from": "2026-09-13T04:00:00Z",
        "before": "yes",
        "after": "no",
        "summary": "DAY orders expire at the 17:00 Eastern roll",
    } in listed
    hours = [row for row in listed if row["name"] == "maintenance.hours"]
    assert [(row["before"], row["after"]) for row in hours] == [
        ("Tuesday 04:00 Eastern, 2 hours", "Thursday 06:00 Eastern, 2 hours"),
        ("Thursday 06:00 Eastern, 2 hours", "Thursday 02:00 Eastern, 4 hours"),
    ]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("Weekly Maintenance window", {"maintenance.hours", "maintenance.hours (docs)"}),
        ("maintenance.hours", {"maintenance.hours"}),
        ("maintenance.*", {"maintenance.hours", "maintenance.hours (docs)"}),
        ("DAY orders expire", {"orders.day_roll"}),
        ("rule l12", {"orders.day_roll"}),
        ("nothing of this text", set()),
    ],
)
def test_a_pattern_is_searched_for_in_every_column(pattern: str, names: set[str]) -> None:
    assert {row["name"] for row in rows("dates", pattern=pattern)} == names


def test_the_command_prints_the_catalogue_of_dates(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "dates", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == rows("dates")


def test_a_dated_value_says_since_when_it_holds_and_what_it_changes() -> None:
    first, second = parse_instant("2026-07-01"), parse_instant("2026-07-09")
    rule = Dated("a", (first, "b"), (second, "c"))
    instants = (first - 1, first, second - 1, second)
    assert [rule.since(at) for at in instants] == [None, first, first, second]
    assert list(rule.changes()) == [(first, "a", "b"), (second, "b", "c")]
