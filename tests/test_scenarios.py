"""Every bundled scenario runs, holds what it promises, tells the story that was recorded of it, and
its journal replays.
"""

from __future__ import annotations

import io
from pathlib import Path

import jsonschema_rs
import pytest

from sim import Simulation, load_scenario
from sim.analysis.headless_run import run_scenario
from sim.analysis.replay import replay
from sim.loader.load import scenario_variants
from sim.scenario.json_schema import scenario_schema
from sim.scenario.yaml_tree import read_file, value_of
from tests.test_digests import recorded_digests

FILES = sorted((Path(__file__).parent.parent / "scenarios").glob("*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_a_bundled_scenario_holds_what_it_promises_and_replays(file: Path, tmp_path: Path) -> None:
    scenario = load_scenario(file.stem, scenario_variants(file.stem)[0])
    with (tmp_path / "run.ndjson").open("w+b", buffering=0) as journal:
        report = run_scenario(scenario, simulation=Simulation(scenario, journal=journal))
    assert [line for result in report.results for line in result.failures] == []
    assert len(report.results) == len(scenario.steps)
    assert report.digest in recorded_digests(file.stem, scenario.seed).values()
    out = io.StringIO()
    assert replay(str(tmp_path / "run.ndjson"), None, out) == 0, out.getvalue()


@pytest.mark.parametrize(
    "file", [path for path in FILES if path.stem != "quickstart"], ids=lambda path: path.stem
)
def test_a_lesson_says_what_it_teaches_and_checks_it(file: Path) -> None:
    scenario = load_scenario(file.stem)
    assert file.read_text().startswith("# ")
    assert scenario.description
    assert any(step.expect is not None for step in scenario.steps)


def test_every_bundled_scenario_fits_the_schema_that_editors_use() -> None:
    schema = scenario_schema()
    jsonschema_rs.meta.validate(schema)
    validator = jsonschema_rs.validator_for(schema)
    for file in FILES:
        assert [
            str(error)[:300] for error in validator.iter_errors(value_of(read_file(file)))
        ] == [], file
    assert not validator.is_valid(
        {"name": "x", "participants": {"makers": [{"name": "m", "symbols": "w", "sprad": "0.02"}]}}
    )
    assert not validator.is_valid({"name": "x", "participants": {"takers": [{"symbols": "m"}]}})


def test_an_expectation_that_does_not_hold_is_reported_with_both_sides() -> None:
    text = """
name: wrong
extends: quickstart
world: {instruments: [{symbol: w, tick_size: "0.01", state: OPEN}]}
steps:
  - name: bid
    order: {as: maker, symbol: w, side: buy, price: "0.45", qty: "10"}
    expect: {order: {state: FILLED}, book: {symbol: w, bids: ["0.46 x 10"]}, balance: {account: maker, cash: "1"}, open_orders: {as: taker, count: 3}}
"""
    report = run_scenario(load_scenario(text))
    assert not report.ok
    lines = list(report.lines())
    assert lines[0].startswith("FAILED  wrong")
    shown = "\n".join(lines)
    for part in (
        "order bid is NEW, not FILLED",
        "['0.45 x 10'], not ['0.46 x 10']",
        "cash of maker is",
        "0 orders are open, not 3",
    ):
        assert part in shown
