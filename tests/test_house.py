"""The house rules that a reader would otherwise have to trust: who imports whom, and no clock, luck
or concurrency below the shell.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SIM = ROOT / "sim"

# Who may import whom, from the ground up: a package imports itself and what stands above it in
# these lists, never what stands beside or below it. Imports for annotations count too.
PACKAGES = (
    ("kernel", "messages", "pb"),
    ("indexes", "contract"),
    ("core",),
    ("scenario",),
    ("reference",),
    ("world",),
    ("api",),
    ("engine",),
    ("actors",),
    ("simulation", "loader"),
    ("analysis",),
    ("server",),
    ("recording",),
    ("witness",),
    ("testing",),
    ("fidelity",),
    ("hunt",),
    ("agents",),
    ("cli",),
    ("__main__", "__init__"),
)
INSIDE = {
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
# Below the server nothing knows a clock, luck or concurrency.
PURE = (
    "kernel",
    "indexes",
    "core",
    "scenario",
    "reference",
    "world",
    "api",
    "engine",
    "actors",
    "simulation",
    "loader",
)

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
        place = SIM / package
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [SIM / f"{package}.py"]


def module_of(file: Path) -> tuple[str, ...]:
    """Dotted path below `sim`; the face of a package bears the package's name."""
    parts = file.relative_to(SIM).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts


def imports(tree: ast.Module) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Modules of ours that a file names, with the line: at the top, inside functions, for
    annotations.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, tuple(alias.name.split("."))) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            module = tuple(node.module.split("."))
            for alias in node.names:
                inner = SIM.parent.joinpath(*module, alias.name)
                is_module = inner.with_suffix(".py").is_file() or inner.is_dir()
                yield node.lineno, (*module, alias.name) if is_module else module


def rank(order: tuple[tuple[str, ...], ...], name: str) -> int:
    for height, names in enumerate(order):
        if name in names:
            return height
    raise AssertionError(f"{name} has no place in the order of packages")


def points_down(importer: tuple[str, ...], imported: tuple[str, ...]) -> bool:
    """Whether an import goes to the same package or to one below it."""
    if importer[0] != imported[0]:
        return rank(PACKAGES, imported[0]) < rank(PACKAGES, importer[0])
    order = INSIDE.get(importer[0])
    if order is None or len(importer) == 1 or len(imported) == 1 or importer[1] == imported[1]:
        return True
    return rank(order, imported[1]) < rank(order, importer[1])


def runtime_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Modules imported when the code runs: those under `if TYPE_CHECKING` do not."""
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


@pytest.mark.parametrize("file", [pytest.param(file, id=".".join(module_of(file))) for file in ALL])
def test_every_import_points_down(file: Path) -> None:
    importer = module_of(file)
    for line, module in imports(ast.parse(file.read_text())):
        if module[0] == "sim" and len(module) > 1 and (importer[0] != "__init__"):
            assert points_down(importer, module[1:]), f"{file}:{line} imports {'.'.join(module)}"


def test_the_api_knows_the_reference_data_by_their_protocol_only() -> None:
    for file in (SIM / "api").rglob("*.py"):
        for line, module in imports(ast.parse(file.read_text())):
            assert module[:2] != ("sim", "reference"), f"{file}:{line} imports {'.'.join(module)}"


def test_no_module_stands_loose_and_no_folder_is_a_drawer() -> None:
    any_failure = {file.name for file in SIM.glob("*.py")}
    assert any_failure == {"__init__.py", "__main__.py", "simulation.py"}
    for folder in {file.parent for file in ALL if "messages" not in file.parts}:
        assert len(list(folder.glob("*.py"))) <= 31, f"{folder} has more than 30 modules"


@pytest.mark.parametrize(
    "file", [pytest.param(file, id=file.relative_to(SIM).as_posix()) for file in pure_files()]
)
def test_pure_code_imports_nothing_that_brings_time_luck_or_concurrency(file: Path) -> None:
    for line, module in runtime_imports(ast.parse(file.read_text())):
        assert module.split(".")[0] not in BANNED_MODULES, f"{file}:{line} imports {module}"


@pytest.mark.parametrize(
    "file", [pytest.param(file, id=file.relative_to(SIM).as_posix()) for file in pure_files()]
)
def test_pure_code_calls_no_clock_and_no_global_randomness(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in BANNED_CALLS
        ):
            owner = ast.unparse(node.func.value)
            assert owner not in CLOCKS_AND_DICE, (
                f"{file}:{node.lineno} calls {owner}.{node.func.attr}"
            )


@pytest.mark.parametrize(
    "file", [pytest.param(file, id=file.relative_to(SIM).as_posix()) for file in pure_files()]
)
def test_pure_code_iterates_over_no_set_it_has_just_made(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        iterated = node.iter if isinstance(node, ast.For | ast.comprehension) else None
        assert not isinstance(iterated, ast.Set | ast.SetComp), (
            f"{file}:{getattr(node, 'lineno', 0)} iterates over a set"
        )
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name):
            assert iterated.func.id not in {"set", "frozenset"}, (
                f"{file}: iterates over {ast.unparse(iterated)}"
            )


def test_core_and_kernel_hold_no_floating_point_numbers() -> None:
    for room in ("kernel", "core"):
        for file in sorted((SIM / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
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
        ".".join(("sim", *module_of(file))): {
            ".".join(module) for _, module in imports(ast.parse(file.read_text()))
        }
        for file in ALL
    }
    graph = {name: (named & graph.keys()) - {name} for name, named in graph.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


# What a distribution is called where it is imported, unless that is its own name.
IMPORTED_AS = {
    "grpcio": "grpc",
    "protobuf": "google.protobuf",
    "googleapis-common-protos": "google.api",
    "mcp-types": "mcp_types",
    "opentelemetry-exporter-otlp-proto-http": "opentelemetry",
    "opentelemetry-sdk": "opentelemetry",
    "prometheus-client": "prometheus_client",
    "pyjwt": "jwt",
    "pyyaml": "yaml",
}
EXTRAS = ("testing", "cluster", "mcp", "otel")  # imported when asked for


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
        for _, module in imports(ast.parse(file.read_text())):
            first = module[0].removeprefix("_")  # _pytest is pytest
            if module[0] != "sim" and module[0] not in sys.stdlib_module_names:
                imported.add(".".join(module[:2]) if first == "google" else first)
    assert imported == declared
