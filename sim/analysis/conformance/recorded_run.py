"""A run as the rules look at it: every call with what came of it, in order; streams with their
ends; webhook attempts with their answers.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field, json

from sim.analysis.conformance.rules import Finding
from sim.api.codecs.codecs import (
    BadInput,
    Casing,
    apply_path,
    form_decoder,
    json_decoder,
    protobuf_decoder,
    query_decoder,
)
from sim.api.pipeline.authentication import names_of
from sim.api.pipeline.inputs import (
    RestCall,
    RpcCall,
    StreamHungUp,
    StreamOpened,
    VerifiedCredential,
    WebhookAnswered,
    recorded_input,
)
from sim.api.pipeline.request_log import LoggedCall
from sim.api.pipeline.routing import Match, Router
from sim.contract.contract import Operation, Plane
from sim.kernel.instants import NS_PER_S, Instant, Span, parse_span
from sim.kernel.journal import read_line

if TYPE_CHECKING:
    from sim.simulation import Simulation

_HTTP_OF_CODE = {
    0: 200,
    1: 499,
    2: 500,
    3: 400,
    4: 504,
    5: 404,
    6: 409,
    7: 403,
    8: 429,
    9: 422,
    10: 409,
    12: 501,
    13: 500,
    14: 503,
    16: 401,
}


@dataclass(eq=False, kw_only=True)
class Call:
    """One request or the opening of a stream. `status` is the HTTP one, on gRPC the nearest;
    `caller` a participant, firm or address.

    `said` is what makes two calls the same: operation or address, query, body or message,
    participant. `read` gives its message.
    """

    seq: int
    at: Instant
    given: RestCall | RpcCall | StreamOpened
    operation: str
    caller: str
    status: int
    message: str
    body: dict[str, Any]
    events: list[dict[str, Any]]
    retry_after: Span | None
    ignored: tuple[str, ...]
    read: Callable[[], Any]
    said: str

    @cached_property
    def request(self) -> Any:
        """Its message; None where it was none. Read when first asked for: few rules look at few
        calls.
        """
        return self.read()

    @cached_property
    def rpc(self) -> str:
        """Name of the rpc, or the address of what is none."""
        return self.operation.rpartition(".")[2] or self.said[:60]

    @property
    def credential(self) -> VerifiedCredential:
        """What the door found out about the caller."""
        return self.given.credential

    def found(self, what: str = "", broken: str = "", because_of: Call | int = 0) -> Finding:
        """This call as an occasion."""
        cause = because_of if isinstance(because_of, int) else because_of.seq
        return Finding(
            seq=self.seq,
            at=self.at,
            caller=self.caller,
            what=what or f"{self.rpc} {self.status}",
            broken=broken,
            because_of=cause,
        )


class Life(Struct, kw_only=True):
    """A stream from its opening on. `code` is the gRPC status of an end by the exchange, -1 while
    it is open or when the client hung up.
    """

    opened: Call
    number: int
    ended: Instant | None = None
    ended_seq: int = 0
    code: int = -1
    message: str = ""


class Acknowledged(Struct, frozen=True):
    """What a receiver said to a webhook attempt."""

    seq: int
    at: Instant
    event_id: str
    url: str
    status: int
    error: str


class Run(Struct):
    """Everything clients did on the present branch of a simulation. `states`: (instant, state) of
    every change of an instrument's state.
    """

    sim: Simulation
    calls: list[Call] = field(default_factory=list)
    streams: list[Life] = field(default_factory=list)
    answers: list[Acknowledged] = field(default_factory=list)
    states: dict[str, list[tuple[Instant, int]]] = field(default_factory=dict)
    calls_of: dict[str, list[Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _Reader(self, self.sim).read()

    def add(self, call: Call) -> None:
        """One more call."""
        self.calls.append(call)
        self.calls_of.setdefault(call.caller, []).append(call)

    def after(self, call: Call, same: Callable[[Call], bool] = lambda other: True) -> Call | None:
        """The caller's next call of a kind."""
        mine = self.calls_of[call.caller]
        place = bisect_right(mine, call.seq, key=lambda other: other.seq)
        return next((other for other in islice(mine, place, None) if same(other)), None)


class _Reader:
    """Reads the journal into a run."""

    def __init__(self, run: Run, sim: Simulation) -> None:
        self._run = run
        self._sim = sim
        self._log = {entry.seq: entry for entry in sim.log.entries(0, sim.seq)}
        self._attempts: dict[str, tuple[str, str]] = {}
        self._open: dict[int, Life] = {}
        self._firms: dict[str, str] = {}

    @cached_property
    def _routers(self) -> dict[str, Router]:
        planes: tuple[Plane, ...] = ("gateway", "retail", "exchange", "auth")
        return {plane: Router(self._sim.contract.routes(plane)) for plane in planes}

    def read(self) -> None:
        """Every line, in order."""
        for raw in self._sim.journal.lines(0):
            line = read_line(raw)
            given, out = recorded_input(line), json.decode(line.out)
            if isinstance(given, RestCall | RpcCall | StreamOpened):
                call = self._call(line.seq, line.at, given, out)
                self._run.add(call)
                if "stream" in out:
                    life = self._open[out["stream"]] = Life(opened=call, number=out["stream"])
                    self._run.streams.append(life)
            elif isinstance(given, WebhookAnswered):
                event_id, url = self._attempts.pop(given.attempt, ("", ""))
                self._run.answers.append(
                    Acknowledged(line.seq, line.at, event_id, url, given.status, given.error)
                )
            elif isinstance(given, StreamHungUp):
                self._open.pop(given.stream, None)
            self._log_call(line.seq, line.at, out)

    def _log_call(self, seq: int, at: Instant, out: dict[str, Any]) -> None:
        for post in out.get("posts", ()):
            attempt, event_id, rest = post.split(" ", 2)
            self._attempts[attempt] = event_id, rest.rpartition(" ")[0]
        last = max((one["at"] for one in out.get("fired", ())), default=at)
        for closed in out.get("closed", ()):
            life = self._open.pop(closed["stream"], None)
            if life is not None:
                life.ended, life.ended_seq, life.code, life.message = (
                    last,
                    seq,
                    closed["code"],
                    closed["message"],
                )
        for event in out.get("events", ()):
            if event["event"] == "StateChanged":
                self._run.states.setdefault(event["symbol"], []).append(
                    (event["at"], event["state"])
                )

    def _call(
        self, seq: int, at: Instant, given: RestCall | RpcCall | StreamOpened, out: dict[str, Any]
    ) -> Call:
        entry = self._log.get(seq)
        why = entry.explanation if entry is not None and entry.explanation is not None else {}
        wait = why.get("retry_after_s")
        code = out.get("code", 0)
        web = isinstance(given, RestCall) or (isinstance(given, StreamOpened) and given.web_socket)
        body = out.get("body")
        operation = out.get("operation", "")
        if (
            not operation
            and not isinstance(given, RestCall)
            and (found := self._sim.contract.by_rpc(given.method)) is not None
        ):
            operation = found.name  # refused before anybody looked for it
        return Call(
            seq=seq,
            at=at,
            given=given,
            operation=operation,
            caller=self._caller(given, out),
            status=_answered(entry)
            or (
                out.get("status", 0) if web and out.get("status") else _HTTP_OF_CODE.get(code, 500)
            ),
            message=out.get("message", ""),
            body=body if isinstance(body, dict) else {},
            events=out.get("events", []),
            retry_after=-(-parse_span(f"{wait}s") // NS_PER_S) * NS_PER_S if wait else None,
            ignored=entry.ignored if entry is not None else (),
            read=partial(self._request, given, operation),
            said=_said(given),
        )

    def _caller(self, given: RestCall | RpcCall | StreamOpened, out: dict[str, Any]) -> str:
        """Who called, also where the call was refused before anybody asked: participant, firm or
        key's holder; the address of one without credentials.
        """
        key, exchange = given.credential.key, self._sim.exchange
        if given.credential.kind == "assertion":
            firm = exchange.firms.by_client(key)
            token = (
                out["body"].get("access_token", "")
                if firm is not None and isinstance(out.get("body"), dict)
                else ""
            )
            if firm is not None and token:
                self._firms[token.removeprefix("sha256:")] = firm.name
            return firm.name if firm is not None else key or given.peer
        if given.credential.kind == "bearer":
            return given.participant or self._firms.get(key) or key or given.peer
        if given.credential.kind == "api_key":
            return names_of(exchange, given.credential, None, given.peer)[0]
        return out.get("caller", "") or given.peer

    def _request(self, given: RestCall | RpcCall | StreamOpened, name: str) -> Any:
        if not name:
            return None
        operation: Operation = self._sim.contract.by_name(name)
        try:
            if not isinstance(given, RestCall):
                return protobuf_decoder(operation.request)(given.message)
            found = self._routers[given.plane].match(given.verb, given.path)
            if not isinstance(found, Match):
                return None
            if found.body == "":
                request = query_decoder(operation.request, Casing.CAMEL_OR_SNAKE)(given.query)
            else:
                request = (form_decoder if given.form else json_decoder)(operation.request)(
                    given.body.encode()
                )
            apply_path(request, found.path_params)
        except (BadInput, ValueError):
            return None
        return request


def _answered(entry: LoggedCall | None) -> int:
    """Status of an answer that was held and refused in the end: the journal's line of the call
    knows nothing of it yet.
    """
    return (
        entry.status
        if entry is not None
        and entry.explanation is not None
        and "answered_in" in entry.explanation
        else 0
    )


def _said(given: RestCall | RpcCall | StreamOpened) -> str:
    if isinstance(given, RestCall):
        return (
            f"{given.verb} {given.path}?{given.query} {given.participant}"
            f" {given.body or given.binary!r}"
        )
    return f"{given.method} {given.participant} {given.message.hex()}"
