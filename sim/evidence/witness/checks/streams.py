"""Checks of streams: what they must report, and in which order."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct, field

from sim.evidence.witness.check import WitnessCheck
from sim.evidence.witness.facts import ReportedExecution
from sim.evidence.witness.observation import ClientObservation, ObservedStream

# If one of these streams reports an execution of an order, it reports all of them.
_COMPLETE = frozenset(("CreateDropCopySubscription", "CreateOrderSubscription"))
_RETAIL_ORDERS = "SUBSCRIPTION_TYPE_ORDER"


class _ReportedExecutions(Struct):
    """Executions that a stream reported: by order, instants by id; and the latest of all."""

    stream: ObservedStream
    orders: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    latest: str = ""
    line: int = 0


class NothingMissed(WitnessCheck):
    """A stream that reports executions of an order misses none up to the latest one it reported.

    Reports, answers and other streams may show executions between the order's first execution
    on the stream and the stream's latest execution of any order. The stream must have reported
    them too. The instants of the executions decide, not when they were received, so delays on
    the way do not matter. Streams with an injected fault, and merged ones
    (`responsesDebounced`), are not judged.
    """

    name = "nothing missed"
    depends_on = "§6.2: streams deliver at least once; drop copy resumes without a gap"

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[str, dict[str, tuple[str, int]]] = defaultdict(dict)
        self._streams: dict[int, _ReportedExecutions] = {}

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        order = f"{fact.order.dialect} {fact.order.id}"
        self._known[order].setdefault(fact.id, (fact.at, observed.n))
        stream = observed.stream
        if stream is None or not _is_complete(stream, observed):
            return
        reported = self._streams.setdefault(stream.number, _ReportedExecutions(stream))
        reported.orders[order][fact.id] = fact.at
        if fact.at > reported.latest:
            reported.latest, reported.line = fact.at, observed.n

    def finish(self) -> None:
        for reported in self._streams.values():
            if reported.stream.disturbed:
                self.cannot_tell += len(reported.orders)
                continue
            for order, executions in reported.orders.items():
                self._judge(reported, order, executions)

    def _judge(self, reported: _ReportedExecutions, order: str, executions: dict[str, str]) -> None:
        first = min(executions.values())
        for name, (at, line) in self._known[order].items():
            if not first < at < reported.latest:
                continue
            self.applied += 1
            if name not in executions:
                rpc, number = reported.stream.operation.rpc, order.rpartition(" ")[2]
                self.contradict(
                    f"stream {rpc} reported order {number} at {first}Z and other executions until "
                    f"{reported.latest}Z, but missed execution {name} at {at}Z",
                    [line, reported.line],
                )


def _is_complete(stream: ObservedStream, observed: ClientObservation) -> bool:
    if stream.operation.rpc in _COMPLETE:
        return True
    request = observed.request
    return request.get("subscriptionType") == _RETAIL_ORDERS and not request.get(
        "responsesDebounced"
    )


class Resumed(WitnessCheck):
    """A stream that resumes from a token reports what came after the token, and nothing older.

    An execution that was reported both before and after the token is not judged: its frame came
    twice. If another stream of the same client reports an execution that is later than everything
    before the token, the resumed stream must report it too. This finds gaps that begin after the
    first stream ended.
    """

    name = "resumed"
    depends_on = "§6.2: resume_token replays what came after it"

    def __init__(self) -> None:
        super().__init__()
        self._tokens: dict[str, tuple[ObservedStream, int]] = {}
        self._reported: dict[int, list[tuple[str, str, int]]] = defaultdict(list)
        self._resumed: dict[int, tuple[ObservedStream, str]] = {}
        self._streams: dict[int, ObservedStream] = {}

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        stream = observed.stream
        if stream is None or stream.operation.rpc != "CreateDropCopySubscription":
            return
        self._streams[stream.number] = stream
        self._reported[stream.number].append((fact.id, fact.at, observed.n))
        self._resume(stream, observed)

    def observation(self, observed: ClientObservation) -> None:
        """Note the token of a frame; its executions have been noted already."""
        stream = observed.stream
        if stream is None or stream.operation.rpc != "CreateDropCopySubscription":
            return
        self._resume(stream, observed)
        token = observed.body.get("resumeToken") if isinstance(observed.body, dict) else None
        if token:
            self._tokens.setdefault(token, (stream, len(self._reported[stream.number])))

    def _resume(self, stream: ObservedStream, observed: ClientObservation) -> None:
        token = observed.request.get("resumeToken")
        if token and stream.number not in self._resumed:
            self._resumed[stream.number] = stream, token

    def finish(self) -> None:
        for stream, token in self._resumed.values():
            earlier = self._tokens.get(token)
            if earlier is None or not _same_subscription(earlier[0], stream):
                self.cannot_tell += 1
            else:
                self._judge(*earlier, stream)

    def _judge(self, before: ObservedStream, count: int, after: ObservedStream) -> None:
        reported = self._reported[after.number]
        names = {name for name, _, _ in reported}
        latest = max((at for _, at, _ in reported), default="")
        executions = self._reported[before.number]
        sooner, later = executions[:count], executions[count:]
        older = {name for name, _, _ in sooner} - {name for name, _, _ in later}
        earlier = {name for name, _, _ in sooner}
        newer = [row for row in later if row[0] not in earlier]
        newer += self._reported_elsewhere(before, after, sooner)
        for name, at, line in newer:
            if at < latest:
                self.applied += 1
                if name not in names:
                    text = f"execution {name} at {at}Z came after the token, but not after resuming"
                    self.contradict(text, [line])
        for name, _, line in reported:
            self.applied += 1
            if name in older:
                text = f"execution {name} came before the token, but again after resuming"
                self.contradict(text, [line])

    def _reported_elsewhere(
        self, before: ObservedStream, after: ObservedStream, sooner: list[tuple[str, str, int]]
    ) -> list[tuple[str, str, int]]:
        """Executions that other streams reported, later than everything before the token."""
        last = max((at for _, at, _ in sooner), default="")
        earlier = {name for name, _, _ in self._reported[before.number]}
        numbers = (before.number, after.number)
        others = (stream for stream in self._streams.values() if stream.number not in numbers)
        return [
            row
            for other in others
            if last and _same_subscription(other, after)
            for row in self._reported[other.number]
            if row[1] > last and row[0] not in earlier
        ]


def _same_subscription(before: ObservedStream, after: ObservedStream) -> bool:
    """Whether two streams of a client have the same filters and no injected faults."""
    narrowed = [
        [stream.request.get(name) or [] for name in ("symbols", "firms")]
        for stream in (before, after)
    ]
    undisturbed = not before.disturbed and not after.disturbed
    return undisturbed and before.client == after.client and narrowed[0] == narrowed[1]
