"""A readable row for each input: virtual time, who did what, the result, and the consequences.

Lines are read without a replay, so this is fast and works for a journal that can no longer be
replayed. The consequences of an input are the events in its outcome. `sim timeline` prints these
rows, and history answers with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from msgspec import DecodeError, Struct, json

from sim.api.pipeline.inputs import (
    RECEIVER,
    SCRIPT,
    Advanced,
    AnswerDue,
    Controlled,
    Input,
    RestCall,
    RpcCall,
    Stepped,
    StepResult,
    StreamFrame,
    StreamHungUp,
    StreamOpened,
    WebhookAnswered,
)
from sim.api.pipeline.request_log import Verdict
from sim.core.model.enums import ExecutionType, Side
from sim.core.model.events import (
    CashMoved,
    DormantInstrumentsMoved,
    Executed,
    FaultInjected,
    InstrumentListed,
    KycDecided,
    MaintenanceChanged,
    Settled,
    StateChanged,
)
from sim.core.model.orders import Execution
from sim.core.model.quantities import DOLLAR, decimal_text
from sim.core.model.refusals import Code
from sim.core.trading.engine_queue import ENGINE_TIMER
from sim.kernel.instants import Instant, format_span
from sim.kernel.journal import Header
from sim.read.explain.faults import sentence
from sim.read.record import JournalEntry, line_text, tag_of
from sim.run.actors.script.step_order import STEP_TIMER
from sim.run.engine.journal_record import Record, RecordedEvent
from sim.run.engine.verdicts import rejection, rejects_of

# The kinds of rows. A clock row is an advance in which no timer fired.
KINDS = ("clock", "timer", "request", "stream", "frame", "step", "control", "webhook", "jump")
MARK = {True: "✓", False: "✗", None: " "}


class Row(NamedTuple):
    """One input.

    `good` is None if success has no meaning. `details` are the consequences of the input (pages of
    the history have none), `events` the names of its events; `fired` counts timers; `caller` is the
    full name of a client. `subject`
    is what it is about, as far as the line says: a symbol, an order, a stream, … `status` is the
    HTTP status of an answer, or the name of its gRPC code. `verdict` is that of a call
    (`run/engine/verdicts.py`), else None.
    """

    at: Instant
    kind: str
    actor: str
    title: str
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
    for entry in map(JournalEntry, lines):
        if mark := entry.mark:
            argument = entry.line.argument
            if mark == "failure":
                failed = (line_text(entry.line.input),)
                yield Row(entry.at, "jump", "exchange", mark, argument, good=False, details=failed)
                continue
            to = f"to input {argument}" if mark == "rewind" else argument
            yield Row(now, "jump", "tester", mark, to)
            continue
        now = entry.at
        yield detailed_row(entry, steps)


def steps_of(header: Header) -> list[str]:
    """Return the names of the scenario's steps, with their places in the file."""
    steps = json.decode(header.scenario).get("steps", ())
    places = header.places if len(header.places) == len(steps) else [""] * len(steps)
    return [
        f"step {number} {step.get('name', '')} {f'({position})' if position else ''}".strip()
        for number, (step, position) in enumerate(zip(steps, places, strict=True), start=1)
    ]


def row_of(entry: JournalEntry, steps: list[str]) -> Row:
    """Return the row of an input, with the names of the scenario's steps (`steps_of`)."""
    recorded, out = entry.input, entry.out
    row = _ROWS[type(recorded)](recorded, entry)
    verdict = entry.verdict
    rejected = list(_rejections(recorded, out))
    if isinstance(recorded, Stepped) and 0 < recorded.step <= len(steps):
        row = row._replace(title=" ".join(steps[recorded.step - 1].split()))
    return row._replace(
        seq=entry.seq,
        caller=out.caller,
        subject=row.subject or _subject(out.events),
        verdict=None if verdict is None else verdict.name,
        good=False if rejected else row.good and (verdict is None or verdict.name == "done"),
        result="; ".join(filter(None, (_result(row, verdict), *rejected))),
        events=tuple(map(tag_of, out.events)),
    )


def _result(row: Row, verdict: Verdict | None) -> str:
    """Return the result of an input; that of a call says also what its status does not say."""
    if verdict is None or verdict.name in ("done", "refused"):
        return row.result
    lost = verdict.name == "answer lost"
    return f"{row.result}, {verdict.summary if lost else verdict.sentence}"


def _rejections(recorded: Input, out: Record) -> Iterator[str]:
    """Yield what an input rejects that earlier calls sent to a slow engine, or a tester; and the
    answers that it gives too late.
    """
    taken = any(timer.timer == ENGINE_TIMER for timer in out.fired)
    if taken or isinstance(recorded, Controlled):
        yield from (rejection(event).sentence for event in rejects_of(out.events))
    yield from (Verdict("answer lost", rule).sentence for *_, rule in out.resolved if rule)


def detailed_row(entry: JournalEntry, steps: list[str]) -> Row:
    """Return `row_of` with the consequences of the input."""
    out = entry.out
    details = (
        *filter(None, map(_detail, out.events)),
        *(f"{name} is answered: {status}" for name, status, *_ in out.resolved),
        *map(_step_detail, out.steps),
    )
    return row_of(entry, steps)._replace(details=details)


def _subject(events: Sequence[RecordedEvent]) -> str:
    """Return what the events of an input are about: the first subject that any of them names."""
    for event in events:
        if isinstance(event, Executed):
            return event.execution.order.symbol
        if symbol := getattr(event, "symbol", ""):
            return str(symbol)
        if isinstance(event, KycDecided):
            return f"kyc/{event.external_id}"
    return ""


def _rest(call: RestCall, entry: JournalEntry) -> Row:
    out, status = entry.out, entry.out.status
    if not status:
        raise DecodeError("a REST call without the status of its answer")
    message = ""
    if status >= 400:
        body, text = entry.body, out.message  # some refusals are plain text
        if isinstance(body, dict):  # OAuth uses fields of its own (§5.1)
            text = body.get("message") or body.get("error_description") or body.get("error", "")
        message = f" {text}"
    request, result = f"{call.verb} {call.path}", f"{status}{message}"
    return Row(entry.at, "request", _caller(out), request, result, status < 400, status=status)


def _rpc(call: RpcCall, entry: JournalEntry) -> Row:
    out = entry.out
    result = f"{out.code} {out.message}".strip() if out.code else "OK"
    request = f"gRPC {_method(call.method)}"
    return Row(entry.at, "request", _caller(out), request, result, not out.code, status=_code(out))


def _open(call: StreamOpened, entry: JournalEntry) -> Row:
    out = entry.out
    refused = out.code or out.status
    return Row(
        entry.at,
        "stream",
        _caller(out),
        f"opens {_method(call.method)}",
        f"refused: {out.message}" if refused else f"stream {out.stream}",
        out.stream > 0,
        subject=f"stream/{out.stream}" if out.stream else "",
        status=out.status if call.web_socket and out.status else _code(out),
    )


def _code(out: Record) -> str:
    return Code(out.code).name


def _hang_up(end: StreamHungUp, entry: JournalEntry) -> Row:
    return _on_stream("stream", "is too slow for" if end.slow else "hangs up", end, entry)


def _on_stream(kind: str, verb: str, sent: StreamFrame | StreamHungUp, entry: JournalEntry) -> Row:
    actor = "scenario" if sent.peer == SCRIPT else "client"
    number = sent.stream
    return Row(entry.at, kind, actor, f"{verb} stream {number}", subject=f"stream/{number}")


def _advance(advance: Advanced, entry: JournalEntry) -> Row:
    fired = entry.out.fired
    kinds = ", ".join(dict.fromkeys(timer.timer for timer in fired))
    kind, to = "timer" if fired else "clock", max(advance.to, entry.at)
    if any(timer.timer == STEP_TIMER for timer in fired):
        to = max(timer.at for timer in fired)  # a step may stop the advance early
    subject = next((timer.subject for timer in fired if timer.subject), "")
    passed = f"+{format_span(to - entry.at)}"
    return Row(to, kind, "clock", passed, kinds, fired=len(fired), subject=subject)


def _step(step: Stepped, entry: JournalEntry) -> Row:
    title = f"step {step.step}"
    return Row(entry.at, "step", "scenario", title, subject=title)


def _control(action: Controlled, entry: JournalEntry) -> Row:
    arguments = "" if action.arguments == "{}" else action.arguments
    title = " ".join((action.action, action.subject, arguments)).strip()
    actor = "scenario" if action.peer == SCRIPT else "tester"
    refused = entry.out.message
    return Row(
        entry.at,
        "control",
        actor,
        title,
        f"refused: {refused}" if refused else "",
        False if refused else None,
        subject=action.subject,
    )


def _answer_due(due: AnswerDue, entry: JournalEntry) -> Row:
    return Row(entry.at, "control", "server", f"needs {due.pending_on}", "the clock stood still")


def _webhook_answer(answer: WebhookAnswered, entry: JournalEntry) -> Row:
    status = answer.status
    result = str(status or answer.error)
    actor = "scripted receiver" if answer.peer == RECEIVER else "receiver"
    good = 200 <= status < 300
    return Row(
        entry.at, "webhook", actor, "answers the webhook", result, good, status=status or None
    )


_ROWS: dict[type[Struct], Callable[[Any, JournalEntry], Row]] = {
    RestCall: _rest,
    RpcCall: _rpc,
    StreamOpened: _open,
    StreamFrame: partial(_on_stream, "frame", "sends a frame on"),
    StreamHungUp: _hang_up,
    Advanced: _advance,
    Stepped: _step,
    Controlled: _control,
    AnswerDue: _answer_due,
    WebhookAnswered: _webhook_answer,
}


def _caller(out: Record) -> str:
    return _short_name(out.caller) or "anyone"


def _method(path: str) -> str:
    return path.rpartition(".")[2] if "." in path else path


# ---- consequences, one line each: the events of an outcome that people ask about


def _detail(event: RecordedEvent) -> str:
    match event:
        case Executed():
            return _execution(event.execution)
        case CashMoved():
            return _cash(event)
        case StateChanged():
            return f"{event.symbol}: {event.was.name} → {event.state.name}"
        case InstrumentListed():
            return f"{event.symbol} is listed, {event.state.name}"
        case DormantInstrumentsMoved():
            return f"all other instruments in {event.was.name}: → {event.state.name}"
        case Settled():
            return f"{event.symbol} settles: {event.text or event.price}"
        case KycDecided():
            decision = "approved" if event.approved else "rejected"
            return f"verification of {event.external_id} {decision}"
        case FaultInjected():
            return sentence(event)
        case MaintenanceChanged():
            return f"maintenance {'begins' if event.active else 'ends'}"
    return ""


def _execution(execution: Execution) -> str:
    order, kind = execution.order, execution.type
    done = "replaced" if kind is ExecutionType.REPLACE else kind.name.lower().replace("_", " ")
    price = decimal_text(execution.last_px or order.price, order.price_scale)
    qty = decimal_text(execution.last_qty or order.qty, order.qty_scale)
    side = "buy" if order.side is Side.BUY else "sell"
    text = f" ({execution.text})" if execution.text else ""
    return f"order {order.id} {done}: {side} {qty} {order.symbol} @ {price}{text}"


def _cash(event: CashMoved) -> str:
    change = event.after - event.before
    amount = f"{'+' if change >= 0 else '−'}${decimal_text(abs(change), DOLLAR)}"
    return f"{_short_name(event.account)}: {amount} {event.description}".rstrip()


def _step_detail(result: StepResult) -> str:
    failures = "; ".join(result.failures)
    return f"{MARK[not failures]} {result.name}{f': {failures}' if failures else ''}"


def _short_name(name: str) -> str:
    parts = name.split("/")
    return "/".join(parts[-2:]) if len(parts) == 4 else parts[-1]
