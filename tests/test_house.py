"""The house rules that a reader would otherwise have to trust: who imports whom, and no clock, luck or concurrency below the shell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SIM = ROOT / "sim"

# Who may import whom: each room may use itself and the rooms named here.
ROOMS = {
    "kernel": set(),
    "messages": set(),
    "core": {"kernel"},
    "api": {"kernel", "core", "messages", "simulation", "settings"},
    "scenario": {"kernel", "core", "messages", "api", "resources", "simulation", "workers"},
    "simulation": {"kernel", "core", "api", "messages", "scenario", "settings", "snapshots", "travel", "recording", "catalogues", "views", "explain", "judge"},
    "explain": {"kernel", "core", "api", "replay"},
    "judge": {"kernel", "core", "api", "replay"},
    "travel": {"kernel", "core", "api", "scenario", "settings", "snapshots"},
    "recording": {"kernel", "core", "api"},
    "catalogues": {"kernel", "core", "api", "scenario", "ledger"},
    "ledger": set(),
    "views": {"core", "kernel", "scenario"},
    "snapshots": {"kernel"},
    "settings": {"kernel", "core"},
    "resources": set(),
}
# Imports for annotations only do not run, so they may point up.
PURE = ("kernel", "core", "api", "scenario", "simulation", "recording", "snapshots", "travel", "settings", "catalogues", "views", "explain", "judge")

BANNED_MODULES = {"asyncio", "threading", "multiprocessing", "concurrent", "subprocess", "socket", "random", "secrets", "time", "uuid", "aiohttp", "grpc"}
BANNED_CALLS = {"now", "utcnow", "today", "uuid1", "uuid4", "urandom", "monotonic", "perf_counter", "sleep", "getrandbits"}
CLOCKS_AND_DICE = {"datetime", "date", "time", "uuid", "os", "random", "datetime.datetime", "datetime.date"}
# Reading the contract is build-time work that runs protoc; it never runs inside a simulation.
BUILD_TIME = {"api/generate.py", "api/generation"}


def pure_files() -> Iterator[Path]:
    for room in PURE:
        place = SIM / room
        files = sorted(place.rglob("*.py")) if place.is_dir() else [SIM / f"{room}.py"]
        for file in files:
            inside = file.relative_to(SIM).as_posix()
            if not any(inside == name or inside.startswith(name + "/") for name in BUILD_TIME):
                yield file


def room_of(file: Path) -> str:
    inside = file.relative_to(SIM)
    return inside.parts[0] if len(inside.parts) > 1 else inside.stem


def runtime_imports(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Modules imported when the code runs: those under `if TYPE_CHECKING` do not."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skipped |= {id(inner) for part in node.body for inner in ast.walk(part)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}" if node.module == "sim" else node.module


@pytest.mark.parametrize("file", [pytest.param(file, id=file.relative_to(SIM).as_posix()) for file in pure_files()])
def test_pure_code_imports_only_the_rooms_below_it_and_nothing_that_brings_time_luck_or_concurrency(file: Path) -> None:
    room = room_of(file)
    allowed = ROOMS[room] | {room}
    for line, module in runtime_imports(ast.parse(file.read_text())):
        parts = module.split(".")
        assert parts[0] not in BANNED_MODULES, f"{file}:{line} imports {module}"
        if parts[0] == "sim" and len(parts) > 1:
            assert parts[1] in allowed, f"{file}:{line}: {room} may not import sim.{parts[1]}"


@pytest.mark.parametrize("file", [pytest.param(file, id=file.relative_to(SIM).as_posix()) for file in pure_files()])
def test_pure_code_calls_no_clock_and_no_global_randomness(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BANNED_CALLS:
            owner = ast.unparse(node.func.value)
            assert owner not in CLOCKS_AND_DICE, f"{file}:{node.lineno} calls {owner}.{node.func.attr}"


@pytest.mark.parametrize("file", [pytest.param(file, id=file.relative_to(SIM).as_posix()) for file in pure_files()])
def test_pure_code_iterates_over_no_set_it_has_just_made(file: Path) -> None:
    for node in ast.walk(ast.parse(file.read_text())):
        iterated = node.iter if isinstance(node, ast.For | ast.comprehension) else None
        assert not isinstance(iterated, ast.Set | ast.SetComp), f"{file}:{getattr(node, 'lineno', 0)} iterates over a set"
        if isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name):
            assert iterated.func.id not in {"set", "frozenset"}, f"{file}: iterates over {ast.unparse(iterated)}"


def test_core_and_kernel_hold_no_floating_point_numbers() -> None:
    for room in ("kernel", "core"):
        for file in sorted((SIM / room).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                assert not (isinstance(node, ast.Constant) and isinstance(node.value, float)), f"{file}:{node.lineno} has the float {node.value}"
                assert not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float"), f"{file}:{node.lineno} makes a float"


def test_nothing_imports_the_testing_room_but_itself_and_the_command_line() -> None:
    for file in sorted(SIM.rglob("*.py")):
        if room_of(file) in {"testing", "cli", "commands", "demo"}:
            continue
        for line, module in runtime_imports(ast.parse(file.read_text())):
            assert not module.startswith("sim.testing"), f"{file}:{line} imports {module}"
