"""A journal as people read it: virtual time, who did what, the result, and what it set off.

The timeline reads lines without replaying them, so it is quick and shows a journal that no longer
replays. What an input set off comes from the events in its outcome.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple, TextIO

from msgspec import DecodeError, json

from sim.analysis.errors import UnreadableJournal
from sim.analysis.replay import UNREADABLE, journal_lines
from sim.api.pipeline.inputs import SCRIPT
from sim.core.model.enums import ExecutionType, InstrumentState
from sim.kernel.instants import EASTERN, Instant, format_span, to_datetime
from sim.kernel.journal import Line, read_line

MARK = {True: "✓", False: "✗", None: " "}
DOLLAR = 10**8
Record = dict[str, Any]


class Row(NamedTuple):
    """One entry of a timeline. `good` is None where success has no meaning; `details` are what the
    input set off.
    """

    at: Instant
    who: str
    what: str
    result: str = ""
    good: bool | None = None
    details: tuple[str, ...] = ()


def rows(lines: Iterable[bytes]) -> Iterator[Row]:
    """A row for each journal line."""
    now = 0
    for raw in lines:
        line = read_line(raw)
        if line.mark:
            to = f"to input {line.argument}" if line.mark == "rewind" else line.argument
            yield Row(now, "tester", line.mark, to)
            continue
        now = line.at
        yield _row(line)


def _row(line: Line) -> Row:
    given, out = json.decode(line.input), json.decode(line.out)
    resolved = out.get("resolved", ())
    details = (
        *_details(out.get("events", ())),
        *(f"{name} is answered: {status}" for name, status, _ in resolved),
        *(_result(result) for result in out.get("steps", ())),
    )
    return _ROWS[given["type"]](line.at, given, out)._replace(details=details)


def _rest(at: Instant, given: Record, out: Record) -> Row:
    status = out["status"]
    message = "" if status < 400 else " " + str((out.get("body") or {}).get("message", ""))
    request = f"{given['verb']} {given['path']}"
    return Row(at, _caller(out), request, f"{status}{message}", status < 400)


def _rpc(at: Instant, given: Record, out: Record) -> Row:
    code = out.get("code", 0)
    result = f"{code} {out.get('message', '')}".strip() if code else "OK"
    return Row(at, _caller(out), f"gRPC {_method(given['method'])}", result, not code)


def _open(at: Instant, given: Record, out: Record) -> Row:
    refused = out.get("code") or out.get("status")
    result = f"refused: {out.get('message', '')}" if refused else f"stream {out.get('stream')}"
    return Row(at, _caller(out), f"opens {_method(given['method'])}", result, "stream" in out)


def _on_stream(what: str, at: Instant, given: Record, out: Record) -> Row:
    return Row(at, f"stream {given['stream']}", what)


def _advance(at: Instant, given: Record, out: Record) -> Row:
    fired = out.get("fired", ())
    result = f"{len(fired)} timers fired" if fired else ""
    return Row(given["to"], "clock", f"+{format_span(given['to'] - at)}", result)


def _step(at: Instant, given: Record, out: Record) -> Row:
    return Row(at, "scenario", f"step {given['step']}")


def _control(at: Instant, given: Record, out: Record) -> Row:
    what = f"{given['action']} {given.get('subject', '')} {given.get('arguments', '')}".strip()
    who = "scenario" if given.get("peer") == SCRIPT else "tester"
    if refused := out.get("message", ""):
        return Row(at, who, what, f"refused: {refused}", False)
    return Row(at, who, what)


def _answer_due(at: Instant, given: Record, out: Record) -> Row:
    return Row(at, "server", f"needs {given['awaits']}", "the clock stood still")


def _webhook_answer(at: Instant, given: Record, out: Record) -> Row:
    status = given.get("status", 0)
    result = str(status or given.get("error", ""))
    return Row(at, "receiver", "answers the webhook", result, 200 <= status < 300)


_ROWS: dict[str, Callable[[Instant, Record, Record], Row]] = {
    "rest": _rest,
    "rpc": _rpc,
    "open": _open,
    "frame": partial(_on_stream, "sends a frame"),
    "hangup": partial(_on_stream, "hangs up"),
    "advance": _advance,
    "step": _step,
    "control": _control,
    "answer_due": _answer_due,
    "answer": _webhook_answer,
}


# ---- events


def _details(events: Iterable[Record]) -> Iterator[str]:
    for event in events:
        if event.get("event") in _EVENTS:
            yield _EVENTS[event["event"]](event)


def _execution(event: Record) -> str:
    execution = event["execution"]
    order = execution["order"]
    kind = ExecutionType(execution.get("type", 0))
    done = "replaced" if kind == ExecutionType.REPLACE else kind.name.lower().replace("_", " ")
    price = _scaled(execution.get("last_px") or order["price"], order["price_scale"])
    qty = _scaled(execution.get("last_qty") or order["qty"], order["qty_scale"])
    side = "buy" if order["side"] == 1 else "sell"
    text = f" ({execution['text']})" if execution.get("text") else ""
    return f"order {order['id']} {done}: {side} {qty} {order['symbol']} @ {price}{text}"


def _cash(event: Record) -> str:
    change = event["after"] - event["before"]
    amount = f"{'+' if change >= 0 else '−'}${_scaled(abs(change), DOLLAR)}"
    return f"{_short(event['account'])}: {amount} {event['description']}".rstrip()


def _decision(event: Record) -> str:
    decision = "approved" if event["approved"] else "rejected"
    return f"verification of {event['external_id']} {decision}"


_EVENTS: dict[str, Callable[[Record], str]] = {
    "Executed": _execution,
    "StateChanged": lambda e: f"{e['symbol']}: {_state(e['was'])} → {_state(e['state'])}",
    "InstrumentListed": lambda e: f"{e['symbol']} is listed, {_state(e['state'])}",
    "ShelfMoved": lambda e: f"all other instruments in {_state(e['was'])}: → {_state(e['state'])}",
    "Settled": lambda e: f"{e['symbol']} settles: {e['text'] or e['price']}",
    "CashMoved": _cash,
    "KycDecided": _decision,
    "MaintenanceChanged": lambda e: f"maintenance {'begins' if e['active'] else 'ends'}",
}


def _result(result: Record) -> str:
    failures = "; ".join(result.get("failures", ()))
    return f"{MARK[not failures]} {result['name']}{f': {failures}' if failures else ''}"


def _state(number: int) -> str:
    return InstrumentState(number).name


def _scaled(value: int, scale: int) -> str:
    whole, rest = divmod(value, scale)
    digits = str(rest).rjust(len(str(scale)) - 1, "0").rstrip("0")
    return f"{whole}.{digits}" if rest else f"{whole}"


def _short(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[-2:]) if len(parts) == 4 else parts[-1]


def _caller(out: Record) -> str:
    return _short(out.get("caller", "")) or "anyone"


def _method(path: str) -> str:
    return path.rpartition(".")[2] if "." in path else path


# ---- printing


def write(found: Iterable[Row], out: TextIO) -> None:
    """Print rows in columns, and a line with the date wherever the Eastern day changes.

    Long text moves the columns after it to the right; nothing is cut.
    """
    day = ""
    for row in found:
        moment = to_datetime(row.at, EASTERN)
        if f"{moment:%A %Y-%m-%d}" != day:
            day = f"{moment:%A %Y-%m-%d}"
            print(f"── {day}, Eastern Time", file=out)
        time = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03d}"
        line = f"{time} {MARK[row.good]} {row.who:<28} {row.what:<52} {row.result}"
        print(line.rstrip(), file=out)
        for detail in row.details:
            print(f"{'':15}└ {detail}", file=out)


def timeline(path: str, out: TextIO) -> int:
    """Print a journal's timeline; the exit code of `sim timeline`."""
    number = 1

    def numbered(lines: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
        nonlocal number
        for number, raw in lines:  # noqa: B007  (an error names the line it was in)
            yield raw

    try:
        with journal_lines(path) as (header, lines):
            print(f"{header.name}, seed {header.seed}", file=out)
            try:
                write(rows(numbered(lines)), out)
            except (DecodeError, LookupError, TypeError, ValueError, AttributeError) as error:
                # Nothing has checked these lines: anything that has not the form of a record fails.
                reason = error if isinstance(error, DecodeError) else repr(error)
                print(f"{path}:{number}:1: no journal record: {reason}", file=out)
                return UNREADABLE
    except UnreadableJournal as error:
        print(error, file=out)
        return UNREADABLE
    return 0
