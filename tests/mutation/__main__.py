"""`make mutants`: do the tests fail when the code is wrong?

A sample of small changes (`operators.py`) is drawn by seed from each area (`areas.py`). For each,
the tests that run the changed line are run until one fails. A mutant that no test notices is a
survivor. Mutants that change nothing a client can see are listed in `equivalent.yaml`, with the
reason, and do not count.

The tools of the field do not fit this code: mutmut leaves decorated functions and tables alone,
which are the handlers and most rules here, and cosmic-ray runs one command for every mutant.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import yaml

from tests.mutation.areas import AREAS, ROOT, sources
from tests.mutation.coverage_map import CoverageMap, up_to_date
from tests.mutation.operators import Mutant, mutants
from tests.mutation.runner import COLD, Job, run_cold, run_warm

EQUIVALENT = Path(__file__).parent / "equivalent.yaml"
AREA_LEAST, ALL_LEAST = 90, 95  # per cent


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--seed", type=int, default=1, help="which sample (default: 1)")
    parser.add_argument("--count", type=int, default=16, help="mutants of each area (default: 16)")
    parser.add_argument("--area", action="append", choices=AREAS, help="only this area")
    parser.add_argument("--at", help="every mutant of FILE or FILE:LINE instead of a sample")
    parser.add_argument("--tests", type=int, default=400, help="most tests for one mutant")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    return parser.parse_args(given)


def known_equivalents() -> set[tuple[str, str, str, str]]:
    """Keys of the mutants that change nothing a client can see."""
    rows = yaml.safe_load(EQUIVALENT.read_text()) or []
    return {(row["file"], row["function"], row["before"], row["after"]) for row in rows}


def sample(args: argparse.Namespace) -> dict[str, list[Mutant]]:
    """Mutants by area."""
    if args.at:
        path, _, line = args.at.partition(":")
        found = mutants(path, (ROOT / path).read_text())
        return {path: [one for one in found if not line or one.line == int(line)]}
    drawn = {}
    for area in args.area or AREAS:
        every = [one for path in sources(area) for one in mutants(path, (ROOT / path).read_text())]
        luck = random.Random(f"{args.seed} {area}")
        drawn[area] = luck.sample(every, min(args.count, len(every)))
    return drawn


def jobs_for(chosen: Iterable[Mutant], coverage: CoverageMap, most: int) -> list[Job]:
    """The tests that may kill each mutant."""
    jobs = []
    for mutant in chosen:
        tests = coverage.covering(mutant, (ROOT / mutant.path).read_text())[:most]
        took = sum(coverage.took[at] for at in tests)
        jobs.append(Job(mutant, [coverage.tests[at] for at in tests], took))
    return jobs


def run(jobs: list[Job], coverage: CoverageMap, workers: int) -> None:
    """Run every job; what a warm process may have missed is run again in a cold one."""

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
    _acquit_failing_tests(jobs, workers)


def _acquit_failing_tests(jobs: list[Job], workers: int) -> None:
    """A test that fails on unchanged code too kills nothing."""
    killers = sorted({job.killed_by for job in jobs if "::" in job.killed_by})
    for _ in range(len(killers)):
        check = Job(None, killers, took=600)
        run_warm([check], workers, lambda job: None)
        if not check.killed_by:
            return
        print(f"fails without any change: {check.killed_by}")
        killers = [name for name in killers if name != check.killed_by]
        for job in jobs:
            if job.killed_by == check.killed_by:
                job.killed_by = ""


def table(drawn: dict[str, list[Mutant]], alive: set[Mutant], equal: set[Mutant]) -> bool:
    """Print the figures of each area; whether all reach what is asked of them."""
    print(f"\n{'area':26} {'mutants':>7} {'equivalent':>10} {'killed':>7} {'survived':>8} {'%':>6}")
    total: Counter[str] = Counter()
    reached = True
    for area, of_area in [*drawn.items(), ("all", [])]:
        row = Counter(
            mutants=len(of_area),
            equivalent=len(equal.intersection(of_area)),
            survived=len(alive.intersection(of_area)),
        )
        total += row
        if area == "all":
            row = total
        counted = row["mutants"] - row["equivalent"]
        killed = counted - row["survived"]
        share = 100 * killed / counted if counted else 100.0
        reached &= share >= (ALL_LEAST if area == "all" else AREA_LEAST)
        print(
            f"{area:26} {row['mutants']:7} {row['equivalent']:10} {killed:7}"
            f" {row['survived']:8} {share:6.1f}"
        )
    return reached


def main() -> int:
    args = arguments()
    temporary = tempfile.TemporaryDirectory(prefix="mutants-")
    os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = temporary.name
    drawn = sample(args)
    coverage = up_to_date(args.jobs)
    known = known_equivalents()
    every = [mutant for of_area in drawn.values() for mutant in of_area]
    equal = {mutant for mutant in every if mutant.key in known}
    jobs = jobs_for((mutant for mutant in every if mutant not in equal), coverage, args.tests)
    run(jobs, coverage, args.jobs)
    survivors = [job for job in jobs if not job.killed_by]
    for job in survivors:
        mutant = job.mutant
        assert mutant is not None
        print(f"\n{mutant.path}:{mutant.line} {mutant.function} ({len(job.tests)} tests)")
        print(f"- {mutant.before}\n+ {mutant.after}")
    alive = {job.mutant for job in survivors if job.mutant is not None}
    reached = table(drawn, alive, equal)
    temporary.cleanup()
    return 0 if reached or args.at else 1


if __name__ == "__main__":
    sys.exit(main())
