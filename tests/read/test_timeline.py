"""`sim timeline` and `--json`: what people and programs read of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sim.cli.journals import timeline as cli_timeline
from sim.cli.main import main
from sim.read.history.rows import KINDS

SCENARIO = """
name: shown
extends: quickstart
world: {instruments: [{symbol: mine, tick_size: "0.01", state: OPEN}, {symbol: mine-2, tick_size: "0.0025", price_scale: 400, state: OPEN}]}
steps:
  - {at: +1m, name: quotes, order: {as: maker, symbol: mine, side: buy, price: "0.40", qty: "5"}}
  - {at: +2h, name: book, call: {plane: exchange, as: firms/atlas, get: /v1/orderbook/mine}, expect: {status: 503}}
  - {name: other, order: {as: maker, symbol: mine-2, side: buy, price: "0.405", qty: "5"}}
"""


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("timeline")
    (folder / "shown.yaml").write_text(SCENARIO)
    assert main(["run", str(folder / "shown.yaml"), "--journal", str(folder)]) == 1
    return folder / "shown-7.ndjson"


def _json(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    main(list(arguments))
    return json.loads(capsys.readouterr().out)


def test_a_timeline_names_steps_and_verdicts_and_folds_the_clock(
    journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert main(["timeline", str(journal)]) == 0
    out = capsys.readouterr().out
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "14:01:00.000 scenario step 1 quotes (shown.yaml:6)" in lines
    assert "└ ✓ quotes" in lines
    assert any(line.endswith(" new: buy 5 mine-2 @ 0.405") for line in lines)
    assert any(line.startswith("└ ✗ book: status is 200, not 503") for line in lines)
    assert "script.step" not in out
    assert any(line.endswith("OPEN → CLOSED (and 24 more)") for line in lines)


@pytest.mark.parametrize(
    ("options", "kinds"),
    [
        (["--kind", "step"], ["step"] * 3),
        (["--kind", "request"], ["request"]),
        (["--kind", "request", "--caller", "firms/atlas"], ["request"]),
        (["--kind", "request", "--caller", "atlas"], ["request"]),
        (["--kind", "request", "--caller", "firms/borealis"], []),
        (["--symbol", "mine"], ["control", "request"]),
        (["--symbol", "mine-2"], ["control"]),
        (["--kind", "step", "--since", "2026-09-08T19:00:00Z"], ["step"] * 2),
        (["--kind", "step", "--since", "3"], ["step"] * 2),
    ],
)
def test_rows_are_chosen_by_kind_caller_symbol_and_moment(
    journal: Path, capsys: pytest.CaptureFixture[str], options: list[str], kinds: list[str]
) -> None:
    document = _json(capsys, "timeline", str(journal), *options, "--json")
    assert (document["scenario"], document["seed"]) == ("shown", 7)
    assert [row["kind"] for row in document["rows"]] == kinds


@pytest.mark.parametrize("options", [["--symbol", "mien"], ["--kind", "stream"], ["--caller", "x"]])
def test_a_choice_that_leaves_nothing_says_what_there_is(
    options: list[str], journal: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = "no row matches: there are 2 control, 1 request, 3 step, "
    capsys.readouterr()
    assert main(["timeline", str(journal), *options]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert output in printed and printed.endswith("timer; callers are firms/atlas")
    assert main(["timeline", str(journal), *options, "--json"]) == 0
    printed, errors = capsys.readouterr()
    assert json.loads(printed)["rows"] == [] and output in errors


def test_the_help_lists_the_kinds_that_rows_have() -> None:
    assert cli_timeline.KINDS == KINDS


def test_json_alone_is_one_document_and_with_a_file_stands_there_too(
    journal: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scenario = str(journal.with_name("shown.yaml"))
    (run,) = _json(capsys, "run", scenario, "--json")["runs"]
    assert (run["ok"], [step["ok"] for step in run["steps"]]) == (False, [True, False, True])
    (checked,) = _json(capsys, "check", scenario, "--json")["scenarios"]
    assert (checked["problems"], checked["steps"]) == ([], 3)
    (broken,) = _json(capsys, "check", "no-such", "--json")["scenarios"]
    assert broken["problems"][0]["line"] == 0
    assert _json(capsys, "explain", str(journal), "--json") == {"refused": []}
    assert _json(capsys, "conformance", str(journal), "--json")["ok"] is True
    assert len(_json(capsys, "catalogue", "quirks", "--json")) > 5

    kept = tmp_path / "found.json"
    assert main(["check", scenario, "--json", str(kept)]) == 0
    assert "valid, 3 steps" in capsys.readouterr().out
    assert json.loads(kept.read_text())["scenarios"][0]["steps"] == 3
