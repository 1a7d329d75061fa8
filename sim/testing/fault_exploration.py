"""`pytest --explore`: run each test with the `exchange` fixture under every fault.

A first run without faults records the fault points of the test. The test then runs once for every
fault at every point, and survives the fault if it passes. With `--explore-pairs N` up to N sets of
faults follow (`sim/search/fault_points.py`). A test that does not end is stopped, because its
client waits without a timeout of its own, and the verdict says where it waits.

With `--explore-jobs N` further processes of pytest make the trials whose numbers are theirs
(`--explore-shard`), and this one collects what they write.

A fault that a test did not survive is one more failure of the test, so that exit code, last line
and JUnit agree; so is an exploration that was interrupted, and one that met no call at all.
"""

from __future__ import annotations

import asyncio
import io
import operator
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from types import FrameType
from typing import Any, TextIO, cast

import pytest
from _pytest.runner import runtestprotocol

from sim.read.commands import python_command
from sim.read.layout import counted
from sim.read.progress import Progress, reporting
from sim.search.fault_points import (
    FAILED,
    FAULT_KINDS,
    HUNG,
    INVARIANT,
    NOT_AFFECTED,
    SURVIVED,
    FaultSet,
    Trial,
    by_point,
    points,
    sets_of,
    trial_of,
    try_sets,
)

SURVEY: pytest.StashKey[dict[tuple[str, str], int]] = pytest.StashKey()
ARMED: pytest.StashKey[list[str]] = pytest.StashKey()
BROKEN: pytest.StashKey[list[str]] = pytest.StashKey()
IDLE: pytest.StashKey[bool] = pytest.StashKey()  # whether an armed fault never acted

LONGEST_S = 10.0
SHOWN = 12


class TrialTimeout(BaseException):
    """Raised in a test that takes too long. A client's `except Exception` does not catch it."""


class _Terminal(io.TextIOBase):
    """Pytest's own output, which is not captured, on separate lines."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def write(self, text: str) -> int:
        if self._writer.width_of_current_line and text != "\n":
            self._writer.line()
        self._writer.write(text, flush=True)
        return len(text)


class Explorer:
    """The pytest plugin of one run."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.trials: list[Trial] = []
        self.sets: list[Trial] = []
        self._order: list[tuple[str, str, str]] = []
        shard, _, shards = str(config.getoption("explore_shard")).partition("/")
        jobs = config.getoption("explore_jobs") if shards == "1" else 1
        self._shard, self._shards = int(shard), max(int(shards), jobs)
        self._others = OtherShards(config, jobs) if jobs > 1 else None
        self._problems: list[str] = []
        self._unused = 0
        self._failing: list[str] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test without faults, then under every fault."""
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        began = monotonic()
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        took = monotonic() - began
        *parts, teardown = reports
        for report in parts:
            hook.pytest_runtest_logreport(report=report)
        survey = item.stash.get(SURVEY, None)
        if survey is None:
            self._unused += 1
        elif any(report.failed for report in reports):
            self._failing.append(item.nodeid)
        elif not any(report.skipped for report in reports):
            chosen_s = float(self._config.getoption("explore_seconds"))
            limit_s = chosen_s or max(2.0, min(LONGEST_S, 10 * took))
            before = len(self._lost)
            try:
                self._try_all(item, nextitem, survey, limit_s)
            except KeyboardInterrupt:
                _fail(item, "its exploration was interrupted")
                raise
            if lost := len(self._lost) - before:
                _fail(item, f"{counted(lost, 'trial')} with faults not survived")
        hook.pytest_runtest_logreport(report=teardown)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _try_all(
        self,
        item: pytest.Item,
        nextitem: pytest.Item | None,
        survey: dict[tuple[str, str], int],
        limit_s: float,
    ) -> None:
        """Run a test under every fault. After an interrupt the trials so far remain."""

        def run(tries: Iterable[FaultSet]) -> Iterator[Trial]:
            for faults in tries:
                verdict, why = self._verdict(item, nextitem, faults, limit_s)
                yield Trial(item.nodeid, faults, verdict, (why,), dict(item.stash[SURVEY].items()))

        option = self._config.getoption
        base = dict(survey)  # the test counts on in the survey
        names = ("operations", "faults", "max_occurrences")
        limits: dict[str, Any] = {name: option(f"explore_{name}") for name in names}
        every = [(point,) for point in points(base, wire=True, **limits)]
        self._order += [(item.nodeid, each.where, each.kind) for (each,) in every]
        tried = every[self._shard :: self._shards]
        alone: list[Trial] = []
        with self._progress(tried, f"trials of {item.name}") as progress:
            for trial in run(progress.each(tried)):
                self.trials.append(trial)
                alone.append(trial)
        most = -(-option("explore_pairs") // self._shards)
        sets = sets_of(base, alone, wire=True, faults=limits["faults"])[:most] if most else []
        results = try_sets(sets, run)
        with self._progress(sets, f"pairs and timings of {item.name}") as progress:
            for _ in progress.each(sets):
                if (result := next(results)) is not None:
                    self.sets.append(result)

    @contextmanager
    def _progress(self, tries: Sequence[FaultSet], text: str) -> Iterator[Progress]:
        with (
            reporting(cast(TextIO, _Terminal(self._config.get_terminal_writer()))),
            Progress(len(tries), text, keeps=False) as progress,
        ):
            yield progress

    def _verdict(
        self, item: pytest.Item, nextitem: pytest.Item | None, faults: FaultSet, limit_s: float
    ) -> tuple[str, str]:
        if hasattr(item, "_initrequest"):
            item._initrequest()  # so that its fixtures are built again
        item.stash[ARMED] = [point.as_json() for point in faults]
        item.stash[BROKEN] = []
        item.stash[IDLE] = False
        try:
            with _limited(limit_s, str(self._config.rootpath)):
                reports = runtestprotocol(item, log=False, nextitem=nextitem)
        except TrialTimeout as error:
            return HUNG, str(error)
        finally:
            del item.stash[ARMED]
        if item.stash[BROKEN]:
            return INVARIANT, item.stash[BROKEN][0]
        failed = [report for report in reports if report.failed]
        if not failed:
            return (NOT_AFFECTED if item.stash[IDLE] else SURVIVED), ""
        why = _why(failed[0])
        return HUNG if why.startswith("TrialTimeout") or ".TrialTimeout" in why else FAILED, why

    @property
    def _lost(self) -> list[Trial]:
        return [trial for trial in (*self.trials, *self.sets) if not trial.survived]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Write which faults the tests survived and which they did not."""
        from msgspec import json

        from sim.read.tables import print_table

        write = terminalreporter.write_line
        terminalreporter.section("explored faults")
        rows = [row for row in self._rows() if row["not survived"]]
        if rows:
            print_table(rows, table := StringIO())
            for line in table.getvalue().splitlines():
                write(line)
        for kind, tried in (("", self.trials), (" of pairs and timings", self.sets)):
            if tried:
                idle = sum(trial.verdict == NOT_AFFECTED for trial in tried)
                losses = sum(not trial.survived for trial in tried)
                count = counted(len(tried), "trial")
                rest = f"; {idle} could not act" if idle else ""
                alive = len(tried) - losses - idle
                write(f"{count}{kind}: {alive} survived, {losses} did not{rest}")
        for problem in self._problems:
            write(problem)
        lost = self._lost
        if self._failing:
            write(f"not explored, because they fail without any fault: {', '.join(self._failing)}")
        if not self.trials:
            tests = counted(self._unused, "test")
            reason = f"nothing was explored; {tests} without the fixture `exchange`"
            report = pytest.TestReport("--explore", ("", None, ""), {}, "failed", reason, "call")
            terminalreporter.stats.setdefault("error", []).append(report)
        for trial in lost[:SHOWN]:
            write(f"{trial.verdict}: {trial.kind} at {trial.where} of {trial.subject}")
            write(f"  {trial.failures[0]}")
        if len(lost) > SHOWN:
            write(f"… and {len(lost) - SHOWN} more; --explore-json FILE has all of them")
        if lost:
            file, colons, name = lost[0].subject.partition("::")
            test = f"{self._config.rootpath / file}{colons}{name}"
            faults = [
                word for point in lost[0].faults for word in ("--exchange-fault", point.as_json())
            ]
            write(f"next: {python_command('pytest', test, *faults)}")
        path = self._config.getoption("explore_json")
        if path:
            trials = (*self.trials, *self.sets)
            rows = [trial.document("test", {"why": trial.failures[0]}) for trial in trials]
            Path(path).write_bytes(json.format(json.encode(rows)) + b"\n")

    def _rows(self) -> Iterator[dict[str, Any]]:
        for (test, where), trials in by_point(self.trials).items():
            lost = [trial for trial in trials if not trial.survived]
            acted = [trial for trial in trials if trial.verdict != NOT_AFFECTED]
            names = [
                trial.kind + ("" if trial.verdict == FAILED else f" ({trial.verdict})")
                for trial in lost
            ]
            yield {
                "test": test.rpartition("::")[2],
                "point": where,
                "survived": f"{len(acted) - len(lost)} of {len(acted)}",
                "not survived": ", ".join(names),
            }

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Collect the trials of other processes. Fail the run if there was nothing to explore."""
        if self._others is not None:
            singles, sets, self._problems = self._others.collect()
            numbers = {key: number for number, key in enumerate(self._order)}
            key = operator.attrgetter("subject", "where", "kind")
            self.trials = sorted(
                [*self.trials, *singles], key=lambda each: numbers.get(key(each), len(numbers))
            )
            self.sets += sets
            if session.exitstatus == pytest.ExitCode.OK and (self._lost or self._problems):
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if session.exitstatus == pytest.ExitCode.OK and not self.trials:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


class OtherShards:
    """Processes of pytest that make the other parts of the trials."""

    def __init__(self, config: pytest.Config, jobs: int) -> None:
        self._folder = TemporaryDirectory()
        command = [sys.executable, "-m", "pytest", *config.invocation_params.args]
        self._files = [Path(self._folder.name, f"{shard}.json") for shard in range(1, jobs)]
        self._running = [
            subprocess.Popen(
                [*command, f"--explore-shard={shard}/{jobs}", f"--explore-json={file}"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            for shard, file in enumerate(self._files, start=1)
        ]

    def collect(self) -> tuple[list[Trial], list[Trial], list[str]]:
        """Return the trials of single faults, those of sets, and what went wrong."""
        from msgspec import json

        trials: list[Trial] = []
        problems = []
        for process, file in zip(self._running, self._files, strict=True):
            code = process.wait()
            if file.is_file():
                trials += map(trial_of, json.decode(file.read_bytes()))
            else:
                problems.append(f"a part of the trials is missing: its process ended with {code}")
        self._folder.cleanup()
        kinds = {kind.name for kind in FAULT_KINDS}
        singles = [each for each in trials if each.kind in kinds]
        return singles, [each for each in trials if each.kind not in kinds], problems


def _fail(item: pytest.Item, reason: str) -> None:
    """Report that a test failed, beside its run without faults."""
    report = pytest.TestReport(item.nodeid, item.location, {}, "failed", reason, "call")
    item.ihook.pytest_runtest_logreport(report=report)


def _why(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(crash.message if crash is not None else report.longrepr)
    return text.strip().splitlines()[0] if text.strip() else "failed"


def _waiting(frame: FrameType | None, folder: str) -> str:
    """Return where code below a folder waits: the innermost line of a stack, or of the tasks of
    its event loop.
    """
    loop = asyncio._get_running_loop()
    frames = [*_outwards(frame)]
    for task in asyncio.all_tasks(loop) if loop is not None else ():
        coroutine: Any = task.get_coro()
        stack: list[FrameType] = []
        while getattr(coroutine, "cr_frame", None) is not None:
            stack.append(coroutine.cr_frame)
            coroutine = coroutine.cr_await
        frames = stack[::-1] + frames
    own = [each for each in frames if each.f_code.co_filename.startswith(folder + os.sep)]
    if not own:
        return ""
    file, name = Path(own[0].f_code.co_filename).relative_to(folder), own[0].f_code.co_name
    return f" in {name}, {file}:{own[0].f_lineno}"


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


@contextmanager
def _limited(limit_s: float, folder: str) -> Iterator[None]:
    """Raise `TrialTimeout` in the block after a number of seconds; it says where code below a
    folder waits.

    Without an alarm signal (on Windows, in another thread) a test that hangs is not stopped.
    """
    if not hasattr(signal, "SIGALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return

    rings: list[str] = []

    def ring(_: int, frame: FrameType | None) -> None:
        rings.append(f"stopped after {limit_s:.0f} s{_waiting(frame, folder)}")
        raise TrialTimeout(rings[0])

    before = signal.signal(signal.SIGALRM, ring)
    # again later, because what ends the block may wait for a thread that hangs
    signal.setitimer(signal.ITIMER_REAL, limit_s, LONGEST_S / 2)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
