"""Resumable streams: what a stream repeats from a token, or from the instant of a row, is what a
live stream of the same caller and filters sent since then.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from msgspec import json, structs

from sim.api.codecs.codecs import protobuf_decoder
from sim.api.pipeline.inputs import Input, Outcome, Send, StreamOpened
from sim.contract.contract import Operation, load_contract
from sim.contract.wire_fields import fields_of
from sim.core.model.events import MaintenanceChanged
from sim.run.simulation import Simulation
from sim.search.hunt.troubles import Trouble

_INSTANTS = ("transact_time", "change_time")


class ResumableStream(NamedTuple):
    """A stream: its operation, the rows that it sent, and how many came before each token."""

    operation: Operation
    rows: list[Any]
    tokens: dict[str, int]


class ReplayedFrames:
    """Judges the streams of one run. Maintenance changes the order of a replay (rule W3)."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._streams: dict[int, ResumableStream] = {}
        self._live: dict[bytes, list[ResumableStream]] = {}  # by caller and filters

    def after_input(self, input_: Input, outcome: Outcome) -> Iterator[Trouble]:
        """Yield how a resumed stream differs, and note what streams sent."""
        disturbed = any(each.plane == "stream" for each in outcome.injections)
        if disturbed or any(isinstance(each, MaintenanceChanged) for each in outcome.events):
            self._streams.clear()
            self._live.clear()
        new: ResumableStream | None = None
        if isinstance(input_, StreamOpened) and outcome.stream:
            name = self._simulation.engine.hub.operations().get(outcome.stream, "")
            operation = load_contract().by_name(name) if name else None
            if operation is not None and rows_of(operation):
                new = self._streams[outcome.stream] = ResumableStream(operation, [], {})
        for effect in outcome.effects:
            if isinstance(effect, Send) and effect.stream in self._streams:
                _note(self._streams[effect.stream], effect.frame)
        if new is not None and isinstance(input_, StreamOpened):
            yield from self._opened(new, input_)

    def _opened(self, stream: ResumableStream, opened: StreamOpened) -> Iterator[Trouble]:
        request = protobuf_decoder(stream.operation.request)(opened.message)
        bare = structs.replace(request, resume_token="", resume_time=None)
        caller = opened.credential.kind, opened.credential.key, opened.participant
        family = self._live.setdefault(json.encode((stream.operation.name, caller, bare)), [])
        for live in family:
            expected = _since(live, request)
            if expected and stream.rows[: len(expected)] != expected:
                name = stream.operation.name
                text = f"{name}: resumed, it repeats other rows than it sent live"
                yield Trouble("agreement", f"{name} replayed", text)
                return
        if not request.resume_token and request.resume_time is None:
            family.append(stream)


def _since(live: ResumableStream, request: Any) -> list[Any]:
    """Return the rows that a live stream sent since the point that a request asks for."""
    if request.resume_token:
        return live.rows[live.tokens.get(request.resume_token, len(live.rows)) :]
    if request.resume_time is None or not live.rows:
        return []
    instants = [_instant(row) for row in live.rows]
    if request.resume_time <= instants[0] or not instants[0]:
        return []  # rows of that instant may be older than the live stream
    return [row for row, at in zip(live.rows, instants, strict=True) if at >= request.resume_time]


def _instant(row: Any) -> int:
    return next((getattr(row, name) for name in _INSTANTS if hasattr(row, name)), None) or 0


def _note(stream: ResumableStream, frame: bytes) -> None:
    message = protobuf_decoder(stream.operation.response)(frame)
    if message.resume_token in stream.tokens:
        return  # a heartbeat, or a message that came twice (rule S1)
    stream.rows.extend(getattr(message, rows_of(stream.operation)))
    stream.tokens[message.resume_token] = len(stream.rows)


@cache
def rows_of(operation: Operation) -> str:
    """Return the field of a resumable stream's rows; "" for other operations."""
    fields = fields_of(operation.response)
    names = {field.name for field in fields}
    resumable = operation.kind == "server" and "resume_token" in names
    return next((field.attribute for field in fields if field.repeated), "") if resumable else ""
