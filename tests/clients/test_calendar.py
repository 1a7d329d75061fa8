"""`sim calendar`: the first date that breaks each of a client's tests, and what changed on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sim.cli.main import main

# Three tests, as any runner writes them: one that breaks when the fees change for the last time,
# one that fails everywhere, one that passes everywhere.
CLIENT = """
import json, os
now = json.load(open(os.environ["SIM_READY_FILE"]))["now"]
failed = '<failure message="no"/>'
cases = {"fees": failed if now >= "2026-09-25" else "", "never": failed, "always": ""}
with open(os.environ["SIM_JUNIT"], "w") as out:
    body = "".join(f'<testcase name="{n}">{f}</testcase>' for n, f in cases.items())
    out.write(f"<testsuites><testsuite>{body}</testsuite></testsuites>")
raise SystemExit(1)
"""
ONE_VERDICT = CLIENT[: CLIENT.index("failed")] + 'raise SystemExit(now >= "2026-09-25")\n'


@pytest.mark.parametrize("client", [CLIENT, ONE_VERDICT], ids=["cases", "one verdict"])
def test_the_first_date_that_breaks_a_test_is_named_with_its_entries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], client: str
) -> None:
    (tmp_path / "client.py").write_text(client)
    report, cases = tmp_path / "calendar.json", tmp_path / "calendar.xml"
    options = ["--bisect", "--clock", "manual", "--out", str(tmp_path / "runs")]
    files = ["--json", str(report), "--junit", str(cases)]
    command = [sys.executable, str(tmp_path / "client.py")]
    assert main(["calendar", *options, *files, "--", *command]) == 1
    said = capsys.readouterr().out
    found = json.loads(report.read_text())
    name = "fees" if client is CLIENT else "the command"
    assert [(one["test"], one["first"]) for one in found["broken"]] == [(name, "2026-09-25")]
    assert any("fees.standard" in change for change in found["broken"][0]["changes"])
    assert "2026-09-25 breaks 1 test" in said and "fees.standard" in said
    assert found["failing"] == (["never"] if client is CLIENT else [])
    assert len(found["runs"]) < found["dates"] / 2
    failures = ElementTree.parse(cases).getroot().iter("failure")
    assert "2026-09-25 breaks it" in [one.get("message") for one in failures]
    assert max(map(len, said.splitlines())) <= 100


def test_every_date_of_the_catalogue_is_one_of_the_calendar(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["calendar", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert main(["catalogue", "dates", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert sum(len(one["changes"]) for one in listed) == len(rows)
    assert listed[0]["changes"] == [] and listed == sorted(listed, key=lambda one: one["day"])
