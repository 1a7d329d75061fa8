"""The full record of an input: request, answer, events, frames sent, and the reasons.

The journal has only sizes and checksums of much of this, so the input is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import json

from sim.api.pipeline.inputs import (
    Close,
    Outcome,
    Post,
    Reply,
    Resolve,
    RpcCall,
    Send,
    StreamFrame,
    StreamOpened,
)
from sim.contract.contract import Operation
from sim.core.model.events import Executed
from sim.core.model.refusals import Refusal
from sim.core.webhooks.payloads import shown_url
from sim.kernel.branches import Branch
from sim.kernel.instants import format_instant
from sim.kernel.journal_reader import UNREADABLE
from sim.kernel.work import Work
from sim.read.explain import explain
from sim.read.history.moments import Moments
from sim.read.history.pages import BranchEntry, Rows
from sim.read.line_search import prepare
from sim.run.actors.script.calls import as_json
from sim.run.simulation import Simulation

# How many frames of one input are shown; `frames_sent` is their number.
FRAMES_MAX = 1_000
CAUSES_MAX = 20
CHAIN_MAX = 50  # shown of an explanation; `chain_length` is their number
# Spellings of the webhook address in a body. Only the journal stores it unchanged.
_URLS = ("webhook_url", "webhookUrl")
Decode = Callable[[bytes], Any]


def record(rows: Rows, moments: Moments, branch: Branch, seq: int) -> Work[dict[str, Any]]:
    """Return the record of an input, as it is answered. Refused as not found."""
    entry = rows.entry(branch, seq)
    before = yield from moments.at(branch, seq - 1)
    streams = operations(before)
    sim, outcome = yield from moments.through(branch, seq)
    yield from prepare(sim.journal, sim.journal.branch)  # needed by the explanation
    return {
        **rows.plain(entry),
        **result_of_input(sim, entry, outcome, streams),
        "causes": _causes(rows, branch, entry),
    }


def result_of_input(
    sim: Simulation, entry: BranchEntry, outcome: Outcome, before: dict[int, Operation]
) -> dict[str, Any]:
    """Return what a record has besides the row and its causes.

    The simulation is right after the input. `before` are the operations of the streams that were
    open before it.
    """
    out, streams = entry.recorded.out, before | operations(sim)
    plain = json.decode(entry.recorded.line.out)
    frames = [effect for effect in outcome.effects if isinstance(effect, Send)]
    return {
        "input": _input(sim, entry, streams),
        "answer": _answer(sim, entry, outcome),
        "events": [_with_facts(event) for event in plain.get("events", ())],
        "frames": [_frame(effect, streams) for effect in frames[:FRAMES_MAX]],
        "frames_sent": len(frames),
        "closed": [
            {
                "stream": effect.stream,
                "code": effect.code,
                "message": effect.message,
                "rule": effect.rule,
                "facts": effect.facts or {},
            }
            for effect in outcome.effects
            if isinstance(effect, Close)
        ],
        "answered": [
            {"call": effect.pending_on, **_reply(effect.reply, json.decode)}
            for effect in outcome.effects
            if isinstance(effect, Resolve)
        ],
        "webhooks": [
            {
                "attempt": effect.attempt,
                "event_id": effect.event_id,
                "url": effect.shown_url,
                "body": _decoded(json.decode, effect.body),
            }
            for effect in outcome.effects
            if isinstance(effect, Post)
        ],
        "fired": [
            {"at": format_instant(timer.at), "timer": timer.timer, "subject": timer.subject}
            for timer in out.fired
        ],
        "steps": plain.get("steps", []),
        "why": _why(sim, entry),
        "digest": sim.digest,
    }


def _with_facts(event: dict[str, Any]) -> dict[str, Any]:
    """Return an event. One that reports a decision has facts, which the journal omits if empty."""
    return {**event, "facts": event.get("facts", {})} if event.get("rule") else event


def operations(sim: Simulation) -> dict[int, Operation]:
    """Return the operations of the open streams, by stream."""
    contract, streams = sim.contract, sim.engine.hub.operations()
    return {stream: contract.by_name(name) for stream, name in streams.items()}


def _causes(rows: Rows, branch: Branch, entry: BranchEntry) -> list[dict[str, Any]]:
    """Return the chain of inputs that caused one, oldest first.

    Only the nearest ones are included, because timers that schedule the next one make chains as
    long as the run.
    """
    chain: list[dict[str, Any]] = []
    while entry.position.cause and len(chain) < CAUSES_MAX:
        entry = rows.entry(branch, entry.position.cause)
        chain.append(rows.plain(entry))
    return chain[::-1]


# ---- request


def _input(sim: Simulation, entry: BranchEntry, streams: dict[int, Operation]) -> dict[str, Any]:
    """Return the input in its journal form, with its message decoded."""
    recorded = entry.recorded.input
    fields: dict[str, Any] = json.decode(entry.recorded.line.input)
    if isinstance(recorded, RpcCall | StreamOpened) and recorded.message:
        operation = sim.contract.by_rpc(recorded.method)
        if operation is not None:
            fields["message"] = _decoded(_protobuf(operation.request), recorded.message)
    elif isinstance(recorded, StreamFrame) and recorded.stream in streams:
        operation = streams[recorded.stream]
        decode = json.decode if _in_json(operation) else _protobuf(operation.request)
        fields["message"] = _decoded(decode, recorded.message)
    for name in ("body", "arguments"):
        if isinstance(fields.get(name), str) and not fields.get("form"):
            fields[name] = _decoded(json.decode, fields[name].encode())
    if isinstance(body := fields.get("body"), dict):
        fields["body"] = {
            name: shown_url(value) if name in _URLS and isinstance(value, str) else value
            for name, value in body.items()
        }
    return fields


# ---- answer and frames


def _answer(sim: Simulation, entry: BranchEntry, outcome: Outcome) -> dict[str, Any] | None:
    """Return the answer of a call or an operator's action; None if there was none."""
    value = outcome.value
    if isinstance(value, Refusal):
        facts = value.facts or {}
        return {
            "message": value.message,
            "rule": value.rule,
            "facts": facts,
            "remedy": value.remedy,
        }
    if entry.row.kind == "control":
        return {"body": value if isinstance(value, dict) else {}}
    reply = outcome.reply
    if reply is None:
        return {"stream": outcome.stream} if outcome.stream else None
    call = entry.recorded.input
    method = call.method if isinstance(call, RpcCall | StreamOpened) else ""
    operation = sim.contract.by_rpc(method)
    return _reply(reply, json.decode if operation is None else _protobuf(operation.response))


def _reply(reply: Reply, decode: Decode) -> dict[str, Any]:
    """Return a reply without its secrets; `streamed` if the body is generated while it is read."""
    body = reply.body if reply.journal is None else reply.journal
    fields: dict[str, Any] = {
        "status": reply.status,
        "code": reply.code,
        "message": reply.message,
        "headers": dict(reply.headers),
        "body": _decoded(decode, body) if body else None,
    }
    if reply.chunks is not None:
        fields["streamed"] = True
    if reply.pending_on:
        fields["pending"] = reply.pending_on
    return fields


def _frame(effect: Send, streams: dict[int, Operation]) -> dict[str, Any]:
    operation = streams.get(effect.stream)
    if operation is None:
        return {"stream": effect.stream, "rpc": "", "body": _text(effect.frame)}
    return {
        "stream": effect.stream,
        "rpc": operation.rpc,
        "body": frame_body(operation, effect.frame),
    }


def frame_body(operation: Operation, frame: bytes) -> Any:
    """Return a frame of a stream, decoded."""
    decode = json.decode if _in_json(operation) else _protobuf(operation.response)
    return _decoded(decode, frame)


def _in_json(operation: Operation) -> bool:
    """Return whether the frames of a stream are JSON, as on WebSockets."""
    return operation.content == "web_socket"


def _protobuf(kind: type[Any]) -> Decode:
    return lambda message: json.decode(as_json(kind, message))


def _decoded(decode: Decode, raw: bytes) -> Any:
    """Return decoded bytes, or their text if they cannot be decoded."""
    try:
        return decode(raw)
    except (*UNREADABLE, ValueError, LookupError, TypeError):
        return _text(raw)


def _text(raw: bytes) -> str:
    return raw.decode(errors="backslashreplace")


# ---- reasons


def _why(sim: Simulation, entry: BranchEntry) -> dict[str, Any] | None:
    """Return what `explain` says about the subject of an input right after it.

    None if it says nothing, in which case the causes are all the information there is.
    """
    explanation = next(
        (why for subject in _subjects(entry) if (why := explain(sim, subject)) is not None), None
    )
    if explanation is None or len(explanation["chain"]) <= CHAIN_MAX:
        return explanation
    return explanation | {
        "chain": explanation["chain"][-CHAIN_MAX:],
        "chain_length": len(explanation["chain"]),
    }


def _subjects(entry: BranchEntry) -> Iterator[str]:
    """Yield what can be explained about an input, the most informative first."""
    recorded = entry.recorded
    if recorded.request_id:
        yield f"request/{recorded.request_id}"
    for event in recorded.events:
        if isinstance(event, Executed):
            yield f"order/{event.execution.order.id}"
    if entry.row.subject:
        yield entry.row.subject
    for event in recorded.events:
        if subject := getattr(event, "account", "") or getattr(event, "subject", ""):
            yield subject
    for closed in recorded.out.closed:
        yield f"stream/{closed.stream}"
