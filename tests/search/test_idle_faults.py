"""A fault that never acted is told at the end of every run, of a sweep and of a failing test, and a
symbol that no fault can match is a mistake like any other unknown symbol.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.search.conftest import Run

File = Callable[[str, str], Path]

SCENARIO = """
name: idle
extends: quickstart
faults:
  - {match: {operation: ListLeagues}, act: {status: 503}}
  - {match: {plane: exchange, symbol: "none-*"}, act: {status: 504}}
  - {match: {operation: ListLeagues, nth: 50}, act: {status: 500}}
  - {match: {plane: engine}, act: {delay: 1s}}
steps:
  - {call: {plane: gateway, get: /v2/leagues}, expect: {status: 503}}
"""
LINES = (
    "fault f2 never acted: it has matched nothing: none-* on exchange",
    "fault f3 never acted: it was injected into 0 of 1 match: status 500",
    "fault f4 never acted: it has matched nothing: anything on engine;",
)


@pytest.mark.parametrize("verb", ["run", "sweep", "check"])
def test_the_end_of_runs_names_the_faults_that_never_acted(
    sim: Run, file: File, tmp_path: Path, verb: str
) -> None:
    junit = tmp_path / "junit.xml"
    options = {"run": ["--junit", junit], "sweep": ["--seeds", "1..2"], "check": []}[verb]
    code, out, _ = sim(verb, file("idle.yaml", SCENARIO), *options)
    assert code == 0
    text = " ".join(out.split())
    assert [line for line in LINES if line in text] == list(LINES)
    assert "fault f1" not in out
    if verb == "run":
        assert (
            ElementTree.parse(junit)
            .findtext("testsuite/system-out", "")
            .startswith("\n".join(LINES))
        )


def test_a_failing_test_names_them_too(exchange) -> None:
    exchange.fault("ListLeagues", status=503)
    assert "fault f1 never acted: it has matched nothing: ListLeagues" in exchange.report()


@pytest.mark.parametrize(
    "part",
    [
        "faults: [{match: {symbol: nosuch}, act: {status: 504}}]",
        "steps: [{fault: {match: {symbol: nosuch}, act: {status: 504}}}]",
    ],
)
def test_the_symbol_of_a_fault_is_a_symbol(sim: Run, file: File, part: str) -> None:
    text = f"name: unknown\nextends: quickstart\n{part}\n"
    code, _, err = sim("check", file("unknown.yaml", text))
    assert code == 2 and "unknown symbol 'nosuch'" in err
