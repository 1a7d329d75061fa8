"""A scenario run headless, and what came of it: for a person, as JSON, as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from msgspec import Struct, field
from msgspec.structs import replace

from sim.api.traffic import Outcome, Post
from sim.kernel.instants import Instant, format_instant
from sim.scenario.script import StepResult

if TYPE_CHECKING:
    from sim.scenario.model import Scenario
    from sim.simulation import Simulation


class Report(Struct, frozen=True, kw_only=True):
    """A finished run: the verdict, what failed, and what proves it. `params` are the values of the matrix it ran with."""

    scenario: str
    seed: int
    digest: str
    ended: Instant
    inputs: int
    results: list[StepResult]
    params: dict[str, str] = field(default_factory=dict)
    journal: str = ""

    @property
    def ok(self) -> bool:
        """Whether every expectation held."""
        return not any(result.failures for result in self.results)

    @property
    def title(self) -> str:
        """Name with the values of the matrix: `retries[tif=IOC,side=buy]`."""
        values = ",".join(f"{name}={value}" for name, value in self.params.items())
        return f"{self.scenario}[{values}]" if values else self.scenario

    def lines(self) -> Iterator[str]:
        """The report for a person: one line, and one more for each failure."""
        checked = len(self.results)
        verdict = "passed" if self.ok else "FAILED"
        yield f"{verdict}  {self.title}  seed {self.seed}  {checked} steps  until {format_instant(self.ended)}  digest {self.digest}"
        for result in self.results:
            for failure in result.failures:
                yield f"  {result.name} at {format_instant(result.at)}: {failure}"
        if self.journal:
            yield f"  sim replay {self.journal}"


def junit(reports: Iterable[Report]) -> bytes:
    """JUnit XML: a suite per run, a case per step. Times are virtual seconds since the step before."""
    root = ElementTree.Element("testsuites")
    for report in reports:
        failed = sum(1 for result in report.results if result.failures)
        suite = ElementTree.SubElement(
            root, "testsuite", name=f"{report.title} seed {report.seed}", tests=str(len(report.results)), failures=str(failed), errors="0"
        )
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in (("seed", str(report.seed)), ("digest", report.digest), *report.params.items()):
            ElementTree.SubElement(properties, "property", name=name, value=value)
        before = report.results[0].at if report.results else 0
        for result in report.results:
            case = ElementTree.SubElement(
                suite, "testcase", classname=report.title, name=result.name, time=f"{max(0, result.at - before) / 1e9:.3f}"
            )
            before = max(before, result.at)
            if result.failures:
                ElementTree.SubElement(case, "failure", message=result.failures[0]).text = "\n".join(result.failures)
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def run_scenario(scenario: Scenario, seed: int | None = None, simulation: Simulation | None = None, keep: Path | None = None) -> Report:
    """Run a scenario headless to its last step. Webhook receivers are played by one that answers 200. `keep` is the folder for journals of runs that fail."""
    from sim.simulation import Simulation

    written = BytesIO()
    sim = simulation or Simulation(scenario, seed=seed, journal=written)
    while not sim.script.done and (due := sim.next_due()) is not None:
        _answer(sim, sim.advance_to(due))
    report = Report(
        scenario=scenario.name, seed=sim.seed, digest=sim.digest, ended=sim.now, inputs=sim.seq, results=sim.script.results, params=_chosen(scenario)
    )
    if keep is None or report.ok:
        return report
    values = "".join(f"-{value}" for value in report.params.values())
    path = keep / f"{report.scenario}{values}-{report.seed}.ndjson".replace("/", "_")
    keep.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written.getvalue())
    return replace(report, journal=str(path))


def _chosen(scenario: Scenario) -> dict[str, str]:
    return {name: scenario.params.get(name, values[0]) for name, values in scenario.matrix.items()}


def _answer(sim: Simulation, outcome: Outcome) -> None:
    for effect in outcome.effects:
        if isinstance(effect, Post):
            _answer(sim, sim.answer(effect.attempt, 200))
