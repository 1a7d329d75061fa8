"""A readable row for each input: virtual time, who did what, the result, and the consequences.

Lines are read without a replay, so this is fast and works for a journal that can no longer be
replayed. The consequences of an input are the events in its outcome. `sim timeline` prints these
rows, and history answers with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from sys import intern
from typing import Any, NamedTuple

from msgspec import json

from sim.api.pipeline.inputs import RECEIVER, SCRIPT
from sim.core.model.refusals import Code
from sim.kernel.instants import Instant, format_span
from sim.kernel.journal import Header, Line
from sim.kernel.journal_reader import read_line
from sim.read.decisions import verdict_of
from sim.read.history.events import details_of, result_of, short_name
from sim.run.actors.script.step_order import STEP_TIMER

Record = dict[str, Any]
# The kinds of rows. A clock row is an advance in which no timer fired.
KINDS = ("clock", "timer", "request", "stream", "frame", "step", "control", "webhook", "jump")


class Row(NamedTuple):
    """One input.

    `good` is None if success has no meaning. `details` are the consequences of the input, `events`
    the names of its events; `fired` counts timers; `caller` is the full name of a client. `subject`
    is what it is about, as far as the line says: a symbol, an order, a stream, … `status` is the
    HTTP status of an answer, or the name of its gRPC code. `verdict` is that of a call
    (`read/decisions.py`), else None.
    """

    at: Instant
    kind: str
    who: str
    what: str
    result: str = ""
    good: bool | None = None
    details: tuple[str, ...] = ()
    seq: int = 0
    caller: str = ""
    fired: int = 0
    subject: str = ""
    status: int | str | None = None
    events: tuple[str, ...] = ()
    verdict: str | None = None


def rows(lines: Iterable[bytes], header: Header | None = None) -> Iterator[Row]:
    """Yield a row for each journal line. With the header, steps have their names and places."""
    now, steps = 0, steps_of(header) if header is not None else []
    for raw in lines:
        line = read_line(raw)
        if line.mark:
            to = f"to input {line.argument}" if line.mark == "rewind" else line.argument
            yield Row(now, "jump", "tester", line.mark, to)
            continue
        now = line.at
        yield row_of(line, steps)


def steps_of(header: Header) -> list[str]:
    """Return the names of the scenario's steps, with their places in the file."""
    steps = json.decode(header.scenario).get("steps", ())
    places = header.places if len(header.places) == len(steps) else [""] * len(steps)
    return [
        f"step {number} {step.get('name', '')} {f'({place})' if place else ''}".strip()
        for number, (step, place) in enumerate(zip(steps, places, strict=True), start=1)
    ]


def row_of(line: Line, steps: list[str]) -> Row:
    """Return the row of a line, with the names of the scenario's steps (`steps_of`)."""
    recorded, out = json.decode(line.input), json.decode(line.out)
    return row_of_parts(line, recorded, out, steps)


def row_of_parts(line: Line, recorded: Record, out: Record, steps: list[str]) -> Row:
    """Return the row of a line whose parts have already been decoded."""
    events = out.get("events", ())
    resolved = out.get("resolved", ())
    details = (
        *details_of(events),
        *(f"{name} is answered: {status}" for name, status, *_ in resolved),
        *(result_of(result) for result in out.get("steps", ())),
    )
    row = _ROWS[recorded["type"]](line.at, recorded, out)
    verdict = verdict_of(recorded, out)
    if row.kind == "step" and 0 < recorded["step"] <= len(steps):
        row = row._replace(what=" ".join(steps[recorded["step"] - 1].split()))
    return row._replace(
        details=details,
        seq=line.seq,
        caller=out.get("caller", ""),
        subject=row.subject or _subject(events),
        verdict=None if verdict is None else verdict.name,
        good=row.good and (verdict is None or verdict.name == "done"),
        # Raises TypeError for a name that is not a text, in a journal that was edited by hand.
        events=tuple(intern(event["event"]) for event in events),
    )


def _subject(events: Sequence[Record]) -> str:
    """Return what the events of an input are about: the first subject that any of them names."""
    for event in events:
        execution = event.get("execution")
        symbol = execution["order"]["symbol"] if execution else event.get("symbol")
        if symbol:
            return str(symbol)
        if external_id := event.get("external_id"):
            return f"kyc/{external_id}"
    return ""


def _rest(at: Instant, recorded: Record, out: Record) -> Row:
    status = out["status"]
    body = out.get("body")  # some refusals are plain text, stored as bytes
    says = out.get("message", "")
    if isinstance(body, dict):  # OAuth uses fields of its own (§5.1)
        says = body.get("message") or body.get("error_description") or body.get("error", "")
    message = "" if status < 400 else f" {says}"
    request = f"{recorded['verb']} {recorded['path']}"
    return Row(
        at, "request", _caller(out), request, f"{status}{message}", status < 400, status=status
    )


def _rpc(at: Instant, recorded: Record, out: Record) -> Row:
    code = out.get("code", 0)
    result = f"{code} {out.get('message', '')}".strip() if code else "OK"
    what = f"gRPC {_method(recorded['method'])}"
    return Row(at, "request", _caller(out), what, result, not code, status=_code(out))


def _open(at: Instant, recorded: Record, out: Record) -> Row:
    refused = out.get("code") or out.get("status")
    result = f"refused: {out.get('message', '')}" if refused else f"stream {out.get('stream')}"
    status = out.get("status") if recorded.get("web_socket") else None
    return Row(
        at,
        "stream",
        _caller(out),
        f"opens {_method(recorded['method'])}",
        result,
        "stream" in out,
        subject=f"stream/{out['stream']}" if "stream" in out else "",
        status=_code(out) if status is None else status,
    )


def _code(out: Record) -> str:
    return Code(out.get("code", 0)).name


def _on_stream(kind: str, what: str, at: Instant, recorded: Record, out: Record) -> Row:
    who = "scenario" if recorded.get("peer") == SCRIPT else "client"
    number = recorded["stream"]
    return Row(at, kind, who, f"{what} stream {number}", subject=f"stream/{number}")


def _advance(at: Instant, recorded: Record, out: Record) -> Row:
    fired = out.get("fired", ())
    kinds = ", ".join(dict.fromkeys(one["timer"] for one in fired))
    kind, to = "timer" if fired else "clock", max(recorded["to"], at)
    if any(one["timer"] == STEP_TIMER for one in fired):
        to = max(one["at"] for one in fired)  # a step may stop the advance early
    subject = next((one["subject"] for one in fired if one["subject"]), "")
    passed = f"+{format_span(to - at)}"
    return Row(to, kind, "clock", passed, kinds, fired=len(fired), subject=subject)


def _step(at: Instant, recorded: Record, out: Record) -> Row:
    step = f"step {recorded['step']}"
    return Row(at, "step", "scenario", step, subject=step)


def _control(at: Instant, recorded: Record, out: Record) -> Row:
    words = (recorded["action"], recorded.get("subject", ""), recorded.get("arguments", ""))
    what = " ".join(words).strip()
    who = "scenario" if recorded.get("peer") == SCRIPT else "tester"
    subject = recorded.get("subject", "")
    if refused := out.get("message", ""):
        return Row(at, "control", who, what, f"refused: {refused}", False, subject=subject)
    return Row(at, "control", who, what, subject=subject)


def _answer_due(at: Instant, recorded: Record, out: Record) -> Row:
    return Row(at, "control", "server", f"needs {recorded['awaits']}", "the clock stood still")


def _webhook_answer(at: Instant, recorded: Record, out: Record) -> Row:
    status = recorded.get("status", 0)
    result = str(status or recorded.get("error", ""))
    who = "scripted receiver" if recorded.get("peer") == RECEIVER else "receiver"
    good = 200 <= status < 300
    return Row(at, "webhook", who, "answers the webhook", result, good, status=status or None)


_ROWS: dict[str, Callable[[Instant, Record, Record], Row]] = {
    "rest": _rest,
    "rpc": _rpc,
    "open": _open,
    "frame": partial(_on_stream, "frame", "sends a frame on"),
    "hangup": partial(_on_stream, "stream", "hangs up"),
    "advance": _advance,
    "step": _step,
    "control": _control,
    "answer_due": _answer_due,
    "answer": _webhook_answer,
}


def _caller(out: Record) -> str:
    return short_name(out.get("caller", "")) or "anyone"


def _method(path: str) -> str:
    return path.rpartition(".")[2] if "." in path else path
