"""Typical mistakes and the message for each: `scenarios.yaml`, `command_line.yaml`,
`control_plane.yaml` and `fixture.yaml` beside this module.

`make outputs` rewrites the messages after a change. Read each changed message as a newcomer would:
does it state what is wrong, where, and what would be right?
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from sim.read.scenario_check import check
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.world.format.yaml_tree import ScenarioError

FOLDER = Path(__file__).parent
# The scenario to which a mistake in a part of a scenario is appended.
BEGINNING = """\
name: m
extends: quickstart
world: {instruments: [{symbol: rain, tick_size: "0.01", state: OPEN}]}
"""


def of_scenario(mistake: str) -> list[str]:
    """Return what `sim check` says of a scenario, or of a part of one."""
    total = mistake.startswith(("name:", "- name:", "just", "extends:"))
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("m.yaml").write_text(mistake if total else BEGINNING + mistake)
        try:
            check("m.yaml")
        except ScenarioError as error:
            return [str(problem) for problem in error.problems]
    return ["fine"]


def of_command_line(mistake: str) -> list[str]:
    """Return the standard error of a command, and its exit code."""
    from tests.outputs.verbs import run

    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("mine.yaml").write_text(BEGINNING)
        Path("notes.txt").write_text("mine")
        Path("many.yaml").write_text("name: many\nextends: quickstart\nmatrix: {n: [a, b]}\n")
        output = run(mistake)
    return [*output.err.splitlines(), f"(exit code {output.code})"]


def of_control_plane(mistake: str) -> list[str]:
    """Return the answer of the control plane to an action with a name, subject and body."""
    from sim.core.model.refusals import Refusal

    action, subject, body = mistake.split(" ", 2)
    simulation = Simulation(load_scenario(BEGINNING))
    try:
        simulation.control(action, subject.strip("-"), json.loads(body))
    except Refusal as refusal:
        return [line for line in (refusal.message, refusal.remedy) if line]
    return ["fine"]


@cache
def _said_by_fixture() -> dict[str, list[str]]:
    """Return pytest's lines below the name of each test; all tests run at once."""
    mistakes = [str(row["mistake"]) for row in rows("fixture")]
    with tempfile.TemporaryDirectory() as folder:
        for number, mistake in enumerate(mistakes):
            Path(folder, f"test_{number}.py").write_text(
                mistake.replace("test_it", f"test_{number}")
            )
        Path(folder, "broken.yaml").write_text("name: broken\nsteps:\n- {advence: 1m}\n")
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
        environment = {**os.environ, "COLUMNS": "100", "PYTHONWARNINGS": "ignore"}
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=environment
        )
    output: dict[str, list[str]] = {mistake: [] for mistake in mistakes}
    current: list[str] = []
    for line in done.stdout.replace(f"{folder}/", "").splitlines():
        if head := _HEAD.fullmatch(line):
            current = output[mistakes[int(head[1])]]
        elif line.startswith(("---", "===")):
            current = []
        elif line.strip():
            current.append(re.sub(r"\btest_\d+\b", "test_it", line))
    return output


_HEAD = re.compile(r"_+ (?:ERROR at setup of )?test_(\d+) _+")


def of_fixture(mistake: str) -> list[str]:
    """Return pytest's output for a test with this body."""
    return _said_by_fixture()[mistake]


SURFACES: dict[str, Callable[[str], list[str]]] = {
    "scenarios": of_scenario,
    "command_line": of_command_line,
    "control_plane": of_control_plane,
    "fixture": of_fixture,
}


def rows(surface: str) -> list[dict[str, Any]]:
    """Return the mistakes of a surface: each has `mistake` and `says`."""
    result: list[dict[str, Any]] = yaml.load(
        (FOLDER / f"{surface}.yaml").read_text(), yaml.CSafeLoader
    )
    return result


def renew() -> None:
    """Write the present messages into the tables."""
    for surface, ask in SURFACES.items():
        path = FOLDER / f"{surface}.yaml"
        results = [
            {"mistake": row["mistake"], "says": ask(row["mistake"])} for row in rows(surface)
        ]
        path.write_text(
            yaml.dump(results, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)
        )


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that writes text of several lines as a block."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text and "\t" not in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)

if __name__ == "__main__":
    renew()
