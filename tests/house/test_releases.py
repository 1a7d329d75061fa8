"""Releases: in `sim --version`, in every journal, and for scenarios that name one."""

from __future__ import annotations

import io
import json

import pytest
import yaml

import sim
from sim import Simulation, load_scenario
from sim.cli.main import main
from sim.kernel.release import RELEASE
from sim.world.format.yaml_tree import ScenarioError

NUMBERS = [int(part) for part in RELEASE.split(".")]
LATER = [f"{NUMBERS[0]}.{NUMBERS[1] + 1}", f"{NUMBERS[0] + 1}.0.0"]


def scenario(release: str, more: str = "") -> str:
    return f"name: mine\nrelease: {release}\nextends: quickstart\n{more}"


def test_every_journal_says_which_release_wrote_it(capsys: pytest.CaptureFixture[str]) -> None:
    file = io.BytesIO()
    Simulation(load_scenario("quickstart"), journal=file)
    header = json.loads(file.getvalue().splitlines()[0])
    assert header["libraries"]["sandbox-exchange"] == RELEASE
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"sim {RELEASE}\n"
    assert sim.__version__ == RELEASE


@pytest.mark.parametrize("release", ["0.0.1", RELEASE, '"0.1"'])
def test_a_scenario_of_this_release_or_an_earlier_one_runs(release: str) -> None:
    assert load_scenario(scenario(release)).release == yaml.safe_load(release)


@pytest.mark.parametrize("release", LATER)
def test_a_scenario_of_a_later_release_is_refused_for_that_alone(release: str) -> None:
    with pytest.raises(ScenarioError) as error:
        load_scenario(scenario(f'"{release}"', "key_of_tomorrow: 1\n"))
    (problem,) = error.value.problems
    assert (problem.line, problem.message.count(release)) == (2, 1)
    assert f"this is {RELEASE}: upgrade it" in problem.message


def test_a_mistake_in_a_scenario_of_an_earlier_release_leads_to_the_changelog() -> None:
    with pytest.raises(ScenarioError) as error:
        load_scenario(scenario("0.0.1", "quirks: {no_such: always}\n"))
    first, last = error.value.problems
    assert "no_such" in first.message
    assert last.line == 2 and "the changelog says what has changed" in last.message


@pytest.mark.parametrize("release", ["one", "1", "v0.1.0", "[]", '"0.1.0.0"', '"٠.١"'])
def test_what_is_no_release_is_refused(release: str) -> None:
    with pytest.raises(ScenarioError, match="release"):
        load_scenario(scenario(release))
