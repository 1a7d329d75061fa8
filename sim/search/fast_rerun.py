"""Many short runs of nearly the same scenario: worlds are built once and reset for each run.

Building the default world takes most of a short run. Runs that only differ in their steps share a
world, without any effect on the outcome of a run.
"""

from __future__ import annotations

from typing import Any

from msgspec import json
from msgspec.structs import replace

from sim.read.headless_run import Report, run_scenario
from sim.run.loader.check_steps import step_problems
from sim.run.loader.load import scenario_from_document
from sim.run.simulation import Simulation
from sim.world.format.yaml_tree import ScenarioError, tree_of

WORLDS_MAX = 4


class FastRerun:
    """Runs scenario documents, and keeps the most recently used worlds."""

    def __init__(self, *, check_invariants: bool) -> None:
        self._check_invariants = check_invariants
        self._worlds: dict[bytes, Simulation] = {}

    def run(self, document: dict[str, Any]) -> Report:
        """Run a document.

        Raises ScenarioError if it is invalid, or whatever building its world raises.
        """
        tree = tree_of(document, "document")
        scenario = scenario_from_document(document)
        key = json.encode({name: part for name, part in document.items() if name != "steps"})
        sim = self._worlds.pop(key, None)
        if sim is None:
            sim = Simulation(replace(scenario, steps=()))
        else:
            sim.reset()
        self._worlds[key] = sim
        if problems := list(step_problems(scenario, tree, sim.world)):
            raise ScenarioError(problems)
        if len(self._worlds) > WORLDS_MAX:
            del self._worlds[next(iter(self._worlds))]
        sim.script.restart(scenario.steps)
        return run_scenario(scenario, simulation=sim, check_invariants=self._check_invariants)
