"""Features met over processor time: the hunt, and the random steps of `sim sweep --fuzz`, each with
what it is checked for.

The note of each figure is the curve: features after each quarter of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from time import process_time

from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.core.lifecycle.states import EDGES
from sim.read.features import FeatureReader, totals
from sim.read.invariant_checks import InvariantChecks
from sim.search.fuzz import with_random_steps
from sim.search.hunt.campaign import Campaign, CampaignState, HuntPlan
from sim.search.hunt.roots import roots_of

SECONDS = 60.0  # of processor time a side
STEPS = 150  # of a run


def figures(rounds: int) -> list[Figure]:
    """Measure what is met in so many processor seconds."""
    hunted, fuzzed, canaries, curves = [], [], [], ["", ""]
    for seed in range(1, max(1, rounds // 7) + 1):
        state, counts = _hunt(seed)
        hunted.append(float(len(state.features)))
        canaries.append(state.canary_cpu_s if state.canary is not None else SECONDS)
        curves[0] = f"{_curve(counts)}; {_reached(state)}"
        counts = list(_random_runs(seed))
        fuzzed.append(float(counts[-1]))
        curves[1] = _curve(counts)
    unit = f"features/{SECONDS:.0f} s"
    return [
        Figure("hunt", unit, hunted, fuzzed, "random steps", Goal(2), curves[0]),
        Figure("random steps", unit, fuzzed, [], "", None, curves[1]),
        Figure("canary found", "s", canaries, [], "", Goal(60, lower=True, absolute=True)),
    ]


def _hunt(seed: int) -> tuple[CampaignState, list[int]]:
    """A campaign until the time is spent, and the number of features after each of its rounds."""
    campaign = Campaign(HuntPlan(roots=roots_of(), seed=seed, keep_going=True))
    counts = []
    for report in campaign.run():
        if report.ends_round:
            counts.append(len(campaign.state.features))
            if campaign.state.cpu_s >= SECONDS:
                break
    return campaign.state, counts


def _random_runs(seed: int) -> Iterator[int]:
    """How many features runs with random steps have met, after each of them."""
    met: set[str] = set()
    began = process_time()
    for number in count():
        run_seed = seed * 10_000 + number
        scenario = with_random_steps(load_scenario("quickstart"), run_seed, STEPS)
        simulation = Simulation(scenario, seed=run_seed)
        reader, checks = FeatureReader(simulation), InvariantChecks(simulation)
        while not simulation.script.done and (due := simulation.next_due()) is not None:
            met.update(reader.after_input(simulation.advance_to(due)))
            assert not list(checks.after_input())
        yield len(met)
        if process_time() - began >= SECONDS:
            return


def _curve(counts: Sequence[int]) -> str:
    """Features after each quarter of the time."""
    marks = [counts[max(0, len(counts) * part // 4 - 1)] for part in (1, 2, 3, 4)]
    return "after each quarter " + ", ".join(map(str, marks))


def _reached(hunted: CampaignState) -> str:
    met = totals(hunted.features)
    names = (f"edge:lifecycle|{start.name}|{end.name}" for start, end in EDGES)
    edges = sum(name in hunted.features for name in names)
    operations = f"{met['operations']} operations, {met['rules']} rules"
    return f"{operations}, {edges} of {len(EDGES)} edges of the lifecycle"
