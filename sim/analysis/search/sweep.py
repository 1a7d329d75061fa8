"""`sim sweep`: scenarios under many seeds and under other values of assumptions, quirks and
presets, gathered into one table.

Runs are those of `sim run`, with the invariants looked at after every input. A row of the table is
a scenario under one change; its order is that of the plan, whatever the number of processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct, field, json
from msgspec.structs import replace

from sim.analysis.headless_run import Report
from sim.analysis.search.campaign import Job, RunPlan, finished, planned, scenario_of
from sim.analysis.search.progress import Progress
from sim.analysis.search.shrink_command import ShrinkRequest, write_smallest
from sim.analysis.tables import as_text
from sim.loader.load import load_scenario
from sim.scenario.variation import Change, alternatives

SHOWN_FAILURES = 10


class Row(Struct, kw_only=True):
    """All runs of a scenario, one choice of its matrix and one change. `outcomes` counts different
    digests.
    """

    scenario: str
    change: str
    runs: int = 0
    failed: int = 0
    first_failure: str = ""
    seed: int | None = None
    digests: set[str] = field(default_factory=set)

    def plain(self) -> dict[str, Any]:
        """The row as a table and the JSON show it."""
        return {
            "scenario": self.scenario,
            "change": self.change or "as it is",
            "runs": self.runs,
            "failed": self.failed,
            "outcomes": len(self.digests),
            "first failure": f"seed {self.seed}: {self.first_failure}" if self.failed else "",
        }


def variations(
    scenarios: Sequence[str], kinds: Sequence[str], only: str
) -> list[tuple[Change, ...]]:
    """The scenarios as they are, then each alternative of each thing of the kinds, once: those any
    of the scenarios leaves open.
    """
    found: dict[tuple[Change, ...], None] = {(): None}
    for name in scenarios:
        scenario = load_scenario(name)
        for kind in kinds:
            found.update(((change,), None) for change in alternatives(kind, scenario, only))
    return list(found)


def sweep(
    wanted: RunPlan,
    out: TextIO,
    progress: TextIO,
    json_file: str = "",
    smallest: Path | None = None,
) -> bool:
    """Run everything, print the table and what to do next; whether all was well. The first failing
    run is shrunk into the file `smallest`.
    """
    jobs = planned(wanted)
    told = Progress(progress, len(jobs), "runs")
    rows: dict[tuple[str, str], Row] = {}
    failures: list[Report] = []
    first: Job | None = None
    for job, report in zip(jobs, finished(wanted), strict=True):
        row = rows.setdefault(_key(report), Row(scenario=_key(report)[0], change=report.changes))
        _count(row, report)
        if not report.ok:
            first = first or job
            failures.append(report)
        told.step(f"{len(failures)} failed" if failures else "")
    told.end()
    print(as_text([row.plain() for row in rows.values() if row.failed or not row.change]), file=out)
    print("", *_summary(wanted, list(rows.values()), failures), sep="\n", file=out)
    if json_file:
        Path(json_file).write_bytes(_document(list(rows.values()), failures))
    if first is not None and smallest is not None:
        scenario = scenario_of(first)
        seed = scenario.seed if first.seed is None else first.seed
        write_smallest(
            replace(scenario, seed=seed),
            ShrinkRequest(what=failures[0].title, out=smallest),
            out,
            progress,
        )
    return not failures


def _key(report: Report) -> tuple[str, str]:
    return replace(report, changes="").title, report.changes


def _count(row: Row, report: Report) -> None:
    row.runs += 1
    row.digests.add(report.digest)
    if not report.ok:
        row.failed += 1
        if row.failed == 1:
            row.first_failure, row.seed = report.first_failure, report.seed


def _summary(wanted: RunPlan, rows: list[Row], failures: list[Report]) -> Iterator[str]:
    runs = sum(row.runs for row in rows)
    broken = sum(1 for report in failures if report.broken)
    yield f"{runs} runs, {runs - len(failures)} passed, {len(failures)} failed" + (
        f", {broken} of them broke an invariant" if broken else ""
    )
    if harmless := sum(1 for row in rows if row.change and not row.failed):
        yield f"{harmless} alternatives changed nothing that an expectation sees"
    if not failures:
        yield "invariants held at every look: money, positions, orders, books"
        return
    base_fails = {row.scenario for row in rows if not row.change and row.failed}
    leaning = [row for row in rows if row.change and row.failed and row.scenario not in base_fails]
    if leaning:
        changes = ", ".join(dict.fromkeys(row.change for row in leaning))
        yield f"these pass as they are and fail under: {changes}"
        yield (
            "  what the real service does there is not documented; an expectation that leans on it"
            " says so with `assumptions:` in its scenario"
        )
    for report in failures[:SHOWN_FAILURES]:
        yield f"{report.title} seed {report.seed}: {report.first_failure}"
        if report.journal:
            yield f"  sim timeline {report.journal}"
    if len(failures) > SHOWN_FAILURES:
        yield f"… and {len(failures) - SHOWN_FAILURES} more; --json FILE has all of them"
    if not wanted.save_failures:
        yield (
            "next: --save-failures DIR leaves the journals of failed runs: `sim timeline` shows one, `sim"
            " shrink` makes the smallest scenario of it that still fails"
        )


def _document(rows: list[Row], failures: list[Report]) -> bytes:
    """The results as JSON: no clock and no paths of processes in it, so equal sweeps give equal
    bytes.
    """
    return (
        json.format(
            json.encode(
                {
                    "runs": sum(row.runs for row in rows),
                    "failed": len(failures),
                    "rows": [{**row.plain(), "digests": sorted(row.digests)} for row in rows],
                    "failures": [
                        {
                            "title": report.title,
                            "seed": report.seed,
                            "digest": report.digest,
                            "lines": list(report.failures()),
                            "journal": report.journal,
                        }
                        for report in failures
                    ],
                }
            )
        )
        + b"\n"
    )
