"""Faults a tester asked for (design D6): which calls they strike, and what happens to those.

A fault is a document of a scenario or of the control plane, checked when it is added. Each counts the calls it matches and draws from its own entropy stream,
so adding one never changes the luck of another. The first fault that strikes a call acts; all that match it count it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import lru_cache
from typing import ClassVar

from msgspec import Struct, ValidationError, convert, field

from sim.core.context import Context
from sim.core.quirks import Chance, parse_chance
from sim.core.refusals import Code, Injected
from sim.kernel.instants import Instant, Span, parse_instant, parse_span

PLANES = ("gateway", "retail", "exchange", "auth", "grpc", "stream", "webhook")

# What can happen besides an error status. The first four befall a connection, the others a message on a stream or a webhook delivery.
CONNECTION_EFFECTS = ("reset", "refuse", "half_close", "slow_body")
MESSAGE_EFFECTS = ("drop", "duplicate", "reorder", "revoke")

_CODE_OF_HTTP = {
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
_HTTP_OF_CODE = {
    Code.CANCELLED: 499,
    Code.INVALID_ARGUMENT: 400,
    Code.OUT_OF_RANGE: 400,
    Code.FAILED_PRECONDITION: 400,
    Code.UNAUTHENTICATED: 401,
    Code.PERMISSION_DENIED: 403,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.ABORTED: 409,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.UNIMPLEMENTED: 501,
    Code.UNAVAILABLE: 503,
    Code.DEADLINE_EXCEEDED: 504,
}
_MESSAGES = {500: "internal error", 502: "bad gateway", 503: "service unavailable", 504: "upstream timeout", 429: "rate limit exceeded"}


class FaultMatch(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Which calls. Empty matches everything; names may hold `*`.

    `operation` is "Rpc" or "Service.Rpc" (for webhooks the event type); `caller` any name of the caller; `nth` only the n-th matching call, `every` each n-th;
    `probability` as for quirks; `from` and `until` instants, or "+30s" counted from when the fault was added.
    """

    plane: str = ""
    operation: str = ""
    caller: str = ""
    symbol: str = ""
    nth: int = 0
    every: int = 0
    probability: str = "always"
    from_: str = field(default="", name="from")
    until: str = ""


class FaultAct(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What happens: an error (`status` and/or `code`), a `delay`, and at most one effect on the connection or the message."""

    status: int = 0
    code: int | str = 0
    message: str = ""
    retry_after: str = ""
    delay: str = ""
    reset: bool = False
    refuse: bool = False
    half_close: bool = False
    slow_body: bool = False
    drop: bool = False
    duplicate: bool = False
    reorder: bool = False
    revoke: bool = False


class FaultSpec(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A fault as it is written. It strikes at most `times` (0: without end) and is gone `ttl` after it was added ("": never)."""

    match: FaultMatch = field(default_factory=FaultMatch)
    act: FaultAct
    times: int = 0
    ttl: str = ""


class FaultAction(Struct, frozen=True, kw_only=True):
    """What befalls one call. `status` 0 means no error of its own; `effect` is one of the two lists above or empty."""

    fault: str
    status: int = 0
    code: Code = Code.OK
    message: str = ""
    retry_after: Span | None = None
    delay: Span = 0
    effect: str = ""


class InjectedFault(Injected):
    """An injected error. `disturb` names what befalls the connection instead of, or besides, the answer."""

    section: ClassVar[str] = "7.1"

    def __init__(self, action: FaultAction) -> None:
        super().__init__(
            action.status or 503,
            action.code if action.status else Code.UNAVAILABLE,
            action.message or "service unavailable",
            rule=f"fault {action.fault}",
            retry_after=action.retry_after,
        )
        self.disturb = action.effect
        self.remedy = f"a tester injected this: DELETE /_sim/v1/faults/{action.fault} ends it"


class Fault(Struct, kw_only=True):
    """A fault in force: what was written, what it came to, and how often it matched and struck."""

    id: str
    spec: FaultSpec
    action: FaultAction
    begins: Instant | None
    ends: Instant | None
    added: Instant
    seen: int = 0
    struck: int = 0


class FaultsState(Struct):
    """Faults in order of addition, by id."""

    faults: dict[str, Fault] = field(default_factory=dict)


def fault_from(document: object) -> FaultSpec:
    """A fault from plain data, whose scalars may be text as in YAML. ValueError says what is wrong and where."""
    try:
        spec = convert(document, FaultSpec, strict=False)
    except ValidationError as wrong:
        raise ValueError(str(wrong)) from None
    check(spec)
    return spec


def check(spec: FaultSpec) -> None:
    """Refuse (ValueError) a fault that means nothing or contradicts itself."""
    _action("", spec.act)
    parse_chance(spec.match.probability)
    for text in (spec.match.from_, spec.match.until):
        _moment(text, 0)
    if spec.ttl and parse_span(spec.ttl) <= 0:
        raise ValueError("ttl must be positive")
    if spec.match.plane and spec.match.plane not in PLANES:
        raise ValueError(f"plane is one of {', '.join(PLANES)}, not {spec.match.plane!r}")
    if min(spec.match.nth, spec.match.every, spec.times) < 0:
        raise ValueError("nth, every and times count from 1")


class Faults:
    """Faults in force."""

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._state = FaultsState()
        self._faults = self._state.faults

    @property
    def armed(self) -> bool:
        """Whether there is any fault at all."""
        return bool(self._faults)

    def add(self, spec: FaultSpec) -> str:
        """Put a fault in force and return its id. ValueError as for `check`."""
        check(spec)
        now = self._ctx.now
        name = f"f{self._ctx.ids.count('fault')}"
        ends = [moment for moment in (_moment(spec.match.until, now), now + parse_span(spec.ttl) if spec.ttl else None) if moment is not None]
        self._faults[name] = Fault(
            id=name, spec=spec, action=_action(name, spec.act), begins=_moment(spec.match.from_, now), ends=min(ends, default=None), added=now
        )
        return name

    def remove(self, name: str) -> bool:
        """End a fault; False when there is none of this id."""
        return self._faults.pop(name, None) is not None

    def all(self) -> tuple[Fault, ...]:
        """Faults in force, oldest first."""
        return tuple(self._faults.values())

    def pick(self, plane: str, operation: str = "", caller: tuple[str, ...] = (), symbol: str = "") -> FaultAction | None:
        """What befalls a call, or None. `operation` is "Service.Rpc", `caller` every name the caller goes by."""
        if not self._faults:
            return None
        chosen = None
        over = []
        now = self._ctx.now
        for fault in self._faults.values():
            if fault.ends is not None and now >= fault.ends:
                over.append(fault.id)
                continue
            if (fault.begins is None or now >= fault.begins) and _matches(fault.spec.match, plane, operation, caller, symbol):
                fault.seen += 1
                if chosen is None and self._strikes(fault):
                    fault.struck += 1
                    chosen = fault.action
                    if fault.struck == fault.spec.times:
                        over.append(fault.id)
        for name in over:
            del self._faults[name]
        return chosen

    def strike(self, plane: str, operation: str = "", caller: tuple[str, ...] = (), symbol: str = "") -> FaultAction | None:
        """`pick`, and let it happen to a call: the delay is added to the answer's time, an error or a broken connection is raised as `InjectedFault`."""
        action = self.pick(plane, operation, caller, symbol)
        if action is not None:
            self._ctx.elapsed += action.delay
            if action.status or action.effect in CONNECTION_EFFECTS:
                raise InjectedFault(action)
        return action

    def _strikes(self, fault: Fault) -> bool:
        match = fault.spec.match
        if match.nth and fault.seen != match.nth:
            return False
        if match.every and fault.seen % match.every:
            return False
        odds = _chance(match.probability)
        if odds.numerator in (0, odds.denominator):
            return odds.numerator > 0
        return self._ctx.entropy.stream(f"fault.{fault.id}").chance(odds.numerator, odds.denominator)

    def save(self) -> FaultsState:
        """Faults with their counts."""
        return self._state

    def load(self, state: object) -> None:
        """Take saved faults."""
        self._state = convert(state, FaultsState)
        self._faults = self._state.faults


def _matches(match: FaultMatch, plane: str, operation: str, caller: tuple[str, ...], symbol: str) -> bool:
    if match.plane and match.plane != plane:
        return False
    if match.operation and not _named(match.operation, operation) and not _named(match.operation, operation.rpartition(".")[2]):
        return False
    if match.caller and not any(_named(match.caller, name) for name in caller):
        return False
    return not match.symbol or _named(match.symbol, symbol)


def _named(pattern: str, name: str) -> bool:
    return pattern == name or ("*" in pattern and fnmatchcase(name, pattern))


def _action(name: str, act: FaultAct) -> FaultAction:
    effects = [effect for effect in (*CONNECTION_EFFECTS, *MESSAGE_EFFECTS) if getattr(act, effect)]
    if len(effects) > 1:
        raise ValueError(f"a fault does one of {' and '.join(effects)}, not both")
    code = _code(act.code)
    if act.status and not 400 <= act.status <= 599:
        raise ValueError(f"status is an HTTP error, 400 to 599, not {act.status}")
    status = act.status or (_HTTP_OF_CODE.get(code, 500) if code else 0)
    delay = parse_span(act.delay) if act.delay else 0
    retry_after = parse_span(act.retry_after) if act.retry_after else None
    if delay < 0 or (retry_after is not None and retry_after < 0):
        raise ValueError("delay and retry_after must not be negative")
    if not (status or effects or delay):
        raise ValueError(f"act needs one of status, code, delay, {', '.join((*CONNECTION_EFFECTS, *MESSAGE_EFFECTS))}")
    return FaultAction(
        fault=name,
        status=status,
        code=code or _CODE_OF_HTTP.get(status, Code.UNKNOWN if status else Code.OK),
        message=act.message or _MESSAGES.get(status, "injected fault"),
        retry_after=retry_after,
        delay=delay,
        effect=effects[0] if effects else "",
    )


def _code(given: int | str) -> Code:
    text = str(given)
    try:
        return Code(int(text)) if text.isascii() and text.isdigit() else Code[text.upper()]
    except (KeyError, ValueError):
        raise ValueError(f"code is a gRPC status such as UNAVAILABLE or 14, not {given!r}") from None


def _moment(text: str, added: Instant) -> Instant | None:
    if not text:
        return None
    return added + parse_span(text) if text.startswith("+") else parse_instant(text)


@lru_cache(maxsize=256)
def _chance(text: str) -> Chance:
    return parse_chance(text)
