"""Many short runs of nearly the same scenario: a world is built once and set back for every run
that differs in its steps only.

Building the default world is most of a short run. What comes of a run is the same either way.
"""

from __future__ import annotations

from typing import Any

from msgspec import json
from msgspec.structs import replace

from sim.actors.script.runner import Script
from sim.analysis.headless_run import Report, run_scenario
from sim.loader.check_steps import step_problems
from sim.loader.load import scenario_from_document
from sim.scenario.yaml_tree import ScenarioError, tree_of
from sim.simulation import Simulation

KEPT = 4


class Bench:
    """Runs scenario documents. `watch`: look at the invariants after every input."""

    def __init__(self, *, watch: bool) -> None:
        self._watch = watch
        self._worlds: dict[bytes, Simulation] = {}

    def run(self, document: dict[str, Any]) -> Report:
        """Run a document. ScenarioError when it is no scenario; whatever building its world raises."""
        tree = tree_of(document, "document")
        scenario = scenario_from_document(document)
        key = json.encode({name: part for name, part in document.items() if name != "steps"})
        world = self._worlds.pop(key, None)
        if world is None:
            world = Simulation(replace(scenario, steps=()))
        else:
            world.reset()
        self._worlds[key] = world
        if problems := list(step_problems(scenario, tree, world.world)):
            raise ScenarioError(problems)
        if len(self._worlds) > KEPT:
            del self._worlds[next(iter(self._worlds))]
        world.scenario = scenario
        world.script = Script(world)
        return run_scenario(scenario, simulation=world, watch=self._watch)
