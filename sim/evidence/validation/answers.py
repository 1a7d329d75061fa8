"""Check one recorded answer or frame against the contract: status, headers that matter, body or
error form.

`difference.py` has the table that says which side (the culprit) is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import DecodeError, json

from sim.api.codecs.codecs import Dialect, dialect_at
from sim.contract.contract import Operation
from sim.core.catalogue.observations import DOCUMENTED
from sim.evidence.recording.files import RecordedMessage
from sim.evidence.recording.recorded_events import RecordedEvent
from sim.evidence.validation import csv_lines
from sim.evidence.validation.difference import ABSENT, Culprit, Misfit
from sim.evidence.validation.error_forms import form_of, misfits, plain_form, statuses, statuses_of
from sim.evidence.validation.readings import wire_switches_of
from sim.evidence.validation.shapes import Found, Shape, shape_of
from sim.kernel.instants import Instant
from sim.read.relations import applied

_TRACE = re.compile(r"[0-9a-f]{32}")
_SECONDS = re.compile(r"[1-9][0-9]*", re.ASCII)
_CODES = range(17)
_UNDESCRIBED = {
    "OPTIONS": "a browser asked for leave",
    "HEAD": "an answer to HEAD has no body, and no document has the method",
}
_NOT_KEPT = {
    "left_out": "the body was too large to be kept, or was not exported",
    "unreadable": "the body was no text, so it was not kept",
}
# The field numbers of these packages are published nowhere: a mismatch is no fault of the service.
_OWN_NUMBERS = (
    "exchange.cashmovement.v1",
    "exchange.kyc.v1",
    "exchange.orderfunding.v1",
    "exchange.settlement.v1",
)


def _check_kept(body: Any) -> None:
    """Raise NoEvidence if the recorder left the body out or could not read it."""
    if isinstance(body, dict) and len(body) == 1 and (why := _NOT_KEPT.get(*body)):
        raise NoEvidence(why)


class NoEvidence(Exception):
    """No document describes this answer or frame. The text gives the reason."""


class Checker:
    """Checks recorded events against contract and specification, in one of the two readings."""

    def __init__(self, reading: str, *, relations: bool = True) -> None:
        self.reading = reading
        self._relations = relations
        self._switches = wire_switches_of(reading)

    def check(self, event: RecordedEvent) -> list[Misfit]:
        """Return the differences of an event from the contract, each with its culprit.

        Raises NoEvidence where no document describes the event.
        """
        if event.closed is not None:
            differences = list(self._end(event, event.closed))
        elif event.frame is not None:
            differences = self._frame(event, event.frame.body)
        elif event.answer is None:
            raise NoEvidence("the answer did not come to its end")
        elif event.entry.plane == "grpc":
            differences = self._rpc(event, event.answer)
        else:
            differences = self._http(event, event.answer, event.entry.plane)
        return [
            misfit.with_culprit(self.culprit(event.operation, misfit)) for misfit in differences
        ]

    def culprit(self, operation: Operation | None, misfit: Misfit) -> Culprit:
        """Return which side is wrong where a recording and the contract differ."""
        if misfit.switch:
            return "specification" if self.reading == DOCUMENTED else "contract"
        own_numbers = operation is not None and operation.service.package in _OWN_NUMBERS
        return "contract" if own_numbers and misfit.kind == "bytes" else "recording"

    def shape(self, operation: Operation, plane: str, now: Instant) -> Shape:
        """Return the shape of an operation's answer on a plane at an instant."""
        return shape_of(operation.response, self.dialect(plane, now))

    def dialect(self, plane: str, now: Instant) -> Dialect | None:
        """Return the JSON rules of a plane at an instant in this reading; None for gRPC."""
        return None if plane == "grpc" else dialect_at(plane, now, switches=self._switches)

    # ---- HTTP

    def _http(self, event: RecordedEvent, answer: RecordedMessage, plane: str) -> list[Misfit]:
        status, operation = answer.status or 0, event.operation
        if event.entry.request is not None and event.entry.request.method in _UNDESCRIBED:
            raise NoEvidence(_UNDESCRIBED[event.entry.request.method])
        if operation is None and status < 400:
            raise NoEvidence("no document describes this address")
        _check_kept(answer.body)
        served = operation is not None and operation.exists_at(event.now, self._switches)
        if status == 304 and operation is not None and operation.cache:
            return []
        differences: list[Misfit] = []
        if status >= 400:
            differences += self._refusal(event, answer, plane, status)
        elif operation is not None:
            differences += self._success(event, answer, operation, status, served=served)
        if answer.headers:
            differences += _headers(answer, plane, status, operation)
        return differences

    def _success(
        self,
        event: RecordedEvent,
        answer: RecordedMessage,
        operation: Operation,
        status: int,
        *,
        served: bool,
    ) -> Iterator[Misfit]:
        if not served:
            yield Misfit("answer.status", status, 404, "date", operation.served_by)
            return
        refused = _status_in(answer.body, event.entry.plane)
        if refused:
            yield Misfit("answer.status", status, refused, "status")
            return
        if status != 200:
            yield Misfit("answer.status", status, 200, "status")
        yield from _under(
            "answer.body", self._body(operation, event.entry.plane, event.now, answer.body)
        )
        for row in applied(operation.name, answer.body) if self._relations else ():
            if not row.holds:
                where = f"answer.body.{row.path}".rstrip(".")
                yield Misfit(where, float(row.left), row.relation.formula, "relation")

    def _body(self, operation: Operation, plane: str, now: Instant, body: Any) -> Found:
        if operation.content == "csv":
            text = isinstance(body, str) or body is None
            return _report(operation, body) if text else [Misfit("", body, "CSV", "type")]
        shape = self.shape(operation, plane, now)
        if operation.content == "json_stream":
            return list(_lines(body, shape)) or _report(operation, body)
        return shape.check(body) or []

    def _refusal(
        self, event: RecordedEvent, answer: RecordedMessage, plane: str, status: int
    ) -> Iterator[Misfit]:
        operation, body = event.operation, answer.body
        if isinstance(body, str) and plain_form(plane, status) is not None:
            return
        form = form_of(plane, status)
        wrong = misfits(body, form)
        if wrong and operation is not None and isinstance(body, dict):
            shape = self.shape(operation, plane, event.now)
            if body and operation.content == "json" and not shape.check(body):
                yield Misfit("answer.status", status, 200, "status")
                return
        yield from (misfit.under("answer.body") for misfit in wrong)
        body_status = body.get("status") if isinstance(body, dict) else None
        if type(body_status) is int and body_status != status and "status" in (form.members or ()):
            yield Misfit("answer.status", status, body_status, "status")
            return
        code = _code(body)
        if code is not None and "code" in (form.members or ()):
            possible = statuses_of(code)
            if status not in possible:
                own = possible[0] if possible else 500
                yield Misfit("answer.status", status, own, "status")
        elif status not in statuses():
            yield Misfit("answer.status", status, "a status of §7.1", "status")

    # ---- gRPC and streams

    def _rpc(self, event: RecordedEvent, answer: RecordedMessage) -> list[Misfit]:
        operation, code = event.operation, answer.status
        if operation is None and code == 0:
            raise NoEvidence("no document describes this method")
        if code not in _CODES:
            return [Misfit("answer.status", code, "a gRPC status code", "status")]
        if code or operation is None:
            text = answer.body is None or isinstance(answer.body, str)
            return [] if text else [Misfit("answer.body", answer.body, "text", "error form")]
        if not operation.exists_at(event.now, self._switches):
            return [Misfit("answer.status", 0, 12, "date", operation.served_by)]
        return _under("answer.body", self._message(operation, event.now, answer.body))

    def _message(self, operation: Operation, now: Instant, body: Any) -> Found:
        if isinstance(body, dict) and body.keys() == {"unreadable"}:
            size = f"{body['unreadable']} bytes"
            return [Misfit("", size, operation.response_name, "bytes")]
        wrong = self.shape(operation, "grpc", now).check({} if body is None else body)
        return wrong or _report(operation, body)

    def _frame(self, event: RecordedEvent, body: Any) -> list[Misfit]:
        operation = event.operation
        if operation is None:
            raise NoEvidence("nothing tells what stream this is")
        if event.entry.plane == "grpc":
            return _under("frame.body", self._message(operation, event.now, body))
        return _under("frame.body", self._body(operation, event.entry.plane, event.now, body))

    def _end(self, event: RecordedEvent, closed: dict[str, Any]) -> Iterator[Misfit]:
        code = closed.get("code")
        if event.operation is None:
            raise NoEvidence("nothing tells what stream this is")
        if event.entry.plane == "grpc" and code is not None and code not in _CODES:
            yield Misfit("closed.code", code, "a gRPC status code", "status")


def _report(operation: Operation, body: Any) -> Found:
    """Check the CSV in an answer or a message."""
    text = csv_lines.report_in(operation, body)
    return [] if text is None else list(csv_lines.misfits(csv_lines.ROWS[operation.name], text))


def _lines(body: Any, shape: Shape) -> Iterator[Misfit]:
    """Check a body that has one object {"result": …} per line."""
    if body is None:
        return
    try:
        lines = [json.decode(line) for line in body.splitlines()] if type(body) is str else [body]
    except (DecodeError, RecursionError):
        yield Misfit("", body, 'an object {"result": …} a line', "format")
        return
    for number, line in enumerate(lines):
        if type(line) is not dict or not line.keys() <= {"result", "error"}:
            yield Misfit(f"[{number}]", line, 'an object {"result": …}', "type")
        elif "result" in line:
            yield from _under(f"[{number}].result", shape.check(line["result"]))


def _headers(
    answer: RecordedMessage, plane: str, status: int, operation: Operation | None
) -> Iterator[Misfit]:
    headers = answer.headers
    kind = headers.get("content-type", "").partition(";")[0].strip()
    expected = _content_type(answer, plane, status, operation)
    if kind != expected and not (status == 304 or (answer.body is None and not kind)):
        yield Misfit("answer.headers.content-type", kind or ABSENT, expected, "header")
    if "retry-after" in headers and not _SECONDS.fullmatch(headers["retry-after"]):
        value = headers["retry-after"]
        yield Misfit("answer.headers.retry-after", value, "whole seconds, at least 1", "header")
    if status == 405 and "allow" not in headers:
        yield Misfit("answer.headers.allow", ABSENT, "the verbs of this address", "header")
    if status == 200 and operation is not None and operation.cache:
        value = headers.get("cache-control", ABSENT)
        own = plane == "gateway" or "gateway" not in operation.planes
        if own and value != operation.cache:
            yield Misfit("answer.headers.cache-control", value, operation.cache, "header")
    for name in ("x-trace-id", "x-pm-trace-id"):
        if name in headers and not _TRACE.fullmatch(headers[name]):
            yield Misfit(f"answer.headers.{name}", headers[name], "32 hexadecimal digits", "header")


def _content_type(
    answer: RecordedMessage, plane: str, status: int, operation: Operation | None
) -> str:
    if status >= 400:
        plain = plain_form(plane, status) if isinstance(answer.body, str) else None
        return (plain or form_of(plane, status)).content_type
    return (
        "text/csv" if operation is not None and operation.content == "csv" else "application/json"
    )


def _code(body: Any) -> int | None:
    """Return the gRPC code in the body of a refusal, or None."""
    if isinstance(body, dict) and body.keys() >= {"code", "message"}:
        code = body["code"]
        return code if type(code) is int and code in _CODES else None
    return None


def _status_in(body: Any, plane: str) -> int | None:
    """Return the HTTP status that a refusal with this body would have; None for any other body."""
    if not isinstance(body, dict):
        return None
    if code := _code(body):
        return statuses_of(code)[0]
    if plane == "auth":
        return 400 if "error" in body else None
    status = body.get("status")
    return status if body.keys() == {"status", "message"} and type(status) is int else None


def _under(parent: str, misfits: Found | None) -> Found:
    return [misfit.under(parent) for misfit in misfits or ()]
