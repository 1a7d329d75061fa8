"""`sim explore` of scenarios: each documented fault once at each point that a scenario passes, and
then, if requested, pairs of faults and other timings (`fault_sets.py`).

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
from typing import Any, NamedTuple, TextIO

from msgspec import Struct, json

from sim.core.service.faults import Fault
from sim.kernel.instants import format_instant
from sim.read.errors import UsageError
from sim.read.headless_run import Report, run_scenario
from sim.read.layout import counted, wrapped
from sim.read.progress import Progress
from sim.read.tables import print_table
from sim.run.loader.load import load_scenario
from sim.run.simulation import Simulation
from sim.search.fault_points import Point, points, refuse_unknown
from sim.search.fault_sets import FaultSet, SingleFaultResult, names_of, sets_of, try_sets
from sim.search.variants import matching_variants
from sim.search.workers import map_jobs
from sim.world.format.scenario import Scenario
from sim.world.format.variation import Change, with_changes

HELD, NOTICED, BROKE, INVARIANT, NOT_AFFECTED = (
    "held",
    "noticed",
    "broke",
    "invariant",
    "not affected",
)
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


class ExploreTrial(Struct, frozen=True):
    """One run to make: a scenario by name with its parameters, and faults as JSON, usually one."""

    scenario: str
    params: tuple[tuple[str, str], ...]
    where: str
    kind: str
    faults: tuple[str, ...]

    @property
    def entries(self) -> str:
        """The faults as a scenario lists them."""
        return ", ".join(self.faults)


class TrialResult(Struct, frozen=True):
    """The verdict on a trial.

    `lines` are its failures; `passed` counts the points that the run passed by plane and operation.
    """

    trial: ExploreTrial
    title: str
    verdict: str
    lines: tuple[str, ...]
    passed: tuple[tuple[str, str, int], ...] = ()

    @property
    def survived(self) -> bool:
        return self.verdict not in (BROKE, INVARIANT)

    def document(self) -> dict[str, Any]:
        """Return the outcome as JSON."""
        return {
            "scenario": self.title,
            "point": self.trial.where,
            "kind": self.trial.kind,
            "verdict": self.verdict,
            "failures": list(self.lines),
            "fault": json.decode(self.trial.faults[0]),
            "faults": [json.decode(fault) for fault in self.trial.faults],
        }


def explore(request: ExploreRequest, out: TextIO) -> list[TrialResult]:
    """Make every trial and print the results. After an interrupt, print those of the trials made.

    Raises UsageError if a scenario fails without any fault, or a pattern matches nothing.
    """
    refuse_unknown(request.operations, request.faults)
    explored = [*_explored(request)]
    trials = [trial for variant in explored for trial in variant.trials]
    outcomes: list[TrialResult] = []
    broke = 0
    with Progress(len(trials), "trials") as bar:
        for outcome in map_jobs(run_trial, trials, request.jobs):
            outcomes.append(outcome)
            broke += not outcome.survived
            bar.step(f"{broke} broke")
    sets: list[TrialResult] = []
    if request.pairs and not bar.interrupted:
        for variant in explored:
            sets += _explore_sets(request, variant, outcomes)
    if not bar.interrupted or outcomes:
        _print_outcomes(outcomes, sets, out)
    if bar.interrupted:
        print(
            f"interrupted: {len(outcomes)} of {counted(len(trials), 'trial')} were made", file=out
        )
    return [*outcomes, *sets]


class _ExploredVariant(NamedTuple):
    """A variant of a scenario, the points that it passes, and its single trials by point."""

    scenario: str
    params: tuple[tuple[str, str], ...]
    survey: dict[tuple[str, str], int]
    points: list[Point]

    @property
    def trials(self) -> list[ExploreTrial]:
        return [self.trial((point,)) for point in self.points]

    def trial(self, faults: FaultSet) -> ExploreTrial:
        """Return the trial with these faults."""
        where, kind = names_of(faults)
        documents = tuple(point.as_json() for point in faults)
        return ExploreTrial(self.scenario, self.params, where, kind, documents)


def _explored(request: ExploreRequest) -> Iterator[_ExploredVariant]:
    for name in request.scenarios:
        for variant in matching_variants(name, request.params):
            params = {**variant, **request.params}
            survey = _survey(load_scenario(name, params))
            fault_points = points(
                survey,
                wire=False,
                operations=request.operations,
                faults=request.faults,
                max_occurrences=request.max_occurrences,
            )
            yield _ExploredVariant(name, tuple(params.items()), survey, list(fault_points))


def _explore_sets(
    request: ExploreRequest, explored: _ExploredVariant, outcomes: Sequence[TrialResult]
) -> list[TrialResult]:
    """Try sets of faults on one variant. Each set that breaks it is reduced to the minimum."""
    by_trial = {outcome.trial: outcome for outcome in outcomes}
    tried = []
    for point, trial in zip(explored.points, explored.trials, strict=True):
        outcome = by_trial[trial]
        passed = {(plane, operation): count for plane, operation, count in outcome.passed}
        tried.append(
            SingleFaultResult(point, outcome.survived and outcome.verdict != NOT_AFFECTED, passed)
        )
    sets = sets_of(explored.survey, tried, wire=False, faults=request.faults)[: request.pairs]
    results: list[TrialResult] = []

    def run(tries: Sequence[FaultSet]) -> Iterator[TrialResult]:
        return map_jobs(run_trial, [explored.trial(faults) for faults in tries], request.jobs)

    with Progress(len(sets), "pairs and timings") as bar:
        for result in try_sets(sets, run, lambda outcome: not outcome.survived):
            if result is not None:
                results.append(result)
            bar.step()
    return results


def _survey(scenario: Scenario) -> dict[tuple[str, str], int]:
    """Return how often a scenario passes each point.

    Raises UsageError if it fails without any fault.
    """
    sim = Simulation(scenario)
    survey: dict[tuple[str, str], int] = {}
    sim.exchange.faults.survey = survey
    report = run_scenario(scenario, simulation=sim)
    if not report.ok:
        raise UsageError(f"{report.title} fails without any fault: {report.first_failure}")
    return survey


def run_trial(trial: ExploreTrial) -> TrialResult:
    """Run a scenario with one or more additional faults."""
    changes = tuple(Change("faults", trial.kind, fault) for fault in trial.faults)
    scenario = with_changes(load_scenario(trial.scenario, dict(trial.params)), changes)
    sim = Simulation(scenario)
    survey: dict[tuple[str, str], int] = {}
    sim.exchange.faults.survey = survey
    newest_first = sim.exchange.faults.all()[::-1]
    specs = scenario.faults[-len(trial.faults) :]
    added = [next(fault for fault in newest_first if fault.spec == spec) for spec in specs]
    report = run_scenario(scenario, simulation=sim)
    verdict, passed = _verdict(sim, added, report), tuple((*key, n) for key, n in survey.items())
    return TrialResult(trial, report.title, verdict, tuple(report.failures()), passed)


def _verdict(sim: Simulation, faults: Sequence[Fault], report: Report) -> str:
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


def _print_outcomes(outcomes: list[TrialResult], sets: list[TrialResult], out: TextIO) -> None:
    if not outcomes:
        print(
            "nothing was tried: the run had no call, frame, delivery or order that a fault could"
            " affect",
            file=out,
        )
        return
    rows = list(_rows(outcomes))
    print_table(rows, out)
    broken = [outcome for outcome in outcomes if not outcome.survived]
    print(f"\n{counted(len(outcomes), 'trial')} at {_survived(len(rows), outcomes)}", file=out)
    if sets:
        together = [outcome for outcome in sets if not outcome.survived]
        print(f"pairs and timings: {_survived(len(sets), sets, 'set')}", file=out)
        broken += together
    for outcome in broken[:FAILURES_MAX]:
        headline = f"{outcome.trial.kind} at {outcome.trial.where} of {outcome.title}:"
        print(*wrapped(headline, "  ", first=""), sep="\n", file=out)
        for line in outcome.lines[:3]:
            print(f"  {line}", file=out)
    if len(broken) > FAILURES_MAX:
        print(f"… and {len(broken) - FAILURES_MAX} more; --json FILE has all of them", file=out)
    if broken:
        print(
            "next: add the fault to the scenario and run it again: faults:"
            f" [{broken[0].trial.entries}]",
            file=out,
        )


def _survived(count: int, outcomes: Sequence[TrialResult], noun: str = "point") -> str:
    lost = sum(not outcome.survived for outcome in outcomes)
    return f"{counted(count, noun)}: {len(outcomes) - lost} survived, {lost} did not"


def _rows(outcomes: list[TrialResult]) -> Iterator[dict[str, Any]]:
    """Yield one row per point: how many trials had each verdict, and the faults that broke it."""
    by_point: dict[tuple[str, str], list[TrialResult]] = {}
    for outcome in outcomes:
        by_point.setdefault((outcome.title, outcome.trial.where), []).append(outcome)
    for (title, where), tried in by_point.items():
        verdicts = Counter(outcome.verdict for outcome in tried)
        yield {
            "scenario": title,
            "point": where,
            "tried": len(tried),
            HELD: verdicts[HELD],
            NOTICED: verdicts[NOTICED],
            NOT_AFFECTED: verdicts[NOT_AFFECTED],
            BROKE: ", ".join(outcome.trial.kind for outcome in tried if not outcome.survived),
        }
