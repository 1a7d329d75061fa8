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
from collections import deque
from typing import Any, Protocol, TextIO

from msgspec import json, to_builtins

from sim.api.pipeline.inputs import Outcome, Post, StepResult
from sim.api.pipeline.request_log import LoggedCall
from sim.core.model.events import FaultInjected
from sim.core.service.fault_spec import CALLS
from sim.kernel.instants import EASTERN, Instant, format_instant, to_datetime
from sim.run.actors.script.view import step_row, verdict
from sim.run.simulation import Simulation
from sim.server.webhooks import ReceiverResponse

_WAITING_MAX = 10_000  # queued lines for a slow reader
_RED, _YELLOW, _GREEN, _PLAIN = "\033[31m", "\033[33m", "\033[32m", "\033[0m"


class Observer(Protocol):
    """Is notified of what happens on a host."""

    def after_input(self, simulation: Simulation, outcome: Outcome) -> None:
        """An input was handled, with its outcome."""

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
        self._colour = not self._json and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
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
            print(greeting, flush=True)
            return
        fields = {key: facts[key] for key in facts if key not in ("firms", "api_keys", "symbols")}
        print(json.encode({"kind": "ready", **fields}).decode(), flush=True)

    def say(self, message: str, *, error: bool = False, level: str = "") -> None:
        """Write a message, to standard error or output. `level` is that of the JSON line; by
        default error on standard error, else info.
        """
        if self._json:
            level = level or ("error" if error else "info")
            message = json.encode({"kind": "log", "level": level, "message": message}).decode()
        print(message, file=sys.stderr if error else sys.stdout, flush=True)

    def close(self) -> None:
        """Write the queued lines, and the number of dropped ones."""
        self._lines.close()

    # ---- events

    def after_input(self, simulation: Simulation, outcome: Outcome) -> None:
        """Write the calls and step results of an input and of what it caused."""
        if self._silent:
            return
        for entry in simulation.log.since(outcome.seq - 1):
            self._write(_request(entry) if self._json else self._request_line(entry))
        for injection in outcome.injections:
            if injection.plane not in CALLS:  # the line of the call already names its fault
                self._write(self._injection(injection))
        for record in outcome.answered:
            self._attempt(simulation, record.url, record.event_id, record.status or record.error)
        for result in outcome.steps:
            self._write(self._step(simulation, result))

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
            at = format_instant(simulation.now)
            row = {"kind": "webhook", "at": at, "url": url, "event_id": event_id}
            self._write({**row, **more, "result": result})
            return
        painted = self._painted(str(result), good=str(result).startswith("2"))
        self._write(f"{_time(simulation.now)} webhook   {url}  {painted}  {event_id}")

    def _injection(self, injection: FaultInjected) -> str | dict[str, Any]:
        """A fault that affected no call: a frame, an attempt, a delivery or the engine."""
        if self._json:
            return {"kind": "fault", **to_builtins(injection), "at": format_instant(injection.at)}
        number = f" attempt {injection.attempt}" if injection.attempt else ""
        name = injection.operation
        affected = f"{name if injection.plane == 'webhook' else name.rpartition('.')[2]}{number}"
        whom = injection.subject or injection.caller
        done = self._painted(injection.act, good=False)
        when = f"{_time(injection.at)} {injection.plane:<9}"
        return f"{when} {affected}  {done}  {whom}  (fault {injection.fault})"

    def _write(self, line: str | dict[str, Any]) -> None:
        if isinstance(line, dict):
            line = json.encode(line | ({"exchange": self._name} if self._name else {})).decode()
        elif self._name:
            line = f"{self._name}  {line}"
        self._lines.write(line + "\n")

    def _request_line(self, entry: LoggedCall) -> str:
        good = entry.status < 400 and not entry.code
        status = str(entry.code) if entry.plane == "grpc" else str(entry.status)
        line = (
            f"{_time(entry.at)} {entry.plane:<9} {entry.address}  {self._painted(status, good)}"
            f"  {entry.operation or 'unknown'}  {entry.caller or 'anyone'}"
        )
        why = entry.why
        if why is not None:
            rule = f"{why.rule}: " if why.rule else ""
            line += f"  {rule}{why.message}"
        if entry.over:
            line += f"  (over the published limit {', '.join(entry.over)}, which is off)"
        return line + (f"  (fault {entry.fault})" if entry.fault else "")

    def _step(self, simulation: Simulation, result: StepResult) -> str | dict[str, Any]:
        row = step_row(simulation.script.steps[result.step - 1], result.step, result)
        if self._json:
            return {"kind": "step", **{"step" if key == "kind" else key: row[key] for key in row}}
        if result.failures:
            text = self._painted(verdict(row), good=False)
        else:
            name = f" {row['name']!r}" if row["name"] else ""
            text = f"step {row['n']}{name} {self._painted('passed', good=True)}"
        return f"{_time(result.at)} scenario  {text}"

    def _painted(self, text: str, good: bool) -> str:
        if not self._colour:
            return text
        return f"{_GREEN if good else _YELLOW if text.startswith('4') else _RED}{text}{_PLAIN}"


def _request(entry: LoggedCall) -> dict[str, Any]:
    row = {"kind": "request", **entry.row()}
    why = entry.why
    return row if why is None else row | {"rule": why.rule, "says": why.message}


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
