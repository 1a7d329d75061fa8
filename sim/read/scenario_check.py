"""Checks a scenario: its names and values, then every step in a run in memory.

The exchange itself judges what a step sends, so what passes here is not refused in a run. Whether
expectations hold is not asked: a failed one is no problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sim.kernel.instants import Instant
from sim.read.explain.faults import idle_faults
from sim.read.headless_run import run_steps
from sim.run.loader.load import load_scenario, scenario_positions, scenario_variants
from sim.run.simulation import Simulation
from sim.world.format.value_types import add_problem
from sim.world.format.yaml_tree import Problem, ScenarioError, SourcePosition

INPUTS_MAX = 50_000  # of all combinations of a scenario together
COMBINATIONS_MAX = 100


class Checked(NamedTuple):
    """A valid scenario: the number of its steps, and of the combinations of its matrix.

    The first `runs` combinations were run, the last one to `until`, with `inputs` inputs together.
    `complete` says that each run reached its last step. `notes` are about faults that never acted
    in any of them.
    """

    steps: int
    combinations: int
    runs: int = 0
    inputs: int = 0
    until: Instant = 0
    complete: bool = True
    notes: tuple[str, ...] = ()


def check(name: str, *, static: bool = False) -> Checked:
    """Check a scenario, by bundled name, path or text, and unless `static` run it with its own
    seed: the first `COMBINATIONS_MAX` combinations of its matrix, up to `INPUTS_MAX` inputs.

    ScenarioError lists the problems. A step has one if the exchange refuses or ignores some of it
    and the step does not expect that, or if it expects something of a thing that does not exist.
    """
    variants = scenario_variants(name)
    scenarios = [load_scenario(name, values) for values in variants]
    checked = Checked(len(scenarios[0].steps), len(scenarios))
    refusals: dict[tuple[SourcePosition, str], str] = {}  # with the first combination that has it
    for values, scenario in zip(variants, scenarios, strict=True):
        if static or checked.runs >= COMBINATIONS_MAX or checked.inputs >= INPUTS_MAX:
            break
        simulation = Simulation(scenario)
        combination = ", ".join(f"{key}={text}" for key, text in values.items())
        for refusal in _refusals(name, values, simulation, INPUTS_MAX - checked.inputs):
            refusals.setdefault(refusal, f" (with {combination})" if combination else "")
        checked = checked._replace(
            runs=checked.runs + 1,
            inputs=checked.inputs + simulation.seq,
            until=simulation.now,
            complete=simulation.script.done,
            notes=_still_idle(checked, simulation),
        )
    problems: list[Problem] = []
    for (at, text), combination in sorted(refusals.items(), key=lambda item: item[0][0]):
        add_problem(at, f"{text}{combination}", problems)
    if problems:
        raise ScenarioError(problems)
    return checked


def _still_idle(checked: Checked, simulation: Simulation) -> tuple[str, ...]:
    idle = idle_faults(simulation)
    return tuple(idle if not checked.runs else (line for line in checked.notes if line in idle))


def _refusals(
    name: str, values: dict[str, str], simulation: Simulation, inputs_max: int
) -> Iterator[tuple[SourcePosition, str]]:
    """Run one combination, and yield what was refused with the positions of the steps. What ends
    the run early has the position of the scenario.
    """
    ends = list(run_steps(simulation, inputs_max=inputs_max))
    document, steps = scenario_positions(name, values)
    yield from ((steps[index], text) for index, text in simulation.script.refusals)
    yield from ((document, text) for text in ends)
