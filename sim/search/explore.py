"""`sim explore` of scenarios: each documented fault once at each point that a scenario passes, and
then, if requested, pairs of faults and other timings (`fault_points.py`).

A first run records the points. Then the scenario runs once for every fault at every point, and the
verdict describes the result:

| Verdict | Meaning |
|---|---|
| held | every expectation held in spite of the fault |
| noticed | the only failures are answers of the affected call itself, which are unavoidable |
| broke | another expectation failed |
| invariant | an invariant of the exchange broke, or an internal error ended the run |
| not affected | the fault changed the run, so that its point was not passed |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TextIO

from msgspec import Struct

from sim.core.service.faults import ActiveFault
from sim.kernel.instants import format_instant
from sim.read.errors import UsageError
from sim.read.headless_run import Report, run_scenario
from sim.read.layout import counted, put, wrapped
from sim.read.progress import Progress
from sim.read.tables import print_table
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.campaign import matching_variants
from sim.search.fault_points import (
    BROKE,
    HELD,
    INVARIANT,
    NOT_AFFECTED,
    NOTICED,
    FaultSet,
    Point,
    Survey,
    Trial,
    by_point,
    points,
    refuse_unknown,
    sets_of,
    try_sets,
)
from sim.search.workers import map_jobs
from sim.world.format.variation import SettingChange, with_changes

FAILURES_MAX = 12


class ExploreRequest(Struct, frozen=True, kw_only=True):
    """What to explore: the options of `sim explore`."""

    scenarios: Sequence[str]
    params: dict[str, str] = {}
    operations: str = "*"
    faults: str = "*"
    max_occurrences: int = 0
    pairs: int = 0
    jobs: int = 1


class Variant(NamedTuple):
    """A variant of a scenario: its name and parameters, the points that it passes, and the faults
    to try there.
    """

    scenario: str
    params: tuple[tuple[str, str], ...]
    survey: Survey
    points: list[Point]

    def task(self, faults: FaultSet) -> ExploreTask:
        """Return the run with these faults."""
        return ExploreTask(self.scenario, self.params, faults)


class ExploreTask(NamedTuple):
    """A run to make: a scenario by name with its parameters, and faults, usually one."""

    scenario: str
    params: tuple[tuple[str, str], ...]
    faults: FaultSet


def explore(request: ExploreRequest, out: TextIO) -> list[Trial]:
    """Make every trial and print the results. After an interrupt, print those of the trials made.

    Raises UsageError if a scenario fails without any fault, or a pattern matches nothing.
    """
    refuse_unknown(request.operations, request.faults)
    explored = [*variants(request)]
    tasks = [variant.task((point,)) for variant in explored for point in variant.points]
    trials: list[Trial] = []
    broke = 0
    with Progress(len(tasks), "trials") as bar:
        for trial in map_jobs(run_trial, tasks, request.jobs):
            trials.append(trial)
            broke += not trial.survived
            bar.step(f"{broke} broke")
    sets: list[Trial] = []
    if request.pairs and not bar.interrupted:
        singles = iter(trials)
        for variant in explored:
            sets += _explore_sets(request, variant, list(islice(singles, len(variant.points))))
    if not bar.interrupted or trials:
        _print_trials(trials, sets, out)
    if bar.interrupted:
        put(f"interrupted: {len(trials)} of {counted(len(tasks), 'trial')} were made", file=out)
    return [*trials, *sets]


def variants(request: ExploreRequest) -> Iterator[Variant]:
    """Run the variants of the scenarios once without faults, and yield what to try with each.

    Raises UsageError if one fails without any fault.
    """
    for name in request.scenarios:
        for variant in matching_variants(name, request.params):
            params = tuple({**variant, **request.params}.items())
            trial = run_trial(ExploreTask(name, params, ()))
            if trial.failures:
                problem = f"{trial.subject} fails without any fault: {trial.failures[0]}"
                raise UsageError(problem)
            fault_points = points(
                trial.passed,
                wire=False,
                operations=request.operations,
                faults=request.faults,
                max_occurrences=request.max_occurrences,
            )
            yield Variant(name, params, trial.passed, list(fault_points))


def _explore_sets(request: ExploreRequest, variant: Variant, tried: Sequence[Trial]) -> list[Trial]:
    """Try sets of faults on one variant. Each set that breaks it is reduced to the minimum."""
    sets = sets_of(variant.survey, tried, wire=False, faults=request.faults)[: request.pairs]
    trials: list[Trial] = []

    def run(tries: Sequence[FaultSet]) -> Iterator[Trial]:
        return map_jobs(run_trial, [variant.task(faults) for faults in tries], request.jobs)

    with Progress(len(sets), "pairs and timings") as bar:
        for trial in try_sets(sets, run):
            if trial is not None:
                trials.append(trial)
            bar.step()
    return trials


def run_trial(task: ExploreTask) -> Trial:
    """Run a scenario with its additional faults, if any."""
    changes = tuple(SettingChange("faults", each.kind, each.as_json()) for each in task.faults)
    scenario = with_changes(load_scenario(task.scenario, dict(task.params)), changes)
    sim = Simulation(scenario)
    survey: dict[tuple[str, str], int] = {}
    sim.exchange.faults.survey = survey
    newest_first = sim.exchange.faults.all()[::-1]
    specs = scenario.faults[len(scenario.faults) - len(task.faults) :]
    added = [next(fault for fault in newest_first if fault.spec == spec) for spec in specs]
    report = run_scenario(scenario, simulation=sim)
    verdict = _verdict(sim, added, report)
    return Trial(report.title, task.faults, verdict, tuple(report.failures()), survey)


def _verdict(sim: Simulation, faults: Sequence[ActiveFault], report: Report) -> str:
    if report.broken:
        return INVARIANT
    if not all(fault.affected for fault in faults):
        return NOT_AFFECTED
    if report.ok:
        return HELD
    added = {fault.id for fault in faults}
    affected_at = {entry["at"] for entry in sim.requests() if entry["fault"] in added}
    for result in report.results:
        if result.failures and (
            format_instant(result.at) not in affected_at
            or not result.failures[0].startswith(("status is", "gRPC code is", "refused: "))
        ):
            return BROKE
    return NOTICED


def _print_trials(trials: list[Trial], sets: list[Trial], out: TextIO) -> None:
    if not trials:
        put(
            "nothing was tried: the run had no call, frame, delivery or order that a fault could"
            " affect",
            file=out,
        )
        return
    rows = list(_rows(trials))
    print_table(rows, out)
    put("", f"{counted(len(trials), 'trial')} at {_survived(len(rows), trials)}", file=out)
    if sets:
        put(f"pairs and timings: {_survived(len(sets), sets, 'set')}", file=out)
    broken = [trial for trial in (*trials, *sets) if not trial.survived]
    for trial in broken[:FAILURES_MAX]:
        headline = f"{trial.kind} at {trial.where} of {trial.subject}:"
        put(*wrapped(headline, "  ", first=""), file=out)
        for line in trial.failures[:3]:
            put(f"  {line}", file=out)
    if len(broken) > FAILURES_MAX:
        put(f"… and {len(broken) - FAILURES_MAX} more; --json FILE has all of them", file=out)
    if broken:
        faults = ", ".join(point.as_json() for point in broken[0].faults)
        put(f"next: add the fault to the scenario and run it again: faults: [{faults}]", file=out)


def _survived(count: int, trials: Sequence[Trial], noun: str = "point") -> str:
    lost = sum(not trial.survived for trial in trials)
    return f"{counted(count, noun)}: {len(trials) - lost} survived, {lost} did not"


def _rows(trials: list[Trial]) -> Iterator[dict[str, Any]]:
    """Yield one row per point: how many trials had each verdict, and the faults that broke it."""
    for (title, where), tried in by_point(trials).items():
        verdicts = Counter(trial.verdict for trial in tried)
        yield {
            "scenario": title,
            "point": where,
            "tried": len(tried),
            HELD: verdicts[HELD],
            NOTICED: verdicts[NOTICED],
            NOT_AFFECTED: verdicts[NOT_AFFECTED],
            BROKE: ", ".join(trial.kind for trial in tried if not trial.survived),
        }
