"""Checks of reads, calls and streams that come again."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sim.evidence.witness.check import WitnessCheck, short
from sim.evidence.witness.facts import (
    ReportedBook,
    ReportedExecution,
    ReportedInstrument,
    ReportedOrder,
    ReportedPosition,
)
from sim.evidence.witness.observation import ClientObservation, ObservedStream


class ReadsGoOn(WitnessCheck):
    """A later read never shows an older state.

    A client reads an order, a position or a book, and reads it again with the same operation after
    the first answer: the instant of the second answer is not earlier. Operations whose answers may
    be cached are not checked, nor are reads of the past (`asOf`).
    """

    name = "reads go on"
    depends_on = "§4: an answer shows the state at the time of the call"

    def order(self, fact: ReportedOrder, observed: ClientObservation) -> None:
        self._look(("order", fact.id), fact.at, observed)

    def position(self, fact: ReportedPosition, observed: ClientObservation) -> None:
        if "asOfTime" not in observed.request and "asOfDate" not in observed.request:
            self._look(("position", fact.account, fact.symbol), fact.at, observed)

    def book(self, fact: ReportedBook, observed: ClientObservation) -> None:
        self._look(("book", fact.symbol), fact.at, observed)

    def _look(self, subject: tuple[str, ...], at: str, observed: ClientObservation) -> None:
        operation = observed.operation
        if observed.stream is not None or not at or operation.cache or _tells_history(observed):
            return
        before = self.state_before((observed.client, operation.name, *subject), at, observed)
        if before is not None and at < before[0]:
            name = f"{operation.rpc} showed {' '.join(subject)}"
            self.contradict(f"{name} at {before[0]}Z, and later at {at}Z", [before[1], observed.n])


def _tells_history(observed: ClientObservation) -> bool:
    """Whether an operation shows the past: executions and trades show orders as they were."""
    name = observed.operation.rpc
    return "Execution" in name or "Trade" in name or "Activities" in name


class StatesGoOn(WitnessCheck):
    """A TERMINATED market stays TERMINATED, and an EXPIRED one can only become TERMINATED.

    The check applies along a stream of states, and to successive answers of one client.
    """

    name = "states go on"
    depends_on = "§3.1: EXPIRED leads to TERMINATED, which is final"

    _LAST = {"EXPIRED": 1, "TERMINATED": 2}

    def instrument(self, fact: ReportedInstrument, observed: ClientObservation) -> None:
        if observed.on_disturbed_stream:
            self.cannot_tell += 1
            return
        key = observed.client, observed.operation.name, observed.stream_number, fact.symbol
        state = fact.state.removeprefix("INSTRUMENT_STATE_")
        self.goes_on(fact.symbol, key, state, self._LAST, observed)


class KeysMeanOne(WitnessCheck):
    """A call that is repeated with its idempotency key has the same result.

    If two calls with the same client, operation, key and body are answered, both answers have
    the same id.
    """

    name = "keys mean one"
    depends_on = "§7.2: the same key and body give the same movement or order"

    def observation(self, observed: ClientObservation) -> None:
        """Look at answers to calls with a key."""
        if observed.kind != "answer" or not observed.ok or not isinstance(observed.body, dict):
            return
        key = observed.request.get("idempotencyKey")
        answer = key and _id(observed.body)
        if not answer:
            return
        rpc, request = observed.operation.rpc, repr(sorted(observed.request.items(), key=str))
        first = self.other_content((observed.client, rpc, request), answer, observed.n)
        if first is not None:
            text = f"{rpc} with key {short(key)} gave {first[0]} and then {answer}"
            self.contradict(text, [first[1], observed.n])


class RefusedChangesNothing(WitnessCheck):
    """What was refused changed nothing: no execution bears the trace id of a refused call.

    An execution that reports a rejection is no change. A failure (5xx) may come after the order was
    handled, and so may the answer of an injected fault.
    """

    name = "refused changes nothing"
    depends_on = "§7.1: statuses from 400 to 499 are final; §2.7: trace_id of an execution"

    def __init__(self) -> None:
        super().__init__()
        self._refused: dict[str, tuple[str, int]] = {}
        self._executed: dict[str, tuple[str, int]] = {}

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        trace = fact.trace_id.lstrip("0")
        if trace and not fact.type.endswith("REJECTED"):
            self._executed.setdefault(trace, (fact.id, observed.n))

    def observation(self, observed: ClientObservation) -> None:
        """Note a call that was refused."""
        if observed.refused:
            self._refused.setdefault(observed.refused, (observed.operation.rpc, observed.n))

    def finish(self) -> None:
        for trace, (rpc, line) in self._refused.items():
            self.applied += 1
            if trace in self._executed:
                execution, later = self._executed[trace]
                text = f"{rpc} was refused, but it caused execution {execution}"
                self.contradict(text, [line, later])


class Resumed(WitnessCheck):
    """A stream that resumes from a token reports nothing that came before the token.

    What came after the token it must not miss: see "nothing missed". An execution that was reported
    both before and after the token is not judged: its frame came twice.
    """

    name = "resumed"
    depends_on = "§6.2: resume_token replays what came after it"

    def __init__(self) -> None:
        super().__init__()
        self._tokens: dict[str, tuple[ObservedStream, int]] = {}
        self._reported: dict[ObservedStream, list[tuple[str, int]]] = defaultdict(list)

    def execution(self, fact: ReportedExecution, observed: ClientObservation) -> None:
        stream = observed.stream
        if stream is not None and stream.operation.rpc == "CreateDropCopySubscription":
            self._reported[stream].append((fact.id, observed.n))

    def observation(self, observed: ClientObservation) -> None:
        """Note the token of a frame; its executions have been noted already."""
        stream = observed.stream
        if stream is not None and stream.operation.rpc == "CreateDropCopySubscription":
            reported = self._reported[stream]
            token = observed.body.get("resumeToken") if isinstance(observed.body, dict) else None
            if token:
                self._tokens.setdefault(token, (stream, len(reported)))

    def finish(self) -> None:
        for stream, reported in self._reported.items():
            token = stream.request.get("resumeToken", "")
            before, count = self._tokens.get(token, (stream, 0))
            if before is stream or before.disturbed or stream.disturbed:
                self.cannot_tell += bool(token)
                continue
            names = [name for name, _ in self._reported[before]]
            older = {*names[:count]} - {*names[count:]}
            for name, line in reported:
                self.applied += 1
                if name in older:
                    text = f"execution {name} came before the token, but again after resuming"
                    self.contradict(text, [line])


_IDS = ("workflowId", "orderId", "id")


def _id(body: dict[str, Any]) -> str:
    """The id of the created object, in an answer or in its only inner message."""
    for name in _IDS:
        if body.get(name):
            return str(body[name])
    inner = [value for value in body.values() if isinstance(value, dict)]
    return _id(inner[0]) if len(inner) == 1 else ""
