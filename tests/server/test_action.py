"""The GitHub action: its steps run in a clean shell, as a runner runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import yaml

from sim.cli.main import main

ROOT = Path(__file__).parents[2]
SIM = Path(sys.executable).with_name("sim")
SURFACES = ("gateway", "retail", "exchange", "auth", "grpc", "control")
FILES = ("journal.ndjson", "report.html", "console.log")


class Runner:
    """What GitHub's runner does with a composite action, as far as these need it."""

    def __init__(self, folder: Path) -> None:
        self.temp, self.variables = folder / "temp", dict[str, str]()
        self.temp.mkdir()
        self.uploads: list[str] = []

    def run(self, action: Path, **inputs: str) -> tuple[int, dict[str, str], str]:
        """Exit code, outputs and console of an action."""
        document = yaml.safe_load((action / "action.yml").read_text())
        assert document["runs"]["using"] == "composite"
        defaults = {name: item["default"] for name, item in document["inputs"].items()}
        assert inputs.keys() <= defaults.keys()
        existing: dict[str, Any] = {"runner.temp": str(self.temp)}
        existing |= {f"inputs.{name}": text for name, text in (defaults | inputs).items()}
        code, console = 0, ""
        for step in document["runs"]["steps"]:
            if "uses" in step:
                self.uploads += _filled(step["with"]["path"], existing).split()
                continue
            assert step["shell"] == "bash"
            ran, outputs = self._step(step, action, existing)
            code, console = ran.returncode, console + ran.stdout + ran.stderr
            existing |= {
                f"steps.{step.get('id')}.outputs.{key}": text for key, text in outputs.items()
            }
            if code:
                break
        values = document.get("outputs", {})
        return (
            code,
            {name: _filled(item["value"], existing) for name, item in values.items()},
            console,
        )

    def _step(self, step: Any, action: Path, existing: dict[str, Any]) -> Any:
        files = {name: self.temp / name for name in ("GITHUB_ENV", "GITHUB_OUTPUT")}
        for file in files.values():
            file.write_text("")
        environment = {name: _filled(text, existing) for name, text in step.get("env", {}).items()}
        environment |= {"PATH": "/usr/bin:/bin", "RUNNER_TEMP": str(self.temp)}
        environment |= {"GITHUB_ACTION_PATH": str(action), **{k: str(v) for k, v in files.items()}}
        ran = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            env=self.variables | environment,
            cwd=self.temp,
            capture_output=True,
            text=True,
            timeout=90,
        )
        written = {name: _pairs(file.read_text()) for name, file in files.items()}
        self.variables |= written["GITHUB_ENV"]
        return ran, written["GITHUB_OUTPUT"]


def _filled(text: str, existing: dict[str, Any]) -> str:
    return re.sub(r"\$\{\{ (.+?) \}\}", lambda result: str(existing.get(result[1], "")), str(text))


def _pairs(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


@pytest.fixture
def runner(tmp_path):
    item = Runner(tmp_path)
    yield item
    item.run(ROOT / ".ci" / "finish")


@pytest.mark.long
def test_later_steps_find_the_exchange_and_its_run_is_kept(runner, capsys):
    scenario = {"scenario": "halt-and-suspension", "seed": "11"}
    code, outputs, output = runner.run(ROOT, **scenario, command=str(SIM))
    assert code == 0, output
    ready = json.loads(Path(outputs["ready-file"]).read_text())
    assert (ready["scenario"], ready["seed"]) == ("halt-and-suspension", 11)
    for surface in SURFACES:
        assert ready[surface] == outputs[surface] == runner.variables[f"SIM_{surface.upper()}"]
    assert runner.variables["SIM_READY_FILE"] == outputs["ready-file"]
    with urllib.request.urlopen(f"{outputs['gateway']}/v2/leagues", timeout=5) as answer:
        assert answer.status == 200
    again, _, output = runner.run(ROOT, command=str(SIM))
    assert again == 1 and "::error::an exchange of this job runs already" in output
    code, _, output = runner.run(ROOT / ".ci" / "finish")
    assert code == 0, output
    kept = {Path(path).name: Path(path) for path in runner.uploads}
    assert set(kept) == set(FILES) and all(path.stat().st_size for path in kept.values())
    assert main(["replay", str(kept["journal.ndjson"])]) == 0
    assert "1 input" in capsys.readouterr().out
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{outputs['gateway']}/v2/leagues", timeout=5)


def test_an_exchange_that_does_not_start_fails_the_job_and_says_why(runner):
    code, _, output = runner.run(ROOT, scenario="quikstart", command=str(SIM))
    assert code == 1
    assert (
        "did you mean 'quickstart'?" in output and "::error::the exchange did not start" in output
    )


def test_the_end_without_a_beginning_only_warns(runner):
    code, _, output = runner.run(ROOT / ".ci" / "finish")
    assert code == 0 and "::warning::no exchange was started in this job" in output
