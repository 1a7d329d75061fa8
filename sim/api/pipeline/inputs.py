"""What enters a simulation and what comes out of it, as data.

Inputs are redacted: verified credentials and fingerprints stand where secrets were
(`redaction.py`). They are exactly what the journal holds and what a replay feeds back in, so tags
and field names are part of the journal's format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct, field, json, structs

from sim.contract.contract import Plane
from sim.core.model.events import FaultInjected
from sim.core.webhooks.payloads import shown_url
from sim.core.webhooks.records import DeliveryRecord
from sim.kernel.instants import Instant, Span
from sim.kernel.journal import Line
from sim.kernel.timers import Timer

# ---- verified credentials


class VerifiedCredential(Struct, frozen=True, omit_defaults=True):
    """What verification found out about a caller's credentials. `problem` is "" when they hold.

    | kind | key |
    |---|---|
    | none | |
    | bearer | fingerprint of the token |
    | api_key | id of the key |
    | assertion | client id; `claims` holds what the token issuer needs |
    | script | firm or key id of a scenario's step; no call from outside has this kind |

    `nonce` is what the client drew at random (the fingerprint of an assertion's jti), and
    `audience` the address that it called this API by: both are journalled for replay, but outside
    the digest.
    """

    kind: str
    key: str = ""
    problem: str = ""
    claims: dict[str, str] = field(default_factory=dict)
    nonce: str = ""
    audience: str = ""


NOBODY = VerifiedCredential(kind="none")

# The `peer` of what a scenario's script does. That of a client is an address.
SCRIPT = "script"
# That of the answers of scripted receivers of webhooks.
RECEIVER = "receiver"

# ---- inputs


class RestCall(Struct, frozen=True, tag="rest", omit_defaults=True):
    """One HTTP request on a plane.

    `body` is text; a body that is no UTF-8 is `binary` instead. `participant` is the
    x-participant-id header; the exchange reads no other. `oversize` is the size of a body that the
    shell did not read because it is too large.
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
    """A client began a stream.

    For a server-streaming rpc `message` is the request, for a bidirectional one it is empty. For a
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
    """The client's side of a stream is gone."""

    stream: int
    peer: str = ""


class Advanced(Struct, frozen=True, tag="advance"):
    """Time moves to an instant; each timer due until then fires at exactly its own instant.

    It moves less far when a step of the scenario becomes due on the way: the step comes first.
    """

    to: Instant


class Stepped(Struct, frozen=True, tag="step"):
    """A step of the scenario begins; steps count from 1. What it does are inputs of their own."""

    step: int


class Controlled(Struct, frozen=True, tag="control", omit_defaults=True):
    """An operator's action that changes the world; `arguments` is the JSON text of its body."""

    action: str
    subject: str = ""
    arguments: str = "{}"
    peer: str = ""


class WebhookAnswered(Struct, frozen=True, tag="answer", omit_defaults=True):
    """The answer of a webhook receiver. Status 0: no HTTP answer came, `error` says why."""

    attempt: str
    status: int = 0
    error: str = ""
    retry_after: Span | None = None
    peer: str = ""


class AnswerDue(Struct, frozen=True, tag="answer_due"):
    """A deferred answer must leave now, as things stand, because nobody moves the clock."""

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
    """Whether an input is the scenario's own, of a step or a scripted receiver: a run of the same
    scenario makes it by itself.
    """
    return isinstance(input_, Stepped) or getattr(input_, "peer", "") in (SCRIPT, RECEIVER)


_read_input = json.Decoder(Input).decode


def without_nonce(entering: Input) -> tuple[Input, bytes]:
    """Return the input as digested, and JSON of what is the client's or this run's own, or b""."""
    credential = getattr(entering, "credential", NOBODY)
    if credential.nonce == "" and credential.audience == "":
        return entering, b""
    aside = {
        name: text for name in ("nonce", "audience") if (text := getattr(credential, name)) != ""
    }
    bare = structs.replace(credential, nonce="", audience="")
    return structs.replace(entering, credential=bare), json.encode(aside)


def recorded_input(line: Line) -> Input:
    """Return the input of a journal line with its nonce put back. DecodeError without an input."""
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
    | ready_at | when the answer may leave |
    | journal | body for the journal where the real one holds a secret |
    | shared | the body is public, and many callers get the same object |
    | chunks | a streamed body or the messages of a download, made when read; `body` is empty |
    | pending_on | name of the effect `Resolve` that will bring the answer, "" when this is it |
    | deadline | when the clock brings it at the latest; 0: somebody outside has to act |
    | connection_fault | what an injected fault does to the connection |
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


class Send(Struct, frozen=True, tag="send"):
    """A frame for a stream. Streams that get the same frame share one bytes object."""

    stream: int
    frame: bytes


class Close(Struct, frozen=True, tag="close"):
    """The exchange ends a stream, with a gRPC status or with `web_socket_code`."""

    stream: int
    code: int
    message: str
    web_socket_code: int = 1000


class Post(Struct, frozen=True, tag="post"):
    """A webhook attempt to make now, signed with the secret of this fingerprint ("" unsigned).

    `receiver` names the scripted receiver that answers it; then nothing is sent.
    """

    attempt: str
    url: str
    event_id: str
    body: bytes
    secret: str = ""
    timeout: Span = 5_000_000_000
    receiver: str = ""

    @property
    def shown_url(self) -> str:
        """The URL as whatever is printed, sent or written to a file to be shared has it."""
        return shown_url(self.url)


class Resolve(Struct, frozen=True, tag="resolve"):
    """The answer that an earlier reply announced with `pending_on`."""

    pending_on: str
    reply: Reply


Effect: TypeAlias = Send | Close | Post | Resolve


class Fired(Struct, frozen=True):
    """A timer that fired during an advance."""

    at: Instant
    timer: str
    subject: str


class StepResult(Struct, frozen=True, omit_defaults=True):
    """How a step of the scenario ended; `step` counts from 1. `failures` has a line for each thing
    that does not hold. `refused`: the exchange did not let it do what it wanted.
    """

    step: int
    name: str
    at: Instant
    failures: tuple[str, ...] = ()
    refused: bool = False


class Outcome(Struct, kw_only=True):
    """Everything that one input caused.

    `stream` is the id of the stream that it opened (0: none). `cause` is the latest earlier input
    that led to this one (0: none). `injections` are the faults that were injected; `answered` are
    delivery attempts that scripted receivers answered. `warning` tells the operator what could not
    be saved for later.
    """

    seq: int
    reply: Reply | None = None
    effects: list[Effect] = field(default_factory=list)
    fired: list[Fired] = field(default_factory=list)
    steps: list[StepResult] = field(default_factory=list)
    injections: list[FaultInjected] = field(default_factory=list)
    answered: list[DeliveryRecord] = field(default_factory=list)
    stream: int = 0
    value: object = None
    cause: int = 0
    warning: str = ""

    def take(self, parts: Sequence[Outcome]) -> None:
        """Combine the effects, timers, results and warnings of several outcomes, in order."""
        self.effects = [effect for part in parts for effect in part.effects]
        self.fired = [fired for part in parts for fired in part.fired]
        self.steps = [result for part in parts for result in part.steps]
        self.injections = [injection for part in parts for injection in part.injections]
        self.answered = [record for part in parts for record in part.answered]
        self.warning = "; ".join(filter(None, (part.warning for part in parts)))


# Who acts on a kind of timer, and on a type of input.
OutcomeHandlers: TypeAlias = Mapping[str, Callable[[Timer, Outcome], None]]
InputHandlers: TypeAlias = Mapping[type[Struct], Callable[[Input, Outcome], None]]
