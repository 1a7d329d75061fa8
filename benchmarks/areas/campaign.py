"""Scenarios per minute: fuzzed runs in two processes beside one, and runs that copy a start (seeds
of a sweep, trials of a shrink) beside runs that build their world anew.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest import mock

from benchmarks.figures import Figure
from sim import load_scenario
from sim.read.headless_run import run_scenario
from sim.run import simulation
from sim.run.engine.start import PreparedStarts
from sim.search.campaign import RunPlan, finished
from sim.search.shrink import rerun

RUNS = 60
STEPS = 100
TRIALS = 40


def figures(rounds: int) -> list[Figure]:
    """Measure runs per minute."""
    item, two, set_back, anew, seeds, built = [], [], [], [], [], []
    document = load_scenario("price-time-priority").plain()
    for _ in range(max(1, rounds // 3)):
        item.append(_a_minute(RUNS, lambda: _campaign(1)))
        two.append(_a_minute(RUNS, lambda: _campaign(2)))
        _again(document, 2)
        set_back.append(_a_minute(TRIALS, partial(_again, document, TRIALS)))
        anew.append(
            _a_minute(
                TRIALS,
                lambda: [
                    run_scenario(load_scenario("price-time-priority"), check_invariants=False)
                    for _ in range(TRIALS)
                ],
            )
        )
        seeds.append(_a_minute(RUNS, _seeds))
        with mock.patch.object(simulation, "PREPARED", PreparedStarts(0)):
            built.append(_a_minute(RUNS, _seeds))
    return [
        Figure(
            "seeds of a sweep",
            "runs/min",
            seeds,
            built,
            "built anew",
            None,
            "quickstart without further steps, in one process",
        ),
        Figure(
            "campaign in two processes",
            "runs/min",
            two,
            item,
            "in one",
            None,
            f"{STEPS} drawn steps a run, invariants after each input",
        ),
        Figure(
            "trials of a shrink",
            "runs/min",
            set_back,
            anew,
            "built anew",
            None,
            "a scenario of four steps",
        ),
    ]


def _campaign(jobs: int) -> None:
    for report in finished(
        RunPlan(scenarios=["quickstart"], seeds=range(RUNS), fuzz=STEPS, jobs=jobs)
    ):
        assert report.ok


def _seeds() -> None:
    quickstart = load_scenario("quickstart")
    for seed in range(RUNS):
        assert run_scenario(quickstart, seed=seed).ok


def _again(document: Any, runs: int) -> None:
    for _ in range(runs):
        rerun(document, check_invariants=False)


def _a_minute(count: int, work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return 60 * count / (time.perf_counter() - start)
