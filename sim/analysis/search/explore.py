"""`sim explore` of scenarios: each documented fault once at each point that a scenario passes.

A first run records the points. Then the scenario runs once for every pair of point and fault, and
the verdict says what became of it:

| Verdict | Meaning |
|---|---|
| held | every expectation held in spite of the fault |
| noticed | the only failures are answers of the very call that the fault struck, as they must be |
| broke | another expectation failed |
| invariant | an invariant of the exchange broke, or an internal error ended the run |
| not struck | the fault changed the run so that its point was not passed |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TextIO

from msgspec import Struct, json

from sim.analysis.errors import UsageError
from sim.analysis.headless_run import Report, run_scenario
from sim.analysis.layout import counted
from sim.analysis.progress import Progress
from sim.analysis.search.campaign import matching_variants
from sim.analysis.search.fault_points import points, refuse_unknown
from sim.analysis.search.workers import map_jobs
from sim.analysis.tables import print_table
from sim.core.service.faults import Fault
from sim.kernel.instants import format_instant
from sim.loader.load import load_scenario
from sim.scenario.scenario import Scenario
from sim.scenario.variation import Change, with_changes
from sim.simulation import Simulation

HELD, NOTICED, BROKE, INVARIANT, UNSTRUCK = "held", "noticed", "broke", "invariant", "not struck"
FAILURES_MAX = 12


class ExploreRequest(Struct, frozen=True, kw_only=True):
    """What to explore: the options of `sim explore`."""

    scenarios: Sequence[str]
    params: dict[str, str] = {}
    operations: str = "*"
    faults: str = "*"
    max_occurrences: int = 0
    jobs: int = 1


class Trial(Struct, frozen=True):
    """One run to make: a scenario by name with its parameters, and the fault as JSON."""

    scenario: str
    params: tuple[tuple[str, str], ...]
    where: str
    kind: str
    fault: str


class Outcome(Struct, frozen=True):
    """The verdict on a trial; `lines` are its failures."""

    trial: Trial
    title: str
    verdict: str
    lines: tuple[str, ...]

    @property
    def survived(self) -> bool:
        return self.verdict not in (BROKE, INVARIANT)

    def document(self) -> dict[str, Any]:
        """The outcome as JSON. Its keys are older than the names in this module."""
        return {
            "scenario": self.title,
            "point": self.trial.where,
            "attack": self.trial.kind,
            "verdict": self.verdict,
            "failures": list(self.lines),
            "fault": json.decode(self.trial.fault),
        }


def explore(request: ExploreRequest, out: TextIO) -> list[Outcome]:
    """Make every trial and print the results; after an interrupt, those of the trials made.

    UsageError when a scenario fails without any fault, or a pattern matches nothing.
    """
    refuse_unknown(request.operations, request.faults)
    trials = list(_trials(request))
    outcomes: list[Outcome] = []
    broke = 0
    with Progress(len(trials), "trials") as bar:
        for outcome in map_jobs(run_trial, trials, request.jobs):
            outcomes.append(outcome)
            broke += not outcome.survived
            bar.step(f"{broke} broke")
    if not bar.interrupted or outcomes:
        _print_outcomes(outcomes, out)
    if bar.interrupted:
        print(
            f"interrupted: {len(outcomes)} of {counted(len(trials), 'trial')} were made", file=out
        )
    return outcomes


def _trials(request: ExploreRequest) -> Iterator[Trial]:
    for name in request.scenarios:
        for variant in matching_variants(name, request.params):
            params = {**variant, **request.params}
            fault_points = points(
                _survey(load_scenario(name, params)),
                wire=False,
                operations=request.operations,
                faults=request.faults,
                max_occurrences=request.max_occurrences,
            )
            for point in fault_points:
                yield Trial(name, tuple(params.items()), point.where, point.kind, point.as_json())


def _survey(scenario: Scenario) -> dict[tuple[str, str], int]:
    """How often a scenario passes each point. UsageError when it fails without any fault."""
    sim = Simulation(scenario)
    survey: dict[tuple[str, str], int] = {}
    sim.exchange.faults.survey = survey
    report = run_scenario(scenario, simulation=sim)
    if not report.ok:
        raise UsageError(f"{report.title} fails without any fault: {report.first_failure}")
    return survey


def run_trial(trial: Trial) -> Outcome:
    """Run a scenario with one more fault."""
    scenario = with_changes(
        load_scenario(trial.scenario, dict(trial.params)),
        (Change("faults", trial.kind, trial.fault),),
    )
    sim = Simulation(scenario)
    added = next(
        fault for fault in reversed(sim.exchange.faults.all()) if fault.spec == scenario.faults[-1]
    )
    report = run_scenario(scenario, simulation=sim)
    return Outcome(trial, report.title, _verdict(sim, added, report), tuple(report.failures()))


def _verdict(sim: Simulation, fault: Fault, report: Report) -> str:
    if report.broken:
        return INVARIANT
    if not fault.struck:
        return UNSTRUCK
    if report.ok:
        return HELD
    struck_at = {entry["at"] for entry in sim.requests() if entry["fault"] == fault.id}
    for result in report.results:
        if result.failures and (
            format_instant(result.at) not in struck_at
            or not result.failures[0].startswith(("status is", "gRPC code is", "refused: "))
        ):
            return BROKE
    return NOTICED


def _print_outcomes(outcomes: list[Outcome], out: TextIO) -> None:
    if not outcomes:
        print(
            "nothing was tried: the run passed no call, frame, delivery or order that a fault could"
            " strike",
            file=out,
        )
        return
    rows = list(_rows(outcomes))
    print_table(rows, out)
    broken = [outcome for outcome in outcomes if not outcome.survived]
    print(
        f"\n{counted(len(outcomes), 'trial')} at {counted(len(rows), 'point')}:"
        f" {len(outcomes) - len(broken)} survived,"
        f" {len(broken)} did not",
        file=out,
    )
    for outcome in broken[:FAILURES_MAX]:
        print(f"{outcome.trial.kind} at {outcome.trial.where} of {outcome.title}:", file=out)
        for line in outcome.lines[:3]:
            print(f"  {line}", file=out)
    if len(broken) > FAILURES_MAX:
        print(f"… and {len(broken) - FAILURES_MAX} more; --json FILE has all of them", file=out)
    if broken:
        print(
            "next: add the fault to the scenario and run it again: faults:"
            f" [{broken[0].trial.fault}]",
            file=out,
        )


def _rows(outcomes: list[Outcome]) -> Iterator[dict[str, Any]]:
    """One row a point: how many trials had each verdict, and the faults it did not survive."""
    by_point: dict[tuple[str, str], list[Outcome]] = {}
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
            UNSTRUCK: verdicts[UNSTRUCK],
            BROKE: ", ".join(outcome.trial.kind for outcome in tried if not outcome.survived),
        }
