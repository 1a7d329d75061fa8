"""Rules of the code base, checked from the source: which package may import which, and no clock,
random numbers or concurrency below the server.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SIM = ROOT / "sim"

# Which packages of ours each package may import, beside itself. Imports for annotations count. A
# package that is not below another in this order does not know it: `api` and `world` meet in `run`,
# and what the oracle says of a run cannot come from the code that it judges.
_ENGINE = ("kernel", "contract", "core", "api", "world", "run")
_READING = (*_ENGINE, "read", "oracle")
_SERVING = (*_READING, "evidence", "server")
PACKAGES: dict[str, tuple[str, ...]] = {
    "kernel": (),
    "contract": ("kernel",),
    "core": ("kernel", "contract"),
    "api": ("kernel", "contract", "core"),
    "world": ("kernel", "contract", "core"),
    "run": ("kernel", "contract", "core", "api", "world"),
    "read": _ENGINE,
    "oracle": ("kernel", "contract.messages", "read.record", "read.observed"),
    "evidence": _READING,
    "search": (*_READING, "evidence"),
    "server": (*_READING, "evidence"),
    "testing": (*_SERVING, "search"),
    "agents": (*_SERVING, "search", "testing"),
    "cli": (*_SERVING, "search", "testing", "agents"),
    "__main__": ("cli",),
    "__init__": ("kernel", "run"),
}
# The same inside a package, as layers from the lowest up: a folder imports the layers above its
# own line.
INSIDE = {
    "world": (("format",), ("reference",), ("start",)),
    "run": (("engine",), ("actors",), ("simulation", "loader"), ("client",)),
    "evidence": (
        ("recording",),
        ("witness", "validation", "audit"),
        ("replay",),
        ("compare",),
        ("infer", "scorecard"),
    ),
    "core": (
        ("catalogue",),
        ("model",),
        ("accounts", "market_data", "identity", "service"),
        ("matching", "webhooks"),
        ("lifecycle",),
        ("trading", "recurring"),
        ("rfq", "incentives", "funding"),
        ("exchange",),
        ("invariants", "history"),
    ),
    "api": (
        ("codecs", "rendering"),
        ("pipeline",),
        ("gateway", "reports", "auth", "rfq"),
        ("retail",),
        ("exchange",),
        ("streams",),
        ("registry",),
    ),
}
# The engine uses no clock, random numbers or concurrency. Its compiler of `proto/` runs protoc.
PURE = _ENGINE
COMPILER = SIM / "contract" / "compiler"

BANNED_MODULES = {
    "asyncio",
    "threading",
    "multiprocessing",
    "concurrent",
    "subprocess",
    "socket",
    "random",
    "secrets",
    "time",
    "uuid",
    "aiohttp",
    "grpc",
}
BANNED_CALLS = {
    "now",
    "utcnow",
    "today",
    "uuid1",
    "uuid4",
    "urandom",
    "monotonic",
    "perf_counter",
    "sleep",
    "getrandbits",
}
CLOCKS_AND_DICE = {
    "datetime",
    "date",
    "time",
    "uuid",
    "os",
    "random",
    "datetime.datetime",
    "datetime.date",
}


def pure_files() -> Iterator[Path]:
    for package in PURE:
        for file in sorted((SIM / package).rglob("*.py")):
            if COMPILER not in file.parents:
                yield file


@cache
def tree(file: Path) -> ast.Module:
    """Return the syntax tree of a file, parsed once for all rules."""
    return ast.parse(file.read_text())


def module_of(file: Path) -> tuple[str, ...]:
    """Return the dotted path below `sim`; `__init__` has the name of its package."""
    parts = file.relative_to(SIM).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


@cache
def imports(file: Path) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return the modules that a file imports anywhere, with the line, including for annotations."""
    return tuple(_imports(tree(file)))


def _imports(tree: ast.Module) -> Iterator[tuple[int, tuple[str, ...]]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, tuple(alias.name.split("."))) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            module = tuple(node.module.split("."))
            for alias in node.names:
                inner = (*module, alias.name)
                yield node.lineno, inner if module[0] == "sim" and is_module(inner) else module


@cache
def is_module(name: tuple[str, ...]) -> bool:
    """Return whether a dotted path is a file or a folder of this project."""
    position = SIM.parent.joinpath(*name)
    return position.with_suffix(".py").is_file() or position.is_dir()


def rank(order: tuple[tuple[str, ...], ...], name: str) -> int:
    for height, names in enumerate(order):
        if name in names:
            return height
    raise AssertionError(f"{name} has no place in the order of packages")


def is_allowed(importer: tuple[str, ...], imported: tuple[str, ...]) -> bool:
    """Return whether the table of packages has this import."""
    if importer[0] != imported[0]:
        names = {".".join(imported[:depth]) for depth in range(1, len(imported) + 1)}
        return not names.isdisjoint(PACKAGES[importer[0]])
    order = INSIDE.get(importer[0])
    if order is None or len(importer) == 1 or len(imported) == 1 or importer[1] == imported[1]:
        return True
    return rank(order, imported[1]) < rank(order, importer[1])


def runtime_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Return the modules imported at run time, without those under `if TYPE_CHECKING`."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.If)
            and isinstance(node.test, ast.Name)
            and node.test.id == "TYPE_CHECKING"
        ):
            skipped |= {id(inner) for part in node.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield (
                    node.lineno,
                    (f"{node.module}.{alias.name}" if node.module == "sim" else node.module),
                )


ALL = sorted(file for file in SIM.rglob("*.py"))


def test_every_import_is_in_the_table_of_packages() -> None:
    assert [
        f"{file}:{line} imports {'.'.join(module)}"
        for file in ALL
        for line, module in imports(file)
        if module[0] == "sim" and len(module) > 1 and not is_allowed(module_of(file), module[1:])
    ] == []


def test_no_module_stands_loose_and_no_folder_is_a_drawer() -> None:
    any_failure = {file.name for file in SIM.glob("*.py")}
    assert any_failure == {"__init__.py", "__main__.py"}
    for folder in {file.parent for file in ALL}:
        assert len(list(folder.glob("*.py"))) <= 31, f"{folder} has more than 30 modules"


def test_pure_code_imports_nothing_that_brings_time_luck_or_concurrency() -> None:
    assert [
        f"{file}:{line} imports {module}"
        for file in pure_files()
        for line, module in runtime_imports(tree(file))
        if module.split(".")[0] in BANNED_MODULES
    ] == []


def test_pure_code_calls_no_clock_and_no_global_randomness() -> None:
    calls = [
        (file, node, ast.unparse(node.func.value))
        for file in pure_files()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in BANNED_CALLS
    ]
    assert [
        f"{file}:{node.lineno} calls {ast.unparse(node.func)}"
        for file, node, owner in calls
        if owner in CLOCKS_AND_DICE
    ] == []


def test_pure_code_iterates_over_no_set_it_has_just_made() -> None:
    assert [
        f"{file}:{iterated.lineno} iterates over {ast.unparse(iterated)}"
        for file in pure_files()
        for node in ast.walk(tree(file))
        if isinstance(node, ast.For | ast.comprehension)
        for iterated in [node.iter]
        if isinstance(iterated, ast.Set | ast.SetComp)
        or (
            isinstance(iterated, ast.Call)
            and isinstance(iterated.func, ast.Name)
            and iterated.func.id in {"set", "frozenset"}
        )
    ] == []


def test_core_and_kernel_hold_no_floating_point_numbers() -> None:
    for room in ("kernel", "core"):
        for file in sorted((SIM / room).rglob("*.py")):
            for node in ast.walk(tree(file)):
                assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), (
                    f"{file}:{node.lineno} has the float {node.value}"
                )
                assert not (
                    isinstance(node, ast.Call)
                    and isinstance(node.func, ast.Name)
                    and node.func.id == "float"
                ), f"{file}:{node.lineno} makes a float"


def test_no_import_runs_in_a_circle() -> None:
    """Imports inside functions and for annotations count."""
    graph = {
        ".".join(("sim", *module_of(file))): {".".join(module) for _, module in imports(file)}
        for file in ALL
    }
    graph = {name: (named & graph.keys()) - {name} for name, named in graph.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


# The import name of a distribution if it differs from the name of the distribution.
IMPORTED_AS = {
    "grpcio": "grpc",
    "grpcio-tools": "grpc_tools",
    "protobuf": "google.protobuf",
    "googleapis-common-protos": "google.api",
    "markdown-it-py": "markdown_it",
    "mcp-types": "mcp_types",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "prometheus-client": "prometheus_client",
    "pyjwt": "jwt",
    "pyyaml": "yaml",
}
EXTRAS = ("testing", "cluster", "mcp", "otel")  # imported on demand
# Imported by tests that are skipped without them; see `make npm`.
IF_INSTALLED = {"testcontainers"}


def test_what_is_imported_is_declared_and_what_is_declared_is_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    declared = {
        IMPORTED_AS.get(name, name)
        for line in (*project["dependencies"], *extras)
        for name in re.findall(r"^[\w-]+", line)
    }
    imported = set()
    for file in ALL:
        for _, module in imports(file):
            first = module[0].removeprefix("_")  # _pytest is pytest
            own = module[0] in ("sim", "sandbox_exchange_pytest")
            if not own and module[0] not in sys.stdlib_module_names:
                imported.add(".".join(module[:2]) if first == "google" else first)
    assert imported == declared


def test_what_tests_import_is_declared() -> None:
    """A dependency of a dependency may disappear with it, so tests declare what they import."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = (line for lines in project["optional-dependencies"].values() for line in lines)
    declared = {
        IMPORTED_AS.get(name, name.replace("-", "_")).partition(".")[0]
        for line in (*project["dependencies"], *extras)
        for name in re.findall(r"^[\w-]+", line)
    }
    files = [file for folder in ("tests", "docs", ".ci") for file in (ROOT / folder).rglob("*.py")]
    actual = {name for file in files for name in (file.stem, file.parent.name)}
    actual |= {"sim", "sandbox_exchange_pytest", "benchmarks"}
    actual |= {"exchange", "sandbox_exchange"}  # compiled protos
    imported = {
        name
        for file in files  # by their text: parsing all of them would take seconds
        for name in re.findall(r"^ *(?:import|from(?= \S+ import)) (\w+)", file.read_text(), re.M)
    }
    assert imported - actual - sys.stdlib_module_names - declared - IF_INSTALLED == set()


def test_objects_get_what_they_work_with_when_they_are_made() -> None:
    """No callback is assigned to an object after its construction, and no component takes many
    positional arguments.
    """
    hooked, crowded = [], []
    for file in ALL:
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.Assign):
                hooked += [f"{file}:{node.lineno}" for to in node.targets if is_hook(to, node)]
            elif isinstance(node, ast.FunctionDef) and node.name == "__init__":
                if len(node.args.posonlyargs) + len(node.args.args) > 8:
                    crowded.append(f"{file}:{node.lineno}")
    assert hooked == []
    assert crowded == []


def is_hook(target: ast.expr, node: ast.Assign) -> bool:
    """Return whether an assignment sets a callable attribute of another object."""
    if not isinstance(target, ast.Attribute) or ast.unparse(target.value) in ("self", "cls"):
        return False
    called = ast.unparse(node.value.func) if isinstance(node.value, ast.Call) else ""
    return (
        target.attr.startswith("on_") or called == "partial" or isinstance(node.value, ast.Lambda)
    )


def test_no_test_runs_code_between_fork_and_exec() -> None:
    """gRPC's threads may hold locks at that point, and its fork handler breaks the child."""
    assert [
        f"{file}:{number}"
        for file in (ROOT / "tests").rglob("*.py")
        if file != Path(__file__)
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if "preexec_fn=" in line
    ] == []
