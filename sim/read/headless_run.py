"""Runs a scenario headless, in virtual time, and reports the result as text, JSON or JUnit XML.

The invariants are checked after every due instant, including the steps that run at it; the checks
are in `invariant_checks.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from sim.api.pipeline.inputs import Outcome, Post, StepResult
from sim.kernel.instants import OUT_OF_RANGE, Instant, format_instant
from sim.read.commands import sim_command
from sim.read.earlier_files import set_aside
from sim.read.exchange_coverage import Recorder, packed
from sim.read.explain.faults import idle_faults
from sim.read.features import FeatureRecorder
from sim.read.invariant_checks import InvariantChecks
from sim.read.junit import Case, Suite
from sim.read.junit import junit as junit_document
from sim.read.layout import counted, wrapped
from sim.run.simulation import Simulation
from sim.world.format.scenario import Scenario

Recorders: TypeAlias = tuple[Recorder | FeatureRecorder, ...]
JOURNAL_SUFFIX = ".ndjson"


class Report(Struct, frozen=True, kw_only=True):
    """A finished run: the verdict, the failures, and the evidence.

    `params` are the values of its matrix; `changes` describes other changes to the scenario.
    `places` are the positions of the steps of `results` in their file. `broken` holds the
    invariants that were violated, as first found, or the internal error that ended the run. `page`
    is its one-file report. `idle_faults` are lines about faults that never acted. `coverage` (as
    JSON) and `features` are what it exercised, if requested.
    """

    scenario: str
    seed: int
    digest: str
    ended: Instant
    inputs: int
    results: list[StepResult]
    places: tuple[str, ...]
    params: dict[str, str] = field(default_factory=dict)
    journal: str = ""
    page: str = ""
    changes: str = ""
    broken: tuple[str, ...] = ()
    coverage: str = ""
    features: tuple[str, ...] = ()
    idle_faults: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every expectation and every invariant held."""
        return not self.broken and not any(result.failures for result in self.results)

    @property
    def first_failure(self) -> str:
        """The first line of `failures`, or ""."""
        return next(iter(self.failures()), "")

    def failures(self) -> Iterator[str]:
        """Yield the failures, one line each: broken invariants, then steps in their order.

        The line of a step does not depend on its position in the file.
        """
        return (failure for _, failure in self._failures_with_positions())

    def _failures_with_positions(self) -> Iterator[tuple[str, str]]:
        """Yield the failures with the position of the step, such as "my.yaml:12"."""
        yield from (("", f"broken: {invariant}") for invariant in self.broken)
        for result, position in zip(self.results, self.places, strict=True):
            for failure in result.failures:
                yield position, f"{result.name} at {format_instant(result.at)}: {failure}"

    @property
    def title(self) -> str:
        """Name and variation: `retries[tif=IOC,side=buy] with engine.latency=6s`."""
        values = ",".join(f"{name}={value}" for name, value in self.params.items())
        name = f"{self.scenario}[{values}]" if values else self.scenario
        return f"{name} with {self.changes}" if self.changes else name

    def lines(self) -> Iterator[str]:
        """Yield the report for a person: one line, and another one for each failure."""
        yield (
            f"{'passed' if self.ok else 'FAILED'}  {self.title}  seed {self.seed} "
            f" {counted(len(self.results), 'step')}  until {format_instant(self.ended)}"
            f"  digest {self.digest}"
        )
        for position, failure in self._failures_with_positions():
            where = f"{position}: " if position else ""
            yield from wrapped(f"{where}{failure}", "    ", first="  ")
        for line in self.idle_faults:
            yield from wrapped(line, "    ", first="  ")
        if self.journal:
            yield f"  {sim_command('replay', Path(self.journal))}"
        if self.page:
            yield f"  report {self.page}"

    def document(self) -> dict[str, Any]:
        """Return the report as a document for programs."""
        return {
            "scenario": self.scenario,
            "title": self.title,
            "seed": self.seed,
            "ok": self.ok,
            "digest": self.digest,
            "ended": format_instant(self.ended),
            "inputs": self.inputs,
            "steps": [
                {
                    "n": result.step,
                    "name": result.name,
                    "where": position,
                    "at": format_instant(result.at),
                    "ok": not result.failures,
                    "says": list(result.failures),
                }
                for result, position in zip(self.results, self.places, strict=True)
            ],
            "broken": list(self.broken),
            "idle_faults": list(self.idle_faults),
            "journal": self.journal,
            "report": self.page,
        }


def junit(reports: Iterable[Report]) -> bytes:
    """Return JUnit XML: one suite per run, one case per step, timed in virtual seconds."""
    return junit_document(
        Suite(
            f"{report.title} seed {report.seed}",
            list(_cases(report)),
            {"seed": str(report.seed), "digest": report.digest, **report.params},
            report.idle_faults,
        )
        for report in reports
    )


def _cases(report: Report) -> Iterator[Case]:
    before = report.results[0].at if report.results else 0
    for result in report.results:
        seconds = max(0, result.at - before) / 1e9
        before = max(before, result.at)
        failure = result.failures[0] if result.failures else ""
        text = "\n".join(result.failures)
        yield Case(report.title, result.name, seconds, failure, text=text)
    for invariant in report.broken:
        yield Case(report.title, invariant.partition(":")[0], failure=invariant)


def run_scenario(
    scenario: Scenario,
    seed: int | None = None,
    simulation: Simulation | None = None,
    save_failures: Path | None = None,
    journals: Path | None = None,
    pages: Path | None = None,
    changes: str = "",
    *,
    check_invariants: bool = True,
    recorder: Recorder | None = None,
    features: FeatureRecorder | None = None,
    copy: int = 0,
) -> Report:
    """Run a scenario to its last step, with a webhook receiver that answers 200.

    `simulation` runs instead of a new one. A failed run leaves its journal in the folder
    `save_failures` and its one-file report in `pages`; every run leaves its journal in `journals`,
    a folder or the name of a journal file (`names_a_file`).
    `changes` describes changes to the scenario. `recorder` and `features` record what the run
    exercises. A `copy` other than 0 becomes part of the names of these files (`run_file`).
    """
    written = BytesIO()
    sim = simulation or Simulation(scenario, seed=seed, journal=written)
    recorders = tuple(each for each in (recorder, features) if each is not None)
    for each in recorders:
        each.begin(sim)
    checks = InvariantChecks(sim) if check_invariants else None
    invariants = tuple(run_steps(sim, checks, recorders))
    report = Report(
        scenario=scenario.name,
        seed=sim.seed,
        digest=sim.digest,
        ended=sim.now,
        inputs=sim.seq,
        results=sim.script.results,
        places=tuple(step.where for _, step in sim.script.ran()),
        params=matrix_values(scenario),
        changes=changes,
        broken=invariants,
        coverage=packed(recorder.coverage) if recorder is not None else "",
        features=tuple(features.met) if features is not None else (),
        idle_faults=tuple(idle_faults(sim)),
    )
    kept, asked_for = journals or (None if report.ok else save_failures), journals is not None
    page = None if report.ok else pages
    return _write(report, written.getvalue(), kept, page, copy, asked_for=asked_for)


def _write(
    report: Report,
    journal: bytes,
    journals: Path | None,
    pages: Path | None,
    copy: int,
    *,
    asked_for: bool,
) -> Report:
    """Write a run's journal and its page into these folders. Return the report with their paths.

    A journal that somebody `asked_for` replaces no file of an earlier run.
    """
    stem = run_file(report.scenario, report.params, report.changes, report.seed, copy)
    if pages is not None:
        pages.mkdir(parents=True, exist_ok=True)
        report = replace(report, page=str(_write_page(journal, pages / f"{stem}.html")))
    if journals is not None:
        path = journals if names_a_file(journals) else journals / f"{stem}{JOURNAL_SUFFIX}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if asked_for:
            set_aside(path)
        path.touch(0o600)
        path.write_bytes(journal)
        report = replace(report, journal=str(path))
    return report


def names_a_file(journals: Path) -> bool:
    """Return whether a path for journals is the name of one file instead of a folder."""
    return journals.suffix == JOURNAL_SUFFIX and not journals.is_dir()


def matrix_values(scenario: Scenario) -> dict[str, str]:
    """Return the values of its matrix with which a scenario runs."""
    return {name: scenario.params.get(name, values[0]) for name, values in scenario.matrix.items()}


def run_file(name: str, params: Mapping[str, str], changes: str, seed: int, copy: int = 0) -> str:
    """Return the name of a run's file, without its suffix: desk-IOC-7.

    Two runs of scenarios with the same name may have the same one. `copy` then distinguishes the
    second from the first: desk-IOC-7-copy-2.
    """
    values = "".join(f"-{value}" for value in (*params.values(), *changes.split()))
    numbers = f"-{seed}-copy-{copy}" if copy else f"-{seed}"
    return file_name(f"{name}{values}")[:170] + numbers


def _write_page(journal: bytes, path: Path) -> Path:
    """Write the one-file report of a run."""
    from sim.read.history.recorded import RecordedRun
    from sim.read.report.report import write_report

    with NamedTemporaryFile(suffix=".ndjson") as file:
        file.write(journal)
        file.flush()
        write_report(RecordedRun(Path(file.name)), path)
    return path


def file_name(name: str) -> str:
    """Return a scenario's name as a file name: printable, visible, without separators."""
    bad = '/\\:*?"<>|'
    letters = (each if each.isprintable() and each not in bad else "_" for each in name)
    return "".join(letters).lstrip(".")[:200] or "scenario"


def run_steps(
    sim: Simulation,
    checks: InvariantChecks | None = None,
    recorders: Recorders = (),
    inputs_max: int | None = None,
) -> Iterator[str]:
    """Run every step, or until the run has `inputs_max` inputs.

    Yield the invariants of the first failed check, an internal error, and a note about steps beyond
    the end of the calendar. Recorded inputs (`input`) include the answers of webhook receivers.
    """
    recorded = any(step.input for step in sim.script.steps)
    try:
        while not sim.script.done and (due := sim.next_due()) is not None:
            if inputs_max is not None and sim.seq >= inputs_max:
                return
            _answer_webhooks(sim, sim.advance_to(due), recorders, recorded=recorded)
            if checks is not None:
                yield from checks.after_input()
    except Exception as error:
        where = f"in input {sim.seq + 1}, {format_instant(sim.now)}"
        yield f"internal error: {type(error).__name__}: {error} ({where})"
    else:
        if left := len(sim.script.steps) - len(sim.script.results):
            yield f"{counted(left, 'step')} not reached: {OUT_OF_RANGE}"


def _answer_webhooks(
    sim: Simulation, outcome: Outcome, recorders: Recorders, *, recorded: bool = False
) -> None:
    for each in recorders:
        each.after_input(sim, outcome)
    for effect in () if recorded else outcome.effects:
        if isinstance(effect, Post) and not effect.receiver:
            _answer_webhooks(sim, sim.answer(effect.attempt, 200), recorders)
