"""A client's own tests at every date on which the service changes: the first date that breaks each
test, and the changes of that date.

Dates are those of `sim catalogue dates`, including announced ones. Each run begins at 14:00 Eastern
on the first day on which the changes are in force; the day before the first date is the baseline. A
test is a case of the JUnit file that the command writes; pytest writes it by itself. Without a file
the exit code of the command is its only test.

Exchanges that tests create themselves begin at the same instant, which `SIM_START` holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from msgspec import Struct, field, structs, to_builtins

from sim.kernel.instants import DAY, Instant, eastern, eastern_date, format_instant, parse_instant
from sim.read import dates
from sim.read.errors import UsageError
from sim.read.junit import Case, Suite, junit
from sim.read.layout import counted, put, wrapped
from sim.read.progress import Progress
from sim.run.loader.load import load_single
from sim.testing.client_command import Cases, one_line, run_client
from sim.testing.clock import START_VARIABLE, with_start

_HOUR = 14
WHOLE = "the command"
_UNMET = (
    "warning: no call reached the exchange of {when}: what passed there shows nothing. Tests find"
    " it by SIM_READY_FILE, or use pytest's fixture `exchange`"
)


class RunDate(Struct, frozen=True):
    """A run to make: its start, and the changes since the run before."""

    start: Instant
    changes: tuple[str, ...]

    @property
    def day(self) -> str:
        """The day, such as 2026-07-09."""
        return eastern_date(self.start).isoformat()


class CalendarPlan(Struct, frozen=True, kw_only=True):
    """The options of `sim calendar`. `bisect` searches by bisection, assuming that a broken
    test stays broken.
    """

    command: Sequence[str]
    scenario: str
    folder: Path
    clock: str
    limit_s: float
    bisect: bool = False


class BrokenTest(Struct, frozen=True):
    """A test, the first date on which it fails, the changes of that date, and its message."""

    test: str
    first: str
    changes: tuple[str, ...]
    message: str = field(name="says")


class Calendar(Struct, frozen=True):
    """Results: for each day the tests and whether they passed; the tests that a date breaks; those
    that fail even before the first date, with their messages.
    """

    runs: dict[str, dict[str, bool]]
    broken: list[BrokenTest]
    failing: list[str]
    failing_says: dict[str, str]
    unmet: list[str]  # days on which no test called the exchange
    dates: int

    @property
    def ok(self) -> bool:
        """Whether the tests pass at every date; tests without calls to an exchange show nothing."""
        return not self.broken and not self.failing and len(self.unmet) < len(self.runs)

    def document(self) -> dict[str, Any]:
        """The calendar as JSON."""
        built: dict[str, Any] = to_builtins(self)
        return {"ok": self.ok, **built}


def every_date() -> list[RunDate]:
    """The baseline and every date, oldest first."""
    by_start: dict[Instant, list[str]] = {}
    for row in dates.rows():
        at = parse_instant(row["from"])
        day = eastern(eastern_date(at), _HOUR)
        start = day if at <= day else eastern(eastern_date(at + DAY), _HOUR)
        change = f"{row['before']} → {row['after']}" if row["before"] else ""
        summary = row["summary"].removesuffix(".")
        description = ": ".join(part for part in (row["name"], summary, change) if part)
        by_start.setdefault(start, []).append(f"{row['kind']} {description}")
    first = min(by_start)
    baseline = RunDate(eastern(eastern_date(first - DAY), _HOUR), ())
    return [baseline, *(RunDate(at, tuple(by_start[at])) for at in sorted(by_start))]


def calendar(plan: CalendarPlan) -> Calendar:
    """Run the command at the dates. After an interrupt the calendar has the finished dates.

    UsageError if nothing was run, or there is no such command.
    """
    every = every_date()
    runs: dict[int, Cases] = {}
    with Progress(0 if plan.bisect else len(every), "dates", quiet_below=2) as progress:
        for number in _bisected(every, runs) if plan.bisect else range(len(every)):
            runs[number] = _run(plan, every[number])
            progress.step(every[number].day)
    if not runs:
        raise UsageError("no date ran, so there is no verdict on the tests")
    return _verdict(every, runs)


def _bisected(every: Sequence[RunDate], runs: dict[int, Cases]) -> Iterator[int]:
    """The dates to run, until each test that fails at the end has its first date."""
    last = len(every) - 1
    yield 0
    yield last
    for test in [name for name, passed in runs[last].passed.items() if not passed]:
        if not runs[0].passed.get(test, True):
            continue
        low, high = 0, last
        while high - low > 1:
            middle = (low + high) // 2
            if middle not in runs:
                yield middle
            low, high = (middle, high) if runs[middle].passed.get(test, True) else (low, middle)


def _run(plan: CalendarPlan, date: RunDate) -> Cases:
    """Run the tests at a date; return whether each passed."""
    start = format_instant(date.start)
    run = run_client(
        plan.command,
        with_start(load_single(plan.scenario), start),
        plan.folder / date.day,
        clock=plan.clock,
        limit_s=plan.limit_s,
        environment={START_VARIABLE: start},
    )
    ran = structs.replace(run.cases, met=run.cases.met or run.calls > 0)
    if ran.passed and (run.ok or not all(ran.passed.values())):
        return ran
    # A command that fails although its cases pass, or that was stopped, is a failure of its own.
    ended = "did not end in time" if run.code is None else f"exit code {run.code}"
    messages = {} if run.ok else {WHOLE: one_line(": ".join((ended, *run.tail[-1:])))}
    return Cases({**ran.passed, WHOLE: run.ok}, {**ran.messages, **messages}, ran.met)


def _verdict(every: Sequence[RunDate], runs: dict[int, Cases]) -> Calendar:
    order = sorted(runs)
    names = list(dict.fromkeys(name for number in order for name in runs[number].passed))
    failing, broken = dict[str, str](), []
    for name in names:
        fails = [number for number in order if not runs[number].passed.get(name, True)]
        if not fails:
            continue
        first, message = every[fails[0]], runs[fails[0]].messages.get(name, "")
        if fails[0] == 0:
            failing[name] = message
        else:
            broken.append(BrokenTest(name, first.day, first.changes, message))
    days = {every[number].day: runs[number].passed for number in order}
    unmet = [every[number].day for number in order if not runs[number].met]
    return Calendar(days, broken, list(failing), failing, unmet, len(every))


def write(calendar: Calendar, folder: Path, out: TextIO) -> None:
    """Print the calendar: each date that breaks tests, with its tests, messages and changes."""
    for day in dict.fromkeys(broken.first for broken in calendar.broken):
        here = [broken for broken in calendar.broken if broken.first == day]
        put(f"{day} breaks {counted(len(here), 'test')}:", file=out)
        for broken in here:
            _write_test(broken.test, broken.message, out)
        put("  what changed on it:", file=out)
        for change in here[0].changes:
            put(*wrapped(change, "      ", first="    "), file=out)
    if calendar.failing:
        put("fail even before the first date:", file=out)
        for test in calendar.failing:
            _write_test(test, calendar.failing_says[test], out)
    tests = {name for run in calendar.runs.values() for name in run}
    tried = f"{len(calendar.runs)} of {counted(calendar.dates, 'date')} tried"
    kept = len(tests) - len(calendar.broken) - len(calendar.failing)
    put(f"{tried}, {counted(len(tests), 'test')}: {kept} pass at each of them", file=out)
    put(f"output and journal of each run: {folder / 'DATE'}", file=out)
    if calendar.unmet:
        when = (
            "any date" if len(calendar.unmet) == len(calendar.runs) else ", ".join(calendar.unmet)
        )
        put(*wrapped(_UNMET.format(when=when), "  ", first=""), file=out)
    if calendar.broken:
        first = calendar.broken[0].first
        start = next(date.start for date in every_date() if date.day == first)
        put(f"an exchange of that date: sim serve --start {format_instant(start)}", file=out)


def _write_test(test: str, message: str, out: TextIO) -> None:
    put(*wrapped(test, "      ", first="  "), file=out)
    if message:
        put(*wrapped(message, "      ", first="      "), file=out)


def junit_of(calendar: Calendar) -> bytes:
    """Return JUnit XML: one case per test; its failure names the first date that breaks it."""
    first = {broken.test: broken for broken in calendar.broken}
    tests = dict.fromkeys(name for run in calendar.runs.values() for name in run)
    cases = [_case(name, first.get(name), calendar.failing_says.get(name)) for name in tests]
    return junit([Suite("calendar", cases, {"dates": ", ".join(calendar.runs)})])


def _case(name: str, broken: BrokenTest | None, failing: str | None) -> Case:
    if failing is not None:
        return Case("calendar", name, failure="fails even before the first date", text=failing)
    if broken is None:
        return Case("calendar", name)
    text = "\n".join(filter(None, (broken.message, *broken.changes)))
    return Case("calendar", name, failure=f"{broken.first} breaks it", text=text)
