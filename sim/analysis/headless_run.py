"""A scenario run headless, and what came of it: for a person, as JSON, as JUnit XML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from msgspec import Struct, field
from msgspec.structs import replace

from sim.actors.script.runner import StepResult
from sim.api.pipeline.inputs import Outcome, Post
from sim.core.invariants import broken
from sim.kernel.instants import Instant, format_instant

if TYPE_CHECKING:
    from sim.scenario.scenario import Scenario
    from sim.simulation import Simulation


ALWAYS_LOOKED_THROUGH = 1_000  # open orders up to which every input is followed by a look
ORDERS_PER_INPUT = 200


class Report(Struct, frozen=True, kw_only=True):
    """A finished run: the verdict, what failed, and what proves it. `params` are the values of the
    matrix it ran with, `changes` what else it was given.

    `broken` are the invariants that did not hold, as they were first found, or the mistake of ours
    that ended the run.
    """

    scenario: str
    seed: int
    digest: str
    ended: Instant
    inputs: int
    results: list[StepResult]
    params: dict[str, str] = field(default_factory=dict)
    journal: str = ""
    changes: str = ""
    broken: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every expectation and every invariant held."""
        return not self.broken and not any(result.failures for result in self.results)

    @property
    def first_failure(self) -> str:
        """What failed first, in one line; empty when nothing did."""
        return next(iter(self.failures()), "")

    def failures(self) -> Iterator[str]:
        """What failed, a line each: broken invariants, then steps in their order."""
        yield from (f"broken: {found}" for found in self.broken)
        for result in self.results:
            for failure in result.failures:
                yield f"{result.name} at {format_instant(result.at)}: {failure}"

    @property
    def title(self) -> str:
        """Name with the values of the matrix, and what else was changed: `retries[tif=IOC,side=buy]
        with engine.latency=6s`.
        """
        values = ",".join(f"{name}={value}" for name, value in self.params.items())
        return (f"{self.scenario}[{values}]" if values else self.scenario) + (
            f" with {self.changes}" if self.changes else ""
        )

    def lines(self) -> Iterator[str]:
        """The report for a person: one line, and one more for each failure."""
        checked = len(self.results)
        verdict = "passed" if self.ok else "FAILED"
        yield (
            f"{verdict}  {self.title}  seed {self.seed}  {checked} steps  until"
            f" {format_instant(self.ended)}  digest {self.digest}"
        )
        for failure in self.failures():
            yield f"  {failure}"
        if self.journal:
            yield f"  sim replay {self.journal}"


def junit(reports: Iterable[Report]) -> bytes:
    """JUnit XML: a suite per run, a case per step. Times are virtual seconds since the step before."""
    root = ElementTree.Element("testsuites")
    for report in reports:
        failed = sum(1 for result in report.results if result.failures) + len(report.broken)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=f"{report.title} seed {report.seed}",
            tests=str(len(report.results) + len(report.broken)),
            failures=str(failed),
            errors="0",
        )
        properties = ElementTree.SubElement(suite, "properties")
        for name, value in (
            ("seed", str(report.seed)),
            ("digest", report.digest),
            *report.params.items(),
        ):
            ElementTree.SubElement(properties, "property", name=name, value=value)
        before = report.results[0].at if report.results else 0
        for result in report.results:
            case = ElementTree.SubElement(
                suite,
                "testcase",
                classname=report.title,
                name=result.name,
                time=f"{max(0, result.at - before) / 1e9:.3f}",
            )
            before = max(before, result.at)
            if result.failures:
                ElementTree.SubElement(
                    case, "failure", message=result.failures[0]
                ).text = "\n".join(result.failures)
        for found in report.broken:
            case = ElementTree.SubElement(
                suite, "testcase", classname=report.title, name=found.partition(":")[0], time="0"
            )
            ElementTree.SubElement(case, "failure", message=found).text = found
    ElementTree.indent(root)
    return bytes(ElementTree.tostring(root, encoding="utf-8", xml_declaration=True))


def run_scenario(
    scenario: Scenario,
    seed: int | None = None,
    simulation: Simulation | None = None,
    keep: Path | None = None,
    changes: str = "",
    *,
    watch: bool = True,
) -> Report:
    """Run a scenario headless to its last step; after every input the invariants are looked at, if
    somebody is to `watch`.

    Webhook receivers are played by one that answers 200. `keep` is the folder for journals of runs
    that fail, `changes` what the scenario was given besides what it says, for the report.
    """
    from sim.simulation import Simulation

    written = BytesIO()
    sim = simulation or Simulation(scenario, seed=seed, journal=written)
    found = tuple(_run(sim, watch))
    report = Report(
        scenario=scenario.name,
        seed=sim.seed,
        digest=sim.digest,
        ended=sim.now,
        inputs=sim.seq,
        results=sim.script.results,
        params=_chosen(scenario),
        changes=changes,
        broken=found,
    )
    if keep is None or report.ok:
        return report
    values = "".join(f"-{value}" for value in (*report.params.values(), *changes.split()))
    path = keep / file_name(f"{report.scenario}{values}-{report.seed}.ndjson")
    keep.mkdir(parents=True, exist_ok=True)
    path.write_bytes(written.getvalue())
    return replace(report, journal=str(path))


def file_name(name: str) -> str:
    """A scenario's name as one of a file: in this folder, visible, and of printable letters."""
    return (
        "".join(
            letter if letter.isprintable() and letter not in '/\\:*?"<>|' else "_"
            for letter in name
        ).lstrip(".")[:200]
        or "scenario"
    )


def _run(sim: Simulation, watch: bool) -> Iterator[str]:
    """Let every step happen; what broke on the way: the first moment at which invariants do not
    hold, and a mistake of ours, which ends the run.

    A look goes through all open orders, so with more than a thousand of them it is taken after
    every so many inputs only, and after the last.
    """
    sound = watch  # found broken once is enough
    looked = pause = 0
    try:
        while not sim.script.done and (due := sim.next_due()) is not None:
            _answer(sim, sim.advance_to(due))
            if sound and (sim.seq > looked + pause or sim.script.done):
                wrong = broken(sim.exchange.trading)
                between = f" or up to {pause} before it" if pause else ""
                yield from (
                    f"{one} (after input {sim.seq}{between}, {format_instant(sim.now)})"
                    for one in wrong
                )
                looked, sound = sim.seq, not wrong
                pause = (
                    max(
                        0,
                        sum(1 for _ in sim.exchange.trading.orders.open()) - ALWAYS_LOOKED_THROUGH,
                    )
                    // ORDERS_PER_INPUT
                )
    except Exception as mistake:
        yield (
            f"mistake: {type(mistake).__name__}: {mistake} (in input {sim.seq + 1},"
            f" {format_instant(sim.now)})"
        )


def _chosen(scenario: Scenario) -> dict[str, str]:
    return {name: scenario.params.get(name, values[0]) for name, values in scenario.matrix.items()}


def _answer(sim: Simulation, outcome: Outcome) -> None:
    for effect in outcome.effects:
        if isinstance(effect, Post):
            _answer(sim, sim.answer(effect.attempt, 200))
