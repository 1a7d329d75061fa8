"""`make mutants`: do the tests fail when the code is wrong?

A sample of small changes (`operators.py`) is drawn by seed from each area (`areas.py`). For each,
the tests that run the changed line are run until one fails. A mutant that no test notices is a
survivor. Mutants that change nothing a client can see are listed in `equivalent.yaml`, with the
reason, and do not count.

The areas are processed one after another. Verdicts are saved in `build/mutation/` as they arrive:
an interrupted run prints its table, `--resume` continues it, and `--again` retries its survivors.

Existing tools do not fit this code: mutmut does not mutate decorated functions and tables, which
are the handlers and most rules here, and cosmic-ray starts one command for every mutant.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile

from tools.mutation.areas import AREAS, ROOT, sources
from tools.mutation.coverage_map import CoverageMap, up_to_date
from tools.mutation.operators import Mutant, mutants
from tools.mutation.results import KEPT, Results
from tools.mutation.runner import COLD, Job, run_cold, run_warm


def arguments(value: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    parser.add_argument("--count", type=int, default=16, help="mutants of each area (default: 16)")
    parser.add_argument("--area", action="append", choices=AREAS, help="try only this area")
    parser.add_argument("--at", help="every mutant of FILE or FILE:LINE instead of a sample")
    parser.add_argument("--tests", type=int, default=400, help="most tests for one mutant")
    parser.add_argument(
        "--seconds", type=float, default=240, help="most seconds of tests for one (default: 240)"
    )
    parser.add_argument(
        "--as-measured", action="store_true", help="leave out tests newer than the map"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--resume", action="store_true", help="go on with the kept sample, if any")
    parser.add_argument("--again", action="store_true", help="the same, its survivors too")
    return parser.parse_args(value)


def sample(args: argparse.Namespace) -> dict[str, list[Mutant]]:
    """Return the mutants by area."""
    if args.at:
        path, _, line = args.at.partition(":")
        result = mutants(path, (ROOT / path).read_text())
        return {path: [item for item in result if not line or item.line == int(line)]}
    drawn = {}
    for area in AREAS:
        every = [
            mutant for path in sources(area) for mutant in mutants(path, (ROOT / path).read_text())
        ]
        rng = random.Random(f"{args.seed} {area}")
        drawn[area] = rng.sample(every, min(args.count, len(every)))
    return drawn


def results_of(args: argparse.Namespace) -> Results:
    """Return a new sample, or a saved one with its verdicts."""
    kept = KEPT / f"seed-{args.seed}-{args.count}.ndjson"
    if args.at:
        return Results(sample(args), None)
    if (args.resume or args.again) and kept.exists():
        return Results.resumed(kept, args.again)
    return Results(sample(args), kept)


def jobs_for(chosen: list[Mutant], coverage: CoverageMap, most: int, seconds: float) -> list[Job]:
    """Return the tests that may kill each mutant."""
    jobs = []
    for mutant in chosen:
        tests = coverage.covering(mutant, (ROOT / mutant.path).read_text(), most, seconds)
        jobs.append(Job(mutant, {coverage.tests[at]: coverage.took[at] for at in tests}))
    return jobs


def run(jobs: list[Job], coverage: CoverageMap, workers: int) -> None:
    """Run every job; repeat those killed by a test that fails on unchanged code, without it."""
    _run(jobs, coverage, workers)
    while failing := _failing_tests(jobs, workers):
        print(f"\nfails without any change: {failing}")
        again = [job for job in jobs if job.killed_by in failing]
        for job in again:
            job.killed_by = ""
            job.tests = {name: took for name, took in job.tests.items() if name not in failing}
        _run(again, coverage, workers)


def _run(jobs: list[Job], coverage: CoverageMap, workers: int) -> None:
    """Run every job; repeat survivors in a cold process if their code runs at import."""

    def needs_cold(job: Job) -> bool:
        assert job.mutant is not None
        return coverage.runs_at_import(job.mutant, (ROOT / job.mutant.path).read_text())

    def done(job: Job) -> None:
        print("." if job.killed_by else "S", end="", flush=True)

    warm = [job for job in jobs if job.mutant is not None and job.mutant.function]
    run_warm(warm, workers, done)
    cold = [job for job in jobs if job.killed_by in ("", COLD) and needs_cold(job)]
    cold += [job for job in warm if job.killed_by == COLD and job not in cold]
    for job in cold:
        job.killed_by = ""
    run_cold(cold, workers, done)


def _failing_tests(jobs: list[Job], workers: int) -> list[str]:
    """Return the killing tests that also fail on unchanged code."""
    killers = {job.killed_by: job.tests.get(job.killed_by, 60.0) for job in jobs}
    left = {name: took for name, took in sorted(killers.items()) if "::" in name}
    failing: list[str] = []
    while left:
        check = Job(None, left)
        run_warm([check], workers, lambda job: None)
        if check.killed_by not in left:
            break
        failing.append(check.killed_by)
        del left[check.killed_by]
    return failing


def try_area(results: Results, area: str, coverage: CoverageMap, args: argparse.Namespace) -> None:
    """Try the open mutants of an area; print its survivors and all verdicts so far."""
    jobs = jobs_for(results.open(area), coverage, args.tests, args.seconds)
    if jobs:
        print(f"\n{area}, {len(jobs)} mutants: ", end="", flush=True)
        try:
            run(jobs, coverage, args.jobs)
        except KeyboardInterrupt:
            for job in jobs:
                if job.mutant is not None and job.killed_by not in ("", COLD):
                    results.add(area, job.mutant, job.killed_by)
            raise
    tests = {job.mutant: len(job.tests) for job in jobs}
    for job in jobs:
        assert job.mutant is not None
        results.add(area, job.mutant, job.killed_by)
    for mutant in results.survivors(area):
        print(f"\n{mutant.path}:{mutant.line} {mutant.function} ({tests.get(mutant, '?')} tests)")
        print(f"- {mutant.before}\n+ {mutant.after}")
    print(*(line for line in results.table()[0] if line.startswith(area)), sep="\n", flush=True)


def main() -> int:
    args = arguments()
    temporary = tempfile.TemporaryDirectory(prefix="mutants-")
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = temporary.name
    for number in (signal.SIGINT, signal.SIGTERM):  # SIGINT may be ignored in the background
        signal.signal(number, signal.default_int_handler)
    results = results_of(args)
    try:
        coverage = up_to_date(args.jobs, measure=not args.as_measured)
        for area in args.area or results.areas:
            try_area(results, area, coverage, args)
    except KeyboardInterrupt:
        print("\nstopped: go on with --resume")
    lines, reached = results.table()
    print("", *lines, sep="\n")
    temporary.cleanup()
    return 0 if reached or args.at else 1


if __name__ == "__main__":
    sys.exit(main())
