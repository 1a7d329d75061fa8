"""The inputs and outcomes of a simulation, as data.

Inputs are redacted: they contain verified credentials and fingerprints instead of secrets
(`redaction.py`). The journal contains them in exactly this form, and a replay feeds them back in.
Tags and field names are therefore part of the journal's format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET, Struct, UnsetType, field, json, structs

from sim.contract.contract import Plane
from sim.core.model.events import Event, FaultInjected
from sim.core.model.why import NO_FACTS, Facts
from sim.core.webhooks.payloads import shown_url
from sim.core.webhooks.records import DeliveryRecord
from sim.kernel.instants import Instant, Span
from sim.kernel.journal import Line
from sim.kernel.timers import Timer

# ---- verified credentials


class VerifiedCredential(Struct, frozen=True, omit_defaults=True):
    """The result of verifying a caller's credentials. `problem` is "" if they are valid.

    | kind | key |
    |---|---|
    | none | |
    | bearer | fingerprint of the token |
    | api_key | id of the key |
    | assertion | client id; `claims` has what the token issuer needs |
    | script | firm or key id of a scenario's step; no call from outside has this kind |

    `nonce` is the random part of the client's credentials (the fingerprint of an assertion's jti),
    and `audience` the address by which the client called this API. Both are journalled for replay,
    but are not part of the digest.
    """

    kind: str
    key: str = ""
    problem: str = ""
    claims: dict[str, str] = field(default_factory=dict)
    nonce: str = ""
    audience: str = ""


NOBODY = VerifiedCredential(kind="none")

# The `peer` of inputs of a scenario's script. The `peer` of a client is an address.
SCRIPT = "script"
# The `peer` of answers of scripted webhook receivers.
RECEIVER = "receiver"

# ---- inputs


class RestCall(Struct, frozen=True, tag="rest", omit_defaults=True):
    """One HTTP request on a plane.

    `body` is text; a body that is not UTF-8 is `binary` instead. `participant` is the
    x-participant-id header, the only header that the exchange reads. `oversize` is the size of a
    body that the server did not read because it is too large.
    """

    plane: Plane
    verb: str
    path: str
    query: str = ""
    body: str = ""
    binary: bytes = b""
    participant: str | None = None
    credential: VerifiedCredential = NOBODY
    peer: str = ""
    form: bool = False
    oversize: int = 0


class RpcCall(Struct, frozen=True, tag="rpc", omit_defaults=True):
    """One unary gRPC request: full path "/package.Service/Rpc" and protobuf bytes."""

    method: str
    message: bytes = b""
    participant: str | None = None
    credential: VerifiedCredential = NOBODY
    peer: str = ""


class StreamOpened(Struct, frozen=True, tag="open", omit_defaults=True):
    """A client opened a stream.

    For a server-streaming rpc `message` is the request; for a bidirectional one it is empty. For a
    WebSocket `method` is the path.
    """

    method: str
    message: bytes = b""
    participant: str | None = None
    credential: VerifiedCredential = NOBODY
    peer: str = ""
    web_socket: bool = False


class StreamFrame(Struct, frozen=True, tag="frame", omit_defaults=True):
    """A client sent a frame on a stream: protobuf bytes, or the UTF-8 text of a WebSocket."""

    stream: int
    message: bytes = b""
    peer: str = ""


class StreamHungUp(Struct, frozen=True, tag="hangup", omit_defaults=True):
    """The client closed its side of a stream, or disconnected; or it was too slow to be served any
    longer (rule S12).
    """

    stream: int
    peer: str = ""
    slow: bool = False


class Advanced(Struct, frozen=True, tag="advance"):
    """Time moves to an instant. Each timer that is due until then fires at its own instant.

    It stops early if a step of the scenario becomes due on the way: the step runs first.
    """

    to: Instant


class Stepped(Struct, frozen=True, tag="step"):
    """A step of the scenario begins; steps count from 1. The actions of the step are inputs
    of their own.
    """

    step: int


class Controlled(Struct, frozen=True, tag="control", omit_defaults=True):
    """An operator action that changes the exchange. `arguments` is the JSON text of its body."""

    action: str
    subject: str = ""
    arguments: str = "{}"
    peer: str = ""


class WebhookAnswered(Struct, frozen=True, tag="answer", omit_defaults=True):
    """The answer of a webhook receiver. Status 0: there was no HTTP answer, and
    `error` says why.
    """

    attempt: str
    status: int = 0
    error: str = ""
    retry_after: Span | None = None
    peer: str = ""


class AnswerDue(Struct, frozen=True, tag="answer_due"):
    """A deferred answer must be sent now, because nobody moves the clock."""

    pending_on: str = field(name="awaits")


Input: TypeAlias = (
    RestCall
    | RpcCall
    | StreamOpened
    | StreamFrame
    | StreamHungUp
    | Advanced
    | Stepped
    | Controlled
    | WebhookAnswered
    | AnswerDue
)


def by_script(input_: Input) -> bool:
    """Whether an input is the scenario's own, from a step or a scripted receiver. A run of the same
    scenario makes it again.
    """
    return isinstance(input_, Stepped) or getattr(input_, "peer", "") in (SCRIPT, RECEIVER)


_read_input = json.Decoder(Input).decode


def without_nonce(entering: Input) -> tuple[Input, bytes]:
    """Return the input as it enters the digest, and JSON of the parts that belong to the client or
    to this run only, or b"".
    """
    credential = getattr(entering, "credential", NOBODY)
    if credential.nonce == "" and credential.audience == "":
        return entering, b""
    aside = {
        name: text for name in ("nonce", "audience") if (text := getattr(credential, name)) != ""
    }
    bare = structs.replace(credential, nonce="", audience="")
    return structs.replace(entering, credential=bare), json.encode(aside)


def recorded_input(line: Line) -> Input:
    """Return the input of a journal line with its nonce restored. DecodeError if there is none."""
    entered: Input = _read_input(line.input)
    if line.aside and isinstance(entered, RestCall):
        aside = json.decode(line.aside, type=dict[str, str])
        return structs.replace(entered, credential=structs.replace(entered.credential, **aside))
    return entered


# ---- outcomes


class Reply(Struct, kw_only=True):
    """The answer to a call.

    | Field | Meaning |
    |---|---|
    | status, code | HTTP status; gRPC status |
    | ready_at | when the answer may be sent |
    | journal | body for the journal if the real one contains a secret |
    | shared | the body is public, and many callers get the same object |
    | chunks | a streamed body or the messages of a download, made when read; `body` is empty |
    | pending_on | name of the effect `Resolve` that brings the answer; "" if this is the answer |
    | deadline | when the clock brings it at the latest; 0: it depends on somebody outside |
    | connection_fault | the effect of an injected fault on the connection |
    | rule, facts | why the call was refused |
    """

    status: int = 200
    code: int = 0
    body: bytes = b""
    message: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    ready_at: Instant = 0
    request_id: str = ""
    journal: bytes | None = None
    shared: bool = False
    chunks: Iterator[bytes] | None = None
    connection_fault: str = ""
    pending_on: str = ""
    deadline: Instant = 0
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS


class Send(Struct, frozen=True, tag="send"):
    """A frame for a stream. Streams that get the same frame share one bytes object."""

    stream: int
    frame: bytes


class Close(Struct, frozen=True, tag="close"):
    """The exchange ends a stream, with a gRPC status or with `web_socket_code`, by a rule.

    `resets` if the connection under it is reset.
    """

    stream: int
    code: int
    message: str
    web_socket_code: int = 1000
    rule: str = ""
    facts: Facts | UnsetType = NO_FACTS
    resets: bool | UnsetType = UNSET


class Post(Struct, frozen=True, tag="post"):
    """A webhook attempt to make now, signed with the secret of this fingerprint ("" unsigned).

    `receiver` names the scripted receiver that answers it; then nothing is sent. `skew` moves the
    timestamp that is signed.
    """

    attempt: str
    url: str
    event_id: str
    body: bytes
    secret: str = ""
    timeout: Span = 5_000_000_000
    receiver: str = ""
    skew: Span = 0

    @property
    def shown_url(self) -> str:
        """The URL without secrets, for output and for files that can be shared."""
        return shown_url(self.url)


class Disconnect(Struct, frozen=True, tag="disconnect"):
    """All connections of a plane end: `how` is close, reset or goaway. It is not recorded."""

    plane: str
    how: str


class Resolve(Struct, frozen=True, tag="resolve"):
    """The answer that an earlier reply announced with `pending_on`."""

    pending_on: str
    reply: Reply


Effect: TypeAlias = Send | Close | Post | Resolve | Disconnect


class Fired(Struct, frozen=True):
    """A timer that fired during an advance."""

    at: Instant
    timer: str
    subject: str


class StepResult(Struct, frozen=True, omit_defaults=True):
    """The result of a step of the scenario; `step` counts from 1. `failures` has a line for
    each expectation that does not hold. `refused` means that the exchange refused the action
    of the step.
    """

    step: int
    name: str
    at: Instant
    failures: tuple[str, ...] = ()
    refused: bool = False


class Outcome(Struct, kw_only=True):
    """Everything that one input caused.

    `stream` is the id of the stream that it opened (0: none), and `admission` tells when that is
    announced to the client, and with which headers. `cause` is the latest earlier input
    that led to this one (0: none). `events` is what the exchange reported, in order; `answered` are
    delivery attempts that scripted receivers answered. `warning` tells the operator what could not
    be saved for later.
    """

    seq: int
    reply: Reply | None = None
    effects: list[Effect] = field(default_factory=list)
    fired: list[Fired] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    answered: list[DeliveryRecord] = field(default_factory=list)
    stream: int = 0
    admission: Reply | None = None
    value: object = None
    cause: int = 0
    warning: str = ""

    @property
    def injections(self) -> list[FaultInjected]:
        """The faults that were injected, in order."""
        return [event for event in self.events if isinstance(event, FaultInjected)]

    def take(self, parts: Sequence[Outcome]) -> None:
        """Combine the effects, timers, results and warnings of several outcomes, in order."""
        self.effects = [effect for part in parts for effect in part.effects]
        self.fired = [fired for part in parts for fired in part.fired]
        self.steps = [result for part in parts for result in part.steps]
        self.events = [event for part in parts for event in part.events]
        self.answered = [record for part in parts for record in part.answered]
        self.warning = "; ".join(filter(None, (part.warning for part in parts)))


# The handlers of timers by kind, and of inputs by type.
OutcomeHandlers: TypeAlias = Mapping[str, Callable[[Timer, Outcome], None]]
InputHandlers: TypeAlias = Mapping[type[Struct], Callable[[Input, Outcome], None]]
