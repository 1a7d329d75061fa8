"""Rules of the code base, checked from the source: the words for names, one class for one name, and
the form of docstrings.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.house.test_house import ALL, ROOT, SIM, tree

# A name says what it holds. These fit everything: a row number is a `row`, a position in JSON a
# `path`, a moment a `moment`, a line a `line`.
BANNED = re.compile(
    "one|says|said|told|ours|theirs|what|who|whole|seen|made|found|given|wanted|shown|known|deed"
    "|luck|nobody|place"
)
# (file, name): why the name stays.
WIRE_NAMES: dict[tuple[str, str], str] = {}  # names of keys that users read
# To place an order is the term of the field, so a function outside the product may be called so.
VERB = "place"
# (file, class): why it stays although another class has its name.
SAME_NAMES: dict[tuple[str, str], str] = {}

# What stands around the product.
AROUND = ("tests", "tools", "benchmarks", "docs")
_GENERATED = (SIM / "contract" / "messages", SIM / "contract" / "pb")
_RULE_OF_TABLE = re.compile(r"\|(?: ?:?-+:? ?\|)+")


def _written() -> Iterator[Path]:
    """Yield the files that people write."""
    return (file for file in ALL if not any(file.is_relative_to(folder) for folder in _GENERATED))


# ---- names


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names that a node binds: variables, parameters, fields, functions."""
    match node:
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name
        case ast.arg(arg=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            yield name
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
            yield name
        case ast.ExceptHandler(name=str(name)) | ast.alias(asname=str(name)):
            yield name


def _functions(tree: ast.Module) -> set[tuple[int, str]]:
    """Return where functions have the name that is a verb."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {(node.lineno, node.name) for node in functions if node.name == VERB}


def banned_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the banned names that a module binds, with their lines."""
    for node in ast.walk(tree):
        for name in _names(node):
            if BANNED.fullmatch(name):
                yield getattr(node, "lineno", 0), name


def test_a_name_says_what_it_holds() -> None:
    hits, unused = [], set(WIRE_NAMES)
    around = [file for folder in AROUND for file in sorted((ROOT / folder).rglob("*.py"))]
    for file in (*_written(), *around):
        path = file.relative_to(ROOT).as_posix()
        verbs = _functions(tree(file)) if file in around else set()
        for line, name in banned_names(tree(file)):
            if (path, name) not in WIRE_NAMES and (line, name) not in verbs:
                hits.append(f"{path}:{line} {name}")
            unused.discard((path, name))
    assert hits == []
    assert unused == set(), "these names are gone"


@pytest.mark.parametrize(
    "source",
    [
        "one = 1",
        "def f(who): ...",
        "def f(*, what=1): ...",
        "async def found(): ...",
        "self.seen = 1",
        "class Row(Struct):\n    says: str",
        "[one for one in rows]",
        "if made := f(): ...",
        "match x:\n    case A(b=told): ...\n    case [*given]: ...",
        "try: ...\nexcept E as known: ...",
        "import json as whole",
        "for i, (place, x) in y: ...",
    ],
)
def test_a_banned_name_is_reported(source: str) -> None:
    assert list(banned_names(ast.parse(source)))


@pytest.mark.parametrize(
    "source", ["f(what=1)", "x = row.says", "row['says'] = 1", "unknown = one_line(shown_url)"]
)
def test_reading_a_name_or_a_key_is_no_hit(source: str) -> None:
    assert list(banned_names(ast.parse(source))) == []


# ---- classes


def same_names(classes: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the names that several of these classes (file, name) have, each with its files. A
    private class may have a namesake in its own package.
    """
    files = defaultdict[str, list[str]](list)
    for file, name in classes:
        files[name].append(file)
    return {
        name: paths
        for name, paths in files.items()
        if len({path.partition("/")[0] for path in paths} if name[0] == "_" else paths) > 1
    }


def _classes() -> Iterator[tuple[str, str]]:
    for file in _written():
        for node in tree(file).body:
            if isinstance(node, ast.ClassDef):
                yield file.relative_to(SIM).as_posix(), node.name


def test_no_two_classes_have_the_same_name() -> None:
    classes = list(_classes())
    assert same_names(entry for entry in classes if entry not in SAME_NAMES) == {}
    namesakes = same_names(classes)
    unique = [entry for entry in SAME_NAMES if entry[0] not in namesakes.get(entry[1], ())]
    assert unique == [], "these have no namesake any more"


def test_two_classes_of_one_name_are_reported() -> None:
    assert same_names([("core/a.py", "Row"), ("core/b.py", "Row"), ("core/b.py", "Rows")]) == {
        "Row": ["core/a.py", "core/b.py"]
    }
    assert same_names([("core/a.py", "_Row"), ("api/b.py", "_Row")]) == {
        "_Row": ["core/a.py", "api/b.py"]
    }
    assert same_names([("core/a.py", "_Row"), ("core/model/b.py", "_Row")]) == {}


# ---- docstrings


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the docstrings of a module, its classes and its functions, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node.body[0].lineno, text


def faults_of(docstring: str) -> Iterator[str]:
    """Yield what is wrong with the form of a docstring: its last line, or a table."""
    *above, last = docstring.splitlines()
    if above and above[-1].strip() and not last.startswith(("|", "```")) and len(last.split()) < 3:
        yield f"the last line is {last.strip()!r}"
    for paragraph in re.split(r"\n\s*\n", re.sub(r"(?s)```.*?```", "", docstring)):
        lines = [line.strip() for line in paragraph.splitlines()]
        if any(line.startswith("|") for line in lines) and not _is_table(lines):
            yield f"the table {lines[0][:40]!r} does not parse"


def _is_table(lines: list[str]) -> bool:
    """Return whether lines are a table of Markdown: a head, a rule, and rows of equal length, each
    on one line.
    """
    widths = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    framed = all(line.startswith("|") and line.endswith("|") for line in lines)
    return framed and len(lines) > 2 and len(widths) == 1 and bool(_RULE_OF_TABLE.match(lines[1]))


def test_docstrings_are_wrapped_and_their_tables_parse() -> None:
    assert [
        f"{file}:{line} {fault}"
        for file in _written()
        for line, text in docstrings(tree(file))
        for fault in faults_of(text)
    ] == []


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        ("Return the rows of a page, oldest\nfirst.", "the last line is 'first.'"),
        ("Return rows.\n\nThey are in the order of the\nfirst call.", "the last line is"),
        (
            "Rows.\n\n| A | B |\n|---|---|\n| 1 | 2 and\n  also 3 |",
            "the table '| A | B |' does not parse",
        ),
        ("Rows.\n\n| A | B |\n|---|---|\n| 1 |", "the table '| A | B |' does not parse"),
        ("Rows.\n\n| A | B |\n| 1 | 2 |\n| 3 | 4 |", "the table '| A | B |' does not parse"),
        ("Rows:\n| A | B |\n|---|---|\n| 1 | 2 |", "the table 'Rows:' does not parse"),
    ],
)
def test_a_docstring_out_of_form_is_reported(docstring: str, fault: str) -> None:
    [reported] = faults_of(docstring)
    assert reported.startswith(fault)


@pytest.mark.parametrize(
    "docstring",
    [
        "One line.",
        "A line.\n\nShort.",
        "Rows.\n\n| A | B |\n|---|:-:|\n| a \\| b | 2 |",
        "Use it.\n\n```python\nx | y\n```",
    ],
)
def test_a_docstring_in_form_is_not_reported(docstring: str) -> None:
    assert list(faults_of(docstring)) == []
