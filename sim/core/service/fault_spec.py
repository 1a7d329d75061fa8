"""The format of faults: which calls, frames or deliveries a fault matches, and its effect on them.

A fault is a document in a scenario or in a call of the control plane. Its possible effects depend
on what it matches (`KINDS`): a call, a frame of a stream, a webhook delivery. A document with an
impossible effect is refused, never ignored.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, ValidationError, convert, field

from sim.core.catalogue.quirks import parse_chance
from sim.core.model.refusals import HTTP_OF_CODE, Code
from sim.kernel.instants import NS_PER_S, Instant, Span, format_span, parse_instant, parse_span

HTTP = ("gateway", "retail", "exchange", "auth")
CALLS = (*HTTP, "grpc")
PLANES = (*CALLS, "stream", "webhook", "engine")
# Commands that a fault can delay in the engine: the operations of that plane.
ENGINE = ("place", "cross", "replace", "cancel")


class Kind(Struct, frozen=True):
    """A kind of fault: its key in `act`, the planes where it can happen, and its effect."""

    name: str
    planes: tuple[str, ...]
    does: str


KINDS = (
    Kind(
        "status",
        PLANES[:-1],
        "answers with this HTTP status and the gRPC code that goes with it; ends a stream with it;"
        " fails each attempt of a delivery that it matches",
    ),
    Kind("code", PLANES[:-1], "the same by gRPC code"),
    Kind(
        "delay",
        PLANES,
        "takes so much virtual time: the answer (504 after 30 s), the frame and those behind it, an"
        " attempt of a delivery, the engine; with `duplicate` the second delivery of an event",
    ),
    Kind(
        "reset",
        PLANES[:-1],
        "resets the connection instead of answering; ends a stream, or an attempt, that way",
    ),
    Kind("refuse", CALLS, "closes the connection before a byte is answered"),
    Kind(
        "hang",
        (*CALLS, "webhook"),
        "never answers: the client's own time-out ends the call; `webhook.timeout` ends an attempt",
    ),
    Kind(
        "half_close",
        CALLS,
        "handles the call, then closes the connection in the middle of the answer",
    ),
    Kind("slow_body", HTTP, "handles the call and sends the answer in slow pieces"),
    Kind("drop", ("stream", "webhook"), "loses the frame, or the whole delivery of an event"),
    Kind("duplicate", ("stream", "webhook"), "sends the frame twice, or delivers the event twice"),
    Kind("reorder", ("stream",), "swaps the frame with the next"),
    Kind("revoke", ("stream",), "ends the stream as a revoked session"),
)
EFFECTS = tuple(kind.name for kind in KINDS if kind.name not in ("status", "code", "delay"))
# Acts on the whole delivery of an event. Any other act of a webhook affects one attempt.
OF_DELIVERIES = ("drop", "duplicate")
# Effects on an answer: the call is handled first.
_OF_ANSWERS = ("half_close", "slow_body")

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
    """Which calls, frames or deliveries to match.

    An empty field matches everything that the act applies to; names may contain `*`. `operation` is
    "Rpc" or "Service.Rpc" (for webhooks the event type); `caller` is any name of the caller;
    `symbol` is an instrument that the call names in its path, query or body; `attempts` are
    attempts of a delivery, counted from 1; `nth` matches the n-th match only, `every` each n-th;
    `probability` is as for quirks; `from` and `until` are instants, or "+30s" relative to the
    addition of the fault. Matches of a webhook are attempts; for `drop` and `duplicate` they are
    events.
    """

    plane: Annotated[
        str, "surface, stream, webhook or engine; every one but the engine when left out"
    ] = ""
    operation: Annotated[
        str, "Rpc or Service.Rpc, an event type of webhooks, or engine work; * matches any text"
    ] = ""
    caller: Annotated[str, "firm, user, account or key id of the caller; * matches any text"] = ""
    symbol: Annotated[str, "an instrument that the call names; * matches any text"] = ""
    attempts: Annotated[
        str, "attempts of a webhook delivery: 1, 1..3 or 2..; all when left out"
    ] = ""
    nth: Annotated[int, Meta(ge=1), "only the n-th match"] = 0
    every: Annotated[int, Meta(ge=1), "each n-th match"] = 0
    probability: Annotated[str, "always, never, a fraction or a decimal below 1"] = "always"
    from_: Annotated[str, "an instant, or +30s after the fault was added"] = field(
        default="", name="from"
    )
    until: Annotated[str, "an instant, or +30s after the fault was added"] = ""


class FaultAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The effect: an error (`status`, `code` or both), a `delay`, and at most one effect on the
    connection or the message.

    `handled` means that the exchange handles the call and only its answer is lost, so that the
    client cannot know. half_close and slow_body imply it.
    """

    status: Annotated[int, "HTTP error, 400 to 599"] = 0
    code: Annotated[int | str, "gRPC status, such as UNAVAILABLE or 14"] = 0
    message: Annotated[str, "message of the error"] = ""
    retry_after: Annotated[str, "Retry-After of the answer; a second for a 429"] = ""
    delay: Annotated[str, "virtual time that it takes longer"] = ""
    reset: Annotated[bool, "reset the connection"] = False
    refuse: Annotated[bool, "close the connection before a byte is answered"] = False
    hang: Annotated[bool, "never answer"] = False
    half_close: Annotated[bool, "handle the call, then close in the middle of the answer"] = False
    slow_body: Annotated[bool, "handle the call and send the answer in slow pieces"] = False
    drop: Annotated[bool, "lose the frame, or the delivery of an event"] = False
    duplicate: Annotated[bool, "send it twice"] = False
    reorder: Annotated[bool, "swap the frame with the next"] = False
    revoke: Annotated[bool, "end the stream as a revoked session"] = False
    handled: Annotated[bool, "the exchange handles the call, and only its answer is lost"] = False


class FaultSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault: which calls, frames or deliveries it matches, and what it does to them.

    It is injected at most `times` times (0: no limit) and ends `ttl` after it was added ("":
    never).
    """

    match: Annotated[FaultMatch, "which calls, frames or deliveries; everything when left out"] = (
        field(default_factory=FaultMatch)
    )
    act: Annotated[FaultAct, "what happens to them"]
    times: Annotated[int, "it strikes at most so often; 0 without end"] = 0
    ttl: Annotated[str, "it ends so long after it was added"] = ""


class FaultAction(Struct, frozen=True, kw_only=True):
    """The effect on one call, frame or attempt.

    `status` 0 means no error; `effect` is one of EFFECTS or empty. `handled` means that it affects
    the answer, after the call was handled.
    """

    fault: str
    status: int = 0
    code: Code = Code.OK
    message: str = ""
    retry_after: Span | None = None
    delay: Span = 0
    effect: str = ""
    handled: bool = False

    @property
    def answers(self) -> bool:
        """Whether it replaces the answer of a call instead of only delaying it."""
        return bool(self.status or self.effect)

    @property
    def of_delivery(self) -> bool:
        """Whether it applies to the whole delivery of an event instead of one attempt."""
        return self.effect in OF_DELIVERIES

    def __str__(self) -> str:
        parts = [
            f"status {self.status}" if self.status else "",
            self.effect,
            f"delay {format_span(self.delay)}" if self.delay else "",
        ]
        after = " after the call was handled" if self.handled and self.answers else ""
        return " and ".join(filter(None, parts)) + after


def fault_from(document: object) -> FaultSpec:
    """Return a fault from plain data, whose scalars may be text as in YAML.

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
        raise ValueError("ttl must be positive")
    if spec.times < 0:
        raise ValueError("times must be at least 1")
    if spec.match.attempts:
        attempts_of(spec.match.attempts)
        if compile_act("", spec.act).of_delivery:
            raise ValueError(
                "drop and duplicate happen to a whole delivery: leave `attempts` out, or write"
                " `hang` to lose an attempt"
            )
    if spec.match.plane and spec.match.plane not in PLANES:
        raise ValueError(f"plane must be one of {', '.join(PLANES)}, not {spec.match.plane!r}")
    if not planes_of(spec):
        raise ValueError(f"{_possible(spec.act)}; this one matches {_matched(spec.match)}")


def planes_of(spec: FaultSpec) -> tuple[str, ...]:
    """Return the planes that a fault matches and on which its act is possible.

    Only calls and commands to the engine name an instrument, only calls are handled, and only
    deliveries have attempts. A fault affects the engine only if it names that plane.
    """
    matched = {spec.match.plane} if spec.match.plane else set(PLANES[:-1])
    if spec.match.attempts:
        matched &= {"webhook"}
    if spec.match.symbol:
        matched &= {*CALLS, "engine"}
    if spec.act.handled:
        matched &= set(CALLS)
    for kind in KINDS:
        if getattr(spec.act, kind.name):
            matched &= set(kind.planes)
    return tuple(plane for plane in PLANES if plane in matched)


def _possible(act: FaultAct) -> str:
    kinds = [kind for kind in KINDS if getattr(act, kind.name)]
    reasons = [f"{kind.name} can happen on {', '.join(kind.planes)}" for kind in kinds]
    if act.handled:
        reasons.append("handled is said of calls")
    return "; ".join(reasons)


def _matched(match: FaultMatch) -> str:
    plane = match.plane or "any plane"
    if match.attempts:
        return f"{plane} by attempts, which only a webhook has"
    return f"{plane} by symbol, which only calls and the engine have" if match.symbol else plane


def compile_act(name: str, act: FaultAct) -> FaultAction:
    """Compile an act. Raises ValueError if it has no effect or two at once."""
    effects = [effect for effect in EFFECTS if getattr(act, effect)]
    if len(effects) > 1:
        raise ValueError(f"a fault does one of {' and '.join(effects)}, not both")
    code = _code(act.code)
    if act.status and not 400 <= act.status <= 599:
        raise ValueError(f"status must be an HTTP error, 400 to 599, not {act.status}")
    status = act.status or (HTTP_OF_CODE[code] if code else 0)
    delay = parse_span(act.delay) if act.delay else 0
    # Every 429 says when to retry (§7.1), including an injected one.
    retry_after = NS_PER_S if status == 429 else None
    if act.retry_after:
        retry_after = parse_span(act.retry_after)
    if delay < 0 or (retry_after is not None and retry_after < 0):
        raise ValueError("delay and retry_after must not be negative")
    if not (status or effects or delay):
        raise ValueError(f"act needs one of status, code, delay, {', '.join(EFFECTS)}")
    if status and effects:
        raise ValueError(f"a fault answers with a status or does {effects[0]}, not both")
    if act.handled and not (status or effects):
        raise ValueError("handled says that the answer is lost: add a status, reset or hang")
    return FaultAction(
        fault=name,
        status=status,
        code=code or CODE_OF_HTTP.get(status, Code.UNKNOWN if status else Code.OK),
        message=act.message or _MESSAGES.get(status, "injected fault"),
        retry_after=retry_after,
        delay=delay,
        effect=effects[0] if effects else "",
        handled=act.handled or bool(effects and effects[0] in _OF_ANSWERS),
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
    problem = f"attempts are a number such as 1, or a range such as 1..3 or 2.., not {text!r}"
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
