"""`sim run`: scenarios times seeds, one line each as they finish, in a stable order whatever the number of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from sim.scenario.load import load_scenario
from sim.scenario.script import Report, run_scenario


def run_one(job: tuple[str, int | None]) -> Report:
    """Run one scenario with one seed (None: its own)."""
    name, seed = job
    return run_scenario(load_scenario(name), seed)


def run_all(names: Sequence[str], seeds: Iterable[int] | None, jobs: int, out: TextIO) -> bool:
    """Run everything and print the reports; whether all expectations held."""
    wanted: list[tuple[str, int | None]] = [(name, seed) for name in names for seed in (seeds if seeds is not None else (None,))]
    failed = 0
    for report in _reports(wanted, jobs):
        for line in report.lines():
            print(line, file=out, flush=True)
        failed += not report.ok
    print(f"{len(wanted) - failed} passed, {failed} failed", file=out)
    return not failed


def _reports(wanted: list[tuple[str, int | None]], jobs: int) -> Iterator[Report]:
    if jobs <= 1 or len(wanted) == 1:
        yield from map(run_one, wanted)
        return
    from sim.workers import each

    yield from each(run_one, wanted, jobs)
