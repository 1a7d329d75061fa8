"""`sim run`: scenarios times parameters times seeds, each run reported as it finishes, in a stable order whatever the number of processes.

Runs are independent. Results may be kept in a file, one JSON line a run; a campaign that is taken up again skips what stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from msgspec import Struct, json
from msgspec.structs import replace

from sim.scenario.load import load_scenario, scenario_variants
from sim.scenario.report import Report, junit, run_scenario


class Job(Struct, frozen=True, kw_only=True):
    """One run. `seed` None: the scenario's own."""

    scenario: str
    seed: int | None = None
    params: tuple[tuple[str, str], ...] = ()
    preset: str = ""
    keep: str = ""


class Result(Struct, frozen=True):
    """A line of a results file."""

    job: Job
    report: Report


class Wanted(Struct, frozen=True, kw_only=True):
    """What to run, and where results go ("": nowhere)."""

    scenarios: Sequence[str]
    seeds: Sequence[int] | None = None
    jobs: int = 1
    params: Mapping[str, str] = {}
    preset: str = ""
    results: str = ""
    resume: bool = False
    junit: str = ""
    keep: str = ""


_result = json.Decoder(Result).decode


def run_one(job: Job) -> Report:
    """Run one scenario with one seed and one choice of parameters."""
    scenario = load_scenario(job.scenario, dict(job.params))
    if job.preset:
        scenario = replace(scenario, preset=job.preset)
    return run_scenario(scenario, job.seed, keep=Path(job.keep) if job.keep else None)


def planned(wanted: Wanted) -> list[Job]:
    """Every run, in order: scenario by scenario, each combination of its matrix that agrees with the given parameters, each seed."""
    return [
        Job(scenario=name, seed=seed, params=tuple({**variant, **wanted.params}.items()), preset=wanted.preset, keep=wanted.keep)
        for name in wanted.scenarios
        for variant in scenario_variants(name)
        if all(variant.get(key, value) == value for key, value in wanted.params.items()) or not variant
        for seed in (wanted.seeds if wanted.seeds is not None else (None,))
    ]


def run_all(wanted: Wanted, out: TextIO, progress: TextIO) -> bool:
    """Run everything and print the reports; whether all expectations held."""
    jobs = planned(wanted)
    done = _finished(wanted) if wanted.resume else {}
    reports: list[Report] = []
    failed = 0
    with _Results(wanted) as results:
        for number, (job, report) in enumerate(_reports(jobs, done, wanted.jobs), start=1):
            if job not in done:
                results.add(job, report)
            failed += not report.ok
            _say(progress, "")
            for line in report.lines():
                print(line, file=out, flush=True)
            _say(progress, f"{number} of {len(jobs)} runs, {failed} failed")
            if wanted.junit:
                reports.append(report)
    _say(progress, "")
    if wanted.junit:
        Path(wanted.junit).write_bytes(junit(reports))
    print(f"{len(jobs) - failed} passed, {failed} failed", file=out)
    return not failed


def _reports(jobs: list[Job], done: dict[Job, Report], processes: int) -> Iterator[tuple[Job, Report]]:
    fresh = _run([job for job in jobs if job not in done], processes)
    for job in jobs:
        yield job, done[job] if job in done else next(fresh)


def _run(jobs: list[Job], processes: int) -> Iterator[Report]:
    if processes <= 1 or len(jobs) <= 1:
        yield from map(run_one, jobs)
        return
    from sim.workers import each

    yield from each(run_one, jobs, processes)


def _whole_lines(path: str) -> list[bytes]:
    """Lines of a results file; a torn last one does not count."""
    file = Path(path)
    return [line for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")] if file.is_file() else []


def _finished(wanted: Wanted) -> dict[Job, Report]:
    return {found.job: found.report for line in _whole_lines(wanted.results) for found in (_result(line),)}


class _Results:
    """The results file, if one is wanted."""

    def __init__(self, wanted: Wanted) -> None:
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
