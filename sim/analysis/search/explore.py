"""`sim explore` of scenarios: every documented fault at every point that a scenario passes, once
each, and what of the scenario still holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct, json

from sim.analysis.headless_run import Report, run_scenario
from sim.analysis.search.fault_points import points, refuse_unknown
from sim.analysis.search.progress import Progress
from sim.analysis.search.workers import each
from sim.analysis.tables import as_text
from sim.core.service.faults import Fault
from sim.kernel.instants import format_instant
from sim.loader.load import load_scenario, scenario_variants
from sim.scenario.scenario import Scenario
from sim.scenario.variation import Change, with_changes
from sim.simulation import Simulation

HELD, NOTICED, BROKE, INVARIANT, UNSTRUCK = "held", "noticed", "broke", "invariant", "not struck"
SHOWN = 12


class ExploreRequest(Struct, frozen=True, kw_only=True):
    """What to explore; the options of `sim explore`."""

    scenarios: Sequence[str]
    params: dict[str, str] = {}
    operations: str = "*"
    faults: str = "*"
    max_occurrences: int = 0
    jobs: int = 1
    json: str = ""


class Trial(Struct, frozen=True):
    """One run to make: a scenario by name with its parameters, and the fault."""

    scenario: str
    params: tuple[tuple[str, str], ...]
    where: str
    kind: str
    fault: str


class Outcome(Struct, frozen=True):
    """What became of a run. `lines` are its failures."""

    trial: Trial
    title: str
    verdict: str
    lines: tuple[str, ...]


def explore(wanted: ExploreRequest, out: TextIO, progress: TextIO) -> bool:
    """Try everything and say what was found; whether nothing broke. ValueError when a scenario
    fails as it is.
    """
    refuse_unknown(wanted.operations, wanted.faults)
    trials = list(_trials(wanted))
    told = Progress(progress, len(trials), "trials")
    outcomes: list[Outcome] = []
    for outcome in (
        each(run_trial, trials, wanted.jobs)
        if wanted.jobs > 1 and len(trials) > 1
        else map(run_trial, trials)
    ):
        outcomes.append(outcome)
        told.step(f"{sum(1 for one in outcomes if one.verdict in (BROKE, INVARIANT))} broke")
    told.end()
    if wanted.json:
        Path(wanted.json).write_bytes(
            json.format(json.encode([_plain(outcome) for outcome in outcomes])) + b"\n"
        )
    _say(outcomes, out)
    return not any(outcome.verdict in (BROKE, INVARIANT) for outcome in outcomes)


def _trials(wanted: ExploreRequest) -> Iterator[Trial]:
    for name in wanted.scenarios:
        for variant in scenario_variants(name):
            if any(variant.get(key, value) != value for key, value in wanted.params.items()):
                continue
            params = {**variant, **wanted.params}
            for point in points(
                _survey(load_scenario(name, params)),
                wire=False,
                operations=wanted.operations,
                faults=wanted.faults,
                max_occurrences=wanted.max_occurrences,
            ):
                yield Trial(name, tuple(params.items()), point.where, point.kind, point.as_json())


def _survey(scenario: Scenario) -> dict[tuple[str, str], int]:
    """Points that a scenario passes. ValueError when it does not hold as it is."""
    sim = Simulation(scenario)
    survey: dict[tuple[str, str], int] = {}
    sim.exchange.faults.survey = survey
    report = run_scenario(scenario, simulation=sim)
    if not report.ok:
        raise ValueError(f"{report.title} fails without any fault: {report.first_failure}")
    return survey


def run_trial(trial: Trial) -> Outcome:
    """Run a scenario with one fault more."""
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
    """`noticed`: all that fails is the answer of the very call that was struck, as it must."""
    if report.broken:
        return INVARIANT
    if not fault.struck:
        return UNSTRUCK
    if report.ok:
        return HELD
    struck = {entry["at"] for entry in sim.requests() if entry["fault"] == fault.id}
    for result in report.results:
        if result.failures and (
            format_instant(result.at) not in struck
            or not result.failures[0].startswith(("status is", "gRPC code is"))
        ):
            return BROKE
    return NOTICED


def _say(outcomes: list[Outcome], out: TextIO) -> None:
    if not outcomes:
        print(
            "nothing was tried: no call, frame, delivery or order passed by that a fault could"
            " strike",
            file=out,
        )
        return
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for outcome in outcomes:
        fresh = {
            "scenario": outcome.title,
            "point": outcome.trial.where,
            "tried": 0,
            HELD: 0,
            NOTICED: 0,
            UNSTRUCK: 0,
            BROKE: "",
        }
        row = rows.setdefault((outcome.title, outcome.trial.where), fresh)
        row["tried"] += 1
        if outcome.verdict in (HELD, NOTICED, UNSTRUCK):
            row[outcome.verdict] += 1
        else:
            row[BROKE] = ", ".join(part for part in (row[BROKE], outcome.trial.kind) if part)
    print(as_text(list(rows.values())), file=out)
    broken = [outcome for outcome in outcomes if outcome.verdict in (BROKE, INVARIANT)]
    print(
        f"\n{len(outcomes)} trials at {len(rows)} points: {len(outcomes) - len(broken)} survived,"
        f" {len(broken)} did not",
        file=out,
    )
    for outcome in broken[:SHOWN]:
        print(f"{outcome.trial.kind} at {outcome.trial.where} of {outcome.title}:", file=out)
        for line in outcome.lines[:3]:
            print(f"  {line}", file=out)
    if broken:
        if len(broken) > SHOWN:
            print(f"… and {len(broken) - SHOWN} more; --json FILE has all of them", file=out)
        print(
            f"next: put it into the scenario and run it again: faults: [{broken[0].trial.fault}]",
            file=out,
        )


def _plain(outcome: Outcome) -> dict[str, Any]:
    trial = outcome.trial
    return {
        "scenario": outcome.title,
        "point": trial.where,
        "attack": trial.kind,
        "verdict": outcome.verdict,
        "failures": list(outcome.lines),
        "fault": json.decode(trial.fault),
    }
