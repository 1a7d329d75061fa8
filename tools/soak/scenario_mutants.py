"""What `sim check` accepts, `sim run` runs: mutants of scenarios, and scenarios with random steps.

A mutant is refused with problems that have a place, or it runs to a verdict, can be saved, forked
and rewound, and its journal replays. Anything else is a defect of ours.

    python -m tools.soak.scenario_mutants --count 10000 --seed 1
"""

from __future__ import annotations

import copy
import io
import random
import sys
import time
from collections.abc import Iterator
from typing import Any

import jsonschema_rs
import yaml

from sim.kernel.instants import OUT_OF_RANGE
from sim.kernel.journal_reader import read_journal
from sim.read.headless_run import junit, run_scenario
from sim.read.replay import verify
from sim.run.loader.load import load_scenario, load_submitted, scenario_from_source
from sim.run.simulation import Simulation
from sim.search.fuzz import with_random_steps
from sim.world.format.json_schema import scenario_schema
from sim.world.format.scenario import Scenario
from sim.world.format.yaml_tree import ScenarioError
from tools.soak.corpus import SCENARIOS, documents, mutate, mutate_text, texts
from tools.soak.findings import Finding, Slow, patience, run_search

# Seconds of the processor for one scenario. To read and check one takes less, whatever is in it; a
# run may be asked to go on for decades, and is then left alone as "long".
PATIENCE = 20
_EDITOR = jsonschema_rs.validator_for(scenario_schema())


def source(rng: random.Random, corpus: list[dict[str, Any]], files: list[str]) -> Any:
    """A mutant: a document, or the text of a file."""
    if rng.random() < 0.15:
        return mutate_text(rng.choice(files), rng)
    document = copy.deepcopy(rng.choice(corpus))
    for _ in range(rng.choice((1, 1, 1, 1, 1, 1, 2, 3))):
        mutate(document, rng)
    return document


def load(value: Any) -> Scenario:
    """Read a mutant as the command line does (text) or the control plane (a document).

    AssertionError for a problem without a place.
    """
    try:
        if isinstance(value, str):
            return load_scenario(value if "\n" in value else value + "\n")
        scenario = load_submitted(value, SCENARIOS)
        assert _EDITOR.is_valid(value), "an editor underlines what is valid"
        return scenario
    except ScenarioError as error:
        assert error.problems, "no problem is told"
        for problem in error.problems:
            assert problem.message and (problem.line > 0 or not isinstance(value, str)), problem
            str(problem).encode()
        raise


def try_out(scenario: Scenario, *, thorough: bool) -> None:
    """Run a scenario that was accepted. AssertionError or whatever it fails with."""
    written = io.BytesIO()
    simulation = Simulation(scenario, journal=written)
    report = run_scenario(scenario, simulation=simulation, check_invariants=False)
    broken = [line for line in report.broken if OUT_OF_RANGE not in line]  # told, not hidden
    assert not broken, broken
    assert not [line for line in report.failures() if "mistake of the simulator" in line], report
    "\n".join(report.lines()).encode("utf-8", "replace")
    junit([report])
    if thorough:
        digest, seq = simulation.digest, simulation.seq
        assert simulation.fork().digest == digest
        simulation.snapshot("here")
        simulation.rewind(seq=seq // 2)
        simulation.restore("here")
        assert simulation.digest == digest
        header, lines = read_journal(io.BytesIO(written.getvalue()))
        replayed = Simulation(scenario_from_source(bytes(header.scenario)), seed=header.seed)
        verify(replayed, lines)
        assert replayed.digest == digest


def examine(
    value: Any, rng: random.Random, seconds: float = PATIENCE
) -> tuple[str, Finding | None]:
    """The verdict on a mutant ("refused", "ran" or "long"), and what is wrong with us."""
    scenario = None
    try:
        with patience(PATIENCE):
            try:
                scenario = load(value)
            except ScenarioError:
                return "refused", None
        with patience(seconds):
            if rng.random() < 0.05:
                scenario = with_random_steps(scenario, rng.randrange(1 << 30), 15)
            try_out(scenario, thorough=rng.random() < 0.3)
            return "ran", None
    except (Exception, Slow) as error:
        if isinstance(error, Slow) and scenario is not None:
            return "long", None
        text = value if isinstance(value, str) else yaml.safe_dump(value, allow_unicode=True)
        return "failed", Finding.of(error, text)


def search(
    count: int, seed: int, stop: float = 0, seconds: float = PATIENCE
) -> Iterator[tuple[str, Finding | None]]:
    """The verdicts on so many mutants, none of which runs longer; a seed makes the same ones."""
    corpus, files = documents(), texts()
    for number in range(count):
        if stop and time.monotonic() > stop:
            return
        rng = random.Random(f"{seed}/{number}")
        yield examine(source(rng, corpus, files), rng, seconds)


if __name__ == "__main__":
    sys.exit(run_search(search, __doc__, 10_000, ".yaml"))
