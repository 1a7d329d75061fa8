"""The format of faults: what a fault matches, and how it acts on it.

A fault is written in a scenario or in the body of a control call. Which acts are possible depends
on what it matches (`KINDS`): a call, a stream frame, a webhook delivery, a command to the engine. A
fault with an impossible act is refused, never ignored.
"""

from __future__ import annotations

import fnmatch
from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert, field

from sim.core.catalogue.quirks import parse_chance
from sim.core.model.enums import ExecutionType
from sim.core.model.refusals import HTTP_OF_CODE, Code
from sim.core.model.why import Facts
from sim.core.service.json_patch import PatchOperation, check_patch
from sim.kernel.instants import NS_PER_S, Instant, Span, format_span, parse_instant, parse_span

HTTP = ("gateway", "retail", "exchange", "auth")
CALLS = (*HTTP, "grpc")
PLANES = (*CALLS, "stream", "webhook", "engine")
FRAMES = ("data", "snapshot", "heartbeat")
# Commands that a fault can delay in the engine: the operations of that plane.
ENGINE = ("place", "cross", "replace", "cancel")


class Kind(Struct, frozen=True):
    """A kind of act: its key in `act`, the planes that support it, and its effect."""

    name: str
    planes: tuple[str, ...]
    does: str


KINDS = (
    Kind(
        "status",
        PLANES[:-1],
        "answers a call with this HTTP status and the gRPC code that corresponds to it; ends a"
        " stream with it; makes a delivery attempt fail",
    ),
    Kind("code", PLANES[:-1], "the same, chosen by gRPC code"),
    Kind(
        "delay",
        PLANES,
        "delays by virtual time: an answer (504 from 30 s on), a frame and all frames after it, a"
        " delivery attempt, or a command to the engine; with `duplicate`, the second delivery of an"
        " event",
    ),
    Kind(
        "reset",
        PLANES[:-1],
        "resets the connection: of a call instead of answering, of a stream, of a delivery attempt",
    ),
    Kind(
        "close",
        (*HTTP, "stream"),
        "closes the connection before any byte of the answer, without a reset; of a WebSocket"
        " without a close frame",
    ),
    Kind(
        "refuse", CALLS, "the same as `reset`: whoever has accepted a connection can only reset it"
    ),
    Kind(
        "hang",
        (*CALLS, "webhook"),
        "never answers: a call ends at the client's own timeout, a delivery attempt at"
        " `webhook.timeout`",
    ),
    Kind(
        "half_close",
        CALLS,
        "executes the call, then closes the connection in the middle of the answer",
    ),
    Kind("slow_body", HTTP, "executes the call and sends the answer in slow pieces"),
    Kind("drop", ("stream", "webhook"), "loses the frame, or all attempts to deliver the event"),
    Kind("duplicate", ("stream", "webhook"), "sends the frame twice, or delivers the event twice"),
    Kind("reorder", ("stream",), "swaps the frame with the next one"),
    Kind("revoke", ("stream",), "ends the stream like a revoked session"),
    Kind(
        "timestamp",
        ("webhook",),
        "signs an attempt as if it were sent so long before (-10m) or after; impossible without a"
        " secret, because nothing is signed then",
    ),
    Kind(
        "patch",
        PLANES[:-1],
        "alters an answer, a frame or the body of a delivery, which is signed afterwards; whole or"
        " not at all",
    ),
)
EFFECTS = tuple(kind.name for kind in KINDS if kind.name not in ("status", "code", "delay"))
# Effects with which a delay can be combined, by plane; on calls it can with every effect.
_WITH_DELAY = {
    "stream": ("duplicate",),
    "webhook": ("status", "code", "reset", "hang", "duplicate"),
}
# Acts on the whole delivery of an event. Any other act on a webhook affects one attempt.
OF_DELIVERIES = ("drop", "duplicate")
# Effects on an answer: the call is handled first.
_OF_ANSWERS = ("half_close", "slow_body", "patch")

# The gRPC code for an HTTP status, as an edge would answer.
CODE_OF_HTTP = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    403: Code.PERMISSION_DENIED,
    404: Code.NOT_FOUND,
    405: Code.UNIMPLEMENTED,
    408: Code.DEADLINE_EXCEEDED,
    409: Code.ABORTED,
    413: Code.RESOURCE_EXHAUSTED,
    422: Code.FAILED_PRECONDITION,
    429: Code.RESOURCE_EXHAUSTED,
    499: Code.CANCELLED,
    500: Code.INTERNAL,
    501: Code.UNIMPLEMENTED,
    502: Code.UNAVAILABLE,
    503: Code.UNAVAILABLE,
    504: Code.DEADLINE_EXCEEDED,
}
_MESSAGES = {
    500: "internal error",
    502: "bad gateway",
    503: "service unavailable",
    504: "upstream timeout",
    429: "rate limit exceeded",
}


class FaultMatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the fault matches. All given keys must match; a fault without keys matches everything
    that its act supports. `nth`, `every` and `times` count calls, frames or commands; on webhooks
    they count delivery attempts, for `drop` and `duplicate` events.
    """

    plane: str = ""
    """API, or stream, webhook or engine; by default every plane that supports the act,
    except the engine"""
    operation: str = ""
    """operation, Rpc or Service.Rpc; for webhooks the event type; for the engine place, cross,
    replace or cancel. `*` stands for any text"""
    caller: str = ""
    """caller: firm, user, account or key id. `*` stands for any text"""
    symbol: str = ""
    """instrument that the call names in its path, query or body; with `plane: stream`, that the
    frame names. `*` stands for any text"""
    frame: str = ""
    """kind of a stream's frame: snapshot (what answers a subscription), heartbeat, or data (all
    others)"""
    execution: str = ""
    """type of an execution that a stream's frame reports, such as FILL or CANCELED. `*` stands for
    any text"""
    attempts: str = ""
    """attempts of a webhook delivery, counted from 1: 1, 1..3 or 2..; all by default"""
    nth: Annotated[int, Meta(ge=1)] = 0
    """affect only the n-th match"""
    every: Annotated[int, Meta(ge=1)] = 0
    """affect every n-th match"""
    probability: str = "always"
    """probability that a match is affected: always, never, a fraction or a decimal below 1"""
    from_: str = field(default="", name="from")
    """begin at this instant, or so long after the fault was added, such as +30s"""
    until: str = ""
    """end at this instant, or so long after the fault was added, such as +30s"""


class FaultAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How the fault acts: with an error (`status` or `code`), a `delay`, or an effect on the
    connection or message. A delay can be combined with an error or with one effect.
    """

    status: int = 0
    """HTTP status of the error, 400 to 599"""
    code: int | str = 0
    """gRPC status of the error, such as UNAVAILABLE or 14"""
    message: str = ""
    """message of the error"""
    retry_after: str = ""
    """header Retry-After of the answer: a duration such as 2s, sent as whole seconds, or any other
    text as it is; by default one second with a 429, else none"""
    delay: str = ""
    """delay in virtual time"""
    reset: bool = False
    """true: reset the connection"""
    close: bool = False
    """true: close the connection without an answer, and without a reset"""
    refuse: bool = False
    """true: reset the connection, as `reset` does"""
    hang: bool = False
    """true: never answer"""
    half_close: bool = False
    """true: execute the call, then close the connection in the middle of the answer"""
    slow_body: bool = False
    """true: execute the call and send the answer in slow pieces"""
    drop: bool = False
    """true: lose the frame, or all attempts to deliver the event"""
    duplicate: bool = False
    """true: send the frame, or deliver the event, twice"""
    reorder: bool = False
    """true: swap the frame with the next one"""
    revoke: bool = False
    """true: end the stream like a revoked session"""
    timestamp: str = ""
    """sign a delivery as if it were sent at another time, such as -10m"""
    patch: str | tuple[PatchOperation, ...] = ()
    """alter the message: operations of JSON Patch (RFC 6902) on its JSON form, or the name of a
    ready patch (`sim catalogue patches`)"""
    handled: bool = False
    """true: the exchange executes the call and only its answer is lost; half_close and slow_body
    always do so"""


class FaultSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault: which calls, frames, deliveries or orders it matches, and how it acts on them."""

    match: FaultMatch = field(default_factory=FaultMatch)
    """what the fault matches; everything by default"""
    act: FaultAct
    """how the fault acts"""
    times: int = 0
    """how often it acts before it ends; 0, the default, means no limit"""
    ttl: str = ""
    """time after which it ends, such as 1h; never by default"""


class FaultAction(Struct, frozen=True, kw_only=True):
    """A compiled act: the effect on one call, frame or attempt.

    `status` 0 means no error; `effect` is one of EFFECTS or empty. `handled` means that the call is
    executed and only its answer is affected; `alone`, that a delayed frame holds up no other.
    `skew` moves the timestamp of a delivery; `retry_text` is a Retry-After that is no duration.
    """

    fault: str
    status: int = 0
    code: Code = Code.OK
    message: str = ""
    retry_after: Span | None = None
    retry_text: str = ""
    delay: Span = 0
    effect: str = ""
    handled: bool = False
    patch: str | tuple[PatchOperation, ...] = ()
    alone: bool = False
    skew: Span = 0

    @property
    def alters(self) -> bool:
        """Whether it alters a message that is sent; it is known only then whether it can."""
        return bool(self.patch or self.skew)

    @property
    def answers(self) -> bool:
        """Whether it replaces the answer of a call instead of only delaying or altering it."""
        return bool(self.status or (self.effect and not self.alters))

    @property
    def of_delivery(self) -> bool:
        """Whether it applies to the whole delivery of an event instead of one attempt."""
        return self.effect in OF_DELIVERIES

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it does, as the names of the catalogue of faults."""
        kinds = ("status" if self.status else "", self.effect, "delay" if self.delay else "")
        return tuple(filter(None, kinds))

    @property
    def facts(self) -> Facts:
        """The facts of its injection: what it does, and whether the call was executed."""
        facts: Facts = {"kinds": " ".join(self.kinds)}
        return facts | {"handled": 1} if self.handled and self.answers else facts

    def __str__(self) -> str:
        parts = [
            f"status {self.status}" if self.status else "",
            self.effect,
            f"delay {format_span(self.delay)}" if self.delay else "",
        ]
        after = " after the call was handled" if self.handled and self.answers else ""
        return " and ".join(filter(None, parts)) + after


def fault_from(document: object) -> FaultSpec:
    """Return a fault from plain data, in which numbers and booleans may be text as in YAML.

    Raises ValueError with the position and the problem.
    """
    try:
        spec = convert(document, FaultSpec, strict=False)
    except ValidationError as error:
        raise ValueError(str(error)) from None
    check(spec)
    return spec


def check(spec: FaultSpec) -> None:
    """Raise ValueError for a fault that has no effect or contradicts itself."""
    compile_act("", spec.act)
    try:
        parse_chance(spec.match.probability)
    except ValueError as error:
        raise ValueError(f"probability: {error}") from None
    for text in (spec.match.from_, spec.match.until):
        moment(text, 0)
    if spec.ttl and parse_span(spec.ttl) <= 0:
        raise ValueError("ttl must be a positive duration such as 1h")
    if spec.times < 0:
        raise ValueError("times must be at least 1, or 0 for no limit")
    if spec.match.attempts:
        attempts_of(spec.match.attempts)
        if compile_act("", spec.act).of_delivery:
            raise ValueError(
                "drop and duplicate affect the whole delivery: remove `attempts`, or use `hang` to"
                " make an attempt fail"
            )
    if spec.match.frame and spec.match.frame not in FRAMES:
        raise ValueError(f"frame must be one of {', '.join(FRAMES)}, not {spec.match.frame!r}")
    if spec.match.execution and not fnmatch.filter(ExecutionType.__members__, spec.match.execution):
        types = ", ".join(ExecutionType.__members__)
        raise ValueError(f"execution must be one of {types}, not {spec.match.execution!r}")
    if spec.match.plane and spec.match.plane not in PLANES:
        raise ValueError(f"plane must be one of {', '.join(PLANES)}, not {spec.match.plane!r}")
    if not planes_of(spec):
        raise ValueError(f"{_possible(spec.act)}; this one matches {_matched(spec.match)}")


def acts_on_answer(act: FaultAct) -> bool:
    """Whether an act loses or alters an answer, so that the call is executed first."""
    return act.handled or any(getattr(act, effect) for effect in _OF_ANSWERS)


def can_answer(action: FaultAction) -> bool:
    """Whether an act is possible on a call with one answer: every act of its plane is."""
    return True


def can_open(action: FaultAction) -> bool:
    """Whether an act is possible on the opening of a stream, which has no answer to cut or alter
    and nothing that could be executed without its answer.
    """
    return not action.handled


def planes_of(spec: FaultSpec) -> tuple[str, ...]:
    """Return the planes that a fault matches and that support its act.

    Only calls can be executed without an answer (`handled`), and only deliveries have attempts. A
    fault affects the engine, or frames by their instrument, only if it names that plane.
    """
    matched = {spec.match.plane} if spec.match.plane else set(PLANES[:-1])
    if spec.match.attempts:
        matched &= {"webhook"}
    if selects_frames(spec.match):
        matched &= {"stream"}
    elif spec.match.symbol:
        matched &= {*CALLS, "engine"}
    if spec.act.handled:
        matched &= set(CALLS)
    acts = [kind for kind in KINDS if getattr(spec.act, kind.name)]
    for kind in acts:
        matched &= set(kind.planes)
    if spec.act.delay and len(acts) > 1:
        others = {kind.name for kind in acts} - {"delay"}
        matched -= {plane for plane, able in _WITH_DELAY.items() if not others <= set(able)}
    return tuple(plane for plane in PLANES if plane in matched)


def selects_frames(match: FaultMatch) -> bool:
    """Whether a match looks into the frames of streams."""
    return bool(match.frame or match.execution or (match.symbol and match.plane == "stream"))


def _possible(act: FaultAct) -> str:
    kinds = [kind for kind in KINDS if getattr(act, kind.name)]
    reasons = [f"{kind.name} is possible on {', '.join(kind.planes)}" for kind in kinds]
    if act.handled:
        reasons.append(f"handled is possible on {', '.join(CALLS)}")
    if act.delay and len(kinds) > 1:
        able = (f"{' and '.join(acts)} on {plane}" for plane, acts in _WITH_DELAY.items())
        reasons.append(f"delay goes with every act on calls, with {', with '.join(able)}")
    return "; ".join(reasons)


def _matched(match: FaultMatch) -> str:
    plane = match.plane or "any plane"
    if match.attempts:
        return f"{plane} with attempts, which only webhook deliveries have"
    if match.frame or match.execution:
        return f"{plane} with a frame or an execution, which only streams have"
    if match.symbol:
        return f"{plane} with a symbol, which deliveries do not have"
    return plane


def compile_act(name: str, act: FaultAct, *, alone: bool = False) -> FaultAction:
    """Compile an act. Raises ValueError if it has no effect or two at once."""
    effects = [effect for effect in EFFECTS if getattr(act, effect)]
    if len(effects) > 1:
        raise ValueError(f"a fault has one effect, not {' and '.join(effects)}: write two faults")
    code = _code(act.code)
    if act.status and not 400 <= act.status <= 599:
        raise ValueError(f"status must be an HTTP error from 400 to 599, not {act.status}")
    status = act.status or (HTTP_OF_CODE[code] if code else 0)
    delay = parse_span(act.delay) if act.delay else 0
    # Every 429 says when to retry (§7.1), including an injected one.
    retry_after, retry_text = (NS_PER_S if status == 429 else None), ""
    if act.retry_after:
        try:
            retry_after = parse_span(act.retry_after)
        except ValueError:
            retry_after, retry_text = None, act.retry_after
        if not retry_text.isprintable():
            raise ValueError("retry_after is one line of a header")
    skew = parse_span(act.timestamp) if act.timestamp else 0
    if act.timestamp and not skew:
        raise ValueError("timestamp must differ from the real one, such as -10m")
    if delay < 0 or (retry_after is not None and retry_after < 0):
        raise ValueError("delay and retry_after must not be negative")
    if not (status or effects or delay):
        raise ValueError(f"act needs one of status, code, delay, {', '.join(EFFECTS)}")
    if status and effects:
        raise ValueError(
            f"a fault answers with an error or has the effect {effects[0]}, not both: write two"
            " faults"
        )
    check_patch(act.patch)
    if (act.patch or skew) and (delay or act.handled):
        raise ValueError(f"{effects[0]} stands alone: write a second fault for what else")
    if not status and (act.message or act.retry_after):
        raise ValueError("message and retry_after belong to an error: add a status or a code")
    if act.handled and not (status or effects):
        raise ValueError(
            "handled needs a failure that replaces the answer: add a status, a code, reset, refuse"
            " or hang"
        )
    return FaultAction(
        fault=name,
        status=status,
        code=code or CODE_OF_HTTP.get(status, Code.UNKNOWN if status else Code.OK),
        message=act.message or _MESSAGES.get(status, "injected fault"),
        retry_after=retry_after,
        retry_text=retry_text,
        delay=delay,
        effect=effects[0] if effects else "",
        handled=acts_on_answer(act),
        patch=act.patch,
        alone=alone,
        skew=skew,
    )


def _code(value: int | str) -> Code:
    text = str(value)
    try:
        return Code(int(text)) if text.isascii() and text.isdigit() else Code[text.upper()]
    except (KeyError, ValueError):
        problem = f"code must be a gRPC status such as UNAVAILABLE or 14, not {value!r}"
        raise ValueError(problem) from None


def attempts_of(text: str) -> tuple[int, int]:
    """Return the first and last attempt of "2", "1..3" or "4.."; the last is 0 without an end.

    Raises ValueError for any other text.
    """
    first, dots, last = text.partition("..")
    numbers = (first, last or "0") if dots else (first, first)
    problem = f"attempts must be a number such as 1, or a range such as 1..3 or 2.., not {text!r}"
    if not all(number.isascii() and number.isdigit() and len(number) < 10 for number in numbers):
        raise ValueError(problem)
    begin, end = map(int, numbers)
    if begin < 1 or (last and end < begin):
        raise ValueError(problem)
    return begin, end


def moment(text: str, added: Instant) -> Instant | None:
    """Return an instant from text, or from "+30s" after `added`; None for "". Raises ValueError."""
    if not text:
        return None
    return added + parse_span(text) if text.startswith("+") else parse_instant(text)
