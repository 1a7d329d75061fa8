"""Every deliberate error, one class each: gRPC code, default message, section. No HTTP here;
`api/errors.py` maps classes to each surface.

A refusal carries what a person needs to act on it: the rule or fault that decided, the state it
met, what would have worked, and whether to retry. Clients never see these in the body; they are
asked for by request id, or read from `x-sim-explain` unless the simulator runs `--opaque`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

from sim.core.model.enums import CancelRejectReason, RejectReason
from sim.kernel.instants import Span


class Code(IntEnum):
    """gRPC status codes."""

    OK = 0
    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Refusal(Exception):
    """A deliberate no. `rule` names the rule, quirk or fault (for example "M6"); `remedy` says what
    would have worked.
    """

    code: ClassVar[Code] = Code.INTERNAL
    section: ClassVar[str] = "7.1"
    default: ClassVar[str] = "internal error"
    retry: ClassVar[bool] = False

    def __init__(
        self,
        message: str = "",
        *,
        rule: str = "",
        remedy: str = "",
        retry_after: Span | None = None,
        reason: RejectReason = RejectReason.EXCHANGE_OPTION,
        cancel_reason: CancelRejectReason = CancelRejectReason.EXCHANGE_OPTION,
    ) -> None:
        super().__init__(message or self.default)
        self.message = message or self.default
        self.rule = rule
        self.remedy = remedy
        self.retry_after = retry_after
        self.reason = reason
        self.cancel_reason = cancel_reason


class InvalidRequest(Refusal):
    """A field is missing, malformed or does not combine with another."""

    code = Code.INVALID_ARGUMENT
    default = "invalid request"


class Unauthenticated(Refusal):
    """No credentials, or ones that are wrong, expired or from elsewhere."""

    code = Code.UNAUTHENTICATED
    section = "5.1"
    default = "unauthenticated"


class InvalidSignature(Unauthenticated):
    """A retail request whose signature or timestamp does not hold."""

    section = "5.2"
    default = "Invalid API key signature"


class PermissionDenied(Refusal):
    """The caller is known and may not do this."""

    code = Code.PERMISSION_DENIED
    section = "5.1"
    default = "permission denied"


class MissingScope(PermissionDenied):
    """The token lacks the operation's scope."""

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"permission denied: missing required scope {scope}",
            rule="S5.1-9",
            remedy=f"use a client that was granted {scope}",
        )


class NotFound(Refusal):
    """No such resource, for this caller."""

    code = Code.NOT_FOUND
    default = "Not Found"


class UnknownPath(NotFound):
    """No operation has this path on this plane (or not on this date)."""

    default = "Not Found"


class MethodNotAllowed(Refusal):
    """The path exists, the verb does not."""

    code = Code.UNIMPLEMENTED
    default = "Method Not Allowed"

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(rule="S7.1-4", remedy="use " + " or ".join(allowed))
        self.allowed = allowed


class UnknownMethod(Refusal):
    """gRPC: no such service or method."""

    code = Code.UNIMPLEMENTED
    default = "unknown service"


class NotBuilt(Refusal):
    """The operation is in the contract and its behaviour is not built yet. The answer says so
    instead of inventing one.
    """

    code = Code.UNIMPLEMENTED
    section = "4"

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"{operation} is part of the contract, but this sandbox does not simulate it yet",
            rule="not-built",
            remedy="`sim catalogue operations` lists what is served",
        )


class DuplicateOrder(Refusal):
    """The client order id belongs to an order that is still open (rule M6)."""

    code = Code.ALREADY_EXISTS
    default = "ClOrdID already in use by an open order"


class AlreadyExists(Refusal):
    """The resource exists, or an idempotency key came with another body."""

    code = Code.ALREADY_EXISTS
    default = "already exists"


class OrderDone(Refusal):
    """Cancel or replace of an order that is done (rule M34): a conflict."""

    code = Code.FAILED_PRECONDITION
    default = "Unknown order"

    def __init__(self, message: str = "", *, rule: str = "M34", remedy: str = "") -> None:
        super().__init__(
            message, rule=rule, remedy=remedy, cancel_reason=CancelRejectReason.UNKNOWN_ORDER
        )


class UnknownOrder(NotFound):
    """Cancel or replace of an order that never was (rule M34)."""

    default = "Unknown order"

    def __init__(self, message: str = "", *, rule: str = "M34", remedy: str = "") -> None:
        super().__init__(
            message, rule=rule, remedy=remedy, cancel_reason=CancelRejectReason.UNKNOWN_ORDER
        )


class OrderRefused(Refusal):
    """Well-formed, but against a limit or the instrument's state (rules M4, M5, P3, table 1.2): 422
    on the exchange.
    """

    code = Code.FAILED_PRECONDITION
    default = "order refused"


class InsufficientFunds(OrderRefused):
    """Dearer than the account can pay (rules P3, P4)."""


class InstrumentNotTradable(OrderRefused):
    """The instrument's state forbids the operation."""

    section = "3.1"


class IllegalTransition(Refusal):
    """An operator asked for a lifecycle edge that does not exist (rule L10)."""

    code = Code.FAILED_PRECONDITION
    section = "3.1"


class Conflict(Refusal):
    """The present state of something forbids the action."""

    code = Code.FAILED_PRECONDITION


class SsnTaken(Refusal):
    """One SSN maps to one account platform-wide (§7.2)."""

    code = Code.FAILED_PRECONDITION
    section = "7.2"
    default = "user already provisioned with a different SSN"


class EntryTypeSuppressed(Refusal):
    """One of the twelve internal ledger entry types was asked for (§4.3)."""

    code = Code.ABORTED
    section = "4.3"
    default = "entry type not available"


class PayloadTooLarge(Refusal):
    """Body over the limit (§7.1: 413)."""

    code = Code.RESOURCE_EXHAUSTED
    default = "payload too large"


class RateLimited(Refusal):
    """Too many calls. `rung` says which limit: endpoint (names the method) or global (rules R4,
    R5).
    """

    code = Code.RESOURCE_EXHAUSTED
    section = "8"
    retry = True

    def __init__(self, message: str, *, retry_after: Span, rung: str, rule: str = "R3") -> None:
        super().__init__(
            message,
            rule=rule,
            remedy="wait Retry-After seconds, then call again",
            retry_after=retry_after,
        )
        self.rung = rung


class StreamLimit(Refusal):
    """The firm's pool of concurrent streams is full (rule S7), or a key has all the WebSockets it
    may have.
    """

    code = Code.RESOURCE_EXHAUSTED
    section = "8"


class InternalFailure(Refusal):
    """Something that the service is documented to fail at."""

    code = Code.INTERNAL
    section = "4.3"


class EdgeTimeout(Refusal):
    """The edge gave up after its 30 seconds (§8)."""

    code = Code.DEADLINE_EXCEEDED
    default = "upstream timeout"

    def __init__(self, after: Span, *, rule: str, remedy: str = "") -> None:
        super().__init__(rule=rule, remedy=remedy)
        self.after = after


class AnswerTooLate(EdgeTimeout):
    """The edge gave up on an answer that was held for an order. Unlike a report query such a call
    is retried, by who has looked first (§7.1).
    """

    retry = True


class Unavailable(Refusal):
    """Maintenance, or something upstream is down."""

    code = Code.UNAVAILABLE
    default = "service unavailable"
    retry = True


class Injected(Refusal):
    """A fault a tester asked for. `http` and `code` are whatever the fault says."""

    def __init__(
        self, http: int, code: Code, message: str, *, rule: str, retry_after: Span | None = None
    ) -> None:
        super().__init__(message, rule=rule, retry_after=retry_after)
        self.http = http
        self.injected_code = code
