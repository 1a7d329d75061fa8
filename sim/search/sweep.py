"""`sim sweep`: scenarios under many seeds and alternatives, collected in one table.

Alternatives are other values of assumptions and quirks, presets, and readings. A row of the table
is a scenario under one alternative; the order of rows follows the plan, whatever the number of
processes. A scenario that passes unchanged and fails under an alternative relies on something that
the specification leaves open.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from msgspec import Struct, field
from msgspec.structs import replace

from sim.read.commands import sim_command
from sim.read.features import totals
from sim.read.headless_run import Report
from sim.read.layout import counted, put, wrapped
from sim.read.progress import Progress
from sim.read.tables import print_table
from sim.run.loader.load import load_scenario
from sim.search.campaign import Job, RunPlan, finished, interrupted_note, jobs_of, scenario_of
from sim.search.shrink_command import ShrinkRequest, write_smallest
from sim.world.format.variation import SettingChange, alternatives

GROUPS_MAX = 10
# Instants, ids of orders and requests, and numbers other than statuses.
_VARYING = re.compile(
    r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b(?=\w*\d)[0-9A-Z]{12}\b|\b[0-9a-f]{16}\b"
    r"|\b(?![1-5]\d\d\b)\d[\d.,]*\d|\b\d\b"
)


class SweepRow(Struct, kw_only=True):
    """All runs of one scenario with one combination of its matrix and one change."""

    scenario: str
    change: str
    runs: int = 0
    failed: int = 0
    first_failure: str = ""
    digests: set[str] = field(default_factory=set)

    def add(self, report: Report) -> None:
        """Count another run."""
        self.runs += 1
        self.digests.add(report.digest)
        if not report.ok:
            self.failed += 1
            self.first_failure = self.first_failure or f"seed {report.seed}: {report.first_failure}"

    def document(self) -> dict[str, Any]:
        """Return the row for the table and for JSON; `outcomes` counts different digests."""
        return {
            "scenario": self.scenario,
            "change": self.change or "as it is",
            "runs": self.runs,
            "failed": self.failed,
            "outcomes": len(self.digests),
            "first failure": self.first_failure,
        }


class FailureGroup(NamedTuple):
    """Runs that failed in the same way, with the first of them."""

    signature: str
    runs: int
    example: Report

    def document(self) -> dict[str, Any]:
        """Return the group as JSON; `values` are those of the matrix, and the change."""
        report = self.example
        values = {**report.params, **({"change": report.changes} if report.changes else {})}
        example = {"seed": report.seed, "values": values}
        return {"signature": self.signature, "runs": self.runs, "example": example}


def signature(report: Report) -> str:
    """Return what failed first in a run, without what differs from run to run."""
    return _VARYING.sub("…", report.first_failure)


def variations(
    scenarios: Sequence[str], kinds: Sequence[str], only: str
) -> list[tuple[SettingChange, ...]]:
    """Return no change, then each alternative that one of the scenarios leaves open."""
    combinations: dict[tuple[SettingChange, ...], None] = {(): None}
    for name in scenarios:
        scenario = load_scenario(name)
        for kind in kinds:
            combinations.update(((change,), None) for change in alternatives(kind, scenario, only))
    return list(combinations)


class Sweep(NamedTuple):
    """A sweep: its rows in the order of the plan, and every run that failed.

    An `interrupted` sweep has the runs made before the interrupt. `features` are what all runs
    exercised, if requested.
    """

    rows: list[SweepRow]
    failures: list[tuple[Job, Report]]
    interrupted: bool = False
    features: frozenset[str] = frozenset()

    @property
    def ok(self) -> bool:
        return not self.failures

    def groups(self) -> list[FailureGroup]:
        """Return the failures by what failed, the most frequent first."""
        by_signature: dict[str, list[Report]] = {}
        for _, report in self.failures:
            by_signature.setdefault(signature(report), []).append(report)
        groups = [FailureGroup(name, len(many), many[0]) for name, many in by_signature.items()]
        return sorted(groups, key=lambda group: -group.runs)

    def document(self) -> dict[str, Any]:
        """Return table and failures, without wall-clock times and process ids, as a document.

        Equal sweeps give equal documents.
        """
        return {
            "runs": sum(row.runs for row in self.rows),
            "interrupted": self.interrupted,
            "failed": len(self.failures),
            "features": totals(self.features),
            "rows": [{**row.document(), "digests": sorted(row.digests)} for row in self.rows],
            "groups": [group.document() for group in self.groups()],
            "failures": [
                {
                    "title": report.title,
                    "seed": report.seed,
                    "digest": report.digest,
                    "lines": list(report.failures()),
                    "journal": report.journal,
                }
                for _, report in self.failures
            ],
        }

    def shrink(self, path: Path, out: TextIO) -> None:
        """Write the first failing run as the smallest scenario that still fails."""
        if not self.failures:
            return
        if self.interrupted:
            put("interrupted: nothing was shrunk", file=out)
            return
        job, report = self.failures[0]
        scenario = scenario_of(job)
        seed = scenario.seed if job.seed is None else job.seed
        request = ShrinkRequest(source=report.title, out=path)
        write_smallest(replace(scenario, seed=seed), request, out)


def sweep(plan: RunPlan, out: TextIO) -> Sweep:
    """Run the plan, print the table and what to do next. After an interrupt, print what was run."""
    jobs = jobs_of(plan)
    rows: dict[tuple[str, str], SweepRow] = {}
    failures: list[tuple[Job, Report]] = []
    features: set[str] = set()
    idle: Counter[str] = Counter()
    with Progress(len(jobs), "runs") as bar:
        for job, report in zip(jobs, finished(plan), strict=True):
            scenario = replace(report, changes="").title
            row = rows.setdefault(
                (scenario, report.changes), SweepRow(scenario=scenario, change=report.changes)
            )
            row.add(report)
            features.update(report.features)
            idle.update(f"{report.scenario}: {line}" for line in report.idle_faults)
            if not report.ok:
                failures.append((job, report))
            bar.step(f"{len(failures)} failed" if failures else "")
    documents = [row.document() for row in rows.values() if row.failed or not row.change]
    print_table(documents, out)
    swept = Sweep(list(rows.values()), failures, bar.interrupted, frozenset(features))
    put(file=out)
    for line in _summary(plan, swept):
        put(line, file=out)
    # Random faults are drawn anew for each run, so many match nothing.
    for line, count in idle.items() if not plan.fuzz else ():
        put(*wrapped(f"{line} (in {counted(count, 'run')})", "  ", first=""), file=out)
    if bar.interrupted:
        put(interrupted_note(plan, sum(row.runs for row in rows.values()), len(jobs)), file=out)
    return swept


def _summary(plan: RunPlan, swept: Sweep) -> Iterator[str]:
    """Yield the results in lines that fit; commands are on lines of their own."""
    rows, failures = swept.rows, [report for _, report in swept.failures]
    runs = sum(row.runs for row in rows)
    broken = sum(1 for report in failures if report.broken)
    counts = f"{counted(runs, 'run')}, {runs - len(failures)} passed, {len(failures)} failed"
    counts += f", {broken} of them broke an invariant" if broken else ""
    yield from wrapped(counts, "  ", first="")
    if harmless := sum(1 for row in rows if row.change and not row.failed):
        yield f"{counted(harmless, 'alternative')} made no expectation fail"
    if not failures:
        yield "every check of the invariants held: money, positions, orders, books"
        return
    yield from _assumptions_relied_on(rows)
    groups = swept.groups()
    rest = groups[GROUPS_MAX - 1 : -1] if len(groups) > GROUPS_MAX else []
    for group in groups:
        if group in rest:
            continue
        report = group.example
        text = f"{report.title} seed {report.seed}: {report.first_failure}"
        more = f"  (and {counted(group.runs - 1, 'run')} like it)" if group.runs > 1 else ""
        yield from wrapped(f"{text}{more}", "  ", first="")
        if report.journal:
            yield f"  {sim_command('timeline', Path(report.journal))}"
    if rest:
        yield f"… and {counted(len(rest), 'other failure')}; --json FILE has all of them"
    if not plan.save_failures:
        yield from wrapped(
            "next: --save-failures DIR keeps the journals of failed runs: `sim timeline` shows one,"
            " `sim shrink` makes the smallest scenario of it that still fails",
            "  ",
            first="",
        )


def _assumptions_relied_on(rows: list[SweepRow]) -> Iterator[str]:
    fail_unchanged = {row.scenario for row in rows if not row.change and row.failed}
    relying = [
        row for row in rows if row.change and row.failed and row.scenario not in fail_unchanged
    ]
    if relying:
        changes = ", ".join(dict.fromkeys(row.change for row in relying))
        text = f"these scenarios pass as they are and fail under: {changes}"
        yield from wrapped(text, "  ", first="")
        yield from wrapped(
            "the real service does not document what it does there; a scenario whose expectations"
            " rely on it should set it under `assumptions:`",
            "  ",
        )
