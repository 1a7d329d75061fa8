"""Compares a recording with a scenario: replays the whole session and compares values too.

| Difference | Culprit |
|---|---|
| the recording does not fit the contract | as without a scenario |
| our answer does not fit the contract, the recorded one does | `us` |
| we do not simulate the operation | `us` |
| both fit, and a value, a length or a status differs | `unknown` |
| a frame that we send is not in the recording | `recording` |
| a frame that we do not send is in the recording | `unknown` |
| an answer that we hold took a different time (more than two seconds) | `unknown` |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property, partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from sim.contract.contract import Operation
from sim.evidence.recording.files import RecordedMessage
from sim.evidence.recording.recorded_events import RecordedEvent
from sim.evidence.replay.frames import (
    EXTRA,
    FrameQueue,
    RecordedFrame,
    StreamHeartbeats,
    is_heartbeat,
    merged,
)
from sim.evidence.replay.identifier_map import IdentifierMap
from sim.evidence.replay.player import RecordedSession, SessionPlayer
from sim.evidence.replay.values import TOLERANCE, ValueComparer
from sim.evidence.validation import csv_lines
from sim.evidence.validation.answers import Checker, NoEvidence
from sim.evidence.validation.difference import ABSENT, LineVerdict, Misfit
from sim.kernel.instants import NS_PER_MS, Instant, Span
from sim.run.client.client import Stream


class ComparisonResults:
    """Receives the results of a comparison, line by line. A subclass notes what it needs."""

    def agree(self, name: str) -> None:
        """Note an answer or frame of an operation that agrees."""

    def no_evidence(self, name: str, why: str) -> None:
        """Note an answer or frame without evidence."""

    def differ(self, line: LineVerdict) -> None:
        """Note an answer or frame that differs."""


class _End(NamedTuple):
    """The recorded end of a stream, with ours and the instant since our begin."""

    event: RecordedEvent
    from_contract: list[Misfit]
    code: Any
    own: Stream | None
    since: Instant


class SessionComparison:
    """Replays a recording and counts what differs."""

    def __init__(self, session: RecordedSession, results: ComparisonResults) -> None:
        self._checker, self._results = Checker(session.scenario.reading), results
        self._clock, self._player = session.clock, SessionPlayer(session)
        self._queues: dict[int, FrameQueue] = {}
        self._heartbeats: dict[int, StreamHeartbeats] = {}
        self._ends: list[_End] = []  # streams that the service has ended and we have not yet

    @property
    def names(self) -> IdentifierMap:
        """Pairs of identifiers, recorded and ours."""
        return self._player.names

    @cached_property
    def _comparer(self) -> ValueComparer:
        """Compares values, once the first line has shown when the recording begins."""
        begin = self._player.recorded_begin
        assert begin is not None
        return ValueComparer(begin, self._player.our_begin, self._player.names)

    def run(self, on_line: Callable[[], None] = lambda: None) -> None:
        """Replay everything; `on_line` is called for each line. Raises Unmatched if the scenario
        has no identity for a client of the recording.
        """
        for _ in self.steps(on_line):
            pass

    def steps(self, on_line: Callable[[], None] = lambda: None) -> Iterator[int]:
        """Do `run` line by line; yield the number of each compared line."""
        for event, own, held in self._player.play():
            on_line()
            from_contract = self._contract_differences(event)
            if from_contract is None:
                continue
            if own is not None and event.answer is not None:
                differences = self._compare_answer(event, event.answer, own)
                self._count(event, merged(from_contract, [*_delay_difference(held), *differences]))
            elif event.frame is not None:
                self._queue_frame(event, event.frame.body, from_contract)
            elif event.closed is not None:
                self._compare_end(event, event.closed, from_contract)
            self._compare_frames()
            self._count_ends()
            yield event.entry.n
        self._compare_frames(final=True)
        self._count_ends(final=True)
        for number in list(self._heartbeats):
            self._count_heartbeats(number)

    def _contract_differences(self, event: RecordedEvent) -> list[Misfit] | None:
        """Return the differences from contract and specification; None if no document
        describes the event.
        """
        try:
            return self._checker.check(event)
        except NoEvidence as why:
            self._results.no_evidence(event.name, str(why))
            return None

    def _count(self, event: RecordedEvent, differences: list[Misfit]) -> None:
        self._judge(LineVerdict(event.name, event.entry.n, differences))

    def _judge(self, line: LineVerdict) -> None:
        """Count an answer or frame."""
        if not line.differences:
            self._results.agree(line.name)
        elif self._clock.is_after_last_reading(line.n) and all(
            misfit.kind == EXTRA.kind for misfit in line.differences
        ):
            self._results.no_evidence(line.name, "the clock was moved, and nothing tells how far")
        else:
            self._results.differ(line)

    # ---- answers

    def _compare_answer(
        self, event: RecordedEvent, recorded: RecordedMessage, own: RecordedMessage
    ) -> list[Misfit]:
        if recorded.status != own.status:
            status = Misfit("answer.status", recorded.status, own.status, "status")
            if own.status == 501:
                return [status.with_culprit("us")]
            return self._with_culprits(event, own, [status])
        refused = (recorded.status or 0) >= 400 or (event.entry.plane == "grpc" and recorded.status)
        if refused or event.operation is None:
            return _code_differences(recorded.body, own.body)
        differences = self._value_differences(event.operation, recorded.body, own.body)
        return self._with_culprits(
            event, own, [misfit.under("answer.body") for misfit in differences]
        )

    def _with_culprits(
        self, event: RecordedEvent, own: RecordedMessage, differences: list[Misfit]
    ) -> list[Misfit]:
        """Set the culprit of each difference: us where our answer breaks the
        contract, else unknown.
        """
        if not differences:
            return differences
        paths = {misfit.where for misfit in self._contract_violations(event, own)}
        return [
            misfit.with_culprit("us") if misfit.where in paths else misfit for misfit in differences
        ]

    def _contract_violations(self, event: RecordedEvent, own: RecordedMessage) -> list[Misfit]:
        try:
            return self._checker.check(replace(event, answer=replace(own, headers={})))
        except NoEvidence:
            return []

    def _value_differences(self, operation: Operation, recorded: Any, own: Any) -> list[Misfit]:
        """Return the differences by value between two answers or messages; reports are compared
        line by line.
        """
        cls = csv_lines.ROWS.get(operation.name)
        if cls is not None:
            texts = [csv_lines.report_in(operation, body) or "" for body in (recorded, own)]
            return self._comparer.messages(cls, *(csv_lines.messages(cls, text) for text in texts))
        return self._comparer.message(operation.response, recorded or {}, own or {})

    # ---- streams

    def _queue_frame(self, event: RecordedEvent, body: Any, from_contract: list[Misfit]) -> None:
        beats, number = self._heartbeats_of(event), event.entry.stream
        assert number is not None
        if is_heartbeat(body):
            beats.recorded(event.entry.n, self._since_begin(event), from_contract)
            return
        queue = self._queue_of(number, event)
        queue.recorded.append(RecordedFrame(event.entry.n, body, from_contract))

    def _queue_of(self, number: int, event: RecordedEvent) -> FrameQueue:
        queue = self._queues.get(number)
        if queue is None:
            assert event.operation is not None
            fit = partial(self._value_differences, event.operation)
            queue = self._queues[number] = FrameQueue(event.name, self.names, fit)
        return queue

    def _heartbeats_of(self, event: RecordedEvent) -> StreamHeartbeats:
        assert event.entry.stream is not None
        beats = self._heartbeats.setdefault(event.entry.stream, StreamHeartbeats(event.name))
        beats.line(event.entry.n)
        return beats

    def _since_begin(self, event: RecordedEvent) -> Instant:
        assert self._player.recorded_begin is not None
        return event.now - self._player.recorded_begin

    def _count_heartbeats(self, number: int) -> None:
        """At the end of a stream, count heartbeats that are missing on either side."""
        beats = self._heartbeats.pop(number, None)
        if beats is not None:
            own = self._player.heartbeats.get(number, [])
            for line in beats.verdicts(own, self._player.since_begin):
                self._judge(line)

    def _compare_frames(self, *, final: bool = False) -> None:
        for number, queue in self._queues.items():
            self._take_frames(number, queue)
            for line in queue.decided(final=final):
                self._judge(line)

    def _take_frames(self, number: int, queue: FrameQueue) -> None:
        stream = self._player.streams.get(number)
        if stream is not None:
            queue.own.extend(body for body in stream.take() if not is_heartbeat(body))

    def _compare_end(
        self, event: RecordedEvent, closed: dict[str, Any], from_contract: list[Misfit]
    ) -> None:
        number = event.entry.stream
        assert number is not None
        if event.operation is not None:
            self._queue_of(number, event)
        self._heartbeats_of(event)
        self._count_heartbeats(number)
        own = self._player.streams.get(number)
        differences: list[Misfit] = []
        code = closed.get("code")
        if closed.get("from") == "client":
            if own is not None and own.end is not None and own.end[0]:
                differences.append(Misfit("closed.from", "client", "service", "status"))
        elif closed.get("from") == "service" and code is not None:
            self._ends.append(_End(event, from_contract, code, own, self._player.since_begin))
            return
        self._count(event, merged(from_contract, differences))

    def _count_ends(self, *, final: bool = False) -> None:
        """Compare the ends of streams with ours. The line of an end tells no time, so ours may come
        until time moves, which the next line with a time shows.
        """
        now, left = self._player.since_begin, list[_End]()
        for end in self._ends:
            if not final and now <= end.since and (end.own is None or end.own.end is None):
                left.append(end)
                continue
            ended, differences = _our_end(end.own, end.event.entry.plane), list[Misfit]()
            if ended != end.code:
                differences.append(Misfit("closed.code", end.code, ended, "status"))
            self._count(end.event, merged(end.from_contract, differences))
        self._ends = left


def _delay_difference(held: tuple[Span, Span] | None) -> list[Misfit]:
    """Compare how long a held answer took, in seconds. An answer that we give at once may take
    longer over a network, which is no difference.
    """
    if held is None or abs(held[0] - held[1]) <= TOLERANCE:
        return []
    recorded, own = (Decimal(span // NS_PER_MS) / 1000 for span in held)
    return [Misfit("answer.after_s", recorded, own, "time")]


def _our_end(own: Stream | None, plane: str) -> Any:
    """Return how our stream ended: its gRPC status, or the code of the socket's close frame."""
    if own is None or own.end is None:
        return ABSENT
    return own.end[0] if plane == "grpc" else own.close_code


def _code_differences(recorded: Any, own: Any) -> list[Misfit]:
    """Compare refusals by code only, as clients do (§7.2)."""
    if not (isinstance(recorded, dict) and isinstance(own, dict)):
        return []
    return [
        Misfit(f"answer.body.{name}", recorded[name], own[name], "value")
        for name in ("code", "status", "error")
        if name in recorded and name in own and recorded[name] != own[name]
    ]
