"""Features met over processor time: the hunt, the same episodes without guidance, and the random
storms of `sim sweep --fuzz`, each with what it is checked for.

The note of each figure is the curve: features after each quarter of the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from time import process_time

from benchmarks.figures import Figure, Goal
from sim import Simulation, load_scenario
from sim.core.lifecycle.states import EDGES
from sim.read.features.features import FeatureReader, totals
from sim.read.invariant_checks import InvariantChecks
from sim.search.fuzz import with_random_steps
from sim.search.hunt.campaign import Campaign, CampaignState, HuntFinding, HuntPlan
from sim.search.hunt.roots import roots_of

SECONDS = 60.0  # of processor time a side
STEPS = 150  # of a storm


def figures(rounds: int) -> list[Figure]:
    """Measure what is met in so many processor seconds."""
    hunted, blind, storms, canaries = [], [], [], []
    curves = [""] * 3
    for seed in range(1, max(1, rounds // 7) + 1):
        guided, sampled = _hunt(seed, guided=True)
        hunted.append(float(len(guided.news)))
        canaries.append(guided.canary_cpu_s if guided.canary is not None else SECONDS)
        curves[0] = f"{_curve(sampled)}; {_reached(guided)}"
        without, sampled = _hunt(seed, guided=False)
        blind.append(float(len(without.news)))
        curves[1] = _curve(sampled)
        met = list(_storms(seed))
        storms.append(float(met[-1]))
        curves[2] = _curve(met)
    unit = f"features/{SECONDS:.0f} s"
    return [
        Figure("hunt", unit, hunted, storms, "random storms", Goal(3), curves[0]),
        Figure("hunt", unit, hunted, blind, "same genes unguided", Goal(1), curves[1]),
        Figure("random storms", unit, storms, [], "", None, curves[2]),
        Figure("canary found", "s", canaries, [], "", Goal(60, lower=True, absolute=True)),
    ]


class _Sampler:
    """Counts features after each round of a campaign, and ends it when the time is spent."""

    def __init__(self) -> None:
        self.counts: list[int] = []
        self.spent = 0.0

    def news(self, features: Sequence[str], so_far: CampaignState) -> None: ...

    def trouble(self, found: HuntFinding, so_far: CampaignState) -> None: ...

    def round(self, so_far: CampaignState) -> None:
        self.counts.append(len(so_far.news))
        self.spent = so_far.cpu_s

    def over(self) -> bool:
        return self.spent >= SECONDS


def _hunt(seed: int, *, guided: bool) -> tuple[CampaignState, list[int]]:
    plan = HuntPlan(roots=roots_of(), seed=seed, keep_going=True, guided=guided)
    sampler = _Sampler()
    return Campaign(plan, sampler, sampler.over).run(), sampler.counts


def _storms(seed: int) -> Iterator[int]:
    """How many features storms have met, after each of them."""
    met: set[str] = set()
    began = process_time()
    for number in count():
        one = seed * 10_000 + number
        simulation = Simulation(
            with_random_steps(load_scenario("quickstart"), one, STEPS), seed=one
        )
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
    found = totals(hunted.news)
    edges = sum(f"edge:lifecycle|{was.name}|{to.name}" in hunted.news for was, to in EDGES)
    operations = f"{found['operations']} operations, {found['rules']} rules"
    return f"{operations}, {edges} of {len(EDGES)} edges of the lifecycle"
