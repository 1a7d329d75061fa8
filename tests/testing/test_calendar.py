"""`sim calendar`: the first date that breaks each of a client's tests, and what changed on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sim.cli.main import main

READS = """
import json, os, urllib.request
now = json.load(open(os.environ["SIM_READY_FILE"]))["now"]
urllib.request.urlopen(os.environ["SIM_GATEWAY"] + "/v1/events?limit=1")
"""
# Three tests, as any runner writes them: one that breaks when the fees change for the last time,
# one that fails everywhere, one that passes everywhere.
CLIENT = (
    READS
    + """
late, never = '<failure message="0.0695&#10;is more"/>', "<error>\\n  no such field\\n</error>"
cases = {"fees": late if now >= "2026-09-25" else "", "never": never, "always": ""}
with open(os.environ["SIM_JUNIT"], "w") as out:
    body = "".join(f'<testcase name="{n}">{f}</testcase>' for n, f in cases.items())
    out.write(f"<testsuites><testsuite>{body}</testsuite></testsuites>")
raise SystemExit(1)
"""
)
ONE_VERDICT = (
    READS
    + """
print("\\x1b[31mfees differ\\x1b[0m")
raise SystemExit(now >= "2026-09-25")
"""
)
# Tests whose exchanges are their own: subjects leave on a date, one test is pinned to an earlier.
OF_THE_FIXTURE = """
import urllib.request
import pytest

def read(exchange):
    urllib.request.urlopen(exchange.gateway + "/v1/subjects?limit=1")

def test_subjects(exchange):
    read(exchange)

@pytest.mark.scenario("quickstart", start="2026-06-20T12:00:00-04:00")
def test_pinned(exchange):
    read(exchange)
"""
RUN = ("calendar", "--bisect", "--clock", "manual", "--out", "runs", "--json", "found.json")


@pytest.mark.long
@pytest.mark.parametrize("client", [CLIENT, ONE_VERDICT], ids=["cases", "one verdict"])
def test_the_first_date_that_breaks_a_test_is_named_with_its_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "client.py").write_text(client)
    assert main([*RUN, "--junit", "cases.xml", "--", sys.executable, "client.py"]) == 1
    output = capsys.readouterr().out
    result = json.loads(Path("found.json").read_text())
    name = "fees" if client is CLIENT else "the command"
    assert [(item["test"], item["first"]) for item in result["broken"]] == [(name, "2026-09-25")]
    assert any("fees.standard" in change for change in result["broken"][0]["changes"])
    assert "2026-09-25 breaks 1 test" in output and "fees.standard" in output
    assert result["failing"] == (["never"] if client is CLIENT else [])
    assert len(result["runs"]) < result["dates"] / 2
    text = "0.0695" if client is CLIENT else "exit code 1: fees differ"
    assert result["broken"][0]["says"] == text and text in output
    assert result["failing_says"] == ({"never": "no such field"} if client is CLIENT else {})
    assert ("no such field" in output) == (client is CLIENT)
    assert "sim serve --start 2026-09-25T18:00:00Z" in output
    assert (Path("runs") / "2026-09-25" / "journal.ndjson").is_file()
    failures = ElementTree.parse("cases.xml").getroot().iter("failure")
    assert "2026-09-25 breaks it" in [failure.get("message") for failure in failures]
    assert max(map(len, output.splitlines())) <= 100


@pytest.mark.soak
def test_exchanges_of_the_fixture_begin_at_each_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_mine.py").write_text(OF_THE_FIXTURE)
    assert main([*RUN, "--", sys.executable, "-m", "pytest", "-q", "test_mine.py"]) == 1
    result = json.loads(Path("found.json").read_text())
    ((broken),) = result["broken"]
    assert (broken["test"], broken["first"]) == ("test_mine::test_subjects", "2026-06-29")
    assert "404" in broken["says"]
    assert result["failing"] == result["unmet"] == []


def test_tests_that_never_meet_an_exchange_show_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([*RUN, "--", sys.executable, "-c", "pass"]) == 1
    result = json.loads(Path("found.json").read_text())
    assert result["unmet"] == list(result["runs"]) and not result["ok"]
    assert not result["broken"] and not result["failing"]
    assert "no call reached the exchange of any date" in capsys.readouterr().out


def test_every_date_of_the_catalogue_is_one_of_the_calendar(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["calendar", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert main(["catalogue", "dates", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert sum(len(item["changes"]) for item in listed) == len(rows)
    assert listed[0]["changes"] == [] and listed == sorted(listed, key=lambda item: item["day"])
