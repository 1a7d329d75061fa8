"""`sim init`: the project that it writes works as it stands, in an empty folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from sim.cli.init import CI
from sim.cli.main import main
from sim.kernel.release import RELEASE
from sim.world.format.json_schema import scenario_schema
from tests.kit.processes import sim


def init(folder: Path, *words: str) -> list[Path]:
    assert main(["init", str(folder), *words]) == 0
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


@pytest.mark.long
def test_the_new_scenario_and_its_tests_pass_and_keep_what_failed(tmp_path, capsys):
    init(tmp_path, "--ci", "none")
    assert main(["check", str(tmp_path / "scenarios" / "first.yaml")]) == 0
    assert main(["run", str(tmp_path / "scenarios" / "first.yaml")]) == 0
    capsys.readouterr()
    tests = tmp_path / "tests" / "test_exchange.py"
    tests.write_text(tests.read_text() + "\n\ndef test_fails(exchange):\n    buy(exchange, 0)\n")
    options = (
        "-q -p no:cacheprovider --junitxml out.xml --exchange-keep kept --exchange-report pages"
    )
    environment = {name: text for name, text in os.environ.items() if name != "SIM_READING"}
    ran = sim(*options.split(), module="pytest", cwd=tmp_path, env=environment)
    assert "1 failed, 3 passed" in ran.stdout, ran.stdout
    assert [*(tmp_path / "kept").iterdir()] and [*(tmp_path / "pages").glob("*.html")]
    assert (tmp_path / "out.xml").read_text().count("<testcase") == 4


@pytest.mark.parametrize("ci", CI)
def test_nothing_is_overwritten(ci, tmp_path, capsys):
    names = init(tmp_path, "--ci", ci)
    texts = {name: (tmp_path / name).read_bytes() for name in names}
    for name in names:
        for other in names:
            (tmp_path / other).unlink(missing_ok=True)
        (tmp_path / name).write_text("mine")
        capsys.readouterr()
        assert main(["init", str(tmp_path), "--ci", ci]) == 2
        assert (
            f"nothing was written, because these files exist already: {tmp_path / name}\n"
            in capsys.readouterr().err
        )
        left = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert left == [tmp_path / name] and left[0].read_text() == "mine"
        (tmp_path / name).unlink()
    init(tmp_path, "--ci", ci)
    assert texts == {name: (tmp_path / name).read_bytes() for name in names}


@pytest.mark.parametrize(
    ("origin", "requirement"),
    [
        (None, f"sandbox-exchange[testing]=={RELEASE}"),
        ({"url": "file:///src/sandbox", "dir_info": {}}, "@ file:///src/sandbox"),
        ({"url": "https://host/s.whl", "archive_info": {}}, "@ https://host/s.whl"),
        (
            {"url": "https://host/s.git", "vcs_info": {"vcs": "git", "commit_id": "12ab"}},
            "@ git+https://host/s.git@12ab",
        ),
    ],
)
def test_a_project_installs_the_sandbox_from_where_it_came(
    origin, requirement, tmp_path, monkeypatch
):
    class Installed:
        def read_text(self, name: str) -> str | None:
            assert name == "direct_url.json"
            return origin and json.dumps(origin)

    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Installed())
    init(tmp_path)
    last = (tmp_path / "requirements-exchange.txt").read_text().splitlines()[-1]
    assert last.endswith(requirement)
    assert Requirement(last).extras == {"testing"}


def test_editors_find_the_schema_and_the_release_stands_where_it_counts(tmp_path):
    init(tmp_path)
    scenario = (tmp_path / "scenarios" / "first.yaml").read_text()
    modeline = scenario.splitlines()[0].rpartition("$schema=")[2]
    assert json.loads((tmp_path / "scenarios" / modeline).read_text()) == scenario_schema()
    assert yaml.safe_load(scenario)["release"] == RELEASE


RUN = "sim run scenarios/*.yaml --junit exchange/scenarios.xml"
TEST = "pytest --junitxml exchange/tests.xml"


@pytest.mark.parametrize(
    ("ci", "file"), [(ci, *files.values()) for ci, files in CI.items() if files]
)
def test_every_ci_file_runs_scenarios_and_tests_and_keeps_the_same_results(ci, file, tmp_path):
    init(tmp_path, "--ci", ci)
    text = (tmp_path / file).read_text().replace("\\\n  ", "")
    if ci != "shell":
        assert yaml.safe_load(text)
    for command in (RUN, TEST, "pip install", "--requirement requirements-exchange.txt"):
        assert command in text
    assert text.count("exchange/journals") == 2 and text.count("exchange/reports") == 2


@pytest.mark.long
def test_the_shell_job_goes_through_in_a_clean_shell(tmp_path):
    """What it installs is here already: `python3` and `pip` are stand-ins that say so."""
    init(tmp_path, "--ci", "shell")
    tools = tmp_path / "tools"
    tools.mkdir()
    here = Path(sys.executable).parent
    stand_ins = {
        "python3": 'mkdir -p "$3/bin" && touch "$3/bin/activate"',
        "pip": 'echo "pip $*"',
        "sim": f'exec "{here}/sim" "$@"',
        "pytest": f'exec "{sys.executable}" -m pytest -q -p no:cacheprovider "$@"',
    }
    for name, does in stand_ins.items():
        (tools / name).write_text(f"#!/bin/sh\n{does}\n")
        (tools / name).chmod(0o755)
    ran = subprocess.run(
        ["./exchange.sh"],
        cwd=tmp_path,
        env={"PATH": f"{tools}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "pip install --quiet --requirement requirements-exchange.txt" in ran.stdout
    assert {path.name for path in (tmp_path / "exchange").glob("*.xml")} == {
        "scenarios.xml",
        "tests.xml",
    }
