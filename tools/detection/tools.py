"""The tools. Each tests the exchange until its processor time is used up, and yields its findings:
pairs of a column of the table and a sentence.

Each tool is a command of this project without its output, or the property tests.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sim import Simulation, load_scenario
from sim.evidence.witness.witness import Witness
from sim.kernel import resources
from sim.read.errors import UsageError
from sim.read.headless_run import run_scenario
from sim.run.client.client import RpcError, connect
from sim.search.campaign import matching_variants
from sim.search.explore import ExploreRequest, run_trial, variants
from sim.search.fuzz import with_random_steps
from sim.search.hunt import judges
from sim.search.hunt.campaign import Campaign, HuntPlan
from sim.search.hunt.judges import Judges
from sim.search.hunt.oracles import Oracles
from sim.search.hunt.roots import roots_of
from sim.testing.certify.judge import LegResult, judge, leg_of_simulation
from sim.testing.certify.profile import load_profile
from tests.testing.reference import GaveUp
from tools.detection.client_bugs import client, run_machine
from tools.detection.results import property_seconds

Sentence = tuple[str, str]
Over = Callable[[], bool]

ROOT = Path(__file__).resolve().parents[2]
PROFILE = load_profile()
STORM = 150  # random steps
LONG = ("life-size", "living-market", "living-windows", "quickstart")  # too long for a budget


def sweep(over: Over, bug: str = "") -> Iterator[Sentence]:
    """`sim sweep`: the bundled scenarios, then random ones. Expectations of a scenario and
    invariants are two columns.
    """
    for name in _scenarios():
        for variant in matching_variants(name, {}):
            if over():
                return
            yield from _failures(run_scenario(load_scenario(name, variant)).failures())
    for seed in count(1):
        if over():
            return
        storm = with_random_steps(load_scenario("quickstart"), seed, STORM)
        yield from _failures(run_scenario(storm, seed=seed).failures())


def _scenarios() -> list[str]:
    return [name for name in resources.bundled_scenarios() if name not in LONG]


def _failures(lines: Iterator[str]) -> Iterator[Sentence]:
    for line in lines:
        yield ("invariants" if line.startswith("broken: ") else "scenarios"), line


def explore(over: Over, bug: str = "") -> Iterator[Sentence]:
    """`sim explore` of the bundled scenarios: each fault at each point of their runs."""
    for name in _scenarios():
        try:
            explored = variants(ExploreRequest(scenarios=(name,)))
            for task in (item.task((point,)) for item in explored for point in item.points):
                if over():
                    return
                trial = run_trial(task)
                if not trial.survived:
                    yield (
                        "explore",
                        f"{trial.subject}, {trial.kind} at {trial.where}: {trial.verdict}",
                    )
        except UsageError as broken:
            yield "explore", str(broken)


def hunt(over: Over, bug: str = "", *, column: str = "hunt") -> Iterator[Sentence]:
    """`sim hunt`, which stops after the round in which its processor time is used up."""
    campaign = Campaign(HuntPlan(roots=roots_of(), seed=1, canary=False))
    for report in campaign.run():
        if report.ends_round and over():
            break
    for finding in campaign.state.findings:
        yield column, f"{finding.trouble.kind}: {finding.trouble.text}"


def witness(over: Over, bug: str = "") -> Iterator[Sentence]:
    """Episodes of random calls, streams and clock steps, checked by the witness alone."""
    for name in ("_invariants", "_answer", "at_the_end"):
        setattr(Oracles, name, lambda *args: iter(()))
    _without_law()
    yield from hunt(over, column="witness")


def conformance(over: Over, bug: str = "") -> Iterator[Sentence]:
    """The same episodes, checked against the contract only: forms of answers, internal errors."""
    for name in ("_invariants", "at_the_end"):
        setattr(Oracles, name, lambda *args: iter(()))
    _without_law()
    vars(judges)["judge"] = lambda observations: Witness({})
    yield from hunt(over, column="conformance")


class _Silent:
    """A judge that says nothing."""

    def __init__(self, simulation: Simulation) -> None: ...

    def after_input(self, *args: Any) -> Iterator[Any]:
        return iter(())


def _without_law() -> None:
    """Run episodes without the law, and without judging repeated calls."""
    Judges.law = _Silent
    for name in ("Relations", "ReplayedFrames"):
        vars(judges)[name] = _Silent


class Properties:
    """Runs state machines, property tests and tables written from the specification until one fails
    or the time is used up: the cheapest of each file first, then the next of each. `seconds` has
    the time of each; if it is empty, the times are measured.
    """

    def __init__(self, over: Over, seconds: dict[str, float]) -> None:
        self._over, self._seconds = over, seconds
        self.failed: list[str] = []
        self.took: dict[str, float] = {}

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if not self._seconds:
            items[:] = [item for item in items if _is_property(item)]
            return
        files: Counter[str] = Counter()
        ranks = {}
        for item in sorted(items, key=lambda item: self._seconds.get(item.nodeid, 0)):
            files[file := item.nodeid.partition("::")[0]] += 1
            ranks[item] = files[file], self._seconds.get(item.nodeid, 0)
        existing = [item for item in items if item.nodeid in self._seconds]
        items[:] = sorted(existing, key=ranks.__getitem__)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.took[report.nodeid] = self.took.get(report.nodeid, 0) + round(report.duration, 2)
        if report.failed:
            lines = str(report.longrepr).splitlines()
            wrong = next((line[4:] for line in lines if line.startswith("E  ")), "")
            self.failed.append(f"{report.nodeid}: {wrong.strip()}")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> None:
        if self._seconds and (self.failed or self._over()):
            item.session.shouldstop = "the time is over"


def _is_property(item: pytest.Item) -> bool:
    bases = getattr(getattr(item, "cls", None), "__mro__", ())
    state_machine = any("RuleBasedStateMachine" in repr(vars(base)) for base in bases[:-1])
    return bool(item.get_closest_marker("hypothesis")) or state_machine or "oracles" in item.nodeid


def property_files() -> list[str]:
    """Return the test files with properties, state machines or such tables, without those that
    start a server, because that process does not have the bug.
    """
    words = ("@given", "StateMachine", "ExchangeMachine")
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    chosen = [
        file
        for file in files
        if "oracles" in file.parts or any(word in file.read_text() for word in words)
    ]
    return [str(file.relative_to(ROOT)) for file in chosen if "server" not in file.parts]


def run_properties(over: Over, seconds: dict[str, float]) -> Properties:
    """Run all of them, or those measured."""
    os.chdir(ROOT)
    plugin = Properties(over, seconds)
    files = sorted({nodeid.split("::")[0] for nodeid in seconds}) or property_files()
    quiet = ["-p", "no:cacheprovider", "-p", "no:terminal"]
    ended = pytest.main([*quiet, *files], plugins=[plugin])
    if ended not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED):
        raise RuntimeError(f"pytest ended with {ended}")
    return plugin


def machines(over: Over, bug: str = "") -> Iterator[Sentence]:
    """The state machines and properties of the test suite."""
    yield from (("machines", item) for item in run_properties(over, property_seconds()).failed[:1])


def judged(over: Over, bug: str) -> Iterator[Sentence]:
    """`sim judge` of a client's run without faults."""
    for line in run_client("plain", bug).broken.items():
        yield "judge", f"{line[0]}: {line[1][0][1]}"


def certified(over: Over, bug: str) -> Iterator[Sentence]:
    """`sim certify`: its legs one after another until an item fails."""
    legs: list[LegResult] = []
    for leg in PROFILE.legs:
        if over():
            return
        legs.append(run_client(leg.id, bug))
        for entry in judge(PROFILE, legs).verdicts:
            if entry.verdict == "failed":
                yield "certify", f"{entry.item.id}: {entry.evidence[0]}"


def run_client(leg: str, bug: str) -> LegResult:
    """Return the run of a reference client with a bug in a leg of the profile."""
    terms = next(item for item in PROFILE.legs if item.id == leg)
    simulation, code = Simulation(terms.load()), 0
    try:
        client(bug, connect(simulation)).run()
    except (GaveUp, RpcError, AssertionError):
        code = 1
    return leg_of_simulation(terms, simulation, code)


def beliefs(over: Over, bug: str) -> Iterator[Sentence]:
    """A state machine that compares what a client believes with the exchange."""
    wrong = run_machine(bug)
    if wrong:
        yield "machines", wrong


class Tool(NamedTuple):
    """A tool: how to run it, the columns that it fills, and its processor seconds."""

    run: Callable[[Over, str], Iterator[Sentence]]
    columns: tuple[str, ...]
    seconds: float


EXCHANGE_TOOLS = {
    "machines": Tool(machines, ("machines",), 20),
    "hunt": Tool(hunt, ("hunt",), 10),
    "sweep": Tool(sweep, ("scenarios", "invariants"), 6),
    "witness": Tool(witness, ("witness",), 6),
    "explore": Tool(explore, ("explore",), 3),
    "conformance": Tool(conformance, ("conformance",), 3),
}
CLIENT_TOOLS = {
    "judge": Tool(judged, ("judge",), 10),
    "certify": Tool(certified, ("certify",), 40),
    "beliefs": Tool(beliefs, ("machines",), 30),
}
TOOLS = EXCHANGE_TOOLS | CLIENT_TOOLS
