"""A recording compared with a scenario: the session is replayed whole, and values count.

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

from collections.abc import Callable, Collection, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

from msgspec.structs import replace

from sim.contract.contract import Operation
from sim.fidelity import csv_lines
from sim.fidelity.answers import Checker, NoEvidence
from sim.fidelity.difference import ABSENT, Difference
from sim.fidelity.frames import FrameQueue, RecordedFrame, is_heartbeat, merged
from sim.fidelity.heartbeats import EXTRA, MISSING, Heartbeats
from sim.fidelity.names import Names
from sim.fidelity.player import Player
from sim.fidelity.service_clock import ServiceClock
from sim.fidelity.tally import Tally
from sim.fidelity.values import TOLERANCE, ValueComparer
from sim.kernel.instants import NS_PER_MS, Instant, Span
from sim.recording.files import Entry, Message
from sim.recording.recorded_events import RecordedEvent
from sim.scenario.scenario import Scenario
from sim.testing.client import Stream


class _End(NamedTuple):
    """The recorded end of a stream, with ours and the instant since our begin."""

    seen: RecordedEvent
    known: list[Difference]
    code: Any
    ours: Stream | None
    since: Instant


class SessionComparison:
    """Replays a recording and counts what differs."""

    def __init__(
        self,
        scenario: Scenario,
        seed: int | None,
        entries: Collection[Entry],
        tally: Tally,
        clock: ServiceClock | None = None,
    ) -> None:
        self._checker, self._tally = Checker(scenario.reading), tally
        self._clock = clock or ServiceClock(entries)
        self._player = Player(scenario, seed, entries, self._clock)
        self._sides: ValueComparer | None = None
        self._queues: dict[int, FrameQueue] = {}
        self._of_stream: dict[int, RecordedEvent] = {}
        self._heartbeats: dict[int, Heartbeats] = {}
        self._ends: list[_End] = []  # of streams that the service ended, and we not yet

    @property
    def names(self) -> Names:
        """Identifiers of the recording and ours."""
        return self._player.names

    def run(self, on_line: Callable[[], None] = lambda: None) -> None:
        """Replay everything; `on_line` is called for each line. Unmatched: the scenario has nobody
        for somebody of the recording.
        """
        for _ in self.steps(on_line):
            pass

    def steps(self, on_line: Callable[[], None] = lambda: None) -> Iterator[int]:
        """`run` line by line; yields the number of each line that was compared."""
        for seen, ours, held in self._player.play():
            on_line()
            if self._sides is None:
                begin = self._player.recorded_begin
                assert begin is not None
                self._sides = ValueComparer(begin, self._player.our_begin, self._player.names)
            known = self._known(seen)
            if known is None:
                continue
            if ours is not None and seen.answer is not None:
                differences = self._answer(seen, seen.answer, ours)
                self._count(seen, merged(known, [*_late(held), *differences]))
            elif seen.frame is not None:
                self._queue(seen, seen.frame.body, known)
            elif seen.closed is not None:
                self._closed(seen, seen.closed, known)
            self._pump()
            self._count_ends()
            yield seen.entry.n
        self._pump(final=True)
        self._count_ends(final=True)
        for number in list(self._heartbeats):
            self._count_heartbeats(number)

    def _known(self, seen: RecordedEvent) -> list[Difference] | None:
        """What contract and specification say; None where nobody knows."""
        try:
            return self._checker.check(seen)
        except NoEvidence as why:
            self._tally.no_evidence(seen.name, str(why))
            return None

    def _count(
        self, seen: RecordedEvent, differences: list[Difference], n: int | None = None, *, shown: bool = True
    ) -> None:
        """Count an answer or frame; `n` is its line, if not that of `seen`."""
        n = seen.entry.n if n is None else n
        if not differences:
            self._tally.agree(seen.name)
        elif self._clock.tells_no_more(n) and all(one.kind == EXTRA.kind for one in differences):
            self._tally.no_evidence(seen.name, "the clock was moved, and nothing tells how far")
        else:
            self._tally.differ(seen.name, n, differences, shown)

    # ---- answers

    def _answer(self, seen: RecordedEvent, recorded: Message, ours: Message) -> list[Difference]:
        if recorded.status != ours.status:
            culprit: Any = "us" if ours.status == 501 or self._spoilt(seen, ours) else "unknown"
            status = Difference("answer.status", recorded.status, ours.status, "status")
            return [status.blamed(culprit)]
        refused = (recorded.status or 0) >= 400 or (seen.entry.plane == "grpc" and recorded.status)
        if refused or seen.operation is None:
            return _codes(recorded.body, ours.body)
        sides, operation = self._sides, seen.operation
        assert sides is not None
        differences = _values(sides, operation, recorded.body, ours.body)
        return self._blamed(seen, ours, [one.under("answer.body") for one in differences])

    def _blamed(
        self, seen: RecordedEvent, ours: Message, differences: list[Difference]
    ) -> list[Difference]:
        """Differences of which those are ours that lie where our answer breaks the contract."""
        if not differences:
            return differences
        places = {one.where for one in self._misfits(seen, ours)}
        return [one.blamed("us" if one.where in places else "unknown") for one in differences]

    def _misfits(self, seen: RecordedEvent, ours: Message) -> list[Difference]:
        try:
            return self._checker.check(replace(seen, answer=replace(ours, headers={})))
        except NoEvidence:
            return []

    def _spoilt(self, seen: RecordedEvent, ours: Message) -> bool:
        return any(one.where == "answer.status" for one in self._misfits(seen, ours))

    # ---- streams

    def _queue(self, seen: RecordedEvent, body: Any, known: list[Difference]) -> None:
        stream = seen.stream
        assert stream is not None
        beats = self._heartbeats_of(seen)
        if is_heartbeat(body):
            beats.recorded(seen, self._since(seen), known)
            return
        self._of_stream[stream.number] = seen
        queue = self._queue_of(stream.number, seen)
        queue.recorded.append(RecordedFrame(seen.entry.n, body, known))

    def _queue_of(self, number: int, seen: RecordedEvent) -> FrameQueue:
        queue = self._queues.get(number)
        if queue is None:
            sides, operation = self._sides, seen.operation
            assert sides is not None and operation is not None

            def fit(recorded: Any, ours: Any) -> list[Difference]:
                return _values(sides, operation, recorded, ours)

            def trial(recorded: Any, ours: Any) -> list[Difference]:
                mark = sides.names.mark()
                differences = _values(sides, operation, recorded, ours)
                sides.names.back(mark)
                return differences

            queue = self._queues[number] = FrameQueue(fit, trial)
            self._of_stream.setdefault(number, seen)
        return queue

    def _heartbeats_of(self, seen: RecordedEvent) -> Heartbeats:
        assert seen.stream is not None
        beats = self._heartbeats.setdefault(seen.stream.number, Heartbeats())
        beats.line(seen.entry.n)
        self._of_stream.setdefault(seen.stream.number, seen)
        return beats

    def _since(self, seen: RecordedEvent) -> Instant:
        assert self._player.recorded_begin is not None
        return seen.now - self._player.recorded_begin

    def _count_heartbeats(self, number: int) -> None:
        """At the end of a stream: tell of heartbeats that the recording lacks, or that we do."""
        beats = self._heartbeats.pop(number, None)
        if beats is None:
            return
        beats.ours = self._player.heartbeats.get(number, [])
        for n in beats.missing(self._player.since_begin):
            self._tally.differ(self._of_stream[number].name, n, [MISSING], seen=False)
        for seen, known in beats.counted(self._player.since_begin):
            self._count(seen, known)

    def _pump(self, *, final: bool = False) -> None:
        for number, queue in self._queues.items():
            self._take(number, queue)
            for verdict in queue.decided(final=final):
                seen = self._of_stream[number]
                self._count(seen, verdict.differences, verdict.n, shown=verdict.seen)

    def _take(self, number: int, queue: FrameQueue) -> None:
        stream = self._player.streams.get(number)
        if stream is not None:
            queue.ours.extend(body for body in stream.take() if not is_heartbeat(body))

    def _closed(self, seen: RecordedEvent, closed: dict[str, Any], known: list[Difference]) -> None:
        stream = seen.stream
        assert stream is not None
        if seen.operation is not None:
            self._queue_of(stream.number, seen)
        self._heartbeats_of(seen)
        self._count_heartbeats(stream.number)
        ours = self._player.streams.get(stream.number)
        differences: list[Difference] = []
        code = closed.get("code")
        if closed.get("from") == "client":
            if ours is not None and ours.end is not None and ours.end[0]:
                differences.append(Difference("closed.from", "client", "service", "status"))
        elif closed.get("from") == "service" and code is not None:
            self._ends.append(_End(seen, known, code, ours, self._player.since_begin))
            return
        self._count(seen, merged(known, differences))

    def _count_ends(self, *, final: bool = False) -> None:
        """Compare ends of the service with ours. The line of an end tells no time: ours may come
        until time has moved, which the next line that tells it does.
        """
        now, left = self._player.since_begin, list[_End]()
        for end in self._ends:
            if not final and now <= end.since and (end.ours is None or end.ours.end is None):
                left.append(end)
                continue
            ended, differences = _end_of(end.ours, end.seen.entry.plane), list[Difference]()
            if ended != end.code:
                differences.append(Difference("closed.code", end.code, ended, "status"))
            self._count(end.seen, merged(end.known, differences))
        self._ends = left


def _late(held: tuple[Span, Span] | None) -> list[Difference]:
    """How long an answer took that we hold, in seconds. What we answer at once may take longer over
    a network, so that is no difference.
    """
    if held is None or abs(held[0] - held[1]) <= TOLERANCE:
        return []
    theirs, ours = (Decimal(span // NS_PER_MS) / 1000 for span in held)
    return [Difference("answer.after_s", theirs, ours, "time")]


def _values(
    sides: ValueComparer, operation: Operation, recorded: Any, ours: Any
) -> list[Difference]:
    """What differs between two answers or messages by value; of reports line by line."""
    cls = csv_lines.ROWS.get(operation.name)
    if cls is not None:
        texts = [csv_lines.report_in(operation, body) or "" for body in (recorded, ours)]
        return sides.messages(cls, *(csv_lines.messages(cls, text) for text in texts))
    return sides.message(operation.response, recorded or {}, ours or {})


def _end_of(ours: Stream | None, plane: str) -> Any:
    """How our stream ended: the gRPC status, or the code of a socket's close frame."""
    if ours is None or ours.end is None:
        return ABSENT
    return ours.end[0] if plane == "grpc" else ours.close_code


def _codes(recorded: Any, ours: Any) -> list[Difference]:
    """Refusals: clients branch on the code, never on the text (§7.2)."""
    if not (isinstance(recorded, dict) and isinstance(ours, dict)):
        return []
    return [
        Difference(f"answer.body.{name}", recorded[name], ours[name], "value")
        for name in ("code", "status", "error")
        if name in recorded and name in ours and recorded[name] != ours[name]
    ]
