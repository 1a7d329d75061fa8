"""Checks a scenario: its names and values, then every step in a run in memory.

The exchange itself judges what a step sends, so what passes here is not refused in a run. Whether
expectations hold is not asked: a failed one is no problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sim.kernel.instants import Instant
from sim.read.headless_run import run_steps
from sim.run.loader.load import load_scenario, scenario_positions, scenario_variants
from sim.run.simulation import Simulation
from sim.world.format.yaml_tree import Problem, ScenarioError, problem

INPUTS_MAX = 50_000  # of all combinations of a scenario together
COMBINATIONS_MAX = 100


class Checked(NamedTuple):
    """A valid scenario: the number of its steps, and of the combinations of its matrix.

    The first `runs` combinations were run, the last one to `until`, with `inputs` inputs together.
    `complete` says that each run reached its last step.
    """

    steps: int
    combinations: int
    runs: int = 0
    inputs: int = 0
    until: Instant = 0
    complete: bool = True


def check(name: str, *, static: bool = False) -> Checked:
    """Check a scenario, by bundled name, path or text, and unless `static` run it with its own
    seed: the first `COMBINATIONS_MAX` combinations of its matrix, up to `INPUTS_MAX` inputs.

    ScenarioError lists the problems. A step has one if the exchange refuses or ignores some of it
    and the step does not expect that, or if it expects something of a thing that does not exist.
    """
    variants = scenario_variants(name)
    scenarios = [load_scenario(name, values) for values in variants]
    checked = Checked(len(scenarios[0].steps), len(scenarios))
    problems: dict[Problem, str] = {}
    for values, scenario in zip(variants, scenarios, strict=True):
        if static or checked.runs >= COMBINATIONS_MAX or checked.inputs >= INPUTS_MAX:
            break
        simulation = Simulation(scenario)
        about = ", ".join(f"{key}={text}" for key, text in values.items())
        for found in _problems(name, values, simulation, INPUTS_MAX - checked.inputs):
            problems.setdefault(found, f" (with {about})" if about else "")
        checked = checked._replace(
            runs=checked.runs + 1,
            inputs=checked.inputs + simulation.seq,
            until=simulation.now,
            complete=simulation.script.done,
        )
    if problems:
        raise ScenarioError(
            [each._replace(message=each.message + about) for each, about in problems.items()]
        )
    return checked


def _problems(
    name: str, values: dict[str, str], simulation: Simulation, inputs_max: int
) -> Iterator[Problem]:
    """Run one combination, and yield its problems at the positions of its steps."""
    failures = list(run_steps(simulation, inputs_max=inputs_max))
    document, steps = scenario_positions(name, values)
    for index, text in simulation.script.refusals:
        yield problem(steps[index], text)
    for text in failures:
        yield problem(document, text)
