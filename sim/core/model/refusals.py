"""Every deliberate error, one class each, with its gRPC code, default message and section.

`api/pipeline/error_mapping.py` maps the classes to each surface. A refusal carries what a person
needs in order to act on it: the rule or fault that decided, what would have worked, and whether to
retry. The body does not show this to clients. `sim explain` shows it by request id, and so does the
header `x-sim-explain` unless debug headers are off.
"""

from __future__ import annotations

from enum import IntEnum
from typing import ClassVar

from sim.core.model.enums import CancelRejectReason, RejectReason
from sim.core.model.why import NO_FACTS, Facts, Why
from sim.kernel.instants import Span, format_span

_NAME_MAX = 80


def cut(name: str) -> str:
    """A client's name for something as the text of a refusal repeats it: no longer than a line."""
    return name[:_NAME_MAX]


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


# The HTTP status that grpc-gateway gives a code.
HTTP_OF_CODE = {
    Code.CANCELLED: 499,
    Code.UNKNOWN: 500,
    Code.INVALID_ARGUMENT: 400,
    Code.DEADLINE_EXCEEDED: 504,
    Code.NOT_FOUND: 404,
    Code.ALREADY_EXISTS: 409,
    Code.PERMISSION_DENIED: 403,
    Code.RESOURCE_EXHAUSTED: 429,
    Code.FAILED_PRECONDITION: 400,
    Code.ABORTED: 409,
    Code.OUT_OF_RANGE: 400,
    Code.UNIMPLEMENTED: 501,
    Code.INTERNAL: 500,
    Code.UNAVAILABLE: 503,
    Code.DATA_LOSS: 500,
    Code.UNAUTHENTICATED: 401,
}


class Refusal(Exception):
    """A deliberate error.

    `rule` and `facts` are its reason (`why.py`): a class has the statement that it realises,
    and whoever raises it names a more specific rule where there is one. `remedy` says what
    would have worked. `fault` is the id of the injected fault behind the refusal, if there is
    one; `connection_fault` says what happens to the connection instead of the answer, or in
    addition to it.
    """

    code: Code = Code.INTERNAL
    section: ClassVar[str] = "7.1"
    default: ClassVar[str] = "internal error"
    retry: ClassVar[bool] = False
    http: int = 0  # HTTP status; 0: that of the class or code
    fault: str = ""
    connection_fault: str = ""
    retry_text: str = ""
    default_rule: ClassVar[str] = "S7.1-9"
    default_cancel_reason: ClassVar[CancelRejectReason] = CancelRejectReason.EXCHANGE_OPTION

    def __init__(
        self,
        message: str = "",
        *,
        rule: str = "",
        facts: Facts | None = None,
        remedy: str = "",
        retry_after: Span | None = None,
        reason: RejectReason = RejectReason.EXCHANGE_OPTION,
        cancel_reason: CancelRejectReason | None = None,
    ) -> None:
        super().__init__(message or self.default)
        self.message = message or self.default
        self.rule = rule or self.default_rule
        self.facts = facts or NO_FACTS
        self.remedy = remedy
        self.retry_after = retry_after
        self.reason = reason
        self.cancel_reason = self.default_cancel_reason if cancel_reason is None else cancel_reason

    @property
    def why(self) -> Why:
        """The rule that decided, and its facts."""
        return Why(self.rule, self.facts)


class InvalidRequest(Refusal):
    """A field is missing, malformed or cannot be combined with another."""

    code = Code.INVALID_ARGUMENT
    default = "invalid request"
    default_rule = "S7.1-1"


class Unauthenticated(Refusal):
    """Credentials are missing, wrong, expired or from another environment."""

    code = Code.UNAUTHENTICATED
    section = "5.1"
    default = "unauthenticated"
    default_rule = "S7.1-2"


class InvalidSignature(Unauthenticated):
    """The signature or timestamp of a retail request is wrong."""

    section = "5.2"
    default = "Invalid API key signature"
    default_rule = "S5.2-1"


class MissingKeyHeaders(InvalidSignature):
    """A retail request carries no credentials at all. The answer is plain text."""

    default = "Missing required API key headers"


class PermissionDenied(Refusal):
    """The caller is known but may not do this."""

    code = Code.PERMISSION_DENIED
    section = "5.1"
    default = "permission denied"
    default_rule = "S7.1-3"


class MissingScope(PermissionDenied):
    """The token lacks the scope that the operation needs."""

    def __init__(self, scope: str) -> None:
        super().__init__(
            f"permission denied: missing required scope {scope}",
            rule="S5.1-9",
            facts={"scope": scope},
            remedy=f"use a client that was granted {scope}",
        )


class NotFound(Refusal):
    """There is no such resource for this caller."""

    code = Code.NOT_FOUND
    default = "Not Found"
    default_rule = "S7.1-4"


class UnknownSymbol(NotFound):
    """There is no instrument of this symbol. The exchange API says so in words of its own."""

    exchange_text: ClassVar[str] = "instrument does not exist"


class BeforeHistory(Refusal):
    """A read of a record that begins later."""

    code = Code.FAILED_PRECONDITION
    default = "the history begins later"
    default_rule = "L13"


class TooManyRecords(Refusal):
    """A search without a page size, where one is required."""

    code = Code.OUT_OF_RANGE
    default = "Maximum requested records is 5000"
    default_rule = "R7"


class UnknownPath(NotFound):
    """No operation has this path on this plane (or not on this date)."""

    default = "Not Found"


class MethodNotAllowed(Refusal):
    """The path exists, but not with this verb."""

    code = Code.UNIMPLEMENTED
    default = "Method Not Allowed"

    def __init__(self, allowed: tuple[str, ...]) -> None:
        super().__init__(rule="S7.1-4", remedy="use " + " or ".join(allowed))
        self.allowed = allowed


class UnknownMethod(Refusal):
    """gRPC: no such service or method."""

    code = Code.UNIMPLEMENTED
    default = "unknown service"
    default_rule = "S7.1-4"


class NotBuilt(Refusal):
    """The operation is in the contract, but the sandbox does not simulate it."""

    code = Code.UNIMPLEMENTED
    section = "4"

    def __init__(self, operation: str) -> None:
        super().__init__(
            f"{operation} is part of the contract, but this sandbox does not simulate it yet",
            rule="T4",
            remedy="`sim catalogue operations` lists what is served",
        )


class DuplicateOrder(Refusal):
    """The client order id belongs to an order that is still open (rule M6)."""

    code = Code.ALREADY_EXISTS
    default = "ClOrdID already in use by an open order"
    default_rule = "M6"


class AlreadyExists(Refusal):
    """The resource exists, or an idempotency key was used with another body."""

    code = Code.ALREADY_EXISTS
    default = "already exists"
    default_rule = "S7.1-5"


class OrderDone(Refusal):
    """Cancel or replace of an order in a final state (rule M34)."""

    code = Code.FAILED_PRECONDITION
    default = "Unknown order"
    default_rule = "M34"
    default_cancel_reason = CancelRejectReason.UNKNOWN_ORDER


class UnknownOrder(NotFound):
    """Cancel or replace of an order that does not exist (rule M34)."""

    default = "Unknown order"
    default_rule = "M34"
    default_cancel_reason = CancelRejectReason.UNKNOWN_ORDER


class OrderRefused(Refusal):
    """A well-formed order that exceeds a limit or meets a state that forbids it: 422 on the
    exchange (rules M4, M5, P3, table 1.2).
    """

    code = Code.FAILED_PRECONDITION
    default = "order refused"
    default_rule = "S7.1-7"


class InsufficientFunds(OrderRefused):
    """The order costs more than the account can pay (rules P3, P4)."""


class InstrumentNotTradable(OrderRefused):
    """The instrument's state forbids the operation."""

    section = "3.1"


class IllegalTransition(Refusal):
    """An operator asked for a lifecycle edge that does not exist (rule L10)."""

    code = Code.FAILED_PRECONDITION
    section = "3.1"


class Conflict(Refusal):
    """The current state of a resource forbids the action."""

    code = Code.FAILED_PRECONDITION
    default_rule = "S7.1-5"


class SsnTaken(Refusal):
    """Another account already has this SSN, which can belong to one account only (§7.2)."""

    code = Code.FAILED_PRECONDITION
    section = "7.2"
    default = "user already provisioned with a different SSN"
    default_rule = "K6"


class EntryTypeSuppressed(Refusal):
    """The request names one of the twelve internal ledger entry types (§4.3)."""

    code = Code.ABORTED
    section = "4.3"
    default = "entry type not available"
    default_rule = "P18"


class PayloadTooLarge(Refusal):
    """The body exceeds the limit (§7.1: 413)."""

    code = Code.RESOURCE_EXHAUSTED
    default = "payload too large"
    default_rule = "S7.1-6"


class RateLimited(Refusal):
    """Too many calls. `rung` is the limit that was hit, endpoint or global (rules R4, R5)."""

    code = Code.RESOURCE_EXHAUSTED
    section = "8"
    retry = True

    def __init__(
        self,
        message: str,
        *,
        retry_after: Span,
        rung: str,
        rule: str = "R2",
        facts: Facts | None = None,
    ) -> None:
        super().__init__(
            message,
            rule=rule,
            facts=facts,
            remedy="wait Retry-After seconds, then call again",
            retry_after=retry_after,
        )
        self.rung = rung


class StreamLimit(Refusal):
    """The firm has too many concurrent streams (rule S7), or a key has too many WebSockets."""

    code = Code.RESOURCE_EXHAUSTED
    section = "8"
    default_rule = "S7"


class InternalFailure(Refusal):
    """The service is documented to fail here."""

    code = Code.INTERNAL
    section = "4.3"


class EdgeTimeout(Refusal):
    """The edge timed out after 30 seconds (§8)."""

    code = Code.DEADLINE_EXCEEDED
    default = "upstream timeout"

    def __init__(self, after: Span, *, rule: str, remedy: str = "") -> None:
        super().__init__(rule=rule, facts={"after": format_span(after)}, remedy=remedy)
        self.after = after


class AnswerTooLate(EdgeTimeout):
    """The edge timed out while an answer waited for an order.

    Unlike a report query, such a call may be retried once the client has looked for
    the order (§7.1).
    """

    retry = True


class Unavailable(Refusal):
    """The exchange is under maintenance, or something upstream is down."""

    code = Code.UNAVAILABLE
    default = "service unavailable"
    retry = True


class Injected(Refusal):
    """A fault that a tester injected, with the HTTP status and code that it specifies."""

    def __init__(
        self,
        http: int,
        code: Code,
        message: str,
        *,
        rule: str,
        facts: Facts,
        retry_after: Span | None = None,
    ) -> None:
        super().__init__(message, rule=rule, facts=facts, retry_after=retry_after)
        self.http = http
        self.code = code
