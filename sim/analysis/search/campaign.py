"""`sim run`: scenarios times parameters times seeds, each run reported as it finishes, in a stable
order whatever the number of processes.

Runs are independent. Results may be kept in a file, one JSON line a run; a campaign that is taken
up again skips what stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TextIO

from msgspec import DecodeError, Struct, field, json
from msgspec.structs import replace

from sim.analysis.headless_run import Report, junit, run_scenario
from sim.analysis.replay import Divergence, run, simulation_of
from sim.analysis.search.fuzz import with_random_steps
from sim.kernel.journal import read_journal
from sim.loader.load import load_scenario, scenario_from_source, scenario_variants
from sim.scenario.scenario import Scenario
from sim.scenario.variation import Change, label, with_changes
from sim.scenario.yaml_tree import Position, error_at
from sim.simulation import Simulation


class Job(Struct, frozen=True, kw_only=True):
    """One run, as a line of a results file names it.

    A `seed` of None means the scenario's own. `changes` are applied to the scenario, and `fuzz`
    random steps are appended to it. The old names of fields keep older results files readable.
    """

    scenario: str
    seed: int | None = None
    params: tuple[tuple[str, str], ...] = ()
    preset: str = ""
    save_failures: str = field(default="", name="keep")
    changes: tuple[Change, ...] = ()
    fuzz: int = field(default=0, name="storm")
    verify: bool = field(default=False, name="prove")


class Result(Struct, frozen=True):
    """A line of a results file."""

    job: Job
    report: Report


class RunPlan(Struct, frozen=True, kw_only=True):
    """What to run, and where results go ("": nowhere)."""

    scenarios: Sequence[str]
    seeds: Sequence[int] | None = None
    jobs: int = 1
    params: Mapping[str, str] = {}
    preset: str = ""
    results: str = ""
    resume: bool = False
    junit: str = ""
    save_failures: str = ""
    variations: Sequence[tuple[Change, ...]] = ((),)
    fuzz: int = 0
    verify: bool = False
    cluster: str = ""


_result = json.Decoder(Result).decode


def scenario_of(job: Job) -> Scenario:
    """What a job runs; the seed stays apart, as `run_scenario` takes it."""
    scenario = load_scenario(job.scenario, dict(job.params))
    scenario = with_changes(
        replace(scenario, preset=job.preset) if job.preset else scenario, job.changes
    )
    return with_random_steps(scenario, scenario.seed if job.seed is None else job.seed, job.fuzz)


def run_one(job: Job) -> Report:
    """Run one scenario with one seed and one choice of parameters; with `verify`, again, and its
    journal too.
    """
    return _report(job, scenario_of(job))


def _report(job: Job, scenario: Scenario) -> Report:
    report = run_scenario(
        scenario,
        job.seed,
        keep=Path(job.save_failures) if job.save_failures else None,
        changes=label(job.changes),
    )
    if not job.verify or not report.ok:
        return report
    return replace(report, broken=tuple(_unproven(scenario, job.seed, report)))


def _unproven(scenario: Scenario, seed: int | None, report: Report) -> Iterator[str]:
    """What speaks against a run: a second one that tells another story, or a journal that does not
    replay.
    """
    written = BytesIO()
    again = Simulation(scenario, seed=seed, journal=written)
    if run_scenario(scenario, simulation=again, watch=False).digest != report.digest:
        yield f"repeat: a second run has the digest {again.digest}"
    written.seek(0)
    header, lines = read_journal(written)
    try:
        run(simulation_of(header), lines)
    except Divergence as found:
        yield f"replay: {found.part} differs in line {found.number}"


def chosen(name: str, params: Mapping[str, str]) -> list[dict[str, str]]:
    """The combinations of a scenario's matrix that agree with the given parameters. ScenarioError
    when a value is none of the matrix's.
    """
    found = scenario_variants(name)
    agreeing = [
        variant
        for variant in found
        if all(variant.get(key, value) == value for key, value in params.items())
    ]
    if agreeing:
        return agreeing
    key = next(
        key
        for key, value in params.items()
        if key in found[0] and all(variant[key] != value for variant in found)
    )
    values = ", ".join(dict.fromkeys(variant[key] for variant in found))
    raise error_at(
        Position(name, 1, 1),
        f"the matrix gives {key} the values {values}; {params[key]} is none of them",
    )


def planned(wanted: RunPlan) -> list[Job]:
    """Every run, in order: scenario by scenario, each combination of its matrix that agrees with
    the given parameters, each variation, each seed.
    """
    return [
        Job(
            scenario=name,
            seed=seed,
            params=tuple({**variant, **wanted.params}.items()),
            preset=wanted.preset,
            save_failures=wanted.save_failures,
            changes=changes,
            fuzz=wanted.fuzz,
            verify=wanted.verify,
        )
        for name in wanted.scenarios
        for variant in chosen(name, wanted.params)
        for changes in wanted.variations
        for seed in (wanted.seeds if wanted.seeds is not None else (None,))
    ]


def run_all(wanted: RunPlan, out: TextIO, progress: TextIO) -> bool:
    """Run everything and print the reports; whether all expectations held."""
    reports: list[Report] = []
    passed = failed = 0
    total = len(planned(wanted))
    for report in finished(wanted):
        passed, failed = passed + report.ok, failed + (not report.ok)
        _say(progress, "")
        for line in report.lines():
            print(line, file=out, flush=True)
        _say(progress, f"{passed + failed} of {total} runs, {failed} failed")
        if wanted.junit:
            reports.append(report)
    _say(progress, "")
    if wanted.junit:
        Path(wanted.junit).write_bytes(junit(reports))
    print(f"{passed} passed, {failed} failed", file=out)
    return not failed


def finished(wanted: RunPlan) -> Iterator[Report]:
    """Reports of all planned runs, in their order; each new one is added to the results file as it
    comes.
    """
    jobs = planned(wanted)
    done = _done(wanted) if wanted.resume else {}
    fresh = _run([job for job in jobs if job not in done], wanted.jobs, wanted.cluster)
    with _Results(wanted) as results:
        for job in jobs:
            if job in done:
                yield done[job]
                continue
            report = next(fresh)
            results.add(job, report)
            yield report


def _run(jobs: list[Job], processes: int, cluster: str) -> Iterator[Report]:
    from sim.analysis.search.workers import each

    if cluster:
        # The workers need not have the files: the scenario travels, as a journal's header has it.
        yield from each(
            _run_shipped, [(job, scenario_of(job).source()) for job in jobs], processes, cluster
        )
    elif processes <= 1 or len(jobs) <= 1:
        yield from map(run_one, jobs)
    else:
        yield from each(run_one, jobs, processes)


def _run_shipped(shipped: tuple[Job, str]) -> Report:
    job, source = shipped
    return _report(job, scenario_from_source(source.encode()))


def _whole_lines(path: str) -> list[bytes]:
    """Lines of a results file; a torn last one does not count."""
    file = Path(path)
    return (
        [line for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        if file.is_file()
        else []
    )


def _done(wanted: RunPlan) -> dict[Job, Report]:
    found: dict[Job, Report] = {}
    for number, line in enumerate(_whole_lines(wanted.results), start=1):
        try:
            result = _result(line)
        except DecodeError as error:
            raise error_at(
                Position(wanted.results, number, 1),
                f"no line of a results file, so nothing is resumed from it: {error}",
            ) from None
        found[result.job] = result.report
    return found


class _Results:
    """The results file, if one is wanted."""

    def __init__(self, wanted: RunPlan) -> None:
        self._wanted = wanted

    def __enter__(self) -> _Results:
        path = self._wanted.results
        done = _whole_lines(path) if self._wanted.resume else []
        self._file = Path(path).open("wb") if path else None
        if self._file is not None:
            self._file.writelines(done)
        return self

    def add(self, job: Job, report: Report) -> None:
        """One more finished run."""
        if self._file is not None:
            self._file.write(json.encode(Result(job, report)) + b"\n")
            self._file.flush()

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


def _say(progress: TextIO, text: str) -> None:
    if progress.isatty():
        print(f"\r\x1b[K{text}", end="", file=progress, flush=True)
