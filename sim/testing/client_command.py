"""A client's own test command, run against an exchange of its own.

The exchange listens on free loopback ports while the command runs. The command finds it like a
client of `sim serve`: `SIM_READY_FILE` names the ready file, and `SIM_GATEWAY`, `SIM_RETAIL`,
`SIM_EXCHANGE`, `SIM_AUTH`, `SIM_GRPC`, `SIM_CONTROL` are its addresses. The command gets no other
information, so the same tests can run against the real service; while they run here, they cannot
reach it (`refusing_proxy.py`).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from xml.etree import ElementTree

from msgspec import Struct, json
from msgspec.structs import replace

from sim.read.errors import UsageError
from sim.run.actors.script.expectations import shortened
from sim.server.background import serve_in_thread
from sim.server.journal_file import open_journal
from sim.server.ready_file import ready_facts
from sim.testing.refusing_proxy import fenced_environment
from sim.world.format.clock_mode import parse_clock_mode
from sim.world.format.scenario import Scenario

_SURFACES = ("gateway", "retail", "exchange", "auth", "grpc", "control")
_GRACE_S = 5.0  # seconds between the request to end and the kill
TAIL_LINES = 12
_COLOUR = re.compile(r"\x1b\[[\d;]*[A-Za-z]")


class Cases(Struct, frozen=True):
    """The tests of one run: whether they passed, the first line of each failure, and whether any of
    them used an exchange of its own.
    """

    passed: dict[str, bool]
    messages: dict[str, str]
    met: bool = False

    @property
    def failing(self) -> dict[str, str]:
        """The failed tests, with the first line of their messages."""
        return {name: self.messages.get(name, "") for name, ok in self.passed.items() if not ok}


class ClientRun(Struct, frozen=True):
    """Result of a command: its exit code (None: it did not end in time), its duration in seconds,
    the last lines of its output, the number of its calls that reached the exchange, and its tests,
    if it reports them.
    """

    code: int | None
    seconds: float
    tail: tuple[str, ...] = ()
    calls: int = 0
    cases: Cases = Cases({}, {})

    @property
    def ok(self) -> bool:
        return self.code == 0


def run_client(
    command: Sequence[str],
    scenario: Scenario,
    folder: Path,
    *,
    clock: str,
    limit_s: float,
    environment: Mapping[str, str] | None = None,
) -> ClientRun:
    """Serve a scenario, run the command against it, and stop both.

    The folder gets `journal.ndjson`, `output.txt`, and `cases.xml` if the command writes JUnit to
    SIM_JUNIT, as pytest does without any option. A command that has not ended
    after `limit_s` seconds is stopped, with the processes that it started. UsageError if there is
    no such command.
    """
    folder.mkdir(parents=True, exist_ok=True)
    journal, ready = folder / "journal.ndjson", folder / "ready.json"
    cases = (folder / "cases.xml").absolute()
    for earlier in (journal, cases):  # left by an earlier run into the same folder
        earlier.unlink(missing_ok=True)
    with open_journal(journal) as file:
        service = serve_in_thread(scenario, clock=parse_clock_mode(clock), journal=file)
        try:
            sim, addresses = service.simulation, service.addresses
            facts = service.call(lambda: ready_facts(sim, addresses, str(journal)))
            ready.write_bytes(json.encode(facts))
            surfaces = {f"SIM_{name.upper()}": str(facts[name]) for name in _SURFACES}
            surfaces["SIM_READY_FILE"] = str(ready.absolute())
            environment = {**surfaces, **asking_for(cases), **(environment or {})}
            with fenced_environment() as fence:
                run = _run(command, folder / "output.txt", limit_s, {**fence, **environment})
            calls = service.call(lambda: len(sim.requests()))
            return replace(run, calls=calls, cases=read_cases(cases))
        finally:
            service.stop()
            ready.unlink(missing_ok=True)  # it holds keys


def _run(
    command: Sequence[str], output: Path, limit_s: float, environment: Mapping[str, str]
) -> ClientRun:
    began = monotonic()
    with output.open("wb") as out:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=os.name == "posix",  # so that its child processes end with it
            )
        except OSError as error:
            raise UsageError(f"cannot run {command[0]!r}: {error.strerror}") from None
        try:
            code: int | None = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
    lines = output.read_text(encoding="utf-8", errors="replace").splitlines()
    return ClientRun(code, monotonic() - began, tuple(lines[-TAIL_LINES:]))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Stop a command that still runs, and its child processes."""
    if process.poll() is not None:
        return
    for ending in ("SIGTERM", "SIGKILL"):
        _signal(process, ending)
        try:
            process.wait(_GRACE_S)
            return
        except subprocess.TimeoutExpired:
            continue


def _signal(process: subprocess.Popen[bytes], name: str) -> None:
    if os.name != "posix":
        process.kill()
        return
    try:
        os.killpg(process.pid, getattr(signal, name))
    except ProcessLookupError:
        return


# ---- the tests that the command ran


def asking_for(path: Path) -> dict[str, str]:
    """Return the environment that asks a command for its cases: pytest writes them without any
    option, others find the path in SIM_JUNIT.
    """
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --junitxml='{path}'".strip()
    return {"PYTEST_ADDOPTS": options, "SIM_JUNIT": str(path)}


def read_cases(path: Path) -> Cases:
    """Return the cases of a JUnit file; none if the file is missing or truncated."""
    cases = Cases({}, {})
    if not path.is_file():
        return cases
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return cases
    for case in root.iter("testcase"):
        if case.find("skipped") is None:
            name = "::".join(filter(None, (case.get("classname"), case.get("name"))))
            failures = [*case.iter("failure"), *case.iter("error")]
            cases.passed[name] = cases.passed.get(name, True) and not failures
            for failure in failures:
                # runners write the failure as message, as text, or as both
                details = failure.get("message") or failure.text or ""
                cases.messages.setdefault(name, one_line(details))
    # each test with the fixture `exchange` has its own exchange
    properties = {element.get("name") for element in root.iter("property")}
    return replace(cases, met="exchange.seed" in properties)


def one_line(text: str) -> str:
    """Return the first line with text, without characters that terminals and XML cannot show."""
    plain = _COLOUR.sub("", text)
    lines = ("".join(filter(str.isprintable, line)).strip() for line in plain.splitlines())
    return shortened(next(filter(None, lines), ""))
