"""Which tests run which line, measured by coverage.py with a context for each test.

The map is kept in `build/mutation/`. Lines are named by their function and text, not by number, so
that it stays true while code moves. Only test functions that are new or have another text since are
measured; those whose helpers alone changed keep their lines, which costs little: the map chooses
tests, it does not judge them. To measure everything delete the file.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from tools.mutation.areas import ROOT, test_files
from tools.mutation.operators import FUNCTIONS, Mutant

if TYPE_CHECKING:
    from coverage import CoverageData

KEPT = ROOT / "build" / "mutation"
MAP = KEPT / "map.pickle"
EVERY = ("-m", "not soak and not recorded")
FILES_AT_ONCE = 16
NEAREST = 25  # tests that run first, whatever file they are in
AKIN = 300  # tests that run next: their names speak of what the mutant's code does
# What runs outside every test runs when modules are imported and tests are collected.
SETTINGS = """
[run]
source = sim
omit =
    sim/contract/messages/*
    sim/contract/pb/*
    sim/read/*
    sim/server/*
    sim/cli/*
    sim/testing/*
"""

Line = tuple[str, str, str]  # file, function, text


@dataclass
class CoverageMap:
    """Sets of tests are integers: bit n stands for `tests[n]`."""

    # By test file: the hash of the text of each of its tests, parameters apart.
    files: dict[str, dict[str, str]] = field(default_factory=dict)
    tests: list[str] = field(default_factory=list)
    took: list[float] = field(default_factory=list)
    breadth: list[int] = field(default_factory=list)  # how many lines the test runs
    lines: dict[Line, int] = field(default_factory=dict)
    functions: dict[tuple[str, str], int] = field(default_factory=dict)
    modules: dict[str, int] = field(default_factory=dict)
    imported: set[Line] = field(default_factory=set)

    def covering(
        self, mutant: Mutant, source: str, most: int, seconds: float = float("inf")
    ) -> list[int]:
        """Numbers of the tests that run a mutant, at most so many: those of least cost and breadth
        first, those with names akin to it next, then some of every file. All but the first took no
        more than so many seconds together.

        Tests that were measured before the line was written count if they run its function. Code
        outside functions runs before every test: those count that run a function which names what
        the code defines. Where no test is left, all tests of the module count.
        """
        text = source.splitlines()[mutant.line - 1].strip()
        if mutant.function:
            bits = self.lines.get((mutant.path, mutant.function, text), 0)
            older = (bits & -bits) - 1  # every number below the first; all where there is none
            perhaps = self.functions.get((mutant.path, mutant.function), 0) & older
        else:
            bits, perhaps = self._users(mutant.path, names_defined(source, mutant.line)), 0
        if not bits | perhaps:
            perhaps = self.modules.get(mutant.path, 0)
        chosen = self._ranked(bits) + self._ranked(perhaps)
        nearest = chosen[: min(most, NEAREST)]
        akin = self._akin(chosen, mutant.path, f"{mutant.path} {mutant.function} {text}")
        for at in akin[:AKIN]:
            if len(nearest) < most and at not in nearest and self.took[at] <= seconds:
                seconds -= self.took[at]
                nearest.append(at)
        spread: list[int] = []
        for at in chain(self._by_turns(bits), self._by_turns(perhaps)):
            if len(nearest) + len(spread) >= most:
                break
            if at not in nearest and self.took[at] <= seconds:
                seconds -= self.took[at]
                spread.append(at)
        # They run by file, so that the fixtures of a file are made once.
        order: dict[str, int] = {}
        for at in spread:
            order.setdefault(self._file(at), len(order))
        return nearest + sorted(spread, key=lambda at: order[self._file(at)])

    def _akin(self, chosen: list[int], path: str, code: str) -> list[int]:
        """Those in files that import the module, and those whose names share words with some code,
        rare words and names of files first: of hundreds of tests that run a line of a table, few
        are about that line.
        """
        words, stem = _words(code), _words(Path(path).stem)
        shared = {at: _words(self.tests[at]) & words for at in chosen}
        count = Counter(chain.from_iterable(shared.values()))
        weight = {
            at: sum(1 / count[word] for word in result)
            + len(stem & _words(Path(self._file(at)).stem))
            + imports_module(self._file(at), path)
            for at, result in shared.items()
        }
        return sorted((at for at in chosen if weight[at]), key=lambda at: -weight[at])

    def _file(self, at: int) -> str:
        return self.tests[at].partition("::")[0]

    def _ranked(self, bits: int) -> list[int]:
        """Tests that still exist, those of least cost and breadth first."""
        numbers = [at for at in _numbers(bits) if self.tests[at]]
        return sorted(numbers, key=lambda at: (round(self.took[at], 1), self.breadth[at]))

    def _by_turns(self, bits: int) -> Iterator[int]:
        """The same, one of every file in turn."""
        by_file: dict[str, list[int]] = {}
        for at in self._ranked(bits):
            by_file.setdefault(self._file(at), []).append(at)
        return (at for turn in zip_longest(*by_file.values()) for at in turn if at is not None)

    def _users(self, path: str, names: list[str], *, through: int = 2) -> int:
        """Tests that run a line with one of some names, of the same file if there is any. Where
        only constants name them, such as a table of transitions, the users of these. A name that
        begins with an underscore is known in its own file only.
        """
        if not names:
            return 0
        word = _any_of(names)
        abroad = _any_of([name for name in names if not name.startswith("_")])
        here = elsewhere = 0
        for (file, function, text), mask in self.lines.items():
            if not function:
                continue
            if file == path:
                here |= mask if word.search(text) else 0
            elif abroad.search(text):
                elsewhere |= mask
        if through and not here | elsewhere:
            for file, using in constants_that_name(path, names).items():
                elsewhere |= self._users(file, using, through=through - 1)
        return here or elsewhere

    def runs_at_import(self, mutant: Mutant, source: str) -> bool:
        """Whether the line may run once for all tests, so that its effect is kept: in a constant,
        whose module the first test may have imported, in a decorator, or in a cache.
        """
        text = source.splitlines()[mutant.line - 1].strip()
        return (
            not mutant.function
            or (mutant.path, mutant.function, text) in self.imported
            or mutant.function in functions_with_cache(source)
            or makes_constants(mutant.function)
            or mutant.function in _decorators()
        )

    def forget(self, gone: set[str]) -> None:
        """Drop some tests, whatever their parameters are."""
        for at, name in enumerate(self.tests):
            if function_of(name) in gone:
                self.tests[at] = ""

    def keep_only(self, names: set[str]) -> None:
        """Drop every other test."""
        self.tests = [name if name in names else "" for name in self.tests]


@cache
def imports_module(test_file: str, path: str) -> bool:
    """Whether a test file imports the module of a path by its name."""
    package, _, name = path.removesuffix(".py").replace("/", ".").rpartition(".")
    of_package = re.escape(package)
    imports = re.compile(rf"^from {of_package}(\.{name} import| import .*\b{name}\b)", re.MULTILINE)
    file = ROOT / test_file
    return file.exists() and bool(imports.search(file.read_text()))


def _words(text: str) -> set[str]:
    """Words and numbers in a path, a name or code, without the plural."""
    result = re.findall(r"[a-z]{3,}|[0-9]{2,}", text.lower())
    return {word.removesuffix("s") for word in result} - {"test"}


def _numbers(bits: int) -> list[int]:
    return [at for at, bit in enumerate(reversed(bin(bits)[2:])) if bit == "1"]


def tests_of(source: str) -> dict[str, str]:
    """Hashes of the texts of a file's tests, by name; methods count as their class."""
    lines, result = source.splitlines(), {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        else:
            names = [node.name] if isinstance(node, (*FUNCTIONS, ast.ClassDef)) else []
        first = min(
            (item.lineno for item in getattr(node, "decorator_list", ())), default=node.lineno
        )
        text = "\n".join(lines[first - 1 : node.end_lineno])
        for name in names:
            if name.lower().startswith("test"):
                result[name] = hashlib.sha256(text.encode()).hexdigest()
    return result


def texts_of(files: list[str], collected: set[str]) -> dict[str, dict[str, str]]:
    """`tests_of` each file, without what pytest does not collect, such as a type named Test."""
    functions = {function_of(name) for name in collected}
    return {
        file: {
            name: text
            for name, text in tests_of((ROOT / file).read_text()).items()
            if f"{file}::{name}" in functions
        }
        for file in files
    }


def up_to_date(jobs: int, *, measure: bool = True) -> CoverageMap:
    """The kept map, after measuring new and changed tests unless they are to be left out."""
    result = pickle.loads(MAP.read_bytes()) if MAP.exists() else CoverageMap()
    files = test_files()
    collected = _collected(files)
    texts = texts_of(files, collected)
    existing = {
        f"{file}::{name}": text for file, of in result.files.items() for name, text in of.items()
    }
    asked = {f"{file}::{name}": text for file, of in texts.items() for name, text in of.items()}
    stale = sorted(name for name, text in asked.items() if existing.get(name) != text)
    result.forget((set(existing) - set(asked)) | (set(stale) if measure else set()))
    if not measure:
        result.keep_only(collected)
        return result
    result.files = {file: {} for file in texts} | {
        file: {name: text for name, text in of.items() if texts[file].get(name) == text}
        for file, of in result.files.items()
        if file in texts
    }
    for names in _slices(stale):
        print(f"measuring {len(names)} of {len(stale)} tests that are new or changed", flush=True)
        _measure(names, jobs)
        add(result, KEPT / "coverage.db", KEPT / "timings.json")
        for name in names:
            file, _, test = name.partition("::")
            result.files[file][test] = asked[name]
        write(result)  # an interrupted run goes on from here
    result.keep_only(collected)
    return result


def function_of(name: str) -> str:
    """A test's file and function, or file and class, without parameters."""
    return "::".join(name.partition("[")[0].split("::")[:2])


def _collected(files: list[str]) -> set[str]:
    """The tests that there are: parameters come and go while a test's text stays."""
    reported = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--collect-only",
            *EVERY,
            "-p",
            "no:cacheprovider",
            *files,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if reported.returncode:
        raise SystemExit(f"mutants: the tests could not be collected\n{reported.stdout[-2000:]}")
    return set(reported.stdout.splitlines())


def write(coverage_map: CoverageMap) -> None:
    """Keep a map."""
    MAP.parent.mkdir(parents=True, exist_ok=True)
    MAP.write_bytes(pickle.dumps(coverage_map))


def _slices(names: list[str]) -> list[list[str]]:
    """The tests of a few files at a time."""
    files = sorted({name.partition("::")[0] for name in names})
    return [
        [name for name in names if name.partition("::")[0] in files[at : at + FILES_AT_ONCE]]
        for at in range(0, len(files), FILES_AT_ONCE)
    ]


def _measure(names: list[str], jobs: int) -> None:
    KEPT.mkdir(parents=True, exist_ok=True)
    (KEPT / "coverage.ini").write_text(SETTINGS)
    workers = ["-n", str(jobs), "--dist", "worksteal"] if jobs > 1 and len(names) > 9 else []
    plugins = ("no:cacheprovider", "tools.mutation.fresh_starts", "tools.mutation.timings")
    options = [
        "-q",
        "--no-header",
        *EVERY,
        *(word for plugin in plugins for word in ("-p", plugin)),
    ]
    coverage = ["--cov=sim", f"--cov-config={KEPT / 'coverage.ini'}", "--cov-context=test"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *workers, *coverage, "--cov-report=", *names],
        cwd=ROOT,
        env=os.environ
        | {
            "COVERAGE_CORE": "ctrace",  # the only one that knows contexts
            "COVERAGE_FILE": str(KEPT / "coverage.db"),
            "MUTATION_TIMINGS": str(KEPT / "timings.json"),
        },
        check=False,
    )
    if done.returncode not in (0, 1):  # 1: some test failed, and is left out
        raise SystemExit(f"mutants: the tests ended with {done.returncode}, see above")


def add(coverage_map: CoverageMap, database: Path, timings: Path) -> None:
    """Add what coverage.py measured. A fixture's lines belong to every test of its file."""
    took = json.loads(timings.read_text())
    first = len(coverage_map.tests)
    bits = {}
    of_file: dict[str, int] = {}
    for name in sorted(took):
        bits[name] = 1 << len(coverage_map.tests)
        file = name.split("::")[0]
        of_file[file] = of_file.get(file, 0) | bits[name]
        coverage_map.tests.append(name)
        coverage_map.took.append(took[name])
        coverage_map.breadth.append(0)
    from coverage import CoverageData  # nothing else needs what measures

    data = CoverageData(str(database))
    data.read()
    for path in sorted(data.measured_files()):
        _add_file(coverage_map, data, path, bits, of_file)
    for mask in coverage_map.lines.values():
        for at in _numbers(mask >> first):
            coverage_map.breadth[first + at] += 1


def _add_file(
    coverage_map: CoverageMap,
    data: CoverageData,
    path: str,
    bits: dict[str, int],
    of_file: dict[str, int],
) -> None:
    source = Path(path).read_text()
    name = str(Path(path).relative_to(ROOT))
    text, functions = source.splitlines(), functions_by_line(source)
    existing: dict[str, int] = {"": 0}
    for number, contexts in data.contexts_by_lineno(path).items():
        if not 0 < number <= len(text):  # an empty file has a line too, of number 0
            continue
        function = functions.get(number, "")
        line = (name, function, text[number - 1].strip())
        mask = 0
        for context in contexts:
            if context not in existing:
                test, _, phase = context.rpartition("|")
                shared = of_file.get(test.split("::")[0], 0) if phase == "setup" else 0
                existing[context] = shared or bits.get(test, 0)
            mask |= existing[context]
        if "" in contexts:
            coverage_map.imported.add(line)
        coverage_map.lines[line] = coverage_map.lines.get(line, 0) | mask
        if function:
            coverage_map.functions[name, function] = (
                coverage_map.functions.get((name, function), 0) | mask
            )
        coverage_map.modules[name] = coverage_map.modules.get(name, 0) | mask


@cache
def _constants() -> list[tuple[str, str, str]]:
    """File, name and text of every constant of the exchange that is assigned outside functions."""
    results = []
    for file in sorted((ROOT / "sim").rglob("*.py")):
        source = file.read_text()
        for node in ast.parse(source).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)):
                text = ast.get_source_segment(source, node) or ""
                path = str(file.relative_to(ROOT))
                results += [(path, name, text) for name in names_defined(source, node.lineno)]
    return results


@cache
def _decorators() -> set[str]:
    """Names of all functions that decorate something."""
    names = re.compile(r"^ *@(?:\w+\.)*(\w+)", re.MULTILINE)
    return {
        name for file in (ROOT / "sim").rglob("*.py") for name in names.findall(file.read_text())
    }


def makes_constants(function: str) -> bool:
    """Whether a constant calls a function of this name."""
    call = re.compile(rf"\b{function.rpartition('.')[2]}\(")
    return any(call.search(text) for _, _, text in _constants())


def functions_with_cache(source: str) -> set[str]:
    """Functions outside classes whose results are cached."""
    return {
        node.name
        for node in ast.parse(source).body
        if isinstance(node, FUNCTIONS)
        and any("cache" in ast.unparse(decorator) for decorator in node.decorator_list)
    }


def constants_that_name(path: str, names: list[str]) -> dict[str, list[str]]:
    """By file, the constants whose values name one of some names of a file."""
    word = _any_of(names)
    abroad = _any_of([name for name in names if not name.startswith("_")])
    result: dict[str, list[str]] = {}
    for file, name, text in _constants():
        if name not in names and (word if file == path else abroad).search(text):
            result.setdefault(file, []).append(name)
    return result


def _any_of(names: list[str]) -> re.Pattern[str]:
    """What matches one of some names, or nothing if there are none."""
    return re.compile(rf"\b({'|'.join(names)})\b" if names else r"(?!)")


def names_defined(source: str, line: int) -> list[str]:
    """What the statement outside functions that holds a line assigns."""
    body = ast.parse(source).body
    while True:
        holder = next((item for item in body if line <= (item.end_lineno or 0)), None)
        if not isinstance(holder, ast.ClassDef) or line < holder.body[0].lineno:
            break
        body = holder.body
    match holder:
        case ast.Assign(targets=targets):
            results = [node for target in targets for node in ast.walk(target)]
            return [node.id for node in results if isinstance(node, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)) | ast.FunctionDef(name=name):
            return [name]
        case ast.ClassDef(name=name):
            return [name]
    return []


def functions_by_line(source: str) -> dict[int, str]:
    """Dotted name of the function in whose body a line is; innermost wins."""
    result: dict[int, str] = {}

    def visit(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            inner = names
            if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
                inner = (*names, child.name)
            if isinstance(child, FUNCTIONS):
                first = child.body[0].lineno
                for number in range(first, (child.end_lineno or first) + 1):
                    result[number] = ".".join(inner)
            visit(child, inner)

    visit(ast.parse(source), ())
    return result
