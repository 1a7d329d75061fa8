"""A recorded session, and recordings in which one thing was changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from sim.cli.main import main
from sim.core.catalogue.assumptions import catalogue
from tests.evidence.clients import Part, base, planted
from tests.evidence.lines import Line, lines, write
from tests.evidence.session import recorded

Compare: TypeAlias = Callable[..., tuple[int, dict[str, Any]]]
Infer: TypeAlias = Callable[..., tuple[int, dict[str, Any]]]
Inferred: TypeAlias = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The session, recorded once."""
    return recorded(tmp_path_factory.mktemp("fidelity") / "session.ndjson")


@pytest.fixture
def compare(tmp_path: Path) -> Compare:
    """`sim compare` with `--json`: its exit code and document."""

    def run(file: Path, *options: str) -> tuple[int, dict[str, Any]]:
        out = tmp_path / "found.json"
        code = main(["compare", str(file), *options, "--json", str(out)])
        return code, json.loads(out.read_text())

    return run


@pytest.fixture
def infer(tmp_path: Path) -> Infer:
    """`sim infer` with `--json`: its exit code and document."""

    def run(file: Path, *options: str, scenario: str = "") -> tuple[int, dict[str, Any]]:
        out = tmp_path / "verdicts.json"
        named = scenario or str(base(tmp_path))
        code = main(["infer", str(file), "--scenario", named, *options, "--json", str(out)])
        return code, json.loads(out.read_text())

    return run


@pytest.fixture
def inferred(tmp_path: Path, infer: Infer) -> Inferred:
    """The verdicts on a session that was recorded with other values."""

    def run(
        values: dict[str, str], *parts: Part, name: str = "variant", seed: int = 7
    ) -> dict[str, Any]:
        return infer(planted(tmp_path, name, settings_of(values), seed, parts))[1]

    return run


def settings_of(values: dict[str, str]) -> dict[str, dict[str, str]]:
    """Values of assumptions and odds of quirks, by name, as scenarios write them."""
    existing = catalogue()
    return {
        "assumptions": {name: value for name, value in values.items() if name in existing},
        "quirks": {name: value for name, value in values.items() if name not in existing},
    }


def named(document: dict[str, Any], verdict: str = "refuted") -> set[str]:
    """The assumptions and quirks with a verdict."""
    verdicts = document["assumptions"] | document["quirks"]
    return {name for name, row in verdicts.items() if row["verdict"] == verdict}


@pytest.fixture
def spoil(session: Path, tmp_path: Path) -> Callable[[Callable[[list[Line]], None]], Path]:
    """A copy of the session that a function has changed."""

    def spoilt(change: Callable[[list[Line]], None]) -> Path:
        result = lines(session)
        change(result)
        return write(tmp_path / "spoilt.ndjson", result)

    return spoilt


def differences(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every difference with the name of its operation."""
    operations = document["operations"].items()
    return [
        (name, difference)
        for name, operation in operations
        for difference in operation["differences"]
    ]
