"""What enters a simulation and what comes out of it, as data.

Inputs are the sealed form (credentials replaced by findings, see `sealing.py`): exactly what is
journalled and what a replay feeds back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct, field, json, structs

from sim.contract.contract import Plane
from sim.kernel.instants import Instant, Span
from sim.kernel.journal import Line
from sim.kernel.timers import Timer

# ---- sealed credentials


class Sealed(Struct, frozen=True, omit_defaults=True):
    """What the door found out about a caller's credentials. `problem` is empty when they hold.

    kind: "none", "bearer" (key: fingerprint of the token), "api_key" (key: key id), "assertion"
    (key: client id; `claims` what the issuer needs), "script" (key: firm or key id; a step of a
    scenario, which needs no signature and which no door ever seals). `nonce` is what the client
    drew at random (the fingerprint of an assertion's jti): journalled for replay, outside the
    digest.
    """

    kind: str
    key: str = ""
    problem: str = ""
    claims: dict[str, str] = field(default_factory=dict)
    nonce: str = ""


NOBODY = Sealed(kind="none")

# ---- inputs


class RestCall(Struct, frozen=True, tag="rest", omit_defaults=True):
    """One HTTP request on a plane ("gateway", "retail", "exchange", "auth").

    `body` is text; a body that is no UTF-8 travels as `binary`. `participant` is the
    x-participant-id header; other headers do not matter to the exchange.
    """

    plane: Plane
    verb: str
    path: str
    query: str = ""
    body: str = ""
    binary: bytes = b""
    participant: str | None = None
    credential: Sealed = NOBODY
    peer: str = ""
    form: bool = False
    oversize: int = 0


class RpcCall(Struct, frozen=True, tag="rpc", omit_defaults=True):
    """One unary gRPC request. `method` is the full path "/package.Service/Rpc", `message` the
    protobuf bytes.
    """

    method: str
    message: bytes = b""
    participant: str | None = None
    credential: Sealed = NOBODY
    peer: str = ""


class StreamOpened(Struct, frozen=True, tag="open", omit_defaults=True):
    """A client began a stream: a server-streaming or bidirectional rpc (`message` is the request of
    the former), or a WebSocket (`method` is its path).
    """

    method: str
    message: bytes = b""
    participant: str | None = None
    credential: Sealed = NOBODY
    peer: str = ""
    web_socket: bool = False


class StreamFrame(Struct, frozen=True, tag="frame", omit_defaults=True):
    """A client sent a frame on a stream: protobuf bytes on gRPC, the text's UTF-8 bytes on a
    WebSocket.
    """

    stream: int
    message: bytes = b""


class StreamHungUp(Struct, frozen=True, tag="hangup"):
    """The client's side of a stream is gone."""

    stream: int


class Advanced(Struct, frozen=True, tag="advance"):
    """Time moves to an instant; everything due until then fires, each at exactly its own instant."""

    to: Instant


class Controlled(Struct, frozen=True, tag="control", omit_defaults=True):
    """An operator's or tester's action that changes the world; `arguments` is the JSON text of its
    body.
    """

    action: str
    subject: str = ""
    arguments: str = "{}"


class WebhookAnswered(Struct, frozen=True, tag="answer", omit_defaults=True):
    """What a receiver said to an attempt. `status` 0 means no HTTP answer (`error` says why)."""

    attempt: str
    status: int = 0
    error: str = ""
    retry_after: Span | None = None


class AnswerDue(Struct, frozen=True, tag="answer_due"):
    """The clock did not move while a call was held for it: the answer of this name is wanted now,
    as things stand.
    """

    pending_on: str = field(name="awaits")


Input: TypeAlias = (
    RestCall
    | RpcCall
    | StreamOpened
    | StreamFrame
    | StreamHungUp
    | Advanced
    | Controlled
    | WebhookAnswered
    | AnswerDue
)

_read_input = json.Decoder(Input).decode


def without_nonce(given: Input) -> tuple[Input, bytes]:
    """(the input as digested, JSON of what the client drew at random or b"")."""
    credential = getattr(given, "credential", NOBODY)
    if not credential.nonce:
        return given, b""
    return structs.replace(given, credential=structs.replace(credential, nonce="")), json.encode(
        {"nonce": credential.nonce}
    )


def recorded_input(line: Line) -> Input:
    """The input of a journal line, what stands aside put back. DecodeError when there is none."""
    given: Input = _read_input(line.input)
    if line.aside and isinstance(given, RestCall):
        return structs.replace(
            given,
            credential=structs.replace(given.credential, nonce=json.decode(line.aside)["nonce"]),
        )
    return given


# ---- outcomes


class Reply(Struct, kw_only=True):
    """The answer to a call. `ready_at` is when it may leave; `code` is the gRPC status, `status`
    the HTTP one.

    `journal` is the body as the journal shows it where the real one holds a secret. A `shared` body
    is public and goes to many as it is. `chunks` is a streamed body (CSV) or the messages of a
    download over gRPC, made as they are read; `body` is then empty. `pending_on` is not empty while
    the answer depends on an input still to come: an effect `Resolve` of that name will bring it, by
    `deadline` where only time has to pass (0 where somebody outside has to answer). `failure` is
    the exception behind a 500 of ours; it never leaves the process.
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
    failure: BaseException | None = None


class Send(Struct, frozen=True, tag="send"):
    """A frame for a stream: protobuf bytes or WebSocket text bytes. One object goes to every stream
    that gets the same frame.
    """

    stream: int
    frame: bytes


class Close(Struct, frozen=True, tag="close"):
    """The exchange ends a stream: gRPC status and detail; a WebSocket closes with
    `web_socket_code`.
    """

    stream: int
    code: int
    message: str
    web_socket_code: int = 1000


class Post(Struct, frozen=True, tag="post"):
    """A webhook attempt to make now. `secret` is the fingerprint under which the vault knows the
    signing secret, empty for unsigned.
    """

    attempt: str
    url: str
    event_id: str
    body: bytes
    secret: str = ""
    timeout: Span = 5_000_000_000


class Resolve(Struct, frozen=True, tag="resolve"):
    """The answer that a reply was waiting for."""

    pending_on: str
    reply: Reply


Effect: TypeAlias = Send | Close | Post | Resolve


class Fired(Struct, frozen=True):
    """A timer that fired during an advance."""

    at: Instant
    timer: str
    subject: str


class Outcome(Struct, kw_only=True):
    """Everything that came of one input. `stream` is the id given to a stream that was opened."""

    seq: int
    reply: Reply | None = None
    effects: list[Effect] = field(default_factory=list)
    fired: list[Fired] = field(default_factory=list)
    stream: int = 0
    value: object = None


OutcomeHandlers: TypeAlias = Mapping[str, Callable[[Timer, Outcome], None]]
