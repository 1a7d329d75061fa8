"""Runs of every bundled scenario with many seeds, with calls of random clients after its steps and
with faults that drop, duplicate and reorder frames. The witness checks each run and must find
nothing.

A case is a function of scenario, seed and number of random steps, so a finding is repeated with
`--only SCENARIO --seed N --count 1`. Seeds alternate between the scenario as it is, the hostile
preset, and faults on every stream.

    python -m tools.soak.witness [--count 1000] [--seed 1] [--only NAME] [--seconds N]
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from time import process_time
from typing import NamedTuple

from msgspec.structs import replace

from sim.core.service.fault_spec import FaultAct, FaultMatch, FaultSpec
from sim.evidence.witness.witness import Witness, witness_run
from sim.read.headless_run import run_scenario
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.fuzz import with_random_steps
from sim.world.format.scenario import Scenario

SCENARIOS = Path(__file__).parent.parent.parent / "scenarios"
# They have much traffic themselves, so no random clients are added.
BUSY = ("life-size", "living-market", "living-windows")
STEPS = 100
_EFFECTS = ("drop", "duplicate", "reorder")


class Case(NamedTuple):
    """One run: a scenario, a seed, and the disturbances."""

    scenario: str
    seed: int

    @property
    def variant(self) -> str:
        return ("plain", "hostile", "faults")[self.seed % 3]

    def prepared(self, steps: int) -> Scenario:
        """Return the scenario with its disturbances and random steps."""
        scenario = load_scenario(self.scenario)
        if self.variant == "hostile":
            scenario = replace(scenario, preset="hostile")
        elif self.variant == "faults":
            scenario = replace(scenario, faults=(*scenario.faults, *_stream_faults()))
        if self.scenario in BUSY:
            return scenario
        return with_random_steps(scenario, self.seed, steps)


def _stream_faults() -> Iterator[FaultSpec]:
    for effect in _EFFECTS:
        match = FaultMatch(plane="stream", probability="1/12")
        yield FaultSpec(match=match, act=FaultAct(**{effect: True}))


def bundled() -> list[str]:
    """Return every bundled scenario, those with much traffic last."""
    names = sorted(path.stem for path in SCENARIOS.glob("*.yaml"))
    return [name for name in names if name not in BUSY] + list(BUSY)


def judged(case: Case, steps: int = STEPS) -> Witness:
    """Run a case to its end and check what its clients saw."""
    scenario = case.prepared(steps)
    simulation = Simulation(scenario, seed=case.seed, journal=BytesIO())
    run_scenario(scenario, simulation=simulation, check_invariants=False)
    return witness_run(simulation)


def cases(count: int, first: int, only: str = "") -> Iterator[Case]:
    """Yield every scenario for each seed."""
    names = [only] if only else bundled()
    for seed in range(first, first + count):
        for name in names:
            yield Case(name, seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=1_000, help="seeds")
    parser.add_argument("--seed", type=int, default=1, help="the first one")
    parser.add_argument("--only", default="", help="one scenario")
    parser.add_argument("--steps", type=int, default=STEPS, help="random steps behind each")
    parser.add_argument("--seconds", type=float, default=0, help="of processor time at most")
    args = parser.parse_args()
    applied: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    wrong = runs = observations = 0
    for case in cases(args.count, args.seed, args.only):
        if args.seconds and process_time() > args.seconds:
            break
        witness = judged(case, args.steps)
        runs, observations = runs + 1, observations + witness.observations
        for name, verdict in witness.checks.items():
            applied[name] += verdict.applied
            undecided[name] += verdict.cannot_tell
            for contradiction in verdict.contradictions[:1]:
                wrong += 1
                print(
                    f"{case.scenario} seed {case.seed} ({case.variant}): {name}: {contradiction.sentence}"
                )
                print(f"  lines {contradiction.evidence}", flush=True)
        if runs % 100 == 0:
            print(f"{runs} runs, {wrong} contradictions, {process_time():.0f} s", file=sys.stderr)
    for name, count in applied.items():
        print(f"{name:24} applied {count:>9,}  cannot tell {undecided[name]:>7,}")
    print(f"{runs} runs, {observations:,} observations, {wrong} contradictions", end="")
    print(f", {process_time():.0f} s of processor time")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
