"""Runs the tests of a mutant in a forked process that ends with the first failure.

There are two ways to put a mutant in place.

| Way | The parent has | The child does | For |
|---|---|---|---|
| warm | imported and collected everything | exchange the code of one function | code that only tests run |
| cold | imported what is not ours | import `sim` with one module changed | everything else |

A warm child begins with its first test after milliseconds.
"""

from __future__ import annotations

import ast
import functools
import gc
import importlib
import importlib.abc
import importlib.machinery
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType

import pytest

from tools.mutation.areas import ROOT
from tools.mutation.operators import Mutant, mutated

OPTIONS = [
    *("-q", "--capture=no", "--hypothesis-profile=mutation", "-m", "not soak"),
    *("-p", "no:cacheprovider", "-p", "tools.mutation.fresh_starts"),
]
MEMORY_MAX = 6 << 30
WAIT_MAX_S = 3600  # for a mutant that sleeps
COLD = "cold"  # what a warm child says of a mutant that it cannot put in place
SLACK_S = 20  # of processor time, beside three times what a test takes


@dataclass(eq=False)
class Job:
    """A mutant, the tests that may kill it, and its result."""

    mutant: Mutant | None  # None: the tests run on unchanged code
    tests: dict[str, float]  # with the seconds that they took when they were measured
    killed_by: str = ""

    @property
    def took(self) -> float:
        """Seconds of all tests."""
        return sum(self.tests.values())

    def allowed(self) -> dict[str, int]:
        """Seconds of the processor that each test may take: a mutant may never end.

        The first test of a file makes its fixtures, whichever was the first when they were measured.
        """
        longest: dict[str, float] = {}
        for name, took in self.tests.items():
            file = name.partition("::")[0]
            longest[file] = max(took, longest.get(file, 0.0))
        return {name: int(3 * longest[name.partition("::")[0]]) + SLACK_S for name in self.tests}


Report = Callable[[Job], None]


def run_cold(jobs: list[Job], workers: int, done: Report) -> None:
    """Run jobs in children that import `sim` themselves; call `done` for each."""
    _fork_each(jobs, workers, _cold_child, done)


def run_warm(jobs: list[Job], workers: int, done: Report) -> None:
    """Run jobs in children of a process that has collected the tests of all of them."""

    def collect_and_run(reader_of_parent: int) -> None:
        names = sorted({name.split("::")[0] for job in jobs for name in job.tests})
        _silence()
        pytest.main([*OPTIONS, *names], plugins=[_Warm(jobs, workers, reader_of_parent)])

    if not jobs:
        return
    pid, reader = _fork(collect_and_run)
    try:
        with os.fdopen(reader) as stream:
            for line in stream:
                number, _, killer = line.rstrip("\n").partition(" ")
                jobs[int(number)].killed_by = killer
                done(jobs[int(number)])
    except KeyboardInterrupt:
        os.kill(pid, signal.SIGINT)  # it ends its own children
        raise
    _, status = os.waitpid(pid, 0)
    if status:
        raise RuntimeError("the tests could not be collected: run pytest to see why")


class _Warm:
    """Takes the place of pytest's loop: the collected tests run in children, by mutant."""

    def __init__(self, jobs: list[Job], workers: int, out: int) -> None:
        self.jobs, self.workers, self.out = jobs, workers, out

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        items = {item.nodeid: item for item in session.items}
        for name in sorted({module_name(job.mutant.path) for job in self.jobs if job.mutant}):
            importlib.import_module(name)  # handlers are imported when they are first called
        gc.freeze()

        from tools.mutation.fresh_starts import forget_worlds  # not in a parent of cold children

        def child(job: Job, out: int) -> None:
            session.config.pluginmanager.register(_FirstFailure(job, out))
            if job.mutant is not None:
                gc.unfreeze()
                if not _exchange_code(job.mutant):
                    os.write(out, COLD.encode())
                    return
                forget_worlds()  # collecting tests may have made some
            chosen = [items[name] for name in job.tests]
            for item, following in zip(chosen, [*chosen[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)

        def done(job: Job) -> None:
            os.write(self.out, f"{self.jobs.index(job)} {job.killed_by}\n".encode())

        _fork_each(self.jobs, self.workers, child, done)
        os._exit(0)


class _FirstFailure:
    """Ends the process with the first test that fails, or that takes much longer than before."""

    def __init__(self, job: Job, out: int) -> None:
        self.out = out
        self.allowed = job.allowed()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        until = int(used.ru_utime + used.ru_stime) + self.allowed.get(nodeid, SLACK_S)
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (min(until, most), most))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os.write(self.out, report.nodeid.encode())
            os._exit(1)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            os.write(self.out, (report.nodeid or "collection").encode())
            os._exit(1)


def _cold_child(job: Job, out: int) -> None:
    if job.mutant is not None:
        sys.meta_path.insert(0, _MutatedModule(job.mutant))
    # pytest would rewrite the assertions of `sim`, and for that find its modules itself
    code = pytest.main([*OPTIONS, "--assert=plain", *job.tests], plugins=[_FirstFailure(job, out)])
    if code != pytest.ExitCode.OK:  # such as an error in a conftest
        os.write(out, f"pytest {int(code)}".encode())


class _MutatedModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module of `sim`, changed."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = module_name(mutant.path)

    def find_spec(
        self, fullname: str, path: object, target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)  # type: ignore[arg-type]
        assert spec is not None
        spec.loader = self
        return spec

    def exec_module(self, module: ModuleType) -> None:
        exec(_compiled(self.mutant), module.__dict__)


def module_name(path: str) -> str:
    """Dotted name of a module by its path."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _compiled(mutant: Mutant) -> CodeType:
    file = ROOT / mutant.path
    return compile(mutated(file.read_text(), mutant.number), str(file), "exec")


def _exchange_code(mutant: Mutant) -> bool:
    """Give every live function that holds the mutant its changed code; forget cached answers.

    False where that cannot be done: no such function lives, or it closes over other variables.
    """
    file = ROOT / mutant.path
    before = _code_of_functions(compile(ast.parse(file.read_text()), str(file), "exec"))
    after = _code_of_functions(_compiled(mutant))
    changed = {index: code for index, code in after.items() if code != before.get(index)}
    exchanged = 0
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == str(file):
            position = (thing.__code__.co_qualname, thing.__code__.co_firstlineno)
            if position in changed:
                try:
                    thing.__code__ = changed[position]
                except ValueError:
                    return False
                exchanged += 1
        elif isinstance(thing, functools._lru_cache_wrapper):
            thing.cache_clear()
    return exchanged > 0


def _code_of_functions(code: CodeType) -> dict[tuple[str, int], CodeType]:
    result = {}
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            result[constant.co_qualname, constant.co_firstlineno] = constant
            result |= _code_of_functions(constant)
    return result


# ---- processes


def _fork_each(
    jobs: list[Job], workers: int, child: Callable[[Job, int], None], done: Report
) -> None:
    """Run `child` for each job, some at a time; what it writes names the test that killed."""
    running: dict[int, tuple[int, Job, float]] = {}  # by pipe: process, job, deadline
    try:
        _run_children(jobs, workers, child, done, running)
    finally:
        for pid, _, _ in running.values():  # after an interrupt
            os.kill(pid, signal.SIGKILL)


def _run_children(
    jobs: list[Job],
    workers: int,
    child: Callable[[Job, int], None],
    done: Report,
    running: dict[int, tuple[int, Job, float]],
) -> None:
    waiting = list(reversed(jobs))
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop()
            if not job.tests:
                done(job)
                continue
            allowed = sum(job.allowed().values()) + SLACK_S
            pid, reader = _fork(lambda out, job=job, s=allowed: _limited(child, job, out, s))
            running[reader] = (pid, job, time.monotonic() + min(10 * allowed, WAIT_MAX_S))
        ready, _, _ = select.select(list(running), [], [], 1.0)
        for reader in ready:
            text = os.read(reader, 4096).decode()
            if text:
                running[reader][1].killed_by = text.replace("\n", " ")
            else:
                pid, job, _ = running.pop(reader)
                os.close(reader)
                _, status = os.waitpid(pid, 0)
                if status and not job.killed_by:
                    job.killed_by = f"process ended with {os.waitstatus_to_exitcode(status)}"
                done(job)
        for pid, _, deadline in running.values():
            if time.monotonic() > deadline:
                os.kill(pid, signal.SIGKILL)


def _limited(child: Callable[[Job, int], None], job: Job, out: int, seconds: int) -> None:
    _silence()
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_MAX, MEMORY_MAX))
    child(job, out)


def _silence() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _fork(run: Callable[[int], None]) -> tuple[int, int]:
    """A child that runs a function with the pipe on which its parent reads."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    os.close(reader)
    try:
        run(writer)
    except BaseException as failure:
        os.write(writer, f"process: {failure!r}"[:500].encode())
        os._exit(1)
    os._exit(0)
