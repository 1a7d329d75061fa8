"""A client's own tests at every date on which the service changes: which date breaks each test
first, and what changed on it.

Dates are those of `sim catalogue dates`, announced ones too. Each run begins at 14:00 Eastern of
the first day on which the changes are in force; the day before the first date is the baseline. A
test is a case of the JUnit file that the command writes, which pytest does without being asked.
Where there is none, the exit code of the command is its one test.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO
from xml.etree import ElementTree

from msgspec import Struct, structs, to_builtins

from sim.analysis import dates
from sim.analysis.errors import UsageError
from sim.analysis.junit import Case, Suite, junit
from sim.analysis.layout import counted, wrapped
from sim.analysis.progress import Progress
from sim.kernel.instants import DAY, Instant, eastern, eastern_date, parse_instant
from sim.loader.load import load_scenario
from sim.testing.client_command import run_client

_HOUR = 14
WHOLE = "the command"


class Date(Struct, frozen=True):
    """A run to make: when it begins, and what is new since the run before."""

    start: Instant
    changes: tuple[str, ...]

    @property
    def day(self) -> str:
        """The day, such as 2026-07-09."""
        return eastern_date(self.start).isoformat()


class Plan(Struct, frozen=True, kw_only=True):
    """What to run: the options of `sim calendar`. With `bisect` only as many dates are tried as it
    takes, for tests that stay broken once they break.
    """

    command: Sequence[str]
    scenario: str
    folder: Path
    clock: str
    limit_s: float
    bisect: bool = False


class Broken(Struct, frozen=True):
    """A test, the first date on which it fails, and the changes of that date."""

    test: str
    first: str
    changes: tuple[str, ...]


class Calendar(Struct, frozen=True):
    """What was run: for each day that was tried the tests and whether they passed."""

    runs: dict[str, dict[str, bool]]
    broken: list[Broken]
    failing: list[str]
    dates: int

    def document(self) -> dict[str, Any]:
        """The calendar as JSON."""
        built: dict[str, Any] = to_builtins(self)
        return {"ok": not self.broken and not self.failing, **built}


def every_date() -> list[Date]:
    """The baseline and every date, oldest first."""
    by_start: dict[Instant, list[str]] = {}
    for row in dates.rows():
        at = parse_instant(row["from"])
        day = eastern(eastern_date(at), _HOUR)
        start = day if at <= day else eastern(eastern_date(at + DAY), _HOUR)
        change = f"{row['before']} → {row['after']}" if row["before"] else ""
        said = ": ".join(part for part in (row["name"], row["summary"], change) if part)
        by_start.setdefault(start, []).append(f"{row['kind']} {said}")
    first = min(by_start)
    baseline = Date(eastern(eastern_date(first - DAY), _HOUR), ())
    return [baseline, *(Date(at, tuple(by_start[at])) for at in sorted(by_start))]


def calendar(plan: Plan) -> Calendar:
    """Run the command at the dates. After an interrupt the calendar has the dates that are done.

    UsageError where nothing was run, or there is no such command.
    """
    every = every_date()
    runs: dict[int, dict[str, bool]] = {}
    with Progress(0 if plan.bisect else len(every), "dates", quiet_below=2) as progress:
        for number in _bisected(every, runs) if plan.bisect else range(len(every)):
            runs[number] = _run(plan, every[number])
            progress.step(every[number].day)
    if not runs:
        raise UsageError("no date was run: nothing can be said of the tests")
    return _verdict(every, runs)


def _bisected(every: Sequence[Date], runs: dict[int, dict[str, bool]]) -> Iterator[int]:
    """The dates to run, until each test that fails at the end has its first date."""
    last = len(every) - 1
    yield 0
    yield last
    for test in [name for name, passed in runs[last].items() if not passed]:
        if not runs[0].get(test, True):
            continue
        low, high = 0, last
        while high - low > 1:
            middle = (low + high) // 2
            if middle not in runs:
                yield middle
            low, high = (middle, high) if runs[middle].get(test, True) else (low, middle)


def _run(plan: Plan, date: Date) -> dict[str, bool]:
    """The tests at a date, and whether they passed."""
    scenario = load_scenario(plan.scenario)
    scenario = structs.replace(scenario, clock=structs.replace(scenario.clock, start=date.start))
    folder = plan.folder / date.day
    folder.mkdir(parents=True, exist_ok=True)
    cases = (folder / "cases.xml").absolute()
    cases.unlink(missing_ok=True)
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --junitxml='{cases}'".strip()
    environment = {"PYTEST_ADDOPTS": options, "SIM_JUNIT": str(cases)}
    run = run_client(
        plan.command,
        scenario,
        folder,
        clock=plan.clock,
        limit_s=plan.limit_s,
        environment=environment,
    )
    (folder / "ready.json").unlink(missing_ok=True)  # it holds keys
    tests = _cases(cases)
    # A command that fails although its cases pass, or that was stopped, is a failure of its own.
    return tests if tests and (run.ok or not all(tests.values())) else {**tests, WHOLE: run.ok}


def _cases(path: Path) -> dict[str, bool]:
    """The cases of a JUnit file; empty where there is none, or it is cut."""
    if not path.is_file():
        return {}
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return {}
    found: dict[str, bool] = {}
    for case in root.iter("testcase"):
        if case.find("skipped") is None:
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            failed = case.find("failure") is not None or case.find("error") is not None
            found[name] = found.get(name, True) and not failed
    return found


def _verdict(every: Sequence[Date], runs: dict[int, dict[str, bool]]) -> Calendar:
    order = sorted(runs)
    names = list(dict.fromkeys(name for number in order for name in runs[number]))
    failing, broken = [], []
    for name in names:
        fails = [number for number in order if not runs[number].get(name, True)]
        if fails and fails[0] == 0:
            failing.append(name)
        elif fails:
            first = every[fails[0]]
            broken.append(Broken(name, first.day, first.changes))
    days = {every[number].day: runs[number] for number in order}
    return Calendar(days, broken, failing, len(every))


def write(found: Calendar, out: TextIO) -> None:
    """Print the calendar: each date that breaks tests, which, and what changed on it."""
    for day in dict.fromkeys(one.first for one in found.broken):
        here = [one for one in found.broken if one.first == day]
        print(f"{day} breaks {counted(len(here), 'test')}:", file=out)
        for one in here:
            print(*wrapped(one.test, "      ", first="  "), sep="\n", file=out)
        print("  what changed on it:", file=out)
        for change in here[0].changes:
            print(*wrapped(change, "      ", first="    "), sep="\n", file=out)
    if found.failing:
        said = f"fail before the first date already: {', '.join(found.failing)}"
        print(*wrapped(said, "  ", first=""), sep="\n", file=out)
    tests = {name for run in found.runs.values() for name in run}
    tried = f"{len(found.runs)} of {counted(found.dates, 'date')} tried"
    kept = len(tests) - len(found.broken) - len(found.failing)
    print(f"{tried}, {counted(len(tests), 'test')}: {kept} pass at each of them", file=out)


def junit_of(found: Calendar) -> bytes:
    """JUnit XML: one case a test; its failure names the first date that breaks it."""
    first = {one.test: one for one in found.broken}
    tests = dict.fromkeys(name for run in found.runs.values() for name in run)
    cases = [_case(name, first.get(name), name in found.failing) for name in tests]
    return junit([Suite("calendar", cases, {"dates": ", ".join(found.runs)})])


def _case(name: str, broken: Broken | None, failing: bool) -> Case:
    if failing:
        return Case("calendar", name, failure="fails before the first date already")
    if broken is None:
        return Case("calendar", name)
    return Case(
        "calendar", name, failure=f"{broken.first} breaks it", text="\n".join(broken.changes)
    )
