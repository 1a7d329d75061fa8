"""`sim run` and the runs of `sim sweep`: a plan of independent runs, carried out in order.

A plan names scenarios, seeds and changes. `jobs_of` lists its jobs, and a job is everything that a
worker needs for one run. A results file has a line for each finished job, so an interrupted
campaign resumes where it stopped, whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import BytesIO
from itertools import count
from pathlib import Path
from pkgutil import resolve_name
from typing import TextIO

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from sim.evidence.audit import Audit, disagreement_lines
from sim.kernel.journal_reader import read_journal
from sim.read.commands import sim_command
from sim.read.exchange_coverage import Recorder, document, headline, merged, read
from sim.read.features import FeatureRecorder
from sim.read.headless_run import Report, junit, matrix_values, run_file, run_scenario
from sim.read.layout import counted, put
from sim.read.progress import Progress
from sim.read.replay import Divergence, simulation_of, verify
from sim.run.loader.load import load_scenario, scenario_from_source, scenario_variants
from sim.run.simulation import Simulation
from sim.search.fuzz import with_random_steps
from sim.search.workers import workers
from sim.world.format.scenario import Scenario
from sim.world.format.variation import SettingChange, label, with_changes, with_choices
from sim.world.format.yaml_tree import SourcePosition, error_at


class RunOptions(Struct, frozen=True, kw_only=True):
    """What holds for every run of a plan. Folders are "" for nowhere.

    `oracles` name functions, as "package.module:function", that receive the simulation of a
    finished run and yield a line for everything that is wrong with it. `fuzz` random steps are
    appended to each scenario.
    """

    preset: str = ""
    reading: str = ""
    save_failures: str = ""
    journal: str = ""
    report: str = ""
    fuzz: int = 0
    verify: bool = False
    oracles: tuple[str, ...] = ()
    features: bool = False


class RunPlan(RunOptions, frozen=True, kw_only=True):
    """What to run, and the files of results ("": none)."""

    scenarios: Sequence[str]
    seeds: Sequence[int] | None = None
    jobs: int = 1
    params: Mapping[str, str] = {}
    results: str = ""
    resume: bool = False
    junit: str = ""
    coverage: str = ""
    variations: Sequence[tuple[SettingChange, ...]] = ((),)
    cluster: str = ""


class Job(RunOptions, frozen=True, kw_only=True):
    """One run, in the form of a line of a results file.

    A `seed` of None means the scenario's own. `changes` are applied to the scenario. `copy` is 2
    for the second run whose files would have the same names, and so on.
    """

    scenario: str
    seed: int | None = None
    params: tuple[tuple[str, str], ...] = ()
    coverage: bool = False
    changes: tuple[SettingChange, ...] = ()
    copy: int = 0


class Result(Struct, frozen=True):
    """A line of a results file."""

    job: Job
    report: Report


_result = json.Decoder(Result).decode


# ---- the plan


def jobs_of(plan: RunPlan) -> list[Job]:
    """Return every run, ordered by scenario, matrix combination, variation and seed."""
    options = {name: getattr(plan, name) for name in RunOptions.__struct_fields__}
    jobs = [
        Job(
            scenario=name,
            seed=seed,
            params=tuple({**variant, **plan.params}.items()),
            coverage=bool(plan.coverage),
            changes=changes,
            **options,
        )
        for name in plan.scenarios
        for variant in matching_variants(name, plan.params)
        for changes in plan.variations
        for seed in (plan.seeds if plan.seeds is not None else (None,))
    ]
    return _with_copy_numbers(jobs) if plan.journal or plan.save_failures or plan.report else jobs


def matching_variants(name: str, params: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the combinations of a scenario's matrix that agree with `params`.

    Raises ScenarioError if a value is not in the matrix.
    """
    variants = scenario_variants(name)
    matching = [
        variant
        for variant in variants
        if all(variant.get(key, value) == value for key, value in params.items())
    ]
    if matching:
        return matching
    key = next(
        key
        for key, value in params.items()
        if key in variants[0] and all(variant[key] != value for variant in variants)
    )
    values = ", ".join(dict.fromkeys(variant[key] for variant in variants))
    raise error_at(
        SourcePosition(name, 1, 1),
        f"the matrix gives {key} the values {values}; {params[key]} is not one of them",
    )


def _with_copy_numbers(jobs: list[Job]) -> list[Job]:
    """Return jobs with their `copy`, so that no run overwrites the files of another."""
    scenarios: dict[object, Scenario] = {}
    names: set[str] = set()
    numbered: list[Job] = []
    for job in jobs:
        key = job.scenario, job.params
        scenario = scenarios.get(key)
        if scenario is None:
            scenario = scenarios[key] = load_scenario(job.scenario, dict(job.params))
        seed = scenario.seed if job.seed is None else job.seed
        named = scenario.name, matrix_values(scenario), label(job.changes), seed
        copies = (copy for copy in count() if copy != 1)
        copy = next(copy for copy in copies if run_file(*named, copy).casefold() not in names)
        names.add(run_file(*named, copy).casefold())  # case-insensitive, as some file systems are
        numbered.append(replace(job, copy=copy) if copy else job)
    return numbered


def scenario_of(job: Job) -> Scenario:
    """Return the scenario of a job, without its seed, which `run_scenario` takes separately."""
    scenario = load_scenario(job.scenario, dict(job.params))
    scenario = with_choices(scenario, job.preset, job.reading)
    scenario = with_changes(scenario, job.changes)
    return with_random_steps(scenario, scenario.seed if job.seed is None else job.seed, job.fuzz)


# ---- runs


def run_all(plan: RunPlan, out: TextIO) -> list[Report]:
    """Run everything and print the reports as they come; return all of them, in order.

    An interrupt ends the campaign with the reports so far.
    """
    reports: list[Report] = []
    failed = 0
    planned = len(jobs_of(plan))
    with Progress(planned, "runs", log=False) as bar:
        for report in finished(plan):
            reports.append(report)
            failed += not report.ok
            bar.clear()
            verdict, *details = report.lines()
            painted = verdict.partition(" ")[0], "green" if report.ok else "red"
            put(verdict, *details, file=out, painted=painted, flush=True)
            bar.step(f"{failed} failed")
    if plan.junit:
        Path(plan.junit).write_bytes(junit(reports))
    put(f"{len(reports) - failed} passed, {failed} failed", file=out)
    if len(reports) < planned:
        put(interrupted_note(plan, len(reports), planned), file=out)
    if plan.coverage:
        coverage = merged(read(report.coverage.encode(), "a report") for report in reports)
        Path(plan.coverage).write_bytes(json.format(json.encode(document(coverage)), indent=1))
        put(headline(coverage), f"  {sim_command('coverage', Path(plan.coverage))}", file=out)
    return reports


def interrupted_note(plan: RunPlan, completed: int, planned: int) -> str:
    """Describe which runs an interrupt prevented, and how to continue."""
    left = f"interrupted: {completed} of {counted(planned, 'run')} were made"
    if plan.results:
        return f"{left}; the same command with --resume makes the others"
    return f"{left}; with --results FILE a later one can go on with --resume"


def finished(plan: RunPlan) -> Iterator[Report]:
    """Yield the reports of all runs, in order.

    Each new one is added to the results file at once.
    """
    jobs = jobs_of(plan)
    done = _done(plan.results) if plan.resume else {}
    fresh = _run([job for job in jobs if job not in done], plan.jobs, plan.cluster)
    with _results_file(plan) as add:
        for job in jobs:
            if job in done:
                yield done[job]
                continue
            report = next(fresh)
            add(Result(job, report))
            yield report


def _run(jobs: list[Job], processes: int, cluster: str) -> Iterator[Report]:
    # The workers of a cluster need not have the files, so a scenario's source is sent with the job
    work = [(job, scenario_of(job).source() if cluster else "") for job in jobs]
    with workers(processes if len(jobs) > 1 else 1, cluster) as mapper:
        yield from mapper(run_one, work)


def run_one(work: tuple[Job, str]) -> Report:
    """Make one run. With `verify`, make it again under the law, and replay its journal."""
    job, source = work
    scenario = scenario_from_source(source.encode()) if source else scenario_of(job)
    report = run_scenario(
        scenario,
        job.seed,
        save_failures=Path(job.save_failures) if job.save_failures else None,
        journals=Path(job.journal) if job.journal else None,
        pages=Path(job.report) if job.report else None,
        changes=label(job.changes),
        recorder=Recorder() if job.coverage else None,
        features=FeatureRecorder() if job.features else None,
        copy=job.copy,
    )
    if not report.ok or not (job.verify or job.oracles):
        return report
    written = BytesIO()
    again = Simulation(scenario, seed=job.seed, journal=written)
    audit = Audit(again) if job.verify else None
    digest = run_scenario(scenario, simulation=again, check_invariants=False).digest
    broken = [line for name in job.oracles for line in resolve_name(name)(again)]
    if audit is not None:
        broken += disagreement_lines(audit.take())
        broken += _differences(digest, written, report)
    return replace(report, broken=tuple(broken))


def _differences(digest: str, written: BytesIO, report: Report) -> Iterator[str]:
    """Yield how a second run, and a replay of its journal, differ from a report."""
    if digest != report.digest:
        yield f"repeat: a second run has the digest {digest}"
    written.seek(0)
    header, lines = read_journal(written)
    try:
        verify(simulation_of(header), lines)
    except Divergence as difference:
        yield f"replay: {difference.part} differs in line {difference.number}"


# ---- the results file


def _whole_lines(path: str) -> list[bytes]:
    """Return the lines of a results file, without one that a killed process left unfinished."""
    file = Path(path)
    lines = file.read_bytes().splitlines(keepends=True) if file.is_file() else []
    return [line for line in lines if line.endswith(b"\n")]


def _done(path: str) -> dict[Job, Report]:
    results: dict[Job, Report] = {}
    for number, line in enumerate(_whole_lines(path), start=1):
        try:
            result = _result(line)
        except DecodeError as error:
            raise error_at(
                SourcePosition(path, number, 1),
                f"not a line of a results file, so nothing is resumed from it: {error}",
            ) from None
        results[result.job] = result.report
    return results


@contextmanager
def _results_file(plan: RunPlan) -> Iterator[Callable[[Result], None]]:
    """Open the results file, including the lines to resume from.

    Yields a function that adds a result.
    """
    if not plan.results:
        yield lambda result: None
        return
    done = _whole_lines(plan.results) if plan.resume else []
    with Path(plan.results).open("wb") as file:
        file.writelines(done)

        def add(result: Result) -> None:
            file.write(json.encode(result) + b"\n")
            file.flush()

        yield add
