"""Which tests run which line, measured by coverage.py with a context for each test.

The map is kept in `build/mutation/`. Lines are named by their function and text, not by number, so
that it stays true while code moves. Tests of files that have changed since are measured again.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import pickle
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from tests.mutation.areas import ROOT, test_files
from tests.mutation.operators import FUNCTIONS, Mutant

if TYPE_CHECKING:
    from coverage import CoverageData

KEPT = ROOT / "build" / "mutation"
MAP = KEPT / "map.pickle"
FILES_AT_ONCE = 16
NEAREST = 25  # tests that run first, whatever file they are in
# What runs outside every test runs when modules are imported and tests are collected.
SETTINGS = """
[run]
source = sim
omit =
    sim/messages/*
    sim/pb/*
    sim/analysis/*
    sim/server/*
    sim/cli/*
    sim/testing/*
"""

Line = tuple[str, str, str]  # file, function, text


@dataclass
class CoverageMap:
    """Sets of tests are integers: bit n stands for `tests[n]`."""

    files: dict[str, str] = field(default_factory=dict)  # test file: hash of its text
    tests: list[str] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    breadth: list[int] = field(default_factory=list)  # how many lines the test runs
    lines: dict[Line, int] = field(default_factory=dict)
    functions: dict[tuple[str, str], int] = field(default_factory=dict)
    modules: dict[str, int] = field(default_factory=dict)
    imported: set[Line] = field(default_factory=set)

    def covering(self, mutant: Mutant, source: str) -> list[int]:
        """Numbers of the tests that run a mutant, those of least cost and breadth first.

        Code outside functions runs before every test: all tests of its module count.
        """
        text = source.splitlines()[mutant.line - 1].strip()
        if not mutant.function:
            bits = self.modules.get(mutant.path, 0)
        else:
            bits = self.lines.get((mutant.path, mutant.function, text), 0)
            bits = bits or self.functions.get((mutant.path, mutant.function), 0)
        chosen = [at for at in _numbers(bits) if self.tests[at]]
        chosen.sort(key=lambda at: (round(self.took[at], 1), self.breadth[at]))
        # The rest goes by file, so that the fixtures of a file are made once.
        nearest, rest = chosen[:NEAREST], chosen[NEAREST:]
        order: dict[str, int] = {}
        for at in chosen:
            order.setdefault(self.tests[at].split("::")[0], len(order))
        return nearest + sorted(rest, key=lambda at: order[self.tests[at].split("::")[0]])

    def runs_at_import(self, mutant: Mutant, source: str) -> bool:
        """Whether the line runs before any test, so that its effect may be kept in a constant."""
        text = source.splitlines()[mutant.line - 1].strip()
        return not mutant.function or (mutant.path, mutant.function, text) in self.imported

    def forget(self, files: set[str]) -> None:
        """Drop the tests of some files."""
        for at, name in enumerate(self.tests):
            if name.split("::")[0] in files:
                self.tests[at] = ""
        for file in files:
            self.files.pop(file, None)


def _numbers(bits: int) -> list[int]:
    return [at for at, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1"]


def up_to_date(jobs: int) -> CoverageMap:
    """The kept map, after measuring new and changed test files."""
    found = pickle.loads(MAP.read_bytes()) if MAP.exists() else CoverageMap()
    texts = {file: hashlib.sha256((ROOT / file).read_bytes()).hexdigest() for file in test_files()}
    gone = set(found.files) - set(texts)
    stale = {file for file, text in texts.items() if found.files.get(file) != text}
    found.forget(gone | stale)
    MAP.parent.mkdir(parents=True, exist_ok=True)
    for files in _slices(sorted(stale)):
        print(f"measuring {len(files)} of {len(stale)} test files", flush=True)
        _measure(files, jobs)
        add(found, KEPT / "coverage.db", KEPT / "timings.json")
        found.files |= {file: texts[file] for file in files}
        MAP.write_bytes(pickle.dumps(found))  # an interrupted run goes on from here
    return found


def _slices(files: list[str]) -> list[list[str]]:
    return [files[at : at + FILES_AT_ONCE] for at in range(0, len(files), FILES_AT_ONCE)]


def _measure(files: list[str], jobs: int) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "coverage.ini").write_text(SETTINGS)
    workers = ["-n", str(jobs), "--dist", "worksteal"] if len(files) > 3 else []
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "tests.mutation.timings"]
    coverage = ["--cov=sim", f"--cov-config={KEPT / 'coverage.ini'}", "--cov-context=test"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *workers, *coverage, "--cov-report=", *files],
        cwd=ROOT,
        env=os.environ
        | {
            "COVERAGE_CORE": "ctrace",  # the only one that knows contexts
            "COVERAGE_FILE": str(KEPT / "coverage.db"),
            "MUTATION_TIMINGS": str(KEPT / "timings.json"),
        },
        check=False,
    )
    if done.returncode > 1:  # 1: some test failed, and is left out
        raise SystemExit("mutants: the tests could not be run, see above")


def add(found: CoverageMap, database: Path, timings: Path) -> None:
    """Add what coverage.py measured. A fixture's lines belong to every test of its file."""
    took = json.loads(timings.read_text())
    bits = {}
    of_file: dict[str, int] = {}
    for name in sorted(took):
        bits[name] = 1 << len(found.tests)
        file = name.split("::")[0]
        of_file[file] = of_file.get(file, 0) | bits[name]
        found.tests.append(name)
        found.took.append(took[name])
        found.breadth.append(0)
    from coverage import CoverageData  # nothing else needs what measures

    data = CoverageData(str(database))
    data.read()
    for path in sorted(data.measured_files()):
        _add_file(found, data, path, bits, of_file)
    found.breadth = [0] * len(found.tests)
    for mask in found.lines.values():
        for at in _numbers(mask):
            found.breadth[at] += 1


def _add_file(
    found: CoverageMap, data: CoverageData, path: str, bits: dict[str, int], of_file: dict[str, int]
) -> None:
    source = Path(path).read_text()
    name = str(Path(path).relative_to(ROOT))
    text, functions = source.splitlines(), functions_by_line(source)
    known: dict[str, int] = {"": 0}
    for number, contexts in data.contexts_by_lineno(path).items():
        if not 0 < number <= len(text):  # an empty file has a line too, of number 0
            continue
        function = functions.get(number, "")
        line = (name, function, text[number - 1].strip())
        mask = 0
        for context in contexts:
            if context not in known:
                test, _, phase = context.rpartition("|")
                shared = of_file.get(test.split("::")[0], 0) if phase == "setup" else 0
                known[context] = shared or bits.get(test, 0)
            mask |= known[context]
        if "" in contexts:
            found.imported.add(line)
        found.lines[line] = found.lines.get(line, 0) | mask
        if function:
            found.functions[name, function] = found.functions.get((name, function), 0) | mask
        found.modules[name] = found.modules.get(name, 0) | mask


def functions_by_line(source: str) -> dict[int, str]:
    """Dotted name of the function in whose body a line is; innermost wins."""
    found: dict[int, str] = {}

    def visit(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                inner = (*names, child.name)
            if isinstance(child, FUNCTIONS):
                first = child.body[0].lineno
                for number in range(first, (child.end_lineno or first) + 1):
                    found[number] = ".".join(inner)
            visit(child, inner)

    visit(ast.parse(source), ())
    return found
