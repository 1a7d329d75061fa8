"""Every bundled scenario passes, has the recorded sequence of events, and its journal replays."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import jsonschema_rs
import pytest
import yaml

from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.read.headless_run import run_scenario
from sim.read.replay import replay_file
from sim.run.loader.load import scenario_variants
from sim.world.format.json_schema import scenario_schema
from sim.world.format.yaml_tree import ScenarioError, read_file, value_of
from tests.run.test_digests import recorded_digests
from tools.soak.corpus import documents

FILES = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))


@pytest.mark.long
@pytest.mark.reading("documented")  # the digests were recorded in it
@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_a_bundled_scenario_holds_what_it_promises_and_replays(file: Path, tmp_path: Path) -> None:
    scenario = load_scenario(file.stem, scenario_variants(file.stem)[0])
    with (tmp_path / "run.ndjson").open("w+b", buffering=0) as journal:
        report = run_scenario(scenario, simulation=Simulation(scenario, journal=journal))
    assert [line for result in report.results for line in result.failures] == []
    assert len(report.results) == len(scenario.steps)
    assert report.digest in recorded_digests(file.stem, scenario.seed).values()
    replay_file(tmp_path / "run.ndjson")


@pytest.mark.parametrize(
    "file", [path for path in FILES if path.stem != "quickstart"], ids=lambda path: path.stem
)
def test_a_lesson_says_what_it_teaches_and_checks_it(file: Path) -> None:
    scenario = load_scenario(file.stem)
    modeline, first = file.read_text().splitlines()[:2]
    assert modeline == "# yaml-language-server: $schema=scenario.schema.json"
    assert first.startswith("# ")
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


def respelled(node: Any) -> Iterator[Any]:
    """A tree of YAML with one scalar in another spelling, or of another type."""
    if isinstance(node, dict | list):
        for key in node if isinstance(node, dict) else range(len(node)):
            for other in respelled(node[key]):
                changed = copy.copy(node)
                changed[key] = other
                yield changed
        return
    text = str(node)
    yield from (text.title(), f"SIDE_{text.upper()}", f"INSTRUMENT_STATE_{text}", 7, 0.5, True)
    yield from (None, text.lower(), text.upper(), text)


@pytest.mark.long
def test_an_editor_underlines_nothing_that_check_accepts() -> None:
    validator = jsonschema_rs.validator_for(scenario_schema())
    accepted = 0
    for document in documents():
        for other in Random(document["name"]).choices([*respelled(document)], k=60):
            text = yaml.safe_dump(other)
            try:
                load_scenario(text)
            except ScenarioError:
                continue
            assert validator.is_valid(other), text
            accepted += 1
    assert accepted > 200


def test_the_schema_beside_the_scenarios_is_the_one_that_the_command_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["schema"]) == 0
    beside = FILES[0].parent / "scenario.schema.json"
    assert json.loads(beside.read_text()) == json.loads(capsys.readouterr().out)


def test_every_key_of_the_schema_says_what_it_is() -> None:
    schema = scenario_schema()
    definitions = {"the file": schema, **schema["$defs"]}
    silent = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, value in definition["properties"].items()
        if not value.get("description", "").strip()
    ]
    assert silent == []
    assert all(definition["description"].endswith(".") for definition in schema["$defs"].values())


@pytest.mark.parametrize(
    ("document", "fits"),
    [
        ({"quirks": {"stream_duplicates": "1/5"}}, True),
        ({"quirks": {"stream_duplicate": "1/5"}}, False),
        ({"assumptions": {"webhook.attempts": 3, "webhook.allow_private": False}}, True),
        ({"assumptions": {"webhook.shape": "docs"}}, True),
        ({"assumptions": {"webhook.shape": "both of them"}}, False),
        ({"assumptions": {"webhook.attempt": 3}}, False),
        ({"limits": {"retail": "5/s"}}, True),
        ({"limits": {"retial": "5/s"}}, False),
        ({"world": {"firms": [{"name": "firms/x", "limits": {"order_insert": 40}}]}}, True),
        ({"world": {"firms": [{"name": "firms/x", "limits": {"order_inserts": 40}}]}}, False),
        ({"faults": [{"match": {"operation": "InsertOrder"}, "act": {"status": 503}}]}, True),
        ({"faults": [{"match": {"operation": "*Order*"}, "act": {"status": 503}}]}, True),
        ({"faults": [{"match": {"operation": "kyc.approved"}, "act": {"hang": True}}]}, True),
        ({"faults": [{"match": {"operation": "InsertOrders"}, "act": {"status": 503}}]}, False),
        ({"faults": [{"match": {"plane": "retial"}, "act": {"status": 503}}]}, False),
        ({"steps": [{"quirk": {"stream_duplicates": "always"}}]}, True),
        ({"steps": [{"quirk": {"stream": "always"}}]}, False),
        ({"steps": [{"call": {"plane": "grpc", "rpc": "OrderEntryAPI.InsertOrder"}}]}, True),
        ({"steps": [{"call": {"plane": "grpc", "rpc": "OrderEntryAPI.Insert"}}]}, False),
        ({"steps": [{"call": {"plane": "grpc", "rpc": "${rpc}"}}]}, True),
        ({"steps": [{"when": {"call": {"operation": "CreateOrder"}}}]}, True),
        ({"steps": [{"when": {"call": {"operation": "CreateOdrer"}}}]}, False),
    ],
)
def test_an_editor_knows_the_names_that_the_exchange_knows(
    document: dict[str, Any], fits: bool
) -> None:
    validator = jsonschema_rs.validator_for(scenario_schema())
    assert validator.is_valid({"name": "x", **document}) is fits


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_every_reader_of_yaml_reads_a_bundled_file_alike(file: Path) -> None:
    """YAML 1.1 and 1.2 differ in what plain scalars mean (no, 2:00, 0o7). Bundled files hold none
    of these, dates aside: PyYAML's own parser, libyaml's, and each version's rules agree.
    """
    text = file.read_text()
    events = [
        [
            (type(event).__name__, getattr(event, "value", None))
            for event in yaml.parse(text, loader)
        ]
        for loader in (yaml.SafeLoader, yaml.CSafeLoader)
    ]
    assert events[0] == events[1]
    core = re.compile(r"true|false|null|~||[-+]?[0-9]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)")
    for token in yaml.scan(text, yaml.SafeLoader):
        if isinstance(token, yaml.ScalarToken) and token.plain:
            tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, token.value, (True, False))
            kind = tag.rpartition(":")[2]
            assert (kind in ("str", "timestamp")) is not bool(core.fullmatch(token.value)), token


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
    displayed = " ".join(" ".join(report.lines()).split())
    assert displayed.startswith("FAILED wrong")
    for part in (
        "order bid is NEW, not FILLED",
        "['0.45 x 10'], not ['0.46 x 10']",
        "cash of maker is",
        "0 orders are open, not 3",
    ):
        assert part in displayed
