"""A run as the rules read it: calls, streams and webhook answers, in the order of the journal.

Calls of the scenario's own steps are excluded, because they say nothing about a client. The journal
holds requests and their results; the request log adds why a call was refused. Messages are decoded
on first use, because few rules look at few calls.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

from msgspec import Struct

from sim.api.pipeline.authentication import names_of
from sim.api.pipeline.inputs import (
    Input,
    RestCall,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
    WebhookAnswered,
    by_script,
)
from sim.api.pipeline.request_log import LoggedCall, is_called
from sim.core.model.events import StateChanged
from sim.core.model.refusals import HTTP_OF_CODE, Code
from sim.kernel.instants import NS_PER_S, Instant, Span, format_instant
from sim.kernel.work import Work, done
from sim.read.record import JournalEntry, SentWebhook, entries, facts_of, posts_of
from sim.read.requests import CallInput, RequestReader
from sim.run.engine.journal_record import Record
from sim.run.simulation import Simulation

# HTTP statuses of the gRPC codes. An order that is refused with FAILED_PRECONDITION is 422 (§7.1).
_HTTP_OF_CODE = HTTP_OF_CODE | {Code.OK: 200, Code.FAILED_PRECONDITION: 422}


class Finding(Struct, frozen=True, kw_only=True):
    """One case in which a rule applied. `broken` says how the client broke it, or is "".

    `seq` is the position in the journal, and `subject` names the call there. `because_of` is the
    input that made the rule apply: the 429, the 5xx, the end of a stream.
    """

    seq: int
    at: Instant
    caller: str
    subject: str
    broken: str = ""
    because_of: int = 0

    def is_about(self, caller: str) -> bool:
        """Return whether it is about a caller, or a participant of that firm; "" means anybody."""
        if not caller or is_called(self.caller, caller):
            return True
        firms = (f"{caller}/", f"firms/{caller}/")
        return self.caller.startswith(firms)

    def document(self) -> dict[str, Any]:
        """Return the finding as JSON."""
        return {
            "seq": self.seq,
            "request_id": f"{self.seq:016x}",
            "at": format_instant(self.at),
            "caller": self.caller,
            "what": self.subject,
            "broken": self.broken,
            "because_of": self.because_of or None,
        }

    def line(self) -> str:
        """Return the finding as text."""
        return f"#{self.seq} {format_instant(self.at)} {self.caller}: {self.subject}: {self.broken}"


class Call:
    """One request, or the opening of a stream.

    `status` is the HTTP status, or the nearest one to a gRPC code. `caller` is a participant, firm
    or address. Two calls with the same `fingerprint` make the same request: operation or address,
    query, body or message, participant. `over` names the published limits that it exceeded,
    `ignored` the fields that nobody reads. `retry_after` is whole seconds; 0 if there was none.
    """

    ignored: tuple[str, ...] = ()
    over: tuple[str, ...] = ()
    retry_after: Span = 0

    def __init__(
        self,
        entry: JournalEntry,
        recorded: CallInput,
        operation: str,
        caller: str,
        logged: LoggedCall | None,
        read: Callable[[], Any],
    ) -> None:
        """`logged` is the call in the request log, if that goes back so far. `read` decodes it."""
        self.seq, self.at, self.input = entry.seq, entry.at, recorded
        self.operation, self.caller, self._read = operation, caller, read
        self.rule, self.events = entry.out.rule, entry.out.events
        self.body = _body_of(entry)
        self.status = _status(recorded, entry.out)
        self.fingerprint = _fingerprint(recorded)
        if logged is not None:
            self.ignored, self.over = logged.ignored, logged.over
        if logged is not None and logged.why is not None:
            self.retry_after = -(-(logged.why.retry_after or 0) // NS_PER_S) * NS_PER_S
            if logged.why.answered_in:  # its own line lacks the status of a later answer
                self.status = logged.status or self.status

    @cached_property
    def request(self) -> Any:
        """The message; None if there is none or it cannot be decoded."""
        return self._read()

    @cached_property
    def rpc(self) -> str:
        """The name of the rpc, or the address if that is unknown."""
        return self.operation.rpartition(".")[2] or self.fingerprint[:60]

    @property
    def credential(self) -> VerifiedCredential:
        """What redaction recorded about the caller's credentials."""
        return self.input.credential

    def finding(self, subject: str = "", broken: str = "", because_of: Call | int = 0) -> Finding:
        """Return a finding about this call."""
        return Finding(
            seq=self.seq,
            at=self.at,
            caller=self.caller,
            subject=subject or f"{self.rpc} {self.status}",
            broken=broken,
            because_of=because_of if isinstance(because_of, int) else because_of.seq,
        )


class RecordedStream(Struct, kw_only=True):
    """A stream.

    `code` is the gRPC status with which the exchange ended it, -1 while it is open or if the client
    disconnected; `rule` is the one by which it did so. `revoked` means that another stream took its
    session, or that a fault acted as if.
    """

    opened: Call
    number: int
    ended: Instant | None = None
    ended_seq: int = 0
    code: int = -1
    message: str = ""
    rule: str = ""
    revoked: bool = False


class WebhookAnswer(NamedTuple):
    """The answer of a receiver to a webhook attempt."""

    seq: int
    at: Instant
    sent: SentWebhook
    answered: WebhookAnswered

    @property
    def acknowledged(self) -> bool:
        return 200 <= self.answered.status < 300

    def finding(self, broken: str = "", because_of: int = 0) -> Finding:
        """Return a finding about this answer."""
        return Finding(
            seq=self.seq,
            at=self.at,
            caller=self.sent.url,
            subject=f"delivery of {self.sent.event_id}",
            broken=broken,
            because_of=because_of,
        )


class ClientActivity:
    """Everything that clients did on the current branch of a simulation.

    `states` holds (instant, state) for every change of an instrument's state. The journal is read
    at the creation, or `in_steps` by its caller. `clock_moves` is whether the clock is known to
    move while clients wait.
    """

    def __init__(
        self, sim: Simulation, *, in_steps: bool = False, clock_moves: bool = False
    ) -> None:
        self.sim = sim
        self.clock_moves = clock_moves
        self.calls: list[Call] = []
        self.calls_of: dict[str, list[Call]] = {}  # by caller
        self.streams: list[RecordedStream] = []
        self.answers: list[WebhookAnswer] = []
        self.states: dict[str, list[tuple[Instant, int]]] = {}
        self._log = {entry.seq: entry for entry in sim.log.entries(0, sim.seq)}
        self._attempts: dict[str, SentWebhook] = {}
        self._open: dict[int, RecordedStream] = {}
        self._requests = RequestReader(sim.contract)
        self._firms: dict[str, str] = {}  # fingerprint of a token: firm
        self._lines = sim.journal.lines(0, sim.seq)
        if not in_steps:
            done(self.read())

    def read(self) -> Work[None]:
        """Read the journal up to the input that was the last one at the creation."""
        for entry in entries(self._lines):
            self._read(entry, entry.input)
            self._read_outcome(entry)
            yield
        for call in self.calls:
            _ = call.request  # nearly all are needed, and one rule would decode them at once
            yield

    def next_call(
        self, call: Call, matches: Callable[[Call], bool] = lambda other: True
    ) -> Call | None:
        """Return the same caller's next call that matches."""
        return next(filter(matches, self.calls_after(call)), None)

    def calls_after(self, call: Call) -> Iterator[Call]:
        """Return an iterator over the same caller's later calls."""
        mine = self.calls_of[call.caller]
        return islice(mine, bisect_right(mine, call.seq, key=lambda other: other.seq), None)

    def _read(self, entry: JournalEntry, recorded: Input) -> None:
        if isinstance(recorded, CallInput) and not by_script(recorded):
            call = self._call(entry, recorded)
            self.calls.append(call)
            self.calls_of.setdefault(call.caller, []).append(call)
            if number := entry.out.stream:
                self._open[number] = RecordedStream(opened=call, number=number)
                self.streams.append(self._open[number])
        elif isinstance(recorded, WebhookAnswered):
            sent = self._attempts.pop(recorded.attempt, SentWebhook(recorded.attempt, "", ""))
            self.answers.append(WebhookAnswer(entry.seq, entry.at, sent, recorded))
        elif isinstance(recorded, StreamHungUp):
            self._open.pop(recorded.stream, None)

    def _read_outcome(self, entry: JournalEntry) -> None:
        out = entry.out
        self._attempts |= {sent.attempt: sent for sent in posts_of(out)}
        last = max((timer.at for timer in out.fired), default=entry.at)
        for closed in out.closed:
            stream = self._open.pop(closed.stream, None)
            if stream is not None:
                stream.ended, stream.ended_seq = last, entry.seq
                stream.code, stream.message = closed.code, closed.message
                stream.rule = closed.rule
                stream.revoked = "S6" in (stream.rule, facts_of(closed).get("like"))
        for event in out.events:
            if isinstance(event, StateChanged):
                states = self.states.setdefault(event.symbol, [])
                states.append((event.at, event.state))

    def _call(self, entry: JournalEntry, recorded: CallInput) -> Call:
        operation = entry.out.operation
        if not operation and not isinstance(recorded, RestCall):
            rpc = self.sim.contract.by_rpc(recorded.method)
            operation = rpc.name if rpc is not None else ""  # refused before it was looked up
        caller, logged = self._caller(entry, recorded), self._log.get(entry.seq)
        read = partial(self._request, recorded, operation)
        return Call(entry, recorded, operation, caller, logged, read)

    def _caller(self, entry: JournalEntry, recorded: CallInput) -> str:
        """Return the caller, even of a call that was refused before authentication.

        That is a participant, a firm or an API key's owner; without credentials, the address from
        which it called.
        """
        credential, exchange = recorded.credential, self.sim.exchange
        match credential.kind:
            case "assertion":
                firm = exchange.firms.by_client(credential.key)
                if firm is None:
                    return credential.key or recorded.peer
                if token := _body_of(entry).get("access_token", ""):
                    self._firms[token.removeprefix("sha256:")] = firm.name
                return firm.name
            case "bearer":
                known_firm = self._firms.get(credential.key)
                return recorded.participant or known_firm or credential.key or recorded.peer
            case "api_key":
                return names_of(exchange, credential, None, recorded.peer)[0]
        return entry.out.caller or recorded.peer

    def _request(self, recorded: CallInput, name: str) -> Any:
        return self._requests.request(recorded, self.sim.contract.by_name(name)) if name else None


def _status(recorded: CallInput, out: Record) -> int:
    over_http = isinstance(recorded, RestCall) or (
        isinstance(recorded, StreamOpened) and recorded.web_socket
    )
    return out.status if over_http and out.status else _HTTP_OF_CODE[Code(out.code)]


def _body_of(entry: JournalEntry) -> dict[str, Any]:
    """Return the body of an answer; empty if it is no JSON object or was not kept."""
    body = entry.body
    return body if isinstance(body, dict) else {}


def _fingerprint(recorded: CallInput) -> str:
    if isinstance(recorded, RestCall):
        address = f"{recorded.verb} {recorded.path}?{recorded.query}"
        return f"{address} {recorded.participant} {recorded.body or recorded.binary!r}"
    return f"{recorded.method} {recorded.participant} {recorded.message.hex()}"
