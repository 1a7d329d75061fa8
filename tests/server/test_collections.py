"""Collections for API clients, as their users run them: newman and Bruno's CLI over a fresh
exchange, with every request signed by the collection's own script.
"""

from __future__ import annotations

import json

import pytest

from sim.cli.main import main
from tests.kit.processes import serve
from tests.node_tools import binary, needs, run


@pytest.fixture
def ready_file(tmp_path):
    """The ready file of a fresh quickstart, whose clock moves."""
    with serve(tmp_path, "--quiet", clock="paced") as served:
        yield served.ready_file


@needs("newman")
@pytest.mark.long
def test_newman_runs_the_postman_collection_green(ready_file, tmp_path):
    out = tmp_path / "collection"
    assert main(["collection", "postman", "--out", str(out), "--ready-file", str(ready_file)]) == 0
    report = tmp_path / "report.json"
    done = run(
        *(binary("newman"), "run", out / "sandbox.postman_collection.json"),
        *("-e", out / "sandbox.postman_environment.json", "--delay-request", "60"),
        *("--reporters", "json", "--reporter-json-export", report),
    )
    result = json.loads(report.read_text())["run"]
    output = [
        (failure["source"]["name"], failure["error"]["message"]) for failure in result["failures"]
    ]
    assert (done.returncode, output) == (0, []), done.stdout[-500:]
    assert result["stats"]["assertions"]["total"] > 140
    statuses = [execution["response"]["code"] for execution in result["executions"]]
    assert sum(status == 200 for status in statuses) > 95


@pytest.mark.soak
@needs("@usebruno/cli")
def test_bruno_runs_its_collection_green(ready_file, tmp_path):
    out = tmp_path / "collection"
    assert main(["collection", "bruno", "--out", str(out), "--ready-file", str(ready_file)]) == 0
    report = tmp_path / "report.json"
    done = run(
        *(binary("bru"), "run", "-r", "--env", "sandbox", "--delay", "60"),
        *("--sandbox", "developer"),  # the safe one takes a second for each signature
        *("--reporter-json", report),
        cwd=out,
        timeout=300,
    )
    (result,) = json.loads(report.read_text())
    failed = [
        (item["name"], item["response"]["status"], item.get("error"))
        for item in result["results"]
        if item.get("error") or any(each["status"] != "pass" for each in item["testResults"])
    ]
    assert (done.returncode, failed) == (0, []), done.stdout[-500:]
    assert result["summary"]["totalTests"] > 140


def test_without_a_ready_file_it_is_for_the_default_ports(tmp_path, capsys):
    assert main(["collection", "postman", "--out", str(tmp_path)]) == 0
    assert "152 requests in 2 files" in capsys.readouterr().out
    values = json.loads((tmp_path / "sandbox.postman_environment.json").read_text())["values"]
    assert {item["key"]: item["value"] for item in values}["gateway"] == "http://127.0.0.1:18080"


@pytest.mark.parametrize("text", ["no JSON", "{}", "[]"])
def test_what_is_no_ready_file_is_refused(text, tmp_path, capsys):
    (tmp_path / "ready.json").write_text(text)
    arguments = ["--out", str(tmp_path / "out"), "--ready-file", str(tmp_path / "ready.json")]
    assert main(["collection", "bruno", *arguments]) == 2
    assert "ready.json" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
