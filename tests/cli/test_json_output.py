"""`--json [FILE]` is spelled one way on every command that prints a verdict or a table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sim.cli.main import main

FAILING = """
name: failing
extends: quickstart
world: {instruments: [{symbol: mine, tick_size: "0.01", state: OPEN}]}
steps:
- {name: bid, order: {symbol: mine, side: buy, price: "0.40", qty: "5", clord_id: bid}}
- {name: asked, call: {plane: gateway, get: /v2/leagues}}
- {name: filled, expect: {order: {clord_id: bid, state: FILLED}}}
"""
RECORDED = """\
{"recording": 1}
{"n": 1, "at": "2026-09-08T18:00:00Z", "plane": "gateway", "request": {"method": "GET", \
"path": "/v2/leagues"}, "answer": {"status": 200, "body": {"leagues": 1}}}
"""
# Arguments, the exit code, and a key that the document has.
COMMANDS: list[tuple[list[str], int, str]] = [
    (["run", "failing.yaml"], 1, "runs"),
    (["check", "failing.yaml"], 0, "scenarios"),
    (["check", "no-such"], 2, "scenarios"),
    (["catalogue", "quirks"], 0, "quirk"),
    (["replay", "1.ndjson"], 0, "digest"),
    (["replay", "spoilt.ndjson"], 3, "recorded"),
    (["diff", "1.ndjson", "2.ndjson"], 1, "difference"),
    (["timeline", "1.ndjson"], 0, "rows"),
    (["explain", "1.ndjson"], 0, "refused"),
    (["conformance", "1.ndjson"], 0, "rules"),
    (["conformance", "--list"], 0, "rule"),
    (["certify", "--list"], 0, "items"),
    (["calendar", "--list"], 0, "changes"),
    (["compare", "recorded.ndjson"], 1, "totals"),
    (["infer", "recorded.ndjson", "--scenario", "quickstart"], 1, "assumptions"),
    (["fidelity", "recorded.ndjson"], 0, "totals"),
    (["sweep", "failing.yaml", "--seeds", "1..2", "--jobs", "1"], 1, "failures"),
    (["explore", "priced.yaml", "--faults", "error", "--jobs", "1"], 0, "verdict"),
    (["shrink", "failing.yaml"], 0, "path"),
    (["bisect", "1.ndjson", "--expect", "{open_orders: {as: maker, count: 0}}"], 1, "question"),
    (["bisect", "1.ndjson", "2.ndjson"], 1, "states"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a scenario that fails, one that passes, and journals of both."""
    monkeypatch.chdir(tmp_path)
    Path("failing.yaml").write_text(FAILING)
    Path("priced.yaml").write_text(FAILING.replace("FILLED", "NEW"))
    for seed in ("1", "2"):
        main(["run", "failing.yaml", "--seed", seed, "--journal", "."])
        Path(f"failing-{seed}.ndjson").rename(f"{seed}.ndjson")
    spoilt = Path("1.ndjson").read_text().replace('"status":200', '"status":201')
    Path("spoilt.ndjson").write_text(spoilt)
    Path("recorded.ndjson").write_text(RECORDED)
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "code", "key"), COMMANDS, ids=lambda value: str(value)[:40])
@pytest.mark.long
def test_alone_it_is_one_document_and_with_a_file_the_text_stays(capsys, arguments, code, key):
    capsys.readouterr()
    assert main([*arguments, "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    assert key in (document[0] if isinstance(document, list) else document)

    assert main([*arguments, "--json", "kept/found.json"]) == code
    out, err = capsys.readouterr()
    assert out.strip() or err.strip()
    assert not out.lstrip().startswith(("{\n", "[\n"))
    assert json.loads(Path("kept/found.json").read_text()) == document


@pytest.mark.parametrize("taken", ["failing.yaml", "1.ndjson", "notes.txt", "quickstart"])
def test_a_file_that_is_no_document_is_not_overwritten(capsys, folder, taken):
    (folder / "notes.txt").write_text("mine")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(SystemExit) as error:
        main(["check", "--json", taken, "failing.yaml"])
    assert error.value.code == 2
    assert f"{taken} is not a JSON document and would be overwritten" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.long
def test_a_test_that_is_explored_prints_its_trials_alone(folder, capfd):
    (folder / "test_client.py").write_text(
        "def test_it(exchange):\n    exchange.rest.get('/v1/health')\n"
    )
    assert main(["explore", "test_client.py", "--operations", "NoSuch*", "--json"]) == 2
    out, err = capfd.readouterr()
    assert out == "" and "NoSuch*" in err


def test_runs_of_two_seeds_are_aligned_by_what_was_done(folder, capsys):
    capsys.readouterr()
    assert main(["diff", "1.ndjson", "2.ndjson"]) == 1
    out = capsys.readouterr().out
    assert "their headers differ in seed: 1 and 2" in out
    assert "both runs have the same inputs and events, apart from identifiers and instants" in out
    assert "their states at the end are the same, apart from identifiers" in out


@pytest.fixture
def changed(folder, capsys):
    """What `sim diff` says of the scenario and a copy in which some text is another."""

    def diff(old: str, new: str) -> str:
        (folder / "changed.yaml").write_text(FAILING.replace(old, new))
        main(["run", "changed.yaml", "--seed", "3", "--journal", "."])
        capsys.readouterr()
        assert main(["diff", "1.ndjson", "failing-3.ndjson"]) == 1
        return capsys.readouterr().out

    return diff


def test_what_was_asked_differently_is_named_and_the_money_counted(changed):
    out = changed('"0.40"', '"0.30"')
    assert "first difference: order.place of scenario: the requests differ" in out
    assert '"price":"0.40"' in out and '"price":"0.30"' in out
    assert "books mine: bids 0.4 x 5 → 0.3 x 5" in out


def test_an_input_more_in_one_run_shifts_nothing_after_it(changed):
    more = (
        '- {name: more, order: {symbol: mine, side: buy, price: "0.20", qty: "1"}}\n- {name: asked'
    )
    out = changed("- {name: asked", more)
    assert "step more of scenario: only the second run has it" in out
    assert "GET /v2/leagues" not in out
