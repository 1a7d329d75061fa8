"""The output of `sim serve` while it runs: one line for each request, step and webhook attempt.

A line has virtual time in Eastern Time, the plane, the call, its status, the operation and the
caller; for a refused call also the rule and the message. In JSON every line is an object with a
`kind`: `ready`, `request`, `fault`, `step`, `webhook` or `log`. No line contains a secret.

A full pipe that nobody reads would block the exchange, so a thread writes to it. Lines that do not
fit into the queue are counted and dropped.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
import time
from collections import deque
from typing import Any, Protocol, TextIO

from msgspec import json, to_builtins

from sim.api.pipeline.inputs import Outcome, Post, StepResult
from sim.api.pipeline.request_log import DONE, LoggedCall
from sim.core.model.events import FaultInjected
from sim.core.service.fault_spec import CALLS
from sim.kernel.instants import EASTERN, Instant, format_instant, to_datetime
from sim.read.layout import put, terminal_line
from sim.run.actors.script.view import step_row, verdict
from sim.run.simulation import Simulation
from sim.server.logs import stamped
from sim.server.webhooks import ReceiverResponse

_WAITING_MAX = 10_000  # queued lines for a slow reader


class Observer(Protocol):
    """Is notified of what happens on a host."""

    def after_input(self, simulation: Simulation, outcome: Outcome, wall: int) -> None:
        """An input was handled. `wall` is the wall clock, in nanoseconds, when a call arrived; 0 if
        it was none.
        """

    def after_attempt(self, simulation: Simulation, post: Post, answer: ReceiverResponse) -> None:
        """A webhook receiver has answered, or has failed to."""


class Console:
    """Writes lines about requests, steps and webhooks to standard error.

    `name` precedes the lines of an instance other than the first one.
    """

    def __init__(self, form: str = "text", *, quiet: bool = False, name: str = "") -> None:
        self._json = form == "json"
        self._lines = _lines_to(sys.stderr)
        self._silent = quiet or self._lines.goes_nowhere
        self._name = name

    def called(self, name: str) -> Console:
        """The same console for another instance."""
        other = object.__new__(Console)
        other.__dict__.update(self.__dict__, _name=name)
        return other

    # ---- start and end

    def ready(self, facts: dict[str, Any], greeting: str) -> None:
        """Write the addresses. In JSON without keys, secrets and tokens."""
        if not self._json:
            put(*greeting.split("\n"), flush=True)
            return
        fields = {key: facts[key] for key in facts if key not in ("firms", "api_keys", "symbols")}
        put(json.encode(stamped("ready", "info", fields)).decode(), flush=True)

    def say(self, message: str, *, error: bool = False, level: str = "") -> None:
        """Write a message, to standard error or output. `level` is that of the JSON line; by
        default error on standard error, else info.
        """
        if self._json:
            fields = stamped("log", level or ("error" if error else "info"), {"message": message})
            message = json.encode(fields).decode()
        put(*message.splitlines(), file=sys.stderr if error else sys.stdout, flush=True)

    def close(self) -> None:
        """Write the queued lines, and the number of dropped ones."""
        self._lines.close()

    # ---- events

    def after_input(self, simulation: Simulation, outcome: Outcome, wall: int) -> None:
        """Write the calls and step results of an input and of what it caused."""
        if self._silent:
            return
        log = simulation.log
        changed = (entry for _, entry in log.corrected(outcome.seq))
        for entry in (*log.since(outcome.seq - 1), *changed):
            self._request(entry, wall)
        for injection in outcome.injections:
            if injection.plane not in CALLS:  # the line of the call already names its fault
                self._injection(injection)
        for record in outcome.answered:
            self._attempt(simulation, record.url, record.event_id, record.status or record.error)
        for result in outcome.steps:
            self._step(simulation, result)

    def after_attempt(self, simulation: Simulation, post: Post, answer: ReceiverResponse) -> None:
        """Write one attempt to deliver a webhook."""
        if self._silent:
            return
        result_text = answer.status or answer.error
        self._attempt(simulation, post.shown_url, post.event_id, result_text, attempt=post.attempt)

    def _attempt(
        self, simulation: Simulation, url: str, event_id: str, result: int | str, **more: str
    ) -> None:
        if self._json:
            row = {"at": format_instant(simulation.now), "url": url, "event_id": event_id, **more}
            good = str(result).startswith("2")
            self._write(stamped("webhook", _level(good), {**row, "result": result}))
            return
        line = f"{_time(simulation.now)} webhook   {url}  {result}  {event_id}"
        self._write(line, _painted(f"  {result}  ", good=str(result).startswith("2")))

    def _injection(self, injection: FaultInjected) -> None:
        """Write a fault that affected no call: a frame, an attempt, a delivery or the engine."""
        if self._json:
            row = to_builtins(injection) | {"at": format_instant(injection.at)}
            self._write(stamped("fault", "info", row))
            return
        number = f" attempt {injection.attempt}" if injection.attempt else ""
        name = injection.operation
        affected = f"{name if injection.plane == 'webhook' else name.rpartition('.')[2]}{number}"
        whom = injection.subject or injection.caller
        when = f"{_time(injection.at)} {injection.plane:<9}"
        line = f"{when} {affected}  {injection.act}  {whom}  (fault {injection.fault})"
        self._write(line, _painted(injection.act, good=False))

    def _write(self, line: str | dict[str, Any], painted: tuple[str, str] = ("", "")) -> None:
        if isinstance(line, dict):
            line = json.encode(line | ({"exchange": self._name} if self._name else {})).decode()
        elif self._name:
            line = f"{self._name}  {line}"
        self._lines.write(terminal_line(line, painted, sys.stderr) + "\n")

    def _request(self, entry: LoggedCall, wall: int) -> None:
        if self._json:
            self._write(_request_row(entry, wall))
            return
        good = entry.verdict.name == DONE.name
        status = str(entry.code) if entry.plane == "grpc" else str(entry.status)
        line = (
            f"{_time(entry.at)} {entry.plane:<9} {entry.address}  {status}"
            f"  {entry.operation or 'unknown'}  {entry.caller or 'anyone'}"
        )
        line += "" if good else f"  {entry.verdict.sentence}"
        if entry.over:
            line += f"  (over the published limit {', '.join(entry.over)}, which is off)"
        line += f"  (fault {entry.fault})" if entry.fault else ""
        self._write(line, _painted(f"  {status}  ", good))

    def _step(self, simulation: Simulation, result: StepResult) -> None:
        row = step_row(simulation.script.steps[result.step - 1], result.step, result)
        if self._json:
            renamed = {"step" if key == "kind" else key: row[key] for key in row}
            self._write(stamped("step", _level(not result.failures), renamed))
            return
        word = text = verdict(row)
        if not result.failures:
            name = f" {row['name']!r}" if row["name"] else ""
            word, text = " passed", f"step {row['n']}{name} passed"
        painted = _painted(word, good=not result.failures)
        self._write(f"{_time(result.at)} scenario  {text}", painted)


def _painted(text: str, good: bool) -> tuple[str, str]:
    """Return a part of a line with its colour."""
    return text, "green" if good else "yellow" if text.strip().startswith("4") else "red"


def _level(good: bool) -> str:
    return "info" if good else "warning"


def _request_row(entry: LoggedCall, wall: int) -> dict[str, Any]:
    row = stamped("request", _level(entry.verdict.name == DONE.name), entry.row())
    if wall:
        row["duration_ms"] = (time.time_ns() - wall) / 1_000_000
    verdict = entry.verdict
    if verdict.name == DONE.name:
        return row
    return row | {"rule": verdict.rule, "says": verdict.text, "orders": list(verdict.orders)}


def _time(at: Instant) -> str:
    moment = to_datetime(at, EASTERN)
    return f"{moment:%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"


# ---- outputs


class _Lines:
    """Writes lines to a file or a terminal at once."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.goes_nowhere = _is_null_device(out)

    def write(self, line: str) -> None:
        self._out.write(line)
        self._out.flush()

    def close(self) -> None:
        """There are no queued lines."""


class _PipedLines(_Lines):
    """Writes lines to a pipe from a thread, so that a reader who does not read blocks nobody."""

    def __init__(self, out: TextIO) -> None:
        super().__init__(out)
        self._waiting: deque[str] = deque()
        self._dropped = 0
        self._filled = threading.Event()
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="console", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        if len(self._waiting) >= _WAITING_MAX:
            self._dropped += 1
            return
        self._waiting.append(line)
        self._filled.set()

    def close(self) -> None:
        self._closing = True
        self._filled.set()
        self._thread.join(timeout=1)

    def _run(self) -> None:
        while True:
            self._filled.wait()
            self._filled.clear()
            closing, lines = self._closing, []
            while self._waiting:
                lines.append(self._waiting.popleft())
            if self._dropped and not closing:
                lines.append(
                    f"sim: {self._dropped} lines were not written, because nobody read the output\n"
                )
                self._dropped = 0
            try:
                self._out.write("".join(lines))
                self._out.flush()
            except (OSError, ValueError):  # the reader is gone
                return
            if closing:
                return


def _lines_to(out: TextIO) -> _Lines:
    try:
        kind = os.fstat(out.fileno()).st_mode
    except (OSError, ValueError):  # captured by a test
        return _Lines(out)
    return _PipedLines(out) if stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) else _Lines(out)


def _is_null_device(out: TextIO) -> bool:
    try:
        opened = os.fstat(out.fileno())
        return stat.S_ISCHR(opened.st_mode) and opened.st_rdev == os.stat(os.devnull).st_rdev
    except (OSError, ValueError):
        return False
